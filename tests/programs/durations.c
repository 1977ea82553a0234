/* Waits that last: rank 0 waits for the others, and prints how long each kind of wait took by MPI's own clock. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, value = 0;
    double barrier = 0, receive = 0, begin;
    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 3; round++) {
        PMPI_Barrier(MPI_COMM_WORLD);
        if (rank)
            usleep(100000);
        begin = PMPI_Wtime();
        MPI_Barrier(MPI_COMM_WORLD);
        barrier += PMPI_Wtime() - begin;
        if (rank == 1) {
            usleep(200000);
            PMPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        } else if (rank == 0) {
            begin = PMPI_Wtime();
            MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            receive += PMPI_Wtime() - begin;
        }
    }
    if (rank == 0)
        printf("%.9f %.9f\n", barrier, receive);
    MPI_Finalize();
    return 0;
}
