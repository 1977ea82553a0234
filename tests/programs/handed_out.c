/* MPI_THREAD_MULTIPLE: a handle that the library gives anew while the call that has completed its request goes on. An error handler holds
 * that call: meanwhile another thread starts a receive, which gets the handle, and a third one completes it. For Open MPI: MPICH holds
 * its lock while it calls a handler, and Open MPI's MPI_Waitall may wait for ever for what has failed before. Each way needs a process of
 * its own, since threads look for each other's requests for the first time there. Argument: anew, testall, testsome, status, nested,
 * left or polled. */
#include <setjmp.h>

#include "truth.h"

enum { SMALL = 64, FIRST, SECOND, THIRD };

static MPI_Comm own, others;

/* What the threads do one after the other. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int step;
enum { IS_HELD = 1, IS_STARTED, IS_COMPLETED };
static MPI_Request started;

static void reach(int reached)
{
    pthread_mutex_lock(&lock);
    step = reached;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await(int awaited)
{
    pthread_mutex_lock(&lock);
    while (step < awaited)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void *start(void *unused)
{
    static char in[SMALL];
    await(IS_HELD);
    MPI_Irecv(in, SMALL, MPI_BYTE, 0, 0, others, &started);
    received("others", "MPI_Irecv", 5);
    reach(IS_STARTED);
    await(IS_COMPLETED); /* what a thread has started passes to the next one when it ends */
    return unused;
}

static void *complete(void *unused)
{
    char out[SMALL] = {0};
    await(IS_STARTED);
    MPI_Send(out, 5, MPI_BYTE, 0, 0, others);
    sent("others", "MPI_Send", 0, 5);
    MPI_Request handed = started;
    MPI_Wait(&handed, MPI_STATUS_IGNORE);
    called("others", "MPI_Wait");
    reach(IS_COMPLETED);
    return unused;
}

/* For `nested`: the handler looks at a request of its own. */
static MPI_Request third = MPI_REQUEST_NULL;

/* For `left`: the handler jumps out of the call before that one. */
static jmp_buf before;
static int leaves;

static void hold(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    if (leaves) {
        leaves = 0;
        longjmp(before, 1);
    }
    if (third != MPI_REQUEST_NULL) {
        int done;
        MPI_Test(&third, &done, MPI_STATUS_IGNORE);
        called("own", "MPI_Test");
        EXPECT(!done);
    }
    reach(IS_HELD);
    await(IS_COMPLETED);
}

static void send(int bytes, int tag)
{
    static char out[2 * SMALL];
    MPI_Send(out, bytes, MPI_BYTE, 0, tag, own);
    sent("own", "MPI_Send", 0, bytes);
}

/* The second rank sends a message that is too long for its buffer, and then one that is not: where that has arrived, so has the other. */
static void send_both(void)
{
    send(2 * SMALL, SECOND);
    send(9, FIRST);
}

static void let_arrive(void)
{
    PMPI_Barrier(own);
    PMPI_Barrier(own);
}

/* The next call, which looks at requests, has to find out that this one is over. */
static void leave_a_call(void)
{
    leaves = 1;
    if (setjmp(before) == 0)
        MPI_Send(NULL, 0, MPI_BYTE, world_size, 0, own);
    failed("own", "MPI_Send", 0);
}

static void complete_both(const char *way)
{
    int done, count, indices[2], code;
    char in[3][SMALL];
    MPI_Request requests[2], second;
    MPI_Status statuses[2];
    MPI_Irecv(in[0], SMALL, MPI_BYTE, 1, FIRST, own, &requests[0]);
    received("own", "MPI_Irecv", 9);
    MPI_Irecv(in[1], SMALL, MPI_BYTE, 1, SECOND, own, &requests[1]);
    carried("own", "MPI_Irecv", 0, 0, 0);
    second = requests[1];
    if (!strcmp(way, "nested")) {
        MPI_Irecv(in[2], SMALL, MPI_BYTE, 1, THIRD, own, &third);
        received("own", "MPI_Irecv", 9);
    }
    /* The first call of a function is not yet as fast as those behind it, and takes another path. */
    int polls = strcmp(way, "anew") ? 3 : 0;
    if (!strcmp(way, "testsome")) {
        for (int i = 0; i < polls; i++) {
            MPI_Testsome(2, requests, &count, indices, statuses);
            called("own", "MPI_Testsome");
        }
        let_arrive();
        code = MPI_Testsome(2, requests, &count, indices, statuses);
        failed("own", "MPI_Testsome", 0);
    } else {
        MPI_Request none = MPI_REQUEST_NULL;
        MPI_Testall(1, &none, &done, statuses);
        called("-", "MPI_Testall");
        for (int i = 0; i < polls; i++) {
            MPI_Testall(2, requests, &done, statuses);
            called("own", "MPI_Testall");
        }
        if (!strcmp(way, "status")) {
            MPI_Request_get_status(requests[1], &done, MPI_STATUS_IGNORE);
            called("own", "MPI_Request_get_status");
        }
        let_arrive();
        if (!strcmp(way, "left"))
            leave_a_call();
        code = MPI_Testall(2, requests, &done, statuses);
        failed("own", "MPI_Testall", 0);
    }
    EXPECT(code == MPI_ERR_IN_STATUS && requests[1] == MPI_REQUEST_NULL);
    /* Otherwise nothing is tested here. */
    EXPECT(started == second);
    PMPI_Barrier(own);
    if (third != MPI_REQUEST_NULL) {
        MPI_Wait(&third, MPI_STATUS_IGNORE);
        called("own", "MPI_Wait");
    }
}

static void *wait_for_it(void *unused)
{
    MPI_Wait(&started, MPI_STATUS_IGNORE);
    called("own", "MPI_Wait");
    return unused;
}

/* The poll is called from where the call was that has been left, and is over when it returns: what it has looked at is any thread's. */
static void poll_and_hand_over(void)
{
    int done;
    char in[SMALL];
    pthread_t thread;
    MPI_Irecv(in, SMALL, MPI_BYTE, 1, FIRST, own, &started);
    received("own", "MPI_Irecv", 9);
    leaves = 1;
    if (setjmp(before) == 0)
        MPI_Send(NULL, 0, MPI_BYTE, world_size, 0, own);
    failed("own", "MPI_Send", 0);
    for (int i = 0; i < 3; i++) {
        MPI_Test(&started, &done, MPI_STATUS_IGNORE);
        called("own", "MPI_Test");
        EXPECT(!done);
    }
    PMPI_Barrier(own);
    pthread_create(&thread, NULL, wait_for_it, NULL);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Errhandler handler;
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    truth_begin("MPI_Init_thread");
    EXPECT(world_size == 2 && argc == 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    made(own, "own", "MPI_Comm_dup", "WORLD");
    MPI_Comm_dup(MPI_COMM_WORLD, &others);
    made(others, "others", "MPI_Comm_dup", "WORLD");
    PMPI_Comm_create_errhandler(hold, &handler);
    PMPI_Comm_set_errhandler(own, handler);
    if (!strcmp(argv[1], "polled")) {
        if (world_rank == 0) {
            poll_and_hand_over();
        } else {
            PMPI_Barrier(own);
            send(9, FIRST);
        }
    } else if (world_rank == 0) {
        pthread_create(&threads[0], NULL, start, NULL);
        pthread_create(&threads[1], NULL, complete, NULL);
        complete_both(argv[1]);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
    } else {
        PMPI_Barrier(own);
        send_both();
        PMPI_Barrier(own);
        PMPI_Barrier(own);
        if (!strcmp(argv[1], "nested"))
            send(9, THIRD);
    }
    truth_finalize();
    return 0;
}
