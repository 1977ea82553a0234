/* Messages that are alike and yet are not: on communicators that are freed and made anew, with windows of receives, in sizes by turns, while
 * counting is paused, from other places of the stack, completed by another thread than that which posted them, and there before they are asked for. */
#include <pthread.h>

#include "truth.h"

enum { ROUNDS = 12, WINDOW = 48, LARGEST = 2048 };

static char out[LARGEST], in[WINDOW][LARGEST];
static MPI_Request requests[2 * WINDOW];

static int size_of(int round, int message)
{
    return round % 3 == 0 ? 8 : (message % 2 ? 8 : 64 + 700 * (round % 3));
}

static void *complete(void *count)
{
    MPI_Waitall(*(int *)count, requests, MPI_STATUSES_IGNORE);
    return NULL;
}

static void exchange(MPI_Comm comm, int round, int other_thread)
{
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size, count = 2 * WINDOW;
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(in[i], LARGEST, MPI_CHAR, from, i, comm, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOW; i++) {
        memset(out, 0, LARGEST);
        out[0] = (char)(round + i);
        MPI_Isend(out, size_of(round, i), MPI_CHAR, to, i, comm, &requests[WINDOW + i]);
        MPI_Wait(&requests[WINDOW + i], MPI_STATUS_IGNORE);
    }
    if (other_thread) {
        pthread_t thread;
        pthread_create(&thread, NULL, complete, &count);
        pthread_join(thread, NULL);
    } else {
        complete(&count);
    }
    for (int i = 0; i < WINDOW; i++)
        EXPECT(in[i][0] == (char)(round + i));
}

/* What is received is there already: the barrier came behind it. */
static void receive_late(MPI_Comm comm, int round)
{
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    static char sent[WINDOW][LARGEST];
    for (int i = 0; i < WINDOW; i++) {
        sent[i][0] = (char)(round - i);
        MPI_Isend(sent[i], size_of(round, i), MPI_CHAR, to, i, comm, &requests[i]);
    }
    MPI_Barrier(comm);
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(in[i], LARGEST, MPI_CHAR, from, i, comm, &requests[WINDOW + i]);
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < WINDOW; i++)
        EXPECT(in[i][0] == (char)(round - i));
}

/* As a ping-pong, from so far down the stack. */
static int deep(MPI_Comm comm, int depth)
{
    volatile char room[200];
    room[0] = (char)depth;
    if (depth > 0)
        return deep(comm, depth - 1) + room[0];
    int peer = world_rank ^ 1;
    for (int i = 0; i < 20 && peer < world_size; i++) {
        if (world_rank % 2 == 0)
            MPI_Send(out, 8, MPI_CHAR, peer, 99, comm);
        MPI_Recv(in[0], 8, MPI_CHAR, peer, 99, comm, MPI_STATUS_IGNORE);
        if (world_rank % 2 == 1)
            MPI_Send(out, 8, MPI_CHAR, peer, 99, comm);
    }
    return room[0];
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    EXPECT(provided >= MPI_THREAD_SERIALIZED);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int again = 0; again < 4; again++)
            exchange(comm, round, again == 2);
        for (int again = 0; again < 4; again++)
            receive_late(comm, round);
        deep(comm, round % 4);
        if (round % 4 == 1) {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Pcontrol(0);
            exchange(comm, round, 0);
            deep(comm, 0);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Pcontrol(1);
            exchange(comm, round, 0);
        }
        deep(comm, 3 - round % 4);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return 0;
}
