/* passed_around LEVEL THREADS COUNT: each thread starts COUNT receives over a communicator of its own; the next thread asks for them once, in
 * vain; the one behind that waits for all of them. At MPI_THREAD_SERIALIZED under a lock. ROUNDS times, so that handles come again. */
#include "truth.h"

enum { ROUNDS = 3, MOST_THREADS = 64 };

static struct thread {
    MPI_Comm comm;
    MPI_Request *requests;
    int out[MOST_THREADS], in[MOST_THREADS];
    pthread_t id;
} threads[MOST_THREADS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t met;
static int is_serialized, thread_count, count;

static void alone(void (*step)(struct thread *), struct thread *of)
{
    if (is_serialized) pthread_mutex_lock(&lock);
    step(of);
    if (is_serialized) pthread_mutex_unlock(&lock);
    pthread_barrier_wait(&met);
}

static int length_of(const struct thread *of) { return (int)(of - threads) + 1; }

static void start(struct thread *of)
{
    for (int i = 0; i < count; i++) MPI_Irecv(of->in, length_of(of), MPI_INT, 0, 0, of->comm, &of->requests[i]);
}

static void ask(struct thread *of)
{
    int are_complete;
    MPI_Testall(count, of->requests, &are_complete, MPI_STATUSES_IGNORE);
    EXPECT(!are_complete);
}

static void send(struct thread *of)
{
    for (int i = 0; i < count; i++) MPI_Send(of->out, length_of(of), MPI_INT, 0, 0, of->comm);
}

static void wait_for(struct thread *of)
{
    MPI_Waitall(count, of->requests, MPI_STATUSES_IGNORE);
}

static void *run(void *argument)
{
    long own = (struct thread *)argument - threads;
    for (int round = 0; round < ROUNDS; round++) {
        alone(start, &threads[own]);
        alone(ask, &threads[(own + 1) % thread_count]);
        alone(send, &threads[own]);
        alone(wait_for, &threads[(own + 2) % thread_count]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    EXPECT(argc == 4);
    int provided, level = !strcmp(argv[1], "serialized") ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, level, &provided);
    EXPECT(provided >= level);
    is_serialized = level == MPI_THREAD_SERIALIZED;
    thread_count = atoi(argv[2]);
    count = atoi(argv[3]);
    EXPECT(thread_count <= MOST_THREADS);
    pthread_barrier_init(&met, NULL, thread_count);
    for (int t = 0; t < thread_count; t++) {
        MPI_Comm_dup(MPI_COMM_SELF, &threads[t].comm);
        threads[t].requests = malloc(sizeof(MPI_Request) * count);
    }
    for (int t = 0; t < thread_count; t++) pthread_create(&threads[t].id, NULL, run, &threads[t]);
    for (int t = 0; t < thread_count; t++) pthread_join(threads[t].id, NULL);
    MPI_Finalize();
    return 0;
}
