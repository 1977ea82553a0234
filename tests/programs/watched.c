/* A job to look at: rank 0 sends messages to itself until there is a file `go` in the folder that is named, the others wait for it in a
 * barrier. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    char met[4096], go[4096];
    snprintf(met, sizeof met, "%s/met", argv[argc - 1]);
    snprintf(go, sizeof go, "%s/go", argv[argc - 1]);
    MPI_Init(&argc, &argv);
    int rank, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm waiting;
    MPI_Comm_dup(MPI_COMM_WORLD, &waiting);
    MPI_Comm_set_name(waiting, "waiting");
    if (rank == 0) {
        close(open(met, O_CREAT | O_WRONLY, 0600));
        while (access(go, F_OK)) {
            int from;
            MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &from, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            usleep(1000);
        }
    }
    MPI_Barrier(waiting);
    MPI_Comm_free(&waiting);
    MPI_Finalize();
    return 0;
}
