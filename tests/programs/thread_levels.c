/* The levels below MPI_THREAD_MULTIPLE, each with threads that end and others that start: with FUNNELED the main thread
 * calls between workers that compute, with SERIALIZED threads take turns and complete each other's requests, also where
 * handles come again. */
#include "generalized.h"
#include "truth.h"

enum { THREADS = 5, BATCHES = 4, TURNS = 3, LENGTH = 3000 };

static int right, left;
static char out[LENGTH], in[LENGTH];

static void start(MPI_Comm comm, const char *label, int tag, int bytes, MPI_Request requests[2])
{
    MPI_Irecv(in, LENGTH, MPI_BYTE, left, tag, comm, &requests[0]);
    received(label, "MPI_Irecv", bytes);
    MPI_Isend(out, bytes, MPI_BYTE, right, tag, comm, &requests[1]);
    sent(label, "MPI_Isend", right, bytes);
}

static void finish(const char *label, MPI_Request requests[2])
{
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
}

static void *compute(void *argument)
{
    volatile char *bytes = argument;
    for (int i = 0; i < LENGTH; i++)
        bytes[i]++;
    return NULL;
}

/* Only the main thread calls; the workers of each region are new threads. */
static void main_thread_only(int workers)
{
    static char scratch[THREADS][LENGTH];
    for (int batch = 0; batch < BATCHES * TURNS; batch++) {
        pthread_t threads[THREADS];
        MPI_Request requests[2];
        for (int i = 0; i < workers; i++)
            pthread_create(&threads[i], NULL, compute, scratch[i]);
        start(MPI_COMM_WORLD, "WORLD", batch, 100 * batch, requests);
        int one = 1, sum;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        carried("WORLD", "MPI_Allreduce", 4, 4, 4);
        for (int i = 0; i < workers; i++)
            pthread_join(threads[i], NULL);
        finish("WORLD", requests);
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn;
static MPI_Comm current = MPI_COMM_NULL;
static char current_label[LABEL_LENGTH];
static MPI_Request left_behind[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

/* One turn: completes what the thread before has started, replaces its communicator, and starts something new. */
static void take_turn(int number)
{
    if (current != MPI_COMM_NULL) {
        free_comm(&current, current_label);
        finish(current_label, left_behind);
    }
    snprintf(current_label, sizeof current_label, "turn %d", number);
    MPI_Comm_dup(MPI_COMM_WORLD, &current);
    made(current, current_label, "MPI_Comm_dup", "WORLD");
    start(current, current_label, number, 7 * number, left_behind);
}

static void *serialized(void *argument)
{
    int first = (int)(long)argument;
    for (int mine = 0; mine < TURNS; mine++) {
        pthread_mutex_lock(&lock);
        while (turn != first + mine * THREADS)
            pthread_cond_wait(&turned, &lock);
        take_turn(turn++);
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void taking_turns(void)
{
    for (int batch = 0; batch < BATCHES; batch++) {
        pthread_t threads[THREADS];
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, serialized, (void *)(batch * THREADS * TURNS + i));
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    finish(current_label, left_behind);
    free_comm(&current, current_label);
}

static void *send_to_nobody(void *request)
{
    MPI_Isend(out, 9, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_SELF, request);
    called("SELF", "MPI_Isend");
    return NULL;
}

/* What is complete at once has one handle, whoever has started it. */
static void one_handle_of_two_threads(void)
{
    pthread_t thread;
    MPI_Request requests[2];
    MPI_Isend(out, 9, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
    called("WORLD", "MPI_Isend");
    pthread_create(&thread, NULL, send_to_nobody, &requests[1]);
    pthread_join(thread, NULL);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    called("*", "MPI_Waitall");
    involved("WORLD", "MPI_Waitall");
    involved("SELF", "MPI_Waitall");
}

static int query(void *state UNUSED, MPI_Status *status)
{
    return grequest_status(status, 0);
}

static void *receive(void *request)
{
    MPI_Irecv(in, LENGTH, MPI_BYTE, 0, 1, MPI_COMM_SELF, request);
    received("SELF", "MPI_Irecv", 50);
    return NULL;
}

static void poll(const char *label, MPI_Request *request)
{
    int index, flag;
    MPI_Testany(1, request, &index, &flag, MPI_STATUS_IGNORE);
    called(label, "MPI_Testany");
    EXPECT(!flag);
}

/* A polled array holds the same handle again, of what another thread has started meanwhile. */
static void one_handle_after_the_other(void)
{
    pthread_t thread;
    MPI_Request own, request;
    MPI_Grequest_start(query, grequest_free, grequest_cancel, NULL, &own);
    request = own;
    poll("-", &request);
    poll("-", &request);
    PMPI_Grequest_complete(own);
    MPI_Wait(&own, MPI_STATUS_IGNORE);
    called("-", "MPI_Wait");
    pthread_create(&thread, NULL, receive, &request);
    pthread_join(thread, NULL);
    poll("SELF", &request);
    MPI_Send(out, 50, MPI_BYTE, 0, 1, MPI_COMM_SELF);
    sent("SELF", "MPI_Send", world_rank, 50);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    called("SELF", "MPI_Wait");
}

static void handles_again(void)
{
    for (int round = 0; round < 3; round++) {
        one_handle_of_two_threads();
        one_handle_after_the_other();
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"single", "funneled", "serialized"};
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED};
    int which = 0, provided;
    EXPECT(argc == 2);
    while (which < 2 && strcmp(argv[1], names[which]))
        which++;
    MPI_Init_thread(&argc, &argv, levels[which], &provided);
    truth_begin("MPI_Init_thread");
    EXPECT(provided >= levels[which]);
    right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    if (levels[which] == MPI_THREAD_SERIALIZED) {
        taking_turns();
        handles_again();
    } else {
        main_thread_only(levels[which] == MPI_THREAD_SINGLE ? 0 : THREADS);
    }
    truth_finalize();
    return 0;
}
