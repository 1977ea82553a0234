"""What a Python program does with MPI, stated in the terms of truth.h. For two ranks."""

import os

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, peer = world.Get_rank(), 1 - world.Get_rank()
lines = []


def call(label, op, size=0, sent=0, received=0):
    lines.append(("call", label, op, size, 1, 0, sent, received, ""))


def edge(label, op, size):
    lines.append(("edge", label, op, peer, 1, size))


call("WORLD", "MPI_Init_thread")
out, take = bytearray(5000), bytearray(5000)

world.Bcast([out, MPI.BYTE], root=0)
call("WORLD", "MPI_Bcast", 5000, 5000 * (rank == 0), 5000 * (rank != 0))
copy = world.Dup()
call("WORLD", "MPI_Comm_dup")
copy.Set_name("copy")
call("copy", "MPI_Comm_set_name")

requests = [copy.Irecv([take, MPI.BYTE], source=peer), copy.Isend([out, 300, MPI.BYTE], dest=peer)]
call("copy", "MPI_Irecv", 300, 0, 300)
call("copy", "MPI_Isend", 300, 300, 0)
edge("copy", "MPI_Isend", 300)
MPI.Request.Waitall(requests)
call("copy", "MPI_Waitall")

# An object: its message is probed, then received.
thing = {"rank": rank, "text": "x" * (100 + 1000 * rank)}
sizes = [len(MPI.pickle.dumps({"rank": who, "text": "x" * (100 + 1000 * who)})) for who in (0, 1)]
if rank == 0:
    copy.send(thing, dest=peer)
    call("copy", "MPI_Send", sizes[0], sizes[0], 0)
    edge("copy", "MPI_Send", sizes[0])
else:
    assert copy.recv(source=peer) == {"rank": 0, "text": "x" * 100}
    call("copy", "MPI_Mprobe")
    call("copy", "MPI_Mrecv", sizes[0], 0, sizes[0])

copy.Free()
call("copy", "MPI_Comm_free")
lines.append(("comm", "copy", "MPI_Comm_dup", "WORLD", 1, rank, 2, 1, 1))
call("WORLD", "MPI_Finalize")
with open(os.path.join(os.environ["TRUTH_DIR"], str(rank)), "w") as log:
    for line in lines:
        print(*line, sep="\t", file=log)
