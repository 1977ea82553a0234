/* MPI_THREAD_MULTIPLE: threads complete requests at the same time that others have started, and that all have one handle: those that are
 * complete at once. */
#include "truth.h"

enum { THREADS = 4, MANY = 16, ROUNDS = 240 };
static MPI_Comm comm;
static MPI_Request requests[THREADS][MANY];
static pthread_barrier_t barrier;

static void start(int of)
{
    static char out[9];
    for (int i = 0; i < MANY; i++) {
        MPI_Isend(out, sizeof out, MPI_BYTE, MPI_PROC_NULL, 1, comm, &requests[of][i]);
        called("A", "MPI_Isend");
    }
}

/* Each those of another thread, some from all threads, or one after the other out of an array. */
static void complete(int which, int way)
{
    MPI_Request *next = requests[(which + 1) % THREADS];
    for (int i = 0, index; i < MANY; i++) {
        switch (way) {
        case 0:
            MPI_Wait(&requests[(which + i) % THREADS][i], MPI_STATUS_IGNORE);
            called("A", "MPI_Wait");
            break;
        case 1:
            if (i % 4 == 0) {
                MPI_Waitall(4, next + i, MPI_STATUSES_IGNORE);
                called("A", "MPI_Waitall");
            }
            break;
        default:
            MPI_Waitany(MANY, next, &index, MPI_STATUS_IGNORE);
            called("A", "MPI_Waitany");
        }
    }
}

static void *work(void *argument)
{
    int which = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        /* One thread starts those of all, or several do. */
        for (int of = 0; of < THREADS; of++)
            if (of % (1 + round / 3 % THREADS) == which)
                start(of);
        pthread_barrier_wait(&barrier);
        complete(which, round % 3);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    truth_begin("MPI_Init_thread");
    EXPECT(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    made(comm, "A", "MPI_Comm_dup", "WORLD");
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    truth_finalize();
    return 0;
}
