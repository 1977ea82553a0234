/* Communicators that are made behind the profiler's back, as by a library that calls PMPI itself. */
#include <mpi.h>
#include <stddef.h>

int main(void)
{
    MPI_Comm all, half;
    int rank, size, sum;
    MPI_Init(NULL, NULL);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_dup(MPI_COMM_WORLD, &all);
    PMPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(half);
    MPI_Comm child;
    MPI_Comm_dup(half, &child);
    MPI_Barrier(child);
    MPI_Comm_free(&child);
    MPI_Comm_free(&half);
    MPI_Comm_free(&all);
    MPI_Finalize();
    return 0;
}
