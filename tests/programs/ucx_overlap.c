/* Two messages of 1 MiB on two communicators, from the same buffer if there is an argument, which go on while the process is in an
 * Allreduce on a third one. */
#include "truth.h"

enum { BYTES = 1 << 20, TIMES = 10, VALUES = 512 };

int main(int argc, char **argv)
{
    MPI_Comm one, two;
    MPI_Request requests[4];
    static double values[VALUES], sums[VALUES];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &two);
    char *first = malloc(BYTES), *second = argc > 1 ? first : malloc(BYTES), *in = malloc(BYTES), *other = malloc(BYTES);
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    for (int i = 0; i < TIMES; i++) {
        memset(first, i, BYTES), memset(second, i, BYTES);
        MPI_Irecv(in, BYTES, MPI_CHAR, from, 1, one, &requests[0]);
        MPI_Irecv(other, BYTES, MPI_CHAR, from, 1, two, &requests[1]);
        MPI_Isend(first, BYTES, MPI_CHAR, to, 1, one, &requests[2]);
        MPI_Isend(second, BYTES, MPI_CHAR, to, 1, two, &requests[3]);
        MPI_Allreduce(values, sums, VALUES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        EXPECT(in[0] == i && in[BYTES - 1] == i && other[BYTES / 2] == i);
    }
    MPI_Finalize();
    return 0;
}
