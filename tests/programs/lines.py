"""As lines.c, through mpi4py: functions, methods, comprehensions, generators, threads."""
import sys
import threading

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()


def at(label, op, sent=0, received=0):
    frame = sys._getframe(1)
    sys.stdout.write(f"@ {rank} {label} {op} {frame.f_code.co_name} {frame.f_lineno} {sent} {received}\n")


class Grid:
    def __init__(self):
        at("WORLD", "MPI_Comm_split"); self.rows = world.Split(rank // 2, rank)
        at("rows", "MPI_Comm_set_name"); self.rows.Set_name("rows")

    def step(self, times):
        given, taken = bytearray(8), bytearray(8)
        for _ in range(times):
            at("rows", "MPI_Allreduce", 8, 8); self.rows.Allreduce([given, MPI.BYTE], [taken, MPI.BYTE], op=MPI.BOR)


def barriers(comm, times):
    for number in range(times):
        at("WORLD", "MPI_Barrier"); comm.Barrier()
        yield number


def recursive(depth):
    at("WORLD", "MPI_Barrier"); world.Barrier()
    return depth and recursive(depth - 1)


grid = Grid()
grid.step(3)
assert sum(barriers(world, 4)) == 6
recursive(2)
for _ in range(2):
    at("WORLD", "MPI_Barrier"); world.Barrier()
thread = threading.Thread(target=grid.step, args=(2,))
thread.start()
thread.join()
