/* One rank comes late to each fence, or all work alike. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double out = rank, in = 0;
    MPI_Win window;
    MPI_Win_create(&in, sizeof in, sizeof in, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    for (int step = 0; step < 12; step++) {
        work_ms(is_planted && rank == 2 ? 60 : 20);
        MPI_Put(&out, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, window);
        MPI_Win_fence(0, window);
    }
    MPI_Win_free(&window);
    return end();
}
