/* MPI_THREAD_MULTIPLE at its worst: many threads that start and end, make and free communicators, use one communicator all
 * together, and complete each other's requests, while handles of communicators and requests are given again and again.
 * The places at which communicators are made are the threads' race: labels tell them apart. */
#include "truth.h"

enum { THREADS = 8, BATCHES = 6, ROUNDS = 4, LARGEST = 4096 };

static MPI_Comm lanes[THREADS], shared;
static int right, left;

/* Where a thread leaves two requests for its neighbour. */
static struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int full, bytes;
    MPI_Request requests[2];
} mailboxes[THREADS];

static void put(struct mailbox *box, const MPI_Request requests[2], int bytes)
{
    pthread_mutex_lock(&box->lock);
    while (box->full)
        pthread_cond_wait(&box->changed, &box->lock);
    memcpy(box->requests, requests, sizeof box->requests);
    box->full = 1, box->bytes = bytes;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

static void take(struct mailbox *box, MPI_Request requests[2], int *bytes)
{
    pthread_mutex_lock(&box->lock);
    while (!box->full)
        pthread_cond_wait(&box->changed, &box->lock);
    memcpy(requests, box->requests, sizeof box->requests);
    box->full = 0, *bytes = box->bytes;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

/* A receive from the left and a send to the right, both under way. */
static void start(MPI_Comm comm, const char *label, int tag, int bytes, char *in, const char *out, MPI_Request requests[2])
{
    MPI_Irecv(in, LARGEST, MPI_BYTE, left, tag, comm, &requests[0]);
    received(label, "MPI_Irecv", bytes);
    MPI_Issend(out, bytes, MPI_BYTE, right, tag, comm, &requests[1]);
    sent(label, "MPI_Issend", world_rank_of(comm, right), bytes);
}

/* A duplicate of this thread's lane, half of it, and messages over both. */
static void churn(int which, int batch, int round)
{
    const char *lane = label_of("lane %d", which);
    char copy[LABEL_LENGTH], part[LABEL_LENGTH], in[2][LARGEST], out[LARGEST] = {0};
    snprintf(copy, sizeof copy, "copy %d %d %d", which, batch, round);
    snprintf(part, sizeof part, "part %d %d %d", which, batch, round);
    MPI_Comm duplicate, half;
    MPI_Request requests[4];
    MPI_Comm_dup(lanes[which], &duplicate);
    called(lane, "MPI_Comm_dup");
    made_as(duplicate, copy, "MPI_Comm_dup", lane, ANY_ORDINAL);
    MPI_Comm_split(duplicate, 0, world_rank, &half);
    called(copy, "MPI_Comm_split");
    made_as(half, part, "MPI_Comm_split", copy, ANY_ORDINAL);

    start(duplicate, copy, 1, 10 * which + round, in[0], out, &requests[0]);
    start(half, part, 2, 500 * which + round, in[1], out, &requests[2]);
    if (round % 2) {
        free_comm(&half, part); /* before its requests have completed */
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        called("*", "MPI_Waitall");
        involved(copy, "MPI_Waitall");
        involved(part, "MPI_Waitall");
    } else {
        for (int i = 3; i >= 0; i--) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            called(i < 2 ? copy : part, "MPI_Wait");
        }
        int one = 1, sum;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
        carried(part, "MPI_Allreduce", 4, 4, 4);
        EXPECT(sum == world_size);
        free_comm(&half, part);
    }
    free_comm(&duplicate, copy);
}

/* All threads over one communicator; each completes what its neighbour has started. */
static void hand_over(int which, int round)
{
    static char in[THREADS][LARGEST], out[LARGEST];
    MPI_Request own[2], others[2];
    MPI_Status status;
    int bytes = 100 * which + round, expected, count;
    start(shared, "shared", which, bytes, in[which], out, own);
    put(&mailboxes[which], own, bytes);
    take(&mailboxes[(which + 1) % THREADS], others, &expected);
    MPI_Wait(&others[0], &status);
    called("shared", "MPI_Wait");
    PMPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count == expected && status.MPI_TAG == (which + 1) % THREADS);
    MPI_Wait(&others[1], MPI_STATUS_IGNORE);
    called("shared", "MPI_Wait");
}

static pthread_barrier_t round_over;

static void *work(void *argument)
{
    int which = (int)((long)argument % THREADS), batch = (int)((long)argument / THREADS);
    for (int round = 0; round < ROUNDS; round++) {
        churn(which, batch, round);
        hand_over(which, round);
        /* The buffer of the next receive is completed by the neighbour. */
        pthread_barrier_wait(&round_over);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, batches = argc > 1 ? atoi(argv[1]) : BATCHES;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    truth_begin("MPI_Init_thread");
    EXPECT(provided == MPI_THREAD_MULTIPLE);
    right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    made(shared, "shared", "MPI_Comm_dup", "WORLD");
    for (int i = 0; i < THREADS; i++) {
        pthread_mutex_init(&mailboxes[i].lock, NULL);
        pthread_cond_init(&mailboxes[i].changed, NULL);
        MPI_Comm_dup(MPI_COMM_WORLD, &lanes[i]);
        made(lanes[i], label_of("lane %d", i), "MPI_Comm_dup", "WORLD");
    }
    pthread_barrier_init(&round_over, NULL, THREADS);
    for (int batch = 0; batch < batches; batch++) {
        pthread_t threads[THREADS];
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, work, (void *)(batch * THREADS + i));
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    truth_finalize();
    return 0;
}
