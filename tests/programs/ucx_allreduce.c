/* One Allreduce of 1024 doubles. Which algorithm it takes is the environment's choice. */
#include "truth.h"

enum { VALUES = 1024 };

int main(int argc, char **argv)
{
    static double values[VALUES], sums[VALUES];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    for (int i = 0; i < VALUES; i++)
        values[i] = world_rank + i;
    MPI_Allreduce(values, sums, VALUES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < VALUES; i++)
        EXPECT(sums[i] == world_size * (world_size - 1) / 2 + world_size * i);
    MPI_Finalize();
    return 0;
}
