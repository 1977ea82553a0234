/* Windows of many receives, on one communicator after the other. Rank 0 says how much more memory it holds after the last one than after the
 * first. */
#include <mpi.h>

#include <stdio.h>

enum { COMMS = 24, WINDOW = 4000 };

static long resident_kib(void)
{
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2)
        return -1;
    fclose(file);
    return resident * 4;
}

int main(int argc, char **argv)
{
    static MPI_Request requests[WINDOW];
    static char in[WINDOW][8], out[8];
    MPI_Comm comms[COMMS];
    int rank;
    long first_kib = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int k = 0; k < COMMS; k++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
    for (int k = 0; k < COMMS; k++) {
        for (int i = 0; i < WINDOW; i++)
            MPI_Irecv(in[i], 8, MPI_BYTE, 1 - rank, i, comms[k], &requests[i]);
        MPI_Barrier(comms[k]);
        for (int i = 0; i < WINDOW; i++)
            MPI_Send(out, 8, MPI_BYTE, 1 - rank, i, comms[k]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (k == 0)
            first_kib = resident_kib();
    }
    if (rank == 0)
        printf("more: %ld KiB\n", resident_kib() - first_kib);
    MPI_Finalize();
    return 0;
}
