/* Every form of completion, over requests of no, one and several communicators. The communicators are duplicates of
 * MPI_COMM_WORLD; each pair of ranks works on its own. Needs an even number of ranks. */
#include "generalized.h"
#include "truth.h"

enum { A, B, KINDS };
static MPI_Comm comms[KINDS];
static const char *const labels[] = {"A", "B"};
static int peer;
static char out[4096], in[64][4096];

/* What a completion call over `active[A]` and `active[B]` active requests is charged to. */
static void completed(const char *op, const int active[KINDS])
{
    if (active[A] && active[B]) {
        called("*", op);
        involved("A", op);
        involved("B", op);
    } else {
        called(active[A] ? "A" : active[B] ? "B" : "-", op);
    }
}

static void complete(int which, MPI_Request *request, MPI_Status *status)
{
    MPI_Wait(request, status);
    called(labels[which], "MPI_Wait");
    EXPECT(*request == MPI_REQUEST_NULL);
}

static void isend(int which, int tag, int bytes, MPI_Request *request)
{
    MPI_Isend(out, bytes, MPI_BYTE, peer, tag, comms[which], request);
    sent(labels[which], "MPI_Isend", peer, bytes);
}

/* Counted when it is posted; the number of bytes is the program's to know. */
static void irecv(int which, int tag, int bytes, char *buffer, MPI_Request *request)
{
    MPI_Irecv(buffer, sizeof in[0], MPI_BYTE, peer, tag, comms[which], request);
    received(labels[which], "MPI_Irecv", bytes);
}

/* Waits until the peer is here as well; unseen by the profiler. */
static void meet(void)
{
    char token = 0;
    PMPI_Sendrecv_replace(&token, 1, MPI_CHAR, peer, 77, peer, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void over_nothing(void)
{
    MPI_Request none[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, idle;
    MPI_Status statuses[3];
    int index, flag, count, indices[3];

    PMPI_Recv_init(in[0], 1, MPI_BYTE, peer, 1, comms[A], &idle); /* inactive: never started */
    for (int turn = 0; turn < 2; turn++) {
        /* First null requests, then an inactive one among them. */
        MPI_Request *list = none;
        if (turn)
            none[1] = idle;
        for (int ignore = 0; ignore < 2; ignore++) {
            MPI_Status *one = ignore ? MPI_STATUS_IGNORE : statuses;
            MPI_Status *all = ignore ? MPI_STATUSES_IGNORE : statuses;
            MPI_Wait(&list[1], one);
            called("-", "MPI_Wait");
            MPI_Test(&list[1], &flag, one);
            called("-", "MPI_Test");
            EXPECT(flag);
            MPI_Waitany(3, list, &index, one);
            called("-", "MPI_Waitany");
            EXPECT(index == MPI_UNDEFINED);
            MPI_Testany(3, list, &index, &flag, one);
            called("-", "MPI_Testany");
            EXPECT(flag && index == MPI_UNDEFINED);
            MPI_Waitall(3, list, all);
            called("-", "MPI_Waitall");
            MPI_Testall(3, list, &flag, all);
            called("-", "MPI_Testall");
            EXPECT(flag);
            MPI_Waitsome(3, list, &count, indices, all);
            called("-", "MPI_Waitsome");
            EXPECT(count == MPI_UNDEFINED);
            MPI_Testsome(3, list, &count, indices, all);
            called("-", "MPI_Testsome");
            EXPECT(count == MPI_UNDEFINED);
            MPI_Request_get_status(list[1], &flag, one);
            called("-", "MPI_Request_get_status");
            EXPECT(flag);
        }
    }
    PMPI_Request_free(&idle);
    /* Empty lists: no array at all. */
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    called("-", "MPI_Waitall");
    MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
    called("-", "MPI_Testall");
    MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE);
    called("-", "MPI_Waitany");
    MPI_Testany(0, NULL, &index, &flag, MPI_STATUS_IGNORE);
    called("-", "MPI_Testany");
    MPI_Waitsome(0, NULL, &count, indices, MPI_STATUSES_IGNORE);
    called("-", "MPI_Waitsome");
    MPI_Testsome(0, NULL, &count, indices, MPI_STATUSES_IGNORE);
    called("-", "MPI_Testsome");
}

/* A pair of requests in any two places among nulls, by which the array may begin; and nulls alone, of which there may be many. */
static void among_nulls(void)
{
    enum { LONGEST = 80 };
    static const int lengths[] = {2, 3, 9, 31, 32, 33, 64, 79, LONGEST};
    MPI_Request list[LONGEST];
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int length = lengths[i], places[] = {0, 1, length / 2, length - 2, length - 1};
        for (int take = 0; take < 5; take++)
            for (int give = 0; give < 5; give++) {
                for (int j = 0; j < length; j++) list[j] = MPI_REQUEST_NULL;
                if (places[take] != places[give]) {
                    irecv(A, 5, 40, in[0], &list[places[take]]);
                    isend(A, 5, 40, &list[places[give]]);
                }
                MPI_Waitall(length, list, MPI_STATUSES_IGNORE);
                called(places[take] != places[give] ? "A" : "-", "MPI_Waitall");
                for (int j = 0; j < length; j++) EXPECT(list[j] == MPI_REQUEST_NULL);
            }
    }
#if MPI_VERSION < 5
    /* That there is no array is the program's mistake, which the library tells it of; the wheel of MPICH 5 looks for none. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int seen, unseen;
    PMPI_Error_class(MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE), &seen);
    PMPI_Error_class(PMPI_Waitall(1, NULL, MPI_STATUSES_IGNORE), &unseen);
    EXPECT(seen == unseen && seen != MPI_SUCCESS);
    failed("-", "MPI_Waitall", 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
#endif
}

static void waits_and_tests(int which)
{
    MPI_Request give, take;
    MPI_Status status;
    int flag, count;
    for (int ignore = 0; ignore < 2; ignore++) {
        irecv(which, 1, 300, in[0], &take);
        isend(which, 1, 300, &give);
        complete(which, &give, ignore ? MPI_STATUS_IGNORE : &status);
        complete(which, &take, ignore ? MPI_STATUS_IGNORE : &status);
        if (!ignore) {
            PMPI_Get_count(&status, MPI_BYTE, &count);
            EXPECT(count == 300 && status.MPI_SOURCE == peer && status.MPI_TAG == 1);
        }
        /* Tested in vain at least once: the peer only sends after the meeting. */
        irecv(which, 2, 5, in[0], &take);
        MPI_Test(&take, &flag, ignore ? MPI_STATUS_IGNORE : &status);
        called(labels[which], "MPI_Test");
        EXPECT(!flag);
        MPI_Request_get_status(take, &flag, ignore ? MPI_STATUS_IGNORE : &status);
        called(labels[which], "MPI_Request_get_status");
        EXPECT(!flag);
        meet();
        isend(which, 2, 5, &give);
        while (!flag) {
            MPI_Request_get_status(take, &flag, ignore ? MPI_STATUS_IGNORE : &status);
            called(labels[which], "MPI_Request_get_status");
        }
        /* Finished, but not completed: once more, and only then tested. */
        MPI_Request_get_status(take, &flag, MPI_STATUS_IGNORE);
        called(labels[which], "MPI_Request_get_status");
        for (flag = 0; !flag;) {
            MPI_Test(&take, &flag, ignore ? MPI_STATUS_IGNORE : &status);
            called(labels[which], "MPI_Test");
        }
        EXPECT(take == MPI_REQUEST_NULL);
        for (flag = 0; !flag;) {
            MPI_Test(&give, &flag, MPI_STATUS_IGNORE);
            called(labels[which], "MPI_Test");
        }
    }
}

/* A list of requests, of which `kind[i]` says the communicator. */
enum { MOST = 12 };
struct list {
    MPI_Request requests[MOST];
    int kind[MOST];
    int active[KINDS];
    int length;
};

/* Receives and sends over the communicators whose bit is set in `which`, null requests between them. */
static void fill(struct list *list, int which)
{
    *list = (struct list){.length = 0};
    for (int step = 0; step < 4; step++)
        for (int kind = A; kind < KINDS; kind++) {
            int at = list->length++;
            list->kind[at] = kind;
            list->requests[at] = MPI_REQUEST_NULL;
            if (!(which & 1 << kind))
                continue;
            if (step % 2 == 0)
                irecv(kind, 10 + step, 100 * (step + 1) + kind, in[at], &list->requests[at]);
            else
                isend(kind, 9 + step, 100 * step + kind, &list->requests[at]);
            list->active[kind]++;
        }
}

static void took(struct list *list, int index)
{
    EXPECT(index >= 0 && index < list->length && list->requests[index] == MPI_REQUEST_NULL);
    list->active[list->kind[index]]--;
}

static int left(const struct list *list)
{
    return list->active[A] + list->active[B];
}

static void lists(int which)
{
    struct list list;
    MPI_Status status, statuses[MOST];
    int flag, index, count, indices[MOST];
    for (int ignore = 0; ignore < 2; ignore++) {
        MPI_Status *one = ignore ? MPI_STATUS_IGNORE : &status;
        MPI_Status *all = ignore ? MPI_STATUSES_IGNORE : statuses;

        fill(&list, which);
        MPI_Waitall(list.length, list.requests, all);
        completed("MPI_Waitall", list.active);
        if (!ignore)
            for (int i = 0; i < list.length; i++)
                if (i % 4 < 2 && which & 1 << list.kind[i]) {
                    PMPI_Get_count(&statuses[i], MPI_BYTE, &count);
                    EXPECT(count == 100 * (i / 2 + 1) + i % 2 && statuses[i].MPI_SOURCE == peer);
                }

        fill(&list, which);
        for (flag = 0; !flag;) {
            MPI_Testall(list.length, list.requests, &flag, all);
            completed("MPI_Testall", list.active);
        }

        fill(&list, which);
        while (left(&list)) {
            MPI_Waitany(list.length, list.requests, &index, one);
            completed("MPI_Waitany", list.active);
            took(&list, index);
        }

        fill(&list, which);
        while (left(&list)) {
            MPI_Testany(list.length, list.requests, &index, &flag, one);
            completed("MPI_Testany", list.active);
            if (flag)
                took(&list, index);
        }

        fill(&list, which);
        while (left(&list)) {
            MPI_Waitsome(list.length, list.requests, &count, indices, all);
            completed("MPI_Waitsome", list.active);
            for (int i = 0; i < count; i++)
                took(&list, indices[i]);
        }

        fill(&list, which);
        while (left(&list)) {
            MPI_Testsome(list.length, list.requests, &count, indices, all);
            completed("MPI_Testsome", list.active);
            for (int i = 0; i < count; i++)
                took(&list, indices[i]);
        }
        MPI_Waitall(list.length, list.requests, all);
        called("-", "MPI_Waitall");
    }
}

/* Waitsome and Testsome that can complete only some: the peer holds the last message back. */
static void partial(void)
{
    MPI_Request requests[3], give[3];
    int count, indices[3], active[KINDS] = {2, 1};
    for (int tests = 0; tests < 2; tests++) {
        const char *op = tests ? "MPI_Testsome" : "MPI_Waitsome";
        irecv(A, 1, 10, in[0], &requests[0]);
        irecv(B, 2, 20, in[1], &requests[1]);
        irecv(A, 3, 30, in[2], &requests[2]);
        active[A] = 2, active[B] = 1;
        isend(A, 1, 10, &give[0]);
        isend(B, 2, 20, &give[1]);
        for (int done = 0; done < 2; done += count > 0 ? count : 0) {
            if (tests)
                MPI_Testsome(3, requests, &count, indices, MPI_STATUSES_IGNORE);
            else
                MPI_Waitsome(3, requests, &count, indices, MPI_STATUSES_IGNORE);
            completed(op, active);
            for (int i = 0; i < count; i++)
                active[indices[i] == 1 ? B : A]--;
        }
        EXPECT(requests[2] != MPI_REQUEST_NULL);
        meet();
        isend(A, 3, 30, &give[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        completed("MPI_Waitall", active);
        complete(A, &give[0], MPI_STATUS_IGNORE);
        complete(B, &give[1], MPI_STATUS_IGNORE);
        complete(A, &give[2], MPI_STATUS_IGNORE);
    }
}

/* Many small sends, to the peer and to nowhere, may all share one handle though their communicators differ. */
static void shared_handles(void)
{
    enum { MANY = 200 };
    static MPI_Request give[MANY], take[MANY];
    const int both[] = {MANY, MANY};
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < MANY; i++)
            irecv(i % KINDS, i, i % 9, in[i % 64], &take[i]);
        for (int i = 0; i < MANY; i++)
            isend(i % KINDS, i, i % 9, &give[i]);
        switch (turn) {
        case 0:
            MPI_Waitall(MANY, give, MPI_STATUSES_IGNORE);
            completed("MPI_Waitall", both);
            break;
        case 1:
            for (int i = 0; i < MANY; i++)
                complete(i % KINDS, &give[i], MPI_STATUS_IGNORE);
            break;
        default:
            /* All of one communicator, then all of the other. */
            for (int kind = A; kind < KINDS; kind++)
                for (int i = kind; i < MANY; i += KINDS)
                    complete(kind, &give[i], MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < MANY; i++)
            complete(i % KINDS, &take[i], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Isend(out, 9, MPI_BYTE, MPI_PROC_NULL, 1, comms[i % KINDS], &give[i]);
        called(labels[i % KINDS], "MPI_Isend");
        MPI_Irecv(in, 9, MPI_BYTE, MPI_PROC_NULL, 1, comms[i % KINDS], &take[i]);
        called(labels[i % KINDS], "MPI_Irecv");
    }
    for (int i = 0; i < MANY; i++) {
        complete(i % KINDS, &give[i], MPI_STATUS_IGNORE);
        complete(i % KINDS, &take[i], MPI_STATUS_IGNORE);
    }
    /* One after the other: the handle of each may be the next one's. */
    for (int i = 0; i < MANY; i++) {
        irecv(i % KINDS, i, 3, in[0], &take[0]);
        isend(i % KINDS, i, 3, &give[0]);
        complete(i % KINDS, &take[0], MPI_STATUS_IGNORE);
        complete(i % KINDS, &give[0], MPI_STATUS_IGNORE);
    }
}

/* Thousands in flight, completed in an order far from the one they were started in. Receives that wait for their message
 * have a handle each. */
static void crowd(void)
{
    enum { MANY = 3000, STRIDE = 1777 };
    static MPI_Request take[MANY], give[MANY];
    static char arrived[MANY][8];
    for (int i = 0; i < MANY; i++) {
        int which = i % 3 == 0;
        MPI_Irecv(arrived[i], 8, MPI_BYTE, peer, i, comms[which], &take[i]);
        received(labels[which], "MPI_Irecv", i % 8);
    }
    meet();
    for (int i = 0; i < MANY; i++)
        isend(i % 3 == 0, i, i % 8, &give[i]);
    for (int turn = 0; turn < MANY; turn++) {
        int i = (int)((long)turn * STRIDE % MANY);
        complete(i % 3 == 0, &take[i], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < MANY; i++)
        complete(i % 3 == 0, &give[i], MPI_STATUS_IGNORE);
}

static void freed_and_cancelled(void)
{
    MPI_Request request;
    MPI_Status status;
    int cancelled;
    for (int which = A; which < KINDS; which++) {
        const char *label = labels[which];
        /* A synchronous send is certainly pending: the peer posts its receive only afterwards. */
        MPI_Issend(out, 40, MPI_BYTE, peer, 1, comms[which], &request);
        sent(label, "MPI_Issend", peer, 40);
        MPI_Request_free(&request);
        called(label, "MPI_Request_free");
        EXPECT(request == MPI_REQUEST_NULL);
        meet();
        irecv(which, 1, 40, in[0], &request);
        complete(which, &request, MPI_STATUS_IGNORE);

        /* A receive without its request: nobody will ever know what arrived. */
        MPI_Irecv(in[63], 50, MPI_BYTE, peer, 2, comms[which], &request);
        called(label, "MPI_Irecv");
        MPI_Request_free(&request);
        called(label, "MPI_Request_free");
        meet();
        isend(which, 2, 50, &request);
        complete(which, &request, MPI_STATUS_IGNORE);

        MPI_Irecv(in[0], 50, MPI_BYTE, peer, 3, comms[which], &request);
        called(label, "MPI_Irecv");
        MPI_Cancel(&request);
        called(label, "MPI_Cancel");
        complete(which, &request, &status);
        PMPI_Test_cancelled(&status, &cancelled);
        EXPECT(cancelled);
        MPI_Irecv(in[0], 50, MPI_BYTE, peer, 3, comms[which], &request);
        called(label, "MPI_Irecv");
        MPI_Cancel(&request);
        called(label, "MPI_Cancel");
        complete(which, &request, MPI_STATUS_IGNORE);
        /* What was freed or cancelled above must not be taken for these, whatever their handles are. */
        irecv(1 - which, 4, 60, in[0], &request);
        MPI_Request give;
        isend(1 - which, 4, 60, &give);
        complete(1 - which, &request, MPI_STATUS_IGNORE);
        complete(1 - which, &give, MPI_STATUS_IGNORE);
        meet();
    }
}

/* A request outlives the communicator's handle, and the next communicator may get the same handle. */
static void freed_communicator(void)
{
    for (int turn = 0; turn < 3; turn++) {
        MPI_Comm brief, next;
        MPI_Request take, give, other;
        const char *first = label_of("brief %d", turn), *second = label_of("next %d", turn);
        MPI_Comm_dup(MPI_COMM_WORLD, &brief);
        made(brief, first, "MPI_Comm_dup", "WORLD");
        MPI_Irecv(in[0], 2000, MPI_BYTE, peer, 1, brief, &take);
        MPI_Isend(out, 1500, MPI_BYTE, peer, 1, brief, &give);
        sent(first, "MPI_Isend", peer, 1500);
        free_comm(&brief, first);
        EXPECT(brief == MPI_COMM_NULL);
        MPI_Comm_dup(MPI_COMM_WORLD, &next);
        made(next, second, "MPI_Comm_dup", "WORLD");
        MPI_Isend(out, 7, MPI_BYTE, MPI_PROC_NULL, 1, next, &other);
        called(second, "MPI_Isend");
        MPI_Wait(&take, MPI_STATUS_IGNORE);
        called(first, "MPI_Wait");
        received(first, "MPI_Irecv", 1500);
        MPI_Request rest[] = {give, other};
        MPI_Waitall(2, rest, MPI_STATUSES_IGNORE);
        called("*", "MPI_Waitall");
        involved(first, "MPI_Waitall");
        involved(second, "MPI_Waitall");
        free_comm(&next, second);
    }
}

static int grequest_query(void *state, MPI_Status *status)
{
    (void)state;
    return grequest_status(status, 0);
}

/* Requests that belong to no communicator at all. */
static void generalized(void)
{
    MPI_Request request, pair[2];
    MPI_Grequest_start(grequest_query, grequest_free, grequest_cancel, NULL, &request);
    PMPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    called("-", "MPI_Wait");
    MPI_Grequest_start(grequest_query, grequest_free, grequest_cancel, NULL, &pair[0]);
    PMPI_Grequest_complete(pair[0]);
    MPI_Isend(out, 5, MPI_BYTE, MPI_PROC_NULL, 1, comms[A], &pair[1]);
    called("A", "MPI_Isend");
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    called("A", "MPI_Waitall");
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(world_size % 2 == 0);
    peer = world_rank ^ 1;
    for (int which = A; which < KINDS; which++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[which]);
        made(comms[which], labels[which], "MPI_Comm_dup", "WORLD");
    }
    over_nothing();
    among_nulls();
    waits_and_tests(A);
    waits_and_tests(B);
    lists(1 << A);
    lists(1 << B);
    lists(1 << A | 1 << B);
    partial();
    shared_handles();
    crowd();
    freed_and_cancelled();
    freed_communicator();
    generalized();
    truth_finalize();
    return 0;
}
