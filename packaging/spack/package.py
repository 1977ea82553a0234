# SPDX-License-Identifier: MIT OR Apache-2.0
import os

from spack.package import *


class Commsee(Package):
    """Profiles MPI programs by communicator: counts every MPI call by communicator,
    operation, message size and rank."""

    # The archive of the sources lies where spack is called.
    url = f"file://{os.getcwd()}/commsee-0.1.0.tar.gz"

    license("MIT OR Apache-2.0")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")

    # No MPI: the one library serves all of them, and finds the program's at run time.

    def install(self, spec, prefix):
        Executable("./install")("--prefix", prefix)

    def setup_run_environment(self, env):
        # through finds the libraries beside itself. This is for programs that load them by name.
        env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib)
