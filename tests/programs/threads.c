/* MPI_THREAD_MULTIPLE: threads that work on a communicator each, threads that end early and are followed by others, and
 * requests that one thread starts and another completes. */
#include "truth.h"

enum { THREADS = 4, ROUNDS = 100, BATCHES = 2, HANDED = 50 };
static MPI_Comm comms[THREADS];
static MPI_Request handed[2 * HANDED];

static void *work(void *argument)
{
    int which = (int)(long)argument;
    MPI_Comm comm = comms[which];
    const char *label = label_of("thread %d", which);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    char out[2000] = {0}, in[2000];
    for (int round = 0; round < ROUNDS; round++) {
        /* Sizes differ between threads and rounds, so that mixed-up receives show. */
        int bytes = (round % 10) * 100 + which + 1, one = 1, sum;
        MPI_Request requests[2];
        MPI_Irecv(in, sizeof in, MPI_BYTE, left, round, comm, &requests[0]);
        received(label, "MPI_Irecv", bytes);
        MPI_Isend(out, bytes, MPI_BYTE, right, round, comm, &requests[1]);
        sent(label, "MPI_Isend", right, bytes);
        if (round % 2) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            called(label, "MPI_Waitall");
        } else {
            for (int i = 0; i < 2; i++) {
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
                called(label, "MPI_Wait");
            }
        }
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        carried(label, "MPI_Allreduce", 4, 4, 4);
        EXPECT(sum == world_size);
    }
    return NULL;
}

/* Completes what the main thread has started. */
static void *finish(void *argument)
{
    (void)argument;
    for (int i = 0; i < 2 * HANDED; i++) {
        MPI_Wait(&handed[i], MPI_STATUS_IGNORE);
        called(i % 4 < 2 ? "thread 0" : "thread 1", "MPI_Wait");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    truth_begin("MPI_Init_thread");
    EXPECT(provided == MPI_THREAD_MULTIPLE);
    pthread_t threads[THREADS], finisher;
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        made(comms[i], label_of("thread %d", i), "MPI_Comm_dup", "WORLD");
    }
    for (int batch = 0; batch < BATCHES; batch++) {
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    static char out[1000], in[HANDED][1000];
    int right = (world_rank + 1) % world_size;
    for (int i = 0; i < HANDED; i++) {
        /* Two of one communicator, two of the other; large enough not to be complete at once, small enough to be sent. */
        int which = i % 2, bytes = 10 * i + which;
        const char *label = label_of("thread %d", which);
        MPI_Irecv(in[i], sizeof in[i], MPI_BYTE, MPI_ANY_SOURCE, i, comms[which], &handed[2 * i]);
        received(label, "MPI_Irecv", bytes);
        MPI_Issend(out, bytes, MPI_BYTE, right, i, comms[which], &handed[2 * i + 1]);
        sent(label, "MPI_Issend", right, bytes);
    }
    pthread_create(&finisher, NULL, finish, NULL);
    pthread_join(finisher, NULL);
    truth_finalize();
    return 0;
}
