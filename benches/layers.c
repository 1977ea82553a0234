/* layers FILE BYTES EXCHANGES: rank 0 and 1 send a message to and fro. The fastest of many repetitions, in nanoseconds per message,
 * and how many messages there were in all, go to FILE. */
#include <mpi.h>

#include "timing.h"

enum { REPETITIONS = 40, WARM_UP = 100 };

int main(int argc, char **argv)
{
    int rank;
    double times[REPETITIONS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int bytes = atoi(argv[2]), exchanges = atoi(argv[3]), peer = 1 - rank;
    char *buffer = calloc(1, bytes + 1);
    for (int repetition = -1; repetition < REPETITIONS; repetition++) {
        int count = repetition < 0 ? WARM_UP : exchanges;
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = now_ns();
        for (int i = 0; i < count; i++) {
            if (rank == 0)
                MPI_Send(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
        if (repetition >= 0)
            times[repetition] = (now_ns() - begin) / (2.0 * count);
    }
    if (rank == 0) {
        FILE *file = fopen(argv[1], "w");
        fprintf(file, "%.3f\n%ld\n", least(times, REPETITIONS), 2L * (WARM_UP + (long)REPETITIONS * exchanges));
        fclose(file);
    }
    MPI_Finalize();
    return 0;
}
