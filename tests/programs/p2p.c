/* Point-to-point communication between pairs of ranks: every mode and every way to receive, over MPI_COMM_WORLD, over
 * a communicator whose ranks differ from the world's, and over an intercommunicator. Needs an even number of ranks. */
#include "truth.h"

#define SPACE (1 << 20)
static char out[SPACE], in[SPACE];

struct place {
    MPI_Comm comm;
    const char *label;
    int peer;  /* rank in comm */
    int world; /* the same in MPI_COMM_WORLD */
};

static void wait(MPI_Request *request, const char *label)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
}

static void send_zero(struct place at)
{
    MPI_Send(NULL, 0, MPI_BYTE, at.peer, 9, at.comm);
    sent(at.label, "MPI_Send", at.world, 0);
}

static void receive_zero(struct place at)
{
    MPI_Recv(NULL, 0, MPI_BYTE, at.peer, 9, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 0);
}

/* Sizes around the edges of the buckets, and types whose size differs from their extent. */
static void blocking_sends(struct place at)
{
    const int sizes[] = {0, 1, 127, 128, 129, 1024, 1025, 65536, 65537, 300000, SPACE};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        MPI_Send(out, sizes[i], MPI_BYTE, at.peer, 1, at.comm);
        sent(at.label, "MPI_Send", at.world, sizes[i]);
    }
    MPI_Ssend(out, 100, MPI_DOUBLE, at.peer, 1, at.comm);
    sent(at.label, "MPI_Ssend", at.world, 800);
    static char attached[4096 + MPI_BSEND_OVERHEAD];
    void *detached;
    int size;
    PMPI_Buffer_attach(attached, sizeof attached);
    MPI_Bsend(out, 33, MPI_INT, at.peer, 1, at.comm);
    sent(at.label, "MPI_Bsend", at.world, 132);
    MPI_Request request;
    MPI_Ibsend(out, 3, MPI_INT, at.peer, 1, at.comm, &request);
    sent(at.label, "MPI_Ibsend", at.world, 12);
    wait(&request, at.label);
    PMPI_Buffer_detach(&detached, &size);
    /* The ready modes may only start once the receive has been posted, which the peer says. */
    receive_zero(at);
    MPI_Rsend(out, 5, MPI_SHORT, at.peer, 2, at.comm);
    sent(at.label, "MPI_Rsend", at.world, 10);
    receive_zero(at);
    MPI_Irsend(out, 7, MPI_CHAR, at.peer, 2, at.comm, &request);
    sent(at.label, "MPI_Irsend", at.world, 7);
    wait(&request, at.label);
    MPI_Isend(out, 70000, MPI_BYTE, at.peer, 1, at.comm, &request);
    sent(at.label, "MPI_Isend", at.world, 70000);
    wait(&request, at.label);
    MPI_Issend(out, 1, MPI_DOUBLE_INT, at.peer, 1, at.comm, &request);
    sent(at.label, "MPI_Issend", at.world, 12);
    wait(&request, at.label);
}

static void blocking_receives(struct place at)
{
    const int sizes[] = {0, 1, 127, 128, 129, 1024, 1025, 65536, 65537, 300000, SPACE};
    MPI_Status status;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        /* Always the whole buffer, from a wildcard for every other message. */
        int any = i % 2;
        MPI_Recv(in, SPACE, MPI_BYTE, any ? MPI_ANY_SOURCE : at.peer, any ? MPI_ANY_TAG : 1, at.comm,
                 i % 3 ? &status : MPI_STATUS_IGNORE);
        received(at.label, "MPI_Recv", sizes[i]);
        int count;
        if (i % 3) {
            PMPI_Get_count(&status, MPI_BYTE, &count);
            EXPECT(count == sizes[i] && status.MPI_SOURCE == at.peer && status.MPI_TAG == 1);
        }
    }
    MPI_Recv(in, SPACE / 8, MPI_DOUBLE, at.peer, 1, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 800);
    MPI_Recv(in, SPACE / 4, MPI_INT, at.peer, 1, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 132);
    MPI_Recv(in, SPACE / 4, MPI_INT, at.peer, 1, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 12);
    MPI_Request request;
    MPI_Irecv(in, 500, MPI_SHORT, at.peer, 2, at.comm, &request);
    send_zero(at);
    wait(&request, at.label);
    received(at.label, "MPI_Irecv", 10);
    MPI_Irecv(in, 500, MPI_CHAR, MPI_ANY_SOURCE, 2, at.comm, &request);
    send_zero(at);
    wait(&request, at.label);
    received(at.label, "MPI_Irecv", 7);
    MPI_Irecv(in, SPACE, MPI_BYTE, at.peer, MPI_ANY_TAG, at.comm, &request);
    wait(&request, at.label);
    received(at.label, "MPI_Irecv", 70000);
    MPI_Irecv(in, 10, MPI_DOUBLE_INT, at.peer, 1, at.comm, &request);
    wait(&request, at.label);
    received(at.label, "MPI_Irecv", 12);
}

/* Derived types: holes do not count, and a type may be larger than an int can say. */
static MPI_Datatype strided, record, gigantic;

static void make_types(void)
{
    PMPI_Type_vector(3, 2, 7, MPI_SHORT, &strided); /* 12 bytes in an extent of 32 */
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, 16};
    MPI_Datatype parts[] = {MPI_DOUBLE, MPI_CHAR}; /* 9 bytes */
    PMPI_Type_create_struct(2, lengths, places, parts, &record);
    PMPI_Type_contiguous(1 << 30, MPI_INT, &gigantic); /* 4 GiB */
    PMPI_Type_commit(&strided);
    PMPI_Type_commit(&record);
    PMPI_Type_commit(&gigantic);
}

static void derived_sends(struct place at)
{
    MPI_Send(out, 20, strided, at.peer, 1, at.comm);
    sent(at.label, "MPI_Send", at.world, 240);
    MPI_Send(out, 20, record, at.peer, 1, at.comm);
    sent(at.label, "MPI_Send", at.world, 180);
    MPI_Send(out, 3, MPI_PACKED, at.peer, 1, at.comm);
    sent(at.label, "MPI_Send", at.world, 3);
    MPI_Send(out, 2, MPI_2INT, at.peer, 1, at.comm);
    sent(at.label, "MPI_Send", at.world, 16);
    MPI_Send(out, 2, MPI_LONG_DOUBLE, at.peer, 1, at.comm);
    sent(at.label, "MPI_Send", at.world, 32);
    MPI_Send(out, 0, gigantic, at.peer, 1, at.comm);
    sent(at.label, "MPI_Send", at.world, 0);
    /* A type that was freed and another made in its place, most likely under the same handle. */
    for (int length = 1; length <= 3; length++) {
        MPI_Datatype brief;
        PMPI_Type_contiguous(length * 100, MPI_BYTE, &brief);
        PMPI_Type_commit(&brief);
        MPI_Send(out, 1, brief, at.peer, 1, at.comm);
        sent(at.label, "MPI_Send", at.world, length * 100);
        PMPI_Type_free(&brief);
    }
}

static void derived_receives(struct place at)
{
    MPI_Recv(in, 30, strided, at.peer, 1, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 240);
    MPI_Recv(in, 30, record, at.peer, 1, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 180);
    MPI_Recv(in, 3, MPI_PACKED, at.peer, 1, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 3);
    MPI_Recv(in, 9, MPI_2INT, at.peer, 1, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 16);
    MPI_Recv(in, 9, MPI_LONG_DOUBLE, at.peer, 1, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 32);
    MPI_Recv(in, 0, gigantic, at.peer, 1, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 0);
    for (int length = 1; length <= 3; length++) {
        MPI_Recv(in, SPACE, MPI_BYTE, at.peer, 1, at.comm, MPI_STATUS_IGNORE);
        received(at.label, "MPI_Recv", length * 100);
    }
}

/* Nothing travels to or from MPI_PROC_NULL, whatever its size. */
static void nowhere(struct place at)
{
    MPI_Request request;
    MPI_Send(out, 3, gigantic, MPI_PROC_NULL, 1, at.comm);
    called(at.label, "MPI_Send");
    MPI_Isend(out, 10, MPI_BYTE, MPI_PROC_NULL, 1, at.comm, &request);
    called(at.label, "MPI_Isend");
    wait(&request, at.label);
    MPI_Recv(in, 500, MPI_BYTE, MPI_PROC_NULL, 1, at.comm, MPI_STATUS_IGNORE);
    called(at.label, "MPI_Recv");
    MPI_Irecv(in, 3, gigantic, MPI_PROC_NULL, 1, at.comm, &request);
    wait(&request, at.label);
    called(at.label, "MPI_Irecv");
    MPI_Sendrecv(out, 500, MPI_BYTE, MPI_PROC_NULL, 1, in, 500, MPI_BYTE, MPI_PROC_NULL, 1, at.comm,
                 MPI_STATUS_IGNORE);
    called(at.label, "MPI_Sendrecv");
    MPI_Status status;
    MPI_Probe(MPI_PROC_NULL, 1, at.comm, &status);
    EXPECT(status.MPI_SOURCE == MPI_PROC_NULL);
    called(at.label, "MPI_Probe");
}

#if MPI_VERSION >= 4
/* What arrived is what the status says: in MPICH 4.0.2 that is not the size of the message. */
static void combined(struct place at, int give)
{
    MPI_Request request;
    MPI_Status status;
    int count;
    MPI_Isendrecv(out, give, MPI_BYTE, at.peer, 3, in, SPACE, MPI_BYTE, at.peer, 3, at.comm, &request);
    MPI_Wait(&request, &status);
    called(at.label, "MPI_Wait");
    PMPI_Get_count(&status, MPI_BYTE, &count);
    carried(at.label, "MPI_Isendrecv", give, give, count);
    edge(at.label, "MPI_Isendrecv", at.world, give);
    MPI_Isendrecv_replace(out, 300, MPI_BYTE, at.peer, 3, at.peer, 3, at.comm, &request);
    MPI_Wait(&request, &status);
    called(at.label, "MPI_Wait");
    PMPI_Get_count(&status, MPI_BYTE, &count);
    carried(at.label, "MPI_Isendrecv_replace", 300, 300, count);
    edge(at.label, "MPI_Isendrecv_replace", at.world, 300);
}
#endif

/* Both directions in one call: the first rank of a pair gives 200 bytes, the second 2000. */
static void exchanges(struct place at, int first)
{
    int give = first ? 200 : 2000, take = first ? 2000 : 200;
    MPI_Status status;
    MPI_Sendrecv(out, give, MPI_BYTE, at.peer, 3, in, SPACE, MPI_BYTE, at.peer, 3, at.comm, &status);
    carried(at.label, "MPI_Sendrecv", give, give, take);
    edge(at.label, "MPI_Sendrecv", at.world, give);
    int count;
    PMPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count == take);
    MPI_Sendrecv_replace(out, 25, MPI_DOUBLE, at.peer, 3, at.peer, 3, at.comm, MPI_STATUS_IGNORE);
    carried(at.label, "MPI_Sendrecv_replace", 200, 200, 200);
    edge(at.label, "MPI_Sendrecv_replace", at.world, 200);
    /* One way only: the other side is MPI_PROC_NULL. */
    if (first) {
        MPI_Sendrecv(out, give, MPI_BYTE, at.peer, 3, in, SPACE, MPI_BYTE, MPI_PROC_NULL, 3, at.comm,
                     MPI_STATUS_IGNORE);
        sent(at.label, "MPI_Sendrecv", at.world, give);
    } else {
        MPI_Sendrecv(out, give, MPI_BYTE, MPI_PROC_NULL, 3, in, SPACE, MPI_BYTE, at.peer, 3, at.comm,
                     MPI_STATUS_IGNORE);
        carried(at.label, "MPI_Sendrecv", 0, 0, take);
    }
#if MPI_VERSION >= 4
    combined(at, give);
#endif
}

static void probed_receives(struct place at)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int flag = 0;
    MPI_Probe(at.peer, 4, at.comm, &status);
    called(at.label, "MPI_Probe");
    MPI_Recv(in, SPACE, MPI_BYTE, at.peer, 4, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 400);
    while (!flag) {
        MPI_Iprobe(MPI_ANY_SOURCE, 4, at.comm, &flag, MPI_STATUS_IGNORE);
        called(at.label, "MPI_Iprobe");
    }
    MPI_Recv(in, SPACE, MPI_BYTE, at.peer, 4, at.comm, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Recv", 401);
    MPI_Mprobe(at.peer, 4, at.comm, &message, &status);
    called(at.label, "MPI_Mprobe");
    MPI_Mrecv(in, SPACE, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    received(at.label, "MPI_Mrecv", 402);
    EXPECT(message == MPI_MESSAGE_NULL);
    for (flag = 0; !flag;) {
        MPI_Improbe(at.peer, 4, at.comm, &flag, &message, &status);
        called(at.label, "MPI_Improbe");
    }
    MPI_Imrecv(in, SPACE, MPI_BYTE, &message, &request);
    wait(&request, at.label);
    received(at.label, "MPI_Imrecv", 4030);
}

static void probed_sends(struct place at)
{
    const int sizes[] = {400, 401, 402, 4030};
    for (int i = 0; i < 4; i++) {
        MPI_Ssend(out, sizes[i], MPI_BYTE, at.peer, 4, at.comm);
        sent(at.label, "MPI_Ssend", at.world, sizes[i]);
    }
}

static void everything(struct place at)
{
    int first = world_rank % 2 == 0;
    for (int turn = 0; turn < 2; turn++) {
        if (first == (turn == 0)) {
            blocking_sends(at);
            derived_sends(at);
            probed_sends(at);
        } else {
            blocking_receives(at);
            derived_receives(at);
            probed_receives(at);
        }
    }
    exchanges(at, first);
    nowhere(at);
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(world_size % 2 == 0);
    make_types();
    int partner = world_rank ^ 1;
    everything((struct place){MPI_COMM_WORLD, "WORLD", partner, partner});

    MPI_Comm reversed, side, bridge;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
    made(reversed, "reversed", "MPI_Comm_split", "WORLD");
    everything((struct place){reversed, "reversed", world_size - 1 - partner, partner});

    const char *name = label_of("side %d", world_rank % 2);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &side);
    made(side, name, "MPI_Comm_split", "WORLD");
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - world_rank % 2, 7, &bridge);
    made(bridge, "bridge", "MPI_Intercomm_create", name);
    everything((struct place){bridge, "bridge", world_rank / 2, partner});

    /* A process alone. */
    MPI_Request request;
    MPI_Irecv(in, 100, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(out, 60, MPI_BYTE, 0, 0, MPI_COMM_SELF);
    sent("SELF", "MPI_Send", world_rank, 60);
    wait(&request, "SELF");
    received("SELF", "MPI_Irecv", 60);
    truth_finalize();
    return 0;
}
