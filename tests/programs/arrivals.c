/* Messages whose receives are easily taken for others': many that are started by one call, receives that are cancelled, a message that
 * a probe took before a receive took the next one. */
#include "truth.h"

#define MANY 2000

static void start_all(int next, int before)
{
    static char in[MANY][16], out[16];
    static MPI_Request requests[2 * MANY];
    for (int i = 0; i < MANY; i++) {
        MPI_Recv_init(in[i], sizeof in[i], MPI_CHAR, before, 1, MPI_COMM_WORLD, &requests[i]);
        MPI_Send_init(out, i % 16, MPI_CHAR, next, 1, MPI_COMM_WORLD, &requests[MANY + i]);
    }
    MPI_Startall(2 * MANY, requests);
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 * MANY; i++)
        MPI_Request_free(&requests[i]);
}

/* As at the border of a halo. MPICH 4.0 says in the status of a nonblocking one that it came from rank 0 with tag 0. */
static void from_nobody(int rank)
{
    char out[8] = {0}, in[8];
    for (int i = 0; i < 3; i++) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Irecv(in, sizeof in, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
        if (rank == 0)
            MPI_Isend(out, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[1]);
        if (rank == 1)
            MPI_Irecv(in, sizeof in, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    char out[64] = {0}, in[64];
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    start_all(next, before);
    from_nobody(rank);
    for (int i = 0; i < 3; i++) {
        MPI_Request request;
        /* Some libraries leave in the status of a cancelled receive what it held before. */
        MPI_Status status = {.MPI_SOURCE = before, .MPI_TAG = 2};
        MPI_Irecv(in, sizeof in, MPI_CHAR, before, 2, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3000; i++)
        MPI_Sendrecv(out, 1 + i % 7, MPI_CHAR, next, 2, in, sizeof in, MPI_CHAR, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request requests[2];
    MPI_Isend(out, 11, MPI_CHAR, next, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 12, MPI_CHAR, next, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Message message;
    MPI_Mprobe(before, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Recv(in, sizeof in, MPI_CHAR, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, sizeof in, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
