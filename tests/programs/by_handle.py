"""Takes the functions of MPI from the handle of a library, and states what it calls in the terms of truth.h. For two ranks.
usage: by_handle.py LIBRARY openmpi|mpich"""

import ctypes
import os
import sys

mpi = ctypes.CDLL(sys.argv[1])
lines = []


def address(name):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_byte.in_dll(mpi, name)))


if sys.argv[2] == "openmpi":
    Comm, WORLD = ctypes.c_void_p, address("ompi_mpi_comm_world")
    INT, SUM = address("ompi_mpi_int"), address("ompi_mpi_op_sum")
else:
    Comm, WORLD, INT, SUM = ctypes.c_int, 0x44000000, 0x4C000405, 0x58000003


def call(function, *arguments):
    assert getattr(mpi, function)(*arguments) == 0, function


def state(label, op, size=0, calls=1, sent=0, received=0):
    lines.append(("call", label, op, size, calls, 0, sent, received, ""))


call("MPI_Init", None, None)
state("WORLD", "MPI_Init")
rank = ctypes.c_int()
call("MPI_Comm_rank", WORLD, ctypes.byref(rank))
rank, peer = rank.value, 1 - rank.value

for _ in range(5):
    call("MPI_Barrier", WORLD)
state("WORLD", "MPI_Barrier", calls=5)
copy = Comm()
call("MPI_Comm_dup", WORLD, ctypes.byref(copy))
state("WORLD", "MPI_Comm_dup")
call("MPI_Comm_set_name", copy, b"copy")
state("copy", "MPI_Comm_set_name")

numbers, sums = (ctypes.c_int * 250)(*[rank] * 250), (ctypes.c_int * 250)()
call("MPI_Allreduce", numbers, sums, 250, INT, SUM, copy)
assert list(sums) == [1] * 250
state("copy", "MPI_Allreduce", 1000, 1, 1000, 1000)
if rank == 0:
    call("MPI_Send", numbers, 20, INT, peer, 7, copy)
    state("copy", "MPI_Send", 80, 1, 80, 0)
    lines.append(("edge", "copy", "MPI_Send", peer, 1, 80))
else:
    call("MPI_Recv", sums, 250, INT, peer, 7, copy, ctypes.byref((ctypes.c_int * 64)()))
    assert list(sums)[:20] == [0] * 20
    state("copy", "MPI_Recv", 80, 1, 0, 80)

call("MPI_Comm_free", ctypes.byref(copy))
state("copy", "MPI_Comm_free")
lines.append(("comm", "copy", "MPI_Comm_dup", "WORLD", 1, rank, 2, 1, 1))
call("MPI_Finalize")
state("WORLD", "MPI_Finalize")
with open(os.path.join(os.environ["TRUTH_DIR"], str(rank)), "w") as log:
    for line in lines:
        print(*line, sep="\t", file=log)
