/* Two processes start two others, exchange with them, and merge with them for a while. With an argument they start them by
 * two commands in one call; `silent`: those know nothing of the ones that started them, and end first. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "silent") == 0) {
        char *words[] = {"child", NULL};
        MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
        /* Beside the name that was asked for. */
        char end[4096];
        const char *out = getenv("COMMSEE_OUT");
        snprintf(end, sizeof end, "%.*s-1.db", (int)(out ? strlen(out) - 3 : 0), out ? out : "");
        for (int rest = 600; out && rest > 0 && access(end, F_OK) != 0; rest--)
            usleep(100000);
        MPI_Finalize();
        return 0;
    }
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
