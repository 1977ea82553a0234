/* Ends of requests that surprise: errors in lists, cancellation by every completion call, generalized requests among
 * others, questions before the end. Each pair of ranks works on its own. Needs an even number of ranks. What the library
 * is free to decide is printed, and must be the same without the profiler. */
#include "generalized.h"
#include "truth.h"

enum { A, B, KINDS, LENGTH = 64 };
static MPI_Comm comms[KINDS];
static const char *const labels[] = {"A", "B"};
static int peer;
static char out[4096], in[8][4096];

static void isend(int which, int tag, int bytes, MPI_Request *request)
{
    MPI_Isend(out, bytes, MPI_BYTE, peer, tag, comms[which], request);
    sent(labels[which], "MPI_Isend", peer, bytes);
}

static void wait_for(int which, MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    called(labels[which], "MPI_Wait");
    EXPECT(*request == MPI_REQUEST_NULL);
}

/* Waits until the peer is here as well, and so until what it sent has come; unseen by the profiler. */
static void meet(void)
{
    char token = 0;
    for (int which = A; which < KINDS; which++)
        PMPI_Sendrecv_replace(&token, 1, MPI_CHAR, peer, 77, peer, 77, comms[which], MPI_STATUS_IGNORE);
}

static int class_of(int code)
{
    int class = 0;
    if (code)
        PMPI_Error_class(code, &class);
    return class;
}

static void say(const char *what, int value)
{
    if (world_rank == 0)
        printf("%s: %d\n", what, value);
}

/* Receives, as a list that a completion call works on, and what is known of each. */
static struct list {
    MPI_Request requests[4];
    int which[4], bytes[4], length;
} list;

static void charge(const char *op, int code, const int active[KINDS])
{
    const char *label = active[A] && active[B] ? "*" : active[A] ? "A" : active[B] ? "B" : "-";
    code ? failed(label, op, 0) : called(label, op);
    for (int which = A; which < KINDS; which++)
        if (active[A] && active[B])
            involved(labels[which], op);
}

static void count_active(int active[KINDS])
{
    active[A] = active[B] = 0;
    for (int i = 0; i < list.length; i++)
        if (list.requests[i] != MPI_REQUEST_NULL)
            active[list.which[i]]++;
}

/* A receive of the list is over; `bytes` arrived. */
static void over(int index, int bytes)
{
    received(labels[list.which[index]], "MPI_Irecv", bytes);
}

enum form { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, FORMS };
static const char *const ops[] = {"MPI_Wait",    "MPI_Test",    "MPI_Waitall",  "MPI_Testall",
                                  "MPI_Waitany", "MPI_Testany", "MPI_Waitsome", "MPI_Testsome"};

/* One call over the whole list (or its first active request), noted with what it says of each receive it ends. */
static int call(enum form form, int ignore)
{
    MPI_Status statuses[4], *all = ignore ? MPI_STATUSES_IGNORE : statuses, *one = ignore ? MPI_STATUS_IGNORE : statuses;
    MPI_Request before[4];
    int active[KINDS], indices[4], index = 0, count = 0, flag = 1, code = 0, length = list.length;
    memcpy(before, list.requests, sizeof before);
    count_active(active);
    while ((form == WAIT || form == TEST) && before[index] == MPI_REQUEST_NULL)
        index++;
    switch (form) {
    case WAIT: code = MPI_Wait(&list.requests[index], one); break;
    case TEST: code = MPI_Test(&list.requests[index], &flag, one); break;
    case WAITALL: code = MPI_Waitall(length, list.requests, all); break;
    case TESTALL: code = MPI_Testall(length, list.requests, &flag, all); break;
    case WAITANY: code = MPI_Waitany(length, list.requests, &index, one); break;
    case TESTANY: code = MPI_Testany(length, list.requests, &index, &flag, one); break;
    case WAITSOME: code = MPI_Waitsome(length, list.requests, &count, indices, all); break;
    default: code = MPI_Testsome(length, list.requests, &count, indices, all); break;
    }
    if (form == WAIT || form == TEST)
        active[A] = list.which[index] == A, active[B] = list.which[index] == B;
    charge(ops[form], code, active);
    int ended = 0;
    for (int i = 0; i < length; i++)
        if (before[i] != MPI_REQUEST_NULL && list.requests[i] == MPI_REQUEST_NULL) {
            over(i, list.bytes[i] > LENGTH ? 0 : list.bytes[i]);
            ended++;
        }
    return code ? -class_of(code) : ended;
}

/* The second of four messages is larger than the receive: its receive fails, the others do not. */
static void truncation(enum form form, int ignore, int several)
{
    static const int sizes[] = {20, 100, 30, 0};
    MPI_Request give[4];
    list.length = 4;
    for (int i = 0; i < 4; i++) {
        list.which[i] = several ? i % 2 : A, list.bytes[i] = sizes[i];
        MPI_Irecv(in[i], LENGTH, MPI_BYTE, peer, i, comms[list.which[i]], &list.requests[i]);
    }
    meet();
    for (int i = 0; i < 4; i++)
        isend(list.which[i], i, sizes[i], &give[i]);
    meet();
    for (int turn = 0; turn < 100; turn++) {
        int active[KINDS];
        count_active(active);
        if (!active[A] && !active[B])
            break;
        /* What a failing call leaves behind is taken one by one. */
        int result = call(turn < 20 ? form : WAIT, ignore);
        if (result < 0)
            say(ops[form], result);
    }
    for (int i = 0; i < 4; i++)
        EXPECT(list.requests[i] == MPI_REQUEST_NULL);
    for (int i = 0; i < 4; i++)
        wait_for(list.which[i], &give[i]);
}

/* Receives that are cancelled end without bytes, by whatever call they end. The third is met by a message as usual. */
static void cancellation(enum form form, int ignore)
{
    MPI_Request give;
    list.length = 3;
    for (int i = 0; i < 3; i++) {
        list.which[i] = i % 2, list.bytes[i] = i == 2 ? 50 : 0;
        MPI_Irecv(in[i], LENGTH, MPI_BYTE, peer, i, comms[list.which[i]], &list.requests[i]);
    }
    meet();
    for (int i = 0; i < 2; i++) {
        MPI_Cancel(&list.requests[i]);
        called(labels[list.which[i]], "MPI_Cancel");
    }
    isend(A, 2, 50, &give);
    for (int active[KINDS];;) {
        count_active(active);
        if (!active[A] && !active[B])
            break;
        EXPECT(call(form, ignore) >= 0);
    }
    wait_for(A, &give);
}

/* A send that is cancelled, where the library can do so; else it is sent as usual. It counts as it was started. */
static void cancelled_send(void)
{
    MPI_Request give, take;
    MPI_Status status;
    int cancelled, other;
    MPI_Issend(out, 40, MPI_BYTE, peer, 9, comms[B], &give);
    sent("B", "MPI_Issend", peer, 40);
    MPI_Cancel(&give);
    called("B", "MPI_Cancel");
    /* Cancelled, it ends without the peer; else only the peer's receive ends it. */
    int flag = 0;
    for (int i = 0; i < 1000 && !flag; i++) {
        MPI_Test(&give, &flag, &status);
        called("B", "MPI_Test");
    }
    cancelled = 0;
    if (flag)
        PMPI_Test_cancelled(&status, &cancelled);
    PMPI_Sendrecv(&cancelled, 1, MPI_INT, peer, 78, &other, 1, MPI_INT, peer, 78, comms[A], MPI_STATUS_IGNORE);
    if (!other) {
        MPI_Irecv(in[0], LENGTH, MPI_BYTE, peer, 9, comms[B], &take);
        received("B", "MPI_Irecv", 40);
        wait_for(B, &take);
    }
    if (!flag)
        wait_for(B, &give);
}

static int units;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    /* More than any message here: it must not be taken for one's bytes. */
    return grequest_status(status, units);
}

static void begin(MPI_Request *request)
{
    MPI_Grequest_start(query, grequest_free, grequest_cancel, NULL, request);
}

/* Requests of the program's own belong to no communicator; among others they change nothing. */
static void generalized(void)
{
    MPI_Request pair[3], give, lone;
    MPI_Status statuses[3];
    int flag, index, count, indices[3];
    units = 3000;
    for (int round = 0; round < 3; round++) {
        begin(&lone);
        MPI_Test(&lone, &flag, statuses);
        called("-", "MPI_Test");
        EXPECT(!flag);
        PMPI_Grequest_complete(lone);
        MPI_Request_get_status(lone, &flag, MPI_STATUS_IGNORE);
        called("-", "MPI_Request_get_status");
        EXPECT(flag);
        round == 1 ? MPI_Request_free(&lone) : MPI_Wait(&lone, statuses);
        called("-", round == 1 ? "MPI_Request_free" : "MPI_Wait");

        /* With a receive of A: the call is A's. Then with a send of B as well: the row of several. */
        begin(&pair[0]);
        PMPI_Grequest_complete(pair[0]);
        MPI_Irecv(in[0], LENGTH, MPI_BYTE, peer, 1, comms[A], &pair[1]);
        received("A", "MPI_Irecv", 7);
        isend(A, 1, 7, &give);
        pair[2] = MPI_REQUEST_NULL;
        if (round == 0) {
            MPI_Waitall(3, pair, statuses);
            called("A", "MPI_Waitall");
        } else if (round == 1) {
            MPI_Waitany(2, &pair[0], &index, MPI_STATUS_IGNORE);
            called("A", "MPI_Waitany");
            MPI_Waitany(2, &pair[0], &index, MPI_STATUS_IGNORE);
            /* The library chooses which of the two it ends first. */
            called(index == 0 ? "-" : "A", "MPI_Waitany");
        } else {
            for (int done = 0; done < 2; done += count) {
                int active = pair[1] != MPI_REQUEST_NULL;
                MPI_Waitsome(3, pair, &count, indices, MPI_STATUSES_IGNORE);
                called(active ? "A" : "-", "MPI_Waitsome");
            }
        }
        EXPECT(pair[0] == MPI_REQUEST_NULL && pair[1] == MPI_REQUEST_NULL);
        wait_for(A, &give);

        begin(&pair[0]);
        PMPI_Grequest_complete(pair[0]);
        MPI_Irecv(in[0], LENGTH, MPI_BYTE, peer, 2, comms[A], &pair[1]);
        received("A", "MPI_Irecv", 9);
        isend(B, 3, 5, &pair[2]);
        isend(A, 2, 9, &give);
        MPI_Waitall(3, pair, MPI_STATUSES_IGNORE);
        called("*", "MPI_Waitall");
        involved("A", "MPI_Waitall");
        involved("B", "MPI_Waitall");
        wait_for(A, &give);
        MPI_Recv(in[0], LENGTH, MPI_BYTE, peer, 3, comms[B], MPI_STATUS_IGNORE);
        received("B", "MPI_Recv", 5);
        /* Their handles may be those of real requests now. */
        isend(B, 4, 6, &pair[0]);
        MPI_Irecv(in[0], LENGTH, MPI_BYTE, peer, 4, comms[B], &pair[1]);
        received("B", "MPI_Irecv", 6);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        called("B", "MPI_Waitall");
    }
}

/* Asked before it is ended: counted once, and its bytes once. */
static void asked_first(int ignore)
{
    MPI_Request take, give;
    MPI_Status status;
    int flag = 0, count;
    MPI_Irecv(in[0], LENGTH, MPI_BYTE, peer, 5, comms[B], &take);
    received("B", "MPI_Irecv", 33);
    MPI_Request_get_status(take, &flag, ignore ? MPI_STATUS_IGNORE : &status);
    called("B", "MPI_Request_get_status");
    EXPECT(!flag);
    meet();
    isend(B, 5, 33, &give);
    while (!flag) {
        MPI_Request_get_status(take, &flag, ignore ? MPI_STATUS_IGNORE : &status);
        called("B", "MPI_Request_get_status");
    }
    if (!ignore) {
        PMPI_Get_count(&status, MPI_BYTE, &count);
        EXPECT(count == 33);
    }
    wait_for(B, &take);
    wait_for(B, &give);
}

/* Nothing comes from MPI_PROC_NULL: its message stands for itself and belongs to nobody. */
static void no_process(void)
{
    MPI_Message message;
    MPI_Request request;
    int flag;
    for (int which = A; which < KINDS; which++) {
        MPI_Mprobe(MPI_PROC_NULL, 1, comms[which], &message, MPI_STATUS_IGNORE);
        called(labels[which], "MPI_Mprobe");
        EXPECT(message == MPI_MESSAGE_NO_PROC);
    }
    MPI_Mrecv(in[0], LENGTH, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    called("-", "MPI_Mrecv");
    EXPECT(message == MPI_MESSAGE_NULL);
    MPI_Improbe(MPI_PROC_NULL, 1, comms[A], &flag, &message, MPI_STATUS_IGNORE);
    called("A", "MPI_Improbe");
    EXPECT(flag && message == MPI_MESSAGE_NO_PROC);
    MPI_Imrecv(in[0], LENGTH, MPI_BYTE, &message, &request);
    called("-", "MPI_Imrecv");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    called("-", "MPI_Wait");
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(world_size % 2 == 0);
    peer = world_rank ^ 1;
    for (int which = A; which < KINDS; which++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[which]);
        made(comms[which], labels[which], "MPI_Comm_dup", "WORLD");
        PMPI_Comm_set_errhandler(comms[which], MPI_ERRORS_RETURN);
    }
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int ignore = 0; ignore < 2; ignore++) {
        for (enum form form = WAIT; form < FORMS; form++) {
            truncation(form, ignore, 0);
            truncation(form, ignore, 1);
            cancellation(form, ignore);
        }
        asked_first(ignore);
    }
    cancelled_send();
    generalized();
    no_process();
    truth_finalize();
    return 0;
}
