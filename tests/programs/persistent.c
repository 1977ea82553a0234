/* Persistent point-to-point requests: set up once, started again and again, alone and in lists over one and several
 * communicators. Persistent collectives are in collectives.c. Needs an even number of ranks. */
#include "truth.h"

enum { A, B, KINDS, ROUNDS = 3 };
static MPI_Comm comms[KINDS];
static const char *const labels[] = {"A", "B"};
static int peer;
static char out[4096], in[4][4096], attached[65536];


static void wait_for(const char *label, MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
    EXPECT(*request != MPI_REQUEST_NULL);
}

static void discard(const char *label, MPI_Request *request)
{
    MPI_Request_free(request);
    called(label, "MPI_Request_free");
    EXPECT(*request == MPI_REQUEST_NULL);
}

/* Unseen by the profiler. */
static void meet(void)
{
    char token = 0;
    PMPI_Sendrecv_replace(&token, 1, MPI_CHAR, peer, 77, peer, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Each mode: the set-up counts by size and carries nothing, each start carries a message. */
static void modes(int which)
{
    MPI_Comm comm = comms[which];
    const char *label = labels[which];
    MPI_Request send[4], receive;
    int size = 200 + which;
    MPI_Send_init(out, size, MPI_BYTE, peer, 1, comm, &send[0]);
    carried(label, "MPI_Send_init", size, 0, 0);
    MPI_Bsend_init(out, size, MPI_BYTE, peer, 1, comm, &send[1]);
    carried(label, "MPI_Bsend_init", size, 0, 0);
    MPI_Ssend_init(out, size, MPI_BYTE, peer, 1, comm, &send[2]);
    carried(label, "MPI_Ssend_init", size, 0, 0);
    MPI_Rsend_init(out, size, MPI_BYTE, peer, 1, comm, &send[3]);
    carried(label, "MPI_Rsend_init", size, 0, 0);
    MPI_Recv_init(in[0], sizeof in[0], MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receive);
    called(label, "MPI_Recv_init");
    for (int round = 0; round < ROUNDS; round++)
        for (int mode = 0; mode < 4; mode++) {
            MPI_Start(&receive);
            meet(); /* the ready mode needs a receive that has been posted */
            MPI_Start(&send[mode]);
            sent(label, "MPI_Start", peer, size);
            wait_for(label, &send[mode]);
            wait_for(label, &receive);
            received(label, "MPI_Start", size);
            meet();
        }
    /* Waiting for what is inactive belongs to nobody. */
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    called("-", "MPI_Wait");
    for (int mode = 0; mode < 4; mode++)
        discard(label, &send[mode]);
    discard(label, &receive);
}

/* The messages of one receive differ from start to start. */
static void changing_sizes(void)
{
    const int sizes[] = {0, 128, 129, 4000};
    MPI_Request receive, send;
    MPI_Recv_init(in[0], sizeof in[0], MPI_BYTE, peer, 9, comms[A], &receive);
    called("A", "MPI_Recv_init");
    for (int i = 0; i < 4; i++) {
        MPI_Start(&receive);
        MPI_Isend(out, sizes[i], MPI_BYTE, peer, 9, comms[A], &send);
        sent("A", "MPI_Isend", peer, sizes[i]);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        called("A", "MPI_Wait");
        if (i % 2) {
            wait_for("A", &receive);
        } else {
            int flag = 0;
            while (!flag) {
                MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
                called("A", "MPI_Test");
            }
        }
        received("A", "MPI_Start", sizes[i]);
    }
    /* Started, never met, cancelled: a start without bytes. */
    MPI_Start(&receive);
    called("A", "MPI_Start");
    MPI_Cancel(&receive);
    called("A", "MPI_Cancel");
    wait_for("A", &receive);
    discard("A", &receive);
}

/* Lists over the communicators whose bit is set in `which`. */
static void lists(int which)
{
    MPI_Request requests[8];
    int count = 0;
    for (int kind = A; kind < KINDS; kind++) {
        if (!(which & 1 << kind))
            continue;
        for (int i = 0; i < 2; i++) {
            MPI_Recv_init(in[i], sizeof in[i], MPI_BYTE, peer, i, comms[kind], &requests[count++]);
            called(labels[kind], "MPI_Recv_init");
            MPI_Send_init(out, 1000 * i + 10 + kind, MPI_BYTE, peer, i, comms[kind], &requests[count++]);
            carried(labels[kind], "MPI_Send_init", 1000 * i + 10 + kind, 0, 0);
        }
    }
    int several = which == (1 << A | 1 << B);
    const char *row = several ? "*" : which == 1 << A ? "A" : "B";
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Startall(count, requests);
        called(row, "MPI_Startall");
        long long all = 0, on[KINDS] = {0};
        for (int i = 0; i < count; i += 2)
            on[several ? i / 4 : row[0] - 'A'] += 1000 * (i / 2 % 2) + 10 + (several ? i / 4 : row[0] - 'A');
        for (int kind = A; kind < KINDS; kind++)
            all += on[kind];
        own_size(row, "MPI_Startall", all, several ? 0 : all, several ? 0 : all);
        for (int kind = A; kind < KINDS; kind++) {
            if (!(which & 1 << kind))
                continue;
            if (several)
                involved(labels[kind], "MPI_Startall"), own_size_added(labels[kind], "MPI_Startall", all, on[kind], on[kind]);
            for (int i = 0; i < 2; i++) {
                int size = 1000 * i + 10 + kind;
                added(labels[kind], "MPI_Startall", size, size);
                edge(labels[kind], "MPI_Startall", peer, size);
            }
        }
        if (round == 0) {
            MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
            called(row, "MPI_Waitall");
            if (several)
                involved("A", "MPI_Waitall"), involved("B", "MPI_Waitall");
        } else {
            for (int i = 0; i < count; i++)
                wait_for(several ? labels[i / 4] : row, &requests[i]);
        }
        /* All inactive now. */
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        called("-", "MPI_Waitall");
    }
    for (int i = 0; i < count; i++)
        discard(several ? labels[i / 4] : row, &requests[i]);
}

/* Only one of a list is active. */
static void partly_active(void)
{
    MPI_Request requests[2], give;
    int index;
    for (int kind = A; kind < KINDS; kind++) {
        MPI_Recv_init(in[kind], sizeof in[kind], MPI_BYTE, peer, 5, comms[kind], &requests[kind]);
        called(labels[kind], "MPI_Recv_init");
    }
    for (int kind = A; kind < KINDS; kind++) {
        MPI_Start(&requests[kind]);
        MPI_Isend(out, 33, MPI_BYTE, peer, 5, comms[kind], &give);
        sent(labels[kind], "MPI_Isend", peer, 33);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        called(labels[kind], "MPI_Waitany");
        EXPECT(index == kind);
        received(labels[kind], "MPI_Start", 33);
        MPI_Wait(&give, MPI_STATUS_IGNORE);
        called(labels[kind], "MPI_Wait");
    }
    discard("A", &requests[A]);
    discard("B", &requests[B]);
}

/* To and from nowhere, and requests that outlive their communicator. */
static void borders(void)
{
    MPI_Request requests[2];
    MPI_Send_init(out, 500, MPI_BYTE, MPI_PROC_NULL, 1, comms[B], &requests[0]);
    called("B", "MPI_Send_init");
    MPI_Recv_init(in[0], 500, MPI_BYTE, MPI_PROC_NULL, 1, comms[B], &requests[1]);
    called("B", "MPI_Recv_init");
    for (int i = 0; i < 2; i++) {
        MPI_Start(&requests[i]);
        called("B", "MPI_Start");
        wait_for("B", &requests[i]);
        discard("B", &requests[i]);
    }
    MPI_Startall(0, requests);
    called("-", "MPI_Startall"), own_size("-", "MPI_Startall", 0, 0, 0);

    MPI_Comm brief;
    MPI_Comm_dup(MPI_COMM_WORLD, &brief);
    made(brief, "brief", "MPI_Comm_dup", "WORLD");
    MPI_Recv_init(in[0], 500, MPI_BYTE, peer, 1, brief, &requests[0]);
    called("brief", "MPI_Recv_init");
    MPI_Send_init(out, 350, MPI_BYTE, peer, 1, brief, &requests[1]);
    carried("brief", "MPI_Send_init", 350, 0, 0);
    free_comm(&brief, "brief");
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Start(&requests[0]);
        MPI_Start(&requests[1]);
        sent("brief", "MPI_Start", peer, 350);
        wait_for("brief", &requests[0]);
        received("brief", "MPI_Start", 350);
        wait_for("brief", &requests[1]);
    }
    discard("brief", &requests[0]);
    discard("brief", &requests[1]);
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
    PMPI_Buffer_attach(attached, sizeof attached);
    modes(A);
    modes(B);
    void *detached;
    int size;
    PMPI_Buffer_detach(&detached, &size);
    changing_sizes();
    lists(1 << A);
    lists(1 << B);
    lists(1 << A | 1 << B);
    partly_active();
    borders();
    truth_finalize();
    return 0;
}
