/* Values that are put into a neighbour's memory one by one, and together. */
#include "planted.h"

#define VALUES 200

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    static double out[VALUES], in[VALUES];
    MPI_Win window;
    MPI_Win_create(in, sizeof in, sizeof *in, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    int parts = is_planted ? VALUES : 1;
    for (int step = 0; step < 20; step++) {
        MPI_Win_fence(0, window);
        for (int i = 0; i < parts; i++)
            MPI_Put(out + i, VALUES / parts, MPI_DOUBLE, (rank + 1) % size, i, VALUES / parts, MPI_DOUBLE, window);
        MPI_Win_fence(0, window);
    }
    MPI_Win_free(&window);
    return end();
}
