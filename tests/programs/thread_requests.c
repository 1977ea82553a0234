/* MPI_THREAD_MULTIPLE: what one thread starts, others start again, ask for, cancel, free and complete, in every form, and
 * also when the thread that started it has ended. Each pair of ranks works on its own. Needs an even number of ranks. */
#include "truth.h"

enum { A, B, KINDS, LENGTH = 3000 };
static MPI_Comm comms[KINDS];
static const char *const labels[] = {"A", "B"};
static int peer;
static char out[LENGTH], in[4][LENGTH];

/* The requests of one step: a receive and a send over A, the same over B. */
static MPI_Request requests[4];
static int active[KINDS];

static void *call(void *argument)
{
    (*(void (**)(void))argument)();
    return NULL;
}

/* Has another thread do it. */
static void elsewhere(void step(void))
{
    pthread_t thread;
    pthread_create(&thread, NULL, call, &step);
    pthread_join(thread, NULL);
}

static void meet(void)
{
    char token = 0;
    for (int which = A; which < KINDS; which++)
        PMPI_Sendrecv_replace(&token, 1, MPI_CHAR, peer, 77, peer, 77, comms[which], MPI_STATUS_IGNORE);
}

static void completed(const char *op)
{
    if (active[A] && active[B]) {
        called("*", op);
        involved("A", op);
        involved("B", op);
    } else {
        called(active[A] ? "A" : active[B] ? "B" : "-", op);
    }
}

static void over(int index)
{
    EXPECT(requests[index] == MPI_REQUEST_NULL);
    active[index / 2]--;
}

static void start(void)
{
    for (int which = A; which < KINDS; which++) {
        int bytes = 1000 * which + 200;
        MPI_Irecv(in[which], LENGTH, MPI_BYTE, peer, 1, comms[which], &requests[2 * which]);
        received(labels[which], "MPI_Irecv", bytes);
        MPI_Isend(out, bytes, MPI_BYTE, peer, 1, comms[which], &requests[2 * which + 1]);
        sent(labels[which], "MPI_Isend", peer, bytes);
        active[which] = 2;
    }
}

static void wait_all(void)
{
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    completed("MPI_Waitall");
    active[A] = active[B] = 0;
}

static void wait_each(void)
{
    for (int i = 3; i >= 0; i--) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        called(labels[i / 2], "MPI_Wait");
        over(i);
    }
}

static void wait_any(void)
{
    int index;
    MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
    completed("MPI_Waitany");
    over(index);
}

static void test_some(void)
{
    int count = 0, indices[4];
    while (count <= 0) {
        MPI_Testsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
        completed("MPI_Testsome");
        if (count == MPI_UNDEFINED)
            return;
    }
    for (int i = 0; i < count; i++)
        over(indices[i]);
}

static void test_all(void)
{
    for (int flag = 0; !flag;) {
        MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
        completed("MPI_Testall");
    }
    active[A] = active[B] = 0;
}

static void completions(void)
{
    start();
    elsewhere(wait_all);
    elsewhere(start); /* and has ended */
    wait_all();
    elsewhere(start);
    elsewhere(wait_each);
    start();
    elsewhere(wait_any);
    elsewhere(wait_any);
    wait_any();
    test_all();
    start();
    elsewhere(test_some);
    test_some();
    elsewhere(wait_all);
}

static void ask(void)
{
    int flag;
    MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    called("A", "MPI_Request_get_status");
}

static void ask_until(void)
{
    for (int flag = 0; !flag;) {
        MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
        called("A", "MPI_Request_get_status");
    }
}

static void cancel(void)
{
    MPI_Cancel(&requests[0]);
    called("A", "MPI_Cancel");
}

static void discard(void)
{
    MPI_Request_free(&requests[0]);
    called("A", "MPI_Request_free");
}

static void wait_first(void)
{
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    called("A", "MPI_Wait");
}

static void other_ends(void)
{
    MPI_Request take;
    for (int round = 0; round < 3; round++) {
        MPI_Irecv(in[0], LENGTH, MPI_BYTE, peer, 2, comms[A], &requests[0]);
        received("A", "MPI_Irecv", 70);
        elsewhere(ask);
        meet();
        MPI_Send(out, 70, MPI_BYTE, peer, 2, comms[A]);
        sent("A", "MPI_Send", peer, 70);
        elsewhere(ask_until);
        wait_first();

        MPI_Irecv(in[0], LENGTH, MPI_BYTE, peer, 3, comms[A], &requests[0]);
        called("A", "MPI_Irecv");
        elsewhere(cancel);
        elsewhere(wait_first);

        /* Certainly pending: the peer posts its receive only afterwards. */
        MPI_Issend(out, 30, MPI_BYTE, peer, 4, comms[A], &requests[0]);
        sent("A", "MPI_Issend", peer, 30);
        elsewhere(discard);
        meet();
        MPI_Irecv(in[1], LENGTH, MPI_BYTE, peer, 4, comms[A], &take);
        received("A", "MPI_Irecv", 30);
        MPI_Wait(&take, MPI_STATUS_IGNORE);
        called("A", "MPI_Wait");
        /* What was freed elsewhere is not taken for this, whatever its handle is. */
        start();
        wait_each();
    }
}

static void start_first(void)
{
    MPI_Start(&requests[0]);
}

static void start_both(void)
{
    MPI_Startall(2, requests);
    called("A", "MPI_Startall");
    added("A", "MPI_Startall", 90, 90);
    edge("A", "MPI_Startall", peer, 90);
}

static void wait_persistent(void)
{
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    called("A", "MPI_Waitall");
}

static void persistent(void)
{
    MPI_Recv_init(in[0], LENGTH, MPI_BYTE, peer, 5, comms[A], &requests[0]);
    called("A", "MPI_Recv_init");
    MPI_Send_init(out, 90, MPI_BYTE, peer, 5, comms[A], &requests[1]);
    carried("A", "MPI_Send_init", 90, 0, 0);
    for (int round = 0; round < 3; round++) {
        elsewhere(start_both);
        round == 1 ? wait_persistent() : elsewhere(wait_persistent);
        elsewhere(start_first);
        received("A", "MPI_Start", 90);
        MPI_Start(&requests[1]);
        sent("A", "MPI_Start", peer, 90);
        elsewhere(wait_persistent);
    }
    elsewhere(discard);
    requests[0] = requests[1];
    discard();
}

enum { STARTS = 100000 };

static void *start_often(void *request)
{
    for (int i = 0; i < STARTS; i++) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

/* One thread starts two requests, and another goes on with one of them, while the first goes on with the other: neither counts where the
 * other one does. */
static void persistent_apart(void)
{
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        MPI_Send_init(out, 90, MPI_BYTE, MPI_PROC_NULL, 5, comms[B], &requests[i]);
        called("B", "MPI_Send_init");
        MPI_Start(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    pthread_create(&thread, NULL, start_often, &requests[0]);
    start_often(&requests[1]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2 * (STARTS + 1); i++) {
        called("B", "MPI_Start");
        called("B", "MPI_Wait");
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&requests[i]);
        called("B", "MPI_Request_free");
    }
}

static MPI_Comm copy;

static void duplicates(void)
{
    MPI_Request request;
    for (int round = 0; round < 3; round++) {
        const char *label = label_of("copy %d", round);
        int ordinal = next_ordinal();
        MPI_Comm_idup(comms[A], &copy, &request);
        called("A", "MPI_Comm_idup");
        requests[0] = request;
        elsewhere(wait_first);
        made_as(copy, label, "MPI_Comm_idup", "A", ordinal);
        MPI_Sendrecv(out, 10, MPI_BYTE, peer, 1, in[0], LENGTH, MPI_BYTE, peer, 1, copy, MPI_STATUS_IGNORE);
        carried(label, "MPI_Sendrecv", 10, 10, 10);
        edge(label, "MPI_Sendrecv", peer, 10);
        free_comm(&copy, label);
    }
}

static MPI_Message message;

static void receive_message(void)
{
    MPI_Imrecv(in[0], LENGTH, MPI_BYTE, &message, &requests[0]);
    received("A", "MPI_Imrecv", 400);
}

static void messages(void)
{
    MPI_Request give;
    MPI_Isend(out, 400, MPI_BYTE, peer, 6, comms[A], &give);
    sent("A", "MPI_Isend", peer, 400);
    MPI_Mprobe(peer, 6, comms[A], &message, MPI_STATUS_IGNORE);
    called("A", "MPI_Mprobe");
    elsewhere(receive_message);
    wait_first();
    requests[0] = give;
    elsewhere(wait_first);
}

/* Requests that are complete at once share one handle, over all threads. */
static void *share(void *argument)
{
    enum { MANY = 300 };
    int which = (int)(long)argument;
    MPI_Request own[MANY];
    for (int i = 0; i < MANY; i++) {
        MPI_Isend(out, 9, MPI_BYTE, MPI_PROC_NULL, 1, comms[which], &own[i]);
        called(labels[which], "MPI_Isend");
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Wait(&own[i], MPI_STATUS_IGNORE);
        called(labels[which], "MPI_Wait");
    }
    return NULL;
}

static MPI_Request of_both[2];

static void send_to_nobody(void)
{
    MPI_Isend(out, 9, MPI_BYTE, MPI_PROC_NULL, 1, comms[B], &of_both[1]);
    called("B", "MPI_Isend");
}

/* One array holds the handle twice, each time for another thread's request. */
static void shared_handles_at_once(void)
{
    for (int round = 0; round < 3; round++) {
        MPI_Isend(out, 9, MPI_BYTE, MPI_PROC_NULL, 1, comms[A], &of_both[0]);
        called("A", "MPI_Isend");
        elsewhere(send_to_nobody);
        MPI_Waitall(2, of_both, MPI_STATUSES_IGNORE);
        called("*", "MPI_Waitall");
        involved("A", "MPI_Waitall");
        involved("B", "MPI_Waitall");
    }
}

static void shared_handles(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, share, (void *)(i % KINDS));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    truth_begin("MPI_Init_thread");
    EXPECT(provided == MPI_THREAD_MULTIPLE && world_size % 2 == 0);
    peer = world_rank ^ 1;
    for (int which = A; which < KINDS; which++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[which]);
        made(comms[which], labels[which], "MPI_Comm_dup", "WORLD");
    }
    completions();
    other_ends();
    persistent();
    persistent_apart();
    duplicates();
    messages();
    shared_handles();
    shared_handles_at_once();
    truth_finalize();
    return 0;
}
