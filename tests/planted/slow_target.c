/* All put into the memory of rank 0, which does not enter MPI meanwhile, or works no longer than they do. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double out = rank, in[64];
    MPI_Win window;
    MPI_Win_create(in, sizeof in, sizeof *in, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int step = 0; step < 10; step++) {
        if (rank > 0 && !is_planted)
            work_ms(40);
        if (rank == 0)
            work_ms(40);
        else {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
            MPI_Put(&out, 1, MPI_DOUBLE, 0, rank, 1, MPI_DOUBLE, window);
            MPI_Win_flush(0, window);
            MPI_Win_unlock(0, window);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
    return end();
}
