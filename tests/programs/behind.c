/* A receive that is completed behind the profiler's back, and another one with the same handle that is started there: what is left of the first
 * must not be taken for the second, whose sender is no rank of the first one's communicator. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, in = 0, out = 5;
    MPI_Comm alone;
    MPI_Request request;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, alone, &request);
    MPI_Send(&out, 1, MPI_INT, 0, 1, alone);
    PMPI_Wait(&request, &status);
    if (rank == 0) {
        PMPI_Irecv(&in, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        printf("from %d\n", status.MPI_SOURCE);
    } else if (rank == size - 1) {
        MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&alone);
    MPI_Finalize();
    return 0;
}
