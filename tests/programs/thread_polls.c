/* MPI_THREAD_MULTIPLE: threads that complete what they have started themselves, in every form that programs repeat until all is done, while
 * one hands a request to another for the first time. Argument: in which round (5), or -1. */
#include "truth.h"

enum { THREADS = 6, ROUNDS = 24, PAIRS = 6, REQUESTS = 2 * PAIRS, LARGEST = 2048 };

static MPI_Comm lanes[THREADS], shared;
static int right, left, hands_over = 5;

static struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    int full;
    MPI_Request request;
} mailbox = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

/* A receive from the left and a send to the right, both under way. */
static void start(int which, const char *lane, int pair, int bytes, char *in, const char *out, MPI_Request requests[2])
{
    MPI_Irecv(in, LARGEST, MPI_BYTE, left, pair, lanes[which], &requests[0]);
    received(lane, "MPI_Irecv", bytes);
    MPI_Issend(out, bytes, MPI_BYTE, right, pair, lanes[which], &requests[1]);
    sent(lane, "MPI_Issend", right, bytes);
}

static void by_waitall(const char *lane, MPI_Request *requests)
{
    MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE);
    called(lane, "MPI_Waitall");
}

static void by_testall(const char *lane, MPI_Request *requests)
{
    for (int done = 0; !done;) {
        MPI_Testall(REQUESTS, requests, &done, MPI_STATUSES_IGNORE);
        called(lane, "MPI_Testall");
    }
}

static void by_waitany(const char *lane, MPI_Request *requests)
{
    for (int left = REQUESTS, index; left; left--) {
        MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE);
        called(lane, "MPI_Waitany");
        EXPECT(requests[index] == MPI_REQUEST_NULL);
    }
}

static void by_testany(const char *lane, MPI_Request *requests)
{
    for (int left = REQUESTS, index, done; left; left -= done) {
        MPI_Testany(REQUESTS, requests, &index, &done, MPI_STATUS_IGNORE);
        called(lane, "MPI_Testany");
    }
}

static void by_testsome(const char *lane, MPI_Request *requests)
{
    for (int left = REQUESTS, count, indices[REQUESTS]; left; left -= count) {
        MPI_Testsome(REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE);
        called(lane, "MPI_Testsome");
    }
}

/* What a poll over all has found is looked at by calls over one, too. */
static void by_turns(const char *lane, MPI_Request *requests)
{
    for (int left = REQUESTS, at = 0, index, done; left; left -= done, at = (at + 1) % REQUESTS) {
        MPI_Testany(REQUESTS, requests, &index, &done, MPI_STATUS_IGNORE);
        called(lane, "MPI_Testany");
        if (!done && requests[at] != MPI_REQUEST_NULL) {
            MPI_Test(&requests[at], &done, MPI_STATUS_IGNORE);
            called(lane, "MPI_Test");
        }
    }
}

static void (*const ways[])(const char *, MPI_Request *) = {by_waitall, by_testall,  by_waitany,
                                                            by_testany, by_testsome, by_turns};
enum { WAYS = sizeof ways / sizeof *ways };

/* From the first thread to the second; the others go on. It is a receive that is under way: sends that are complete at once have one handle,
 * whoever started them. */
static void hand_over(int which)
{
    static char in[LARGEST], out[LARGEST];
    enum { BYTES = 333 };
    MPI_Request request;
    if (which == 0) {
        MPI_Irecv(in, LARGEST, MPI_BYTE, left, 0, shared, &request);
        received("shared", "MPI_Irecv", BYTES);
        pthread_mutex_lock(&mailbox.lock);
        mailbox.request = request, mailbox.full = 1;
        pthread_cond_signal(&mailbox.filled);
        pthread_mutex_unlock(&mailbox.lock);
    } else if (which == 1) {
        pthread_mutex_lock(&mailbox.lock);
        while (!mailbox.full)
            pthread_cond_wait(&mailbox.filled, &mailbox.lock);
        request = mailbox.request;
        pthread_mutex_unlock(&mailbox.lock);
        MPI_Send(out, BYTES, MPI_BYTE, right, 0, shared);
        sent("shared", "MPI_Send", right, BYTES);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        called("shared", "MPI_Wait");
    }
}

static void *work(void *argument)
{
    int which = (int)(long)argument;
    const char *lane = label_of("lane %d", which);
    char in[PAIRS][LARGEST], out[LARGEST] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[REQUESTS];
        if (round == hands_over)
            hand_over(which);
        for (int pair = 0; pair < PAIRS; pair++)
            start(which, lane, pair, 100 * which + 7 * pair + round, in[pair], out, &requests[2 * pair]);
        ways[(which + round) % WAYS](lane, requests);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    truth_begin("MPI_Init_thread");
    EXPECT(provided == MPI_THREAD_MULTIPLE);
    if (argc > 1)
        hands_over = atoi(argv[1]);
    right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    made(shared, "shared", "MPI_Comm_dup", "WORLD");
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &lanes[i]);
        made(lanes[i], label_of("lane %d", i), "MPI_Comm_dup", "WORLD");
    }
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    truth_finalize();
    return 0;
}
