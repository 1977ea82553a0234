/* Values that are put into a neighbour's memory one by one: each is flushed by itself, or all together. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double out = rank, *in;
    MPI_Win window;
    MPI_Win_allocate(100 * sizeof *in, sizeof *in, MPI_INFO_NULL, MPI_COMM_WORLD, &in, &window);
    MPI_Win_lock_all(0, window);
    for (int step = 0; step < 3; step++) {
        if (is_planted)
            for (int i = 0; i < 100; i++) {
                MPI_Put(&out, 1, MPI_DOUBLE, (rank + 1) % size, i, 1, MPI_DOUBLE, window);
                MPI_Win_flush((rank + 1) % size, window);
            }
        else {
            double all[100] = {out};
            MPI_Put(all, 100, MPI_DOUBLE, (rank + 1) % size, 0, 100, MPI_DOUBLE, window);
            MPI_Win_flush((rank + 1) % size, window);
        }
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    return end();
}
