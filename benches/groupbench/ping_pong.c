/* A ping-pong as small as it gets: half the round trip of rank 0 and 1, in seconds, a line a size: the median of the time of the rank that took
 * longer, in rounds of so many trips there and back after a barrier.   ping_pong blocking|nonblocking ROUNDS TRIPS BYTES…
 * nonblocking: by MPI_Irecv, MPI_Isend and MPI_Waitall, as a program that has several partners does it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* One message by calls that do not block, of which the other ones may be many. */
static void one(int is_send, char *buffer, int bytes, int peer)
{
    MPI_Request request;
    if (is_send)
        MPI_Isend(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(buffer, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, is_blocking = !strcmp(argv[1], "blocking"), rounds = atoi(argv[2]), trips = atoi(argv[3]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double *times = malloc(rounds * sizeof *times), *longest = malloc(rounds * sizeof *longest);
    for (int size = 4; size < argc; size++) {
        int bytes = atoi(argv[size]);
        char *given = malloc(bytes + 1), *got = malloc(bytes + 1);
        memset(given, rank + 1, bytes + 1);
        memset(got, 0, bytes + 1);
        for (int round = -rounds / 10; round < rounds; round++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double begin = MPI_Wtime();
            for (int trip = 0; trip < trips; trip++) {
                if (!is_blocking && rank < 2) {
                    one(rank == 0, rank == 0 ? given : got, bytes, 1 - rank);
                    one(rank == 1, rank == 1 ? given : got, bytes, 1 - rank);
                } else if (rank == 0) {
                    MPI_Send(given, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
                    MPI_Recv(got, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                } else if (rank == 1) {
                    MPI_Recv(got, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    MPI_Send(given, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
                }
            }
            if (round >= 0)
                times[round] = (MPI_Wtime() - begin) / 2 / trips;
        }
        MPI_Reduce(times, longest, rounds, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        qsort(longest, rounds, sizeof *longest, ascending);
        if (rank == 0)
            printf("%d %.9f\n", bytes, longest[rounds / 2]);
        free(given);
        free(got);
    }
    free(times);
    free(longest);
    MPI_Finalize();
    return 0;
}
