/* Calls that a tool beside commsee may see as well (shim_calls.c). */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, ranks, one = 1, sum, from = -1;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % ranks, 3, MPI_COMM_WORLD, &request);
    MPI_Recv(&from, 1, MPI_INT, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast(&from, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != ranks;
}
