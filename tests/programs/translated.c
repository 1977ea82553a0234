/* Prints what it sees through a library that translates. */
#include "translating.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, sum = 0, in[4] = {0};
    if (MPI_Init(&argc, &argv) || MPI_Comm_rank(WORLD, &rank) || MPI_Comm_size(WORLD, &size))
        return 1;
    int out[4] = {rank, 1, 2, 3}, next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int i = 0; i < 100; i++) {
        Request requests[2];
        Status statuses[2];
        if (MPI_Irecv(in, 4, INT, previous, 7, WORLD, &requests[0]) || MPI_Isend(out, 4, INT, next, 7, WORLD, &requests[1]) ||
            MPI_Waitall(2, requests, statuses) || statuses[0].source != previous || statuses[0].tag != 7 || in[0] != previous)
            return 2;
        if (MPI_Allreduce(&i, &sum, 1, INT, SUM, WORLD) || sum != i * size)
            return 3;
    }
    if (rank == 0)
        printf("%d ranks\n", size);
    return MPI_Finalize();
}
