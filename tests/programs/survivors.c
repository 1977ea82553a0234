/* Rank 1 ends without MPI_Finalize, by a signal or with 0 (`exits`), and the others finalize. Launchers that are told to let them do so do. */
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        if (argc > 1 && strcmp(argv[1], "exits") == 0)
            _exit(0);
        kill(getpid(), SIGKILL);
    }
    MPI_Finalize();
    return 0;
}
