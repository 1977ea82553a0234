/* Two processes start two others, exchange with them, and merge with them for a while. With an argument they start them by
 * two commands in one call. */
#include <mpi.h>
#include <stdio.h>

static void start(const char *program, int multiple, MPI_Comm *other)
{
    char *commands[] = {(char *)program, (char *)program};
    int counts[] = {1, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    if (multiple)
        MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, other, MPI_ERRCODES_IGNORE);
    else
        MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, other, MPI_ERRCODES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Comm other, both;
    int rank, value = 5, sum;
    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&other);
    int child = other != MPI_COMM_NULL;
    if (!child)
        start(argv[0], argc > 1, &other);
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
