"""Runs mpi4py's own tests and writes what became of each to TRUTH_DIR/RANK, a line per test.

usage: mpi4py_suite.py FOLDER ARGUMENTS: the folder of mpi4py's tests, and what its runner is to be told.
"""

import os
import sys
import unittest

log = None


class Recorded(unittest.TextTestResult):
    """A result that notes each outcome at once, so that a run that hangs shows how far it came."""

    def note(self, test, outcome):
        global log
        if log is None:
            from mpi4py import MPI

            log = open(os.path.join(os.environ["TRUTH_DIR"], str(MPI.COMM_WORLD.Get_rank())), "w")
        print(test.id(), outcome, sep="\t", file=log, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "passed")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(test, "failed")

    def addError(self, test, error):
        super().addError(test, error)
        self.note(test, "failed with an error")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped: " + reason)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.note(subtest, "failed")


class Runner(unittest.TextTestRunner):
    resultclass = Recorded


# Workers that mpi4py starts for its pools load this file as well.
if __name__ == "__main__":
    folder, arguments = sys.argv[1], sys.argv[2:]
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    import main

    main.main(module=None, argv=[sys.argv[0], "--no-builddir", *arguments], testRunner=Runner)
