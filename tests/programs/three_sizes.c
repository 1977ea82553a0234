/* One Allreduce on communicators of 4, 3 and 2 ranks each. Which algorithms they take is the environment's choice. */
#include "truth.h"

enum { VALUES = 16384 };

static void reduce(MPI_Comm comm)
{
    static double values[VALUES], sums[VALUES];
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < VALUES; i++)
        values[i] = rank + i;
    MPI_Allreduce(values, sums, VALUES, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < VALUES; i++)
        EXPECT(sums[i] == size * (size - 1) / 2 + size * i);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    reduce(MPI_COMM_WORLD);
    for (int size = 3; size >= 2; size--) {
        MPI_Comm first;

        MPI_Comm_split(MPI_COMM_WORLD, world_rank < size ? 0 : MPI_UNDEFINED, 0, &first);
        if (first == MPI_COMM_NULL)
            continue;
        MPI_Comm_set_name(first, size == 3 ? "three" : "two");
        reduce(first);
        MPI_Comm_free(&first);
    }
    MPI_Finalize();
    return 0;
}
