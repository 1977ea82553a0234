/* Two processes start two others, exchange with them, and merge with them for a while. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Comm other, both;
    int rank, value = 5, sum;
    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&other);
    int child = other != MPI_COMM_NULL;
    if (!child)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    /* From rank 0 of the parents to rank 1 of the children, and an answer. */
    if (!child && rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 3, other);
        MPI_Recv(&value, 1, MPI_INT, 1, 4, other, MPI_STATUS_IGNORE);
    } else if (child && rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 3, other, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 4, other);
    }
    MPI_Intercomm_merge(other, child, &both);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, both);
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&other);
    printf("%s\n", child ? "child" : "parent");
    MPI_Finalize();
    return 0;
}
