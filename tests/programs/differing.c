/* Receives of two sizes, completed together: nobody knows for which of them the call waited. */
#include <mpi.h>

enum { TIMES = 3, SMALL = 8, LARGE = 100000 };
static char from[2][LARGE], to[2][LARGE];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int time = 0; time < TIMES; time++) {
        MPI_Request received[2], sent[2];
        for (int i = 0; i < 2; i++)
            MPI_Irecv(to[i], i ? LARGE : SMALL, MPI_CHAR, 0, i, MPI_COMM_SELF, &received[i]);
        for (int i = 0; i < 2; i++)
            MPI_Isend(from[i], i ? LARGE : SMALL, MPI_CHAR, 0, i, MPI_COMM_SELF, &sent[i]);
        MPI_Waitall(2, received, MPI_STATUSES_IGNORE);
        MPI_Wait(&sent[0], MPI_STATUS_IGNORE);
        MPI_Wait(&sent[1], MPI_STATUS_IGNORE);
    }
    return MPI_Finalize();
}
