/* What completion calls complete: every call, requests of several operations and sizes, from a known rank where it was one, over
 * MPI_COMM_WORLD and a communicator whose ranks are others. */
#include "truth.h"

enum { MOST = 1 << 17, MANY = 8 };
static char out[MANY][MOST], in[MANY][MOST];
static MPI_Comm comm;
static const char *label;
static int before, next, from; /* ranks of the communicator, and the world rank of the one before */

static void send(int place, int bytes, MPI_Request *request)
{
    MPI_Isend(out[place], bytes, MPI_CHAR, next, 7, comm, request);
    sent(label, "MPI_Isend", world_rank_of(comm, next), bytes);
}

static void receive(int place, int bytes, MPI_Request *request)
{
    MPI_Irecv(in[place], MOST, MPI_CHAR, before, 7, comm, request);
    received(label, "MPI_Irecv", bytes);
}

static void done(const char *op, const char *started, long long size, int peer, long long bytes)
{
    completed_request(label, op, started, size, peer, bytes);
}

/* One receive and one send of so many bytes, completed by themselves. Nothing tells from whom a message without bytes came: a receive
 * from MPI_PROC_NULL looks alike. */
static void singly(int bytes)
{
    MPI_Request requests[2];
    int flag = 0, index, peer = bytes ? from : -1;
    receive(0, bytes, &requests[0]);
    send(0, bytes, &requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
    done("MPI_Wait", "MPI_Irecv", bytes, peer, bytes);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
    done("MPI_Wait", "MPI_Isend", bytes, -1, 0);

    receive(0, bytes, &requests[0]);
    send(0, bytes, &requests[1]);
    for (flag = 0; !flag; called(label, "MPI_Test"))
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    done("MPI_Test", "MPI_Irecv", bytes, peer, bytes);
    for (flag = 0; !flag; called(label, "MPI_Testall"))
        MPI_Testall(1, &requests[1], &flag, MPI_STATUSES_IGNORE);
    done("MPI_Testall", "MPI_Isend", bytes, -1, 0);

    receive(0, bytes, &requests[0]);
    send(0, bytes, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        called(label, "MPI_Waitany");
        if (index == 0)
            done("MPI_Waitany", "MPI_Irecv", bytes, peer, bytes);
        else
            done("MPI_Waitany", "MPI_Isend", bytes, -1, 0);
    }

    receive(0, bytes, &requests[0]);
    send(0, bytes, &requests[1]);
    MPI_Waitall(1, &requests[1], MPI_STATUSES_IGNORE);
    called(label, "MPI_Waitall");
    done("MPI_Waitall", "MPI_Isend", bytes, -1, 0);
    int outcount;
    MPI_Waitsome(1, requests, &outcount, &index, MPI_STATUSES_IGNORE);
    called(label, "MPI_Waitsome");
    done("MPI_Waitsome", "MPI_Irecv", bytes, peer, bytes);
}

static void nothing(void)
{
    MPI_Request request;
    MPI_Irecv(in[0], MOST, MPI_CHAR, MPI_PROC_NULL, 7, comm, &request);
    received(label, "MPI_Irecv", 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
    done("MPI_Wait", "MPI_Irecv", 0, -1, 0);
}

/* A request whose handle no other has. */
static void another(void)
{
    static char place[4];
    MPI_Request request;
    MPI_Irecv(place, 4, MPI_CHAR, 0, 8, MPI_COMM_SELF, &request);
    received("SELF", "MPI_Irecv", 4);
    MPI_Send(out[0], 4, MPI_CHAR, 0, 8, MPI_COMM_SELF);
    sent("SELF", "MPI_Send", world_rank, 4);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    called("SELF", "MPI_Wait");
    completed_request("SELF", "MPI_Wait", "MPI_Irecv", 4, world_rank, 4);
}

/* One after the other out of one array: calls find again what the one before has left of it, also where another request has started
 * and completed in between. All sizes are of one bucket. */
static void drained(int bytes)
{
    static const char *const ops[] = {"MPI_Waitany", "MPI_Testany", "MPI_Waitsome", "MPI_Testsome"};
    for (int way = 0; way < 8; way++) {
        MPI_Request requests[2 * MANY];
        int left = 2 * MANY, is_disturbed = way >= 4;
        const char *op = ops[way % 4];
        for (int i = 0; i < MANY; i++)
            receive(i, bytes + i, &requests[i]);
        for (int i = 0; i < MANY; i++)
            send(i, bytes + i, &requests[MANY + i]);
        while (left) {
            int count = 1, flag = 1, places[2 * MANY];
            switch (way % 4) {
            case 0: MPI_Waitany(2 * MANY, requests, places, MPI_STATUS_IGNORE); break;
            case 1: MPI_Testany(2 * MANY, requests, places, &flag, MPI_STATUS_IGNORE); break;
            case 2: MPI_Waitsome(2 * MANY, requests, &count, places, MPI_STATUSES_IGNORE); break;
            case 3: MPI_Testsome(2 * MANY, requests, &count, places, MPI_STATUSES_IGNORE); break;
            }
            called(label, op);
            if (!flag)
                continue;
            for (int i = 0; i < count; i++)
                if (places[i] < MANY)
                    done(op, "MPI_Irecv", bytes + places[i], count > 1 ? -1 : from, bytes + places[i]);
                else
                    done(op, "MPI_Isend", bytes, -1, 0);
            left -= count;
            if (!is_disturbed && left <= MANY)
                is_disturbed = 1, another();
        }
    }
}

/* Several at once: of one size, and of two. */
static void together(int first, int second)
{
    MPI_Request requests[2 * MANY];
    for (int i = 0; i < MANY; i++)
        receive(i, i % 2 ? second : first, &requests[i]);
    for (int i = 0; i < MANY; i++)
        send(i, i % 2 ? second : first, &requests[MANY + i]);
    /* Sends of two sizes that are complete at once share a handle in some libraries: then nobody knows them apart. */
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    called(label, "MPI_Waitall");
    for (int i = 0; i < MANY; i++)
        done("MPI_Waitall", "MPI_Irecv", i % 2 ? second : first, -1, i % 2 ? second : first);
    MPI_Waitall(MANY, requests + MANY, MPI_STATUSES_IGNORE);
    called(label, "MPI_Waitall");
    for (int i = 0; i < MANY; i++)
        done("MPI_Waitall", first == second ? "MPI_Isend" : NULL, i % 2 ? second : first, -1, 0);
}

static void persistent(int bytes)
{
    MPI_Request requests[2];
    MPI_Recv_init(in[0], MOST, MPI_CHAR, before, 9, comm, &requests[0]);
    called(label, "MPI_Recv_init");
    MPI_Send_init(out[0], bytes, MPI_CHAR, next, 9, comm, &requests[1]);
    carried(label, "MPI_Send_init", bytes, 0, 0);
    for (int i = 0; i < 2; i++)
        MPI_Start(&requests[i]);
    received(label, "MPI_Start", bytes);
    sent(label, "MPI_Start", world_rank_of(comm, next), bytes);
    for (int i = 0; i < 2; i++) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        called(label, "MPI_Wait");
        done("MPI_Wait", "MPI_Start", bytes, i ? -1 : from, i ? 0 : bytes);
    }
    MPI_Startall(2, requests);
    called(label, "MPI_Startall");
    own_size(label, "MPI_Startall", bytes, bytes, bytes);
    added(label, "MPI_Startall", bytes, bytes);
    edge(label, "MPI_Startall", world_rank_of(comm, next), bytes);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    called(label, "MPI_Waitall");
    done("MPI_Waitall", "MPI_Startall", bytes, -1, bytes);
    done("MPI_Waitall", "MPI_Startall", bytes, -1, 0);
    /* Started in a pause: nobody knows how. */
    MPI_Pcontrol(0);
    called("WORLD", "MPI_Pcontrol");
    truth_paused = 1;
    for (int i = 0; i < 2; i++)
        MPI_Start(&requests[i]);
    truth_paused = 0;
    MPI_Pcontrol(1);
    called("WORLD", "MPI_Pcontrol");
    for (int i = 0; i < 2; i++) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        called(label, "MPI_Wait");
        done("MPI_Wait", NULL, 0, -1, 0);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&requests[i]);
        called(label, "MPI_Request_free");
    }
}

/* Started again and again, by the one call and the other, for messages of other sizes each time. */
static void restarted(void)
{
    enum { SENT = 100 };
    const int sizes[] = {3, 200, 5000, 200, 3, 70000, 70000};
    MPI_Request requests[2], others[2];
    MPI_Recv_init(in[0], MOST, MPI_CHAR, before, 10, comm, &requests[0]);
    called(label, "MPI_Recv_init");
    MPI_Send_init(out[0], SENT, MPI_CHAR, next, 11, comm, &requests[1]);
    carried(label, "MPI_Send_init", SENT, 0, 0);
    for (int round = 0; round < 21; round++) {
        int size = sizes[round % 7], to = world_rank_of(comm, next);
        const char *by[2];
        by[0] = round % 3 ? "MPI_Startall" : "MPI_Start";
        by[1] = round % 3 == 2 ? "MPI_Startall" : "MPI_Start";
        if (round % 3 == 2) {
            MPI_Startall(2, requests);
            called(label, "MPI_Startall");
            own_size(label, "MPI_Startall", SENT, SENT, size);
            added(label, "MPI_Startall", SENT, size);
            edge(label, "MPI_Startall", to, SENT);
        } else {
            if (round % 3) {
                MPI_Startall(1, requests);
                called(label, "MPI_Startall");
                own_size(label, "MPI_Startall", 0, 0, size);
                added(label, "MPI_Startall", 0, size);
            } else {
                MPI_Start(&requests[0]);
                received(label, "MPI_Start", size);
            }
            MPI_Start(&requests[1]);
            sent(label, "MPI_Start", to, SENT);
        }
        PMPI_Irecv(in[1], MOST, MPI_CHAR, before, 11, comm, &others[0]);
        PMPI_Isend(out[1], size, MPI_CHAR, next, 10, comm, &others[1]);
        /* What the calls to come complete, they tell each by itself, or together. */
        long long bytes[2] = {size, 0};
        int one = strcmp(by[0], "MPI_Start") == 0 ? from : -1;
        if (round % 2) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            called(label, "MPI_Waitall");
            for (int i = 0; i < 2; i++)
                done("MPI_Waitall", by[i], i ? SENT : size, -1, bytes[i]);
        } else {
            for (int i = 0; i < 2; i++) {
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
                called(label, "MPI_Wait");
                done("MPI_Wait", by[i], i ? SENT : size, i ? -1 : one, bytes[i]);
            }
        }
        PMPI_Waitall(2, others, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&requests[i]);
        called(label, "MPI_Request_free");
    }
}

static void collective(int size)
{
    MPI_Request request;
    MPI_Iallreduce(out[0], in[0], 500, MPI_INT, MPI_SUM, comm, &request);
    carried(label, "MPI_Iallreduce", 2000, 2000, 2000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
    done("MPI_Wait", "MPI_Iallreduce", 2000, -1, 0);
    int counts[16], places[16];
    for (int i = 0; i < size; i++)
        counts[i] = 1000, places[i] = 1000 * i;
    MPI_Ialltoallv(out[0], counts, places, MPI_CHAR, in[0], counts, places, MPI_CHAR, comm, &request);
    carried(label, "MPI_Ialltoallv", 0, 1000 * size, 1000 * size);
    own_size(label, "MPI_Ialltoallv", 1000 * size, 1000 * size, 1000 * size);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
    done("MPI_Wait", "MPI_Ialltoallv", 1000 * size, -1, 0);
}

static void duplicate(void)
{
    MPI_Request request;
    MPI_Comm copy;
    char name[64];
    snprintf(name, sizeof name, "copy of %s", label);
    MPI_Comm_idup(comm, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
    done("MPI_Wait", "MPI_Comm_idup", 0, -1, 0);
    made(copy, name, "MPI_Comm_idup", label);
    free_comm(&copy, name);
}

static void everything(void)
{
    int rank, size;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    from = world_rank_of(comm, before);
    singly(0);
    singly(10);
    singly(2000);
    singly(100000);
    together(100, 100);
    together(100, 2000);
    nothing();
    drained(20);
    drained(3000);
    persistent(300);
    restarted();
    collective(size);
    duplicate();
}

/* Over two ranks, after receives from more: MPICH 4.0 leaves the status of one of these in that of MPI_Isendrecv. */
static void stale(void)
{
    MPI_Request requests[16];
    comm = MPI_COMM_WORLD, label = "WORLD";
    for (int i = 0; i < world_size; i++) {
        MPI_Irecv(in[0] + 4 * i, 4, MPI_CHAR, i, 5, comm, &requests[i]);
        received(label, "MPI_Irecv", 4);
    }
    for (int i = 0; i < world_size; i++) {
        MPI_Send(out[0], 4, MPI_CHAR, i, 5, comm);
        sent(label, "MPI_Send", i, 4);
    }
    MPI_Waitall(world_size, requests, MPI_STATUSES_IGNORE);
    called(label, "MPI_Waitall");
    for (int i = 0; i < world_size; i++)
        done("MPI_Waitall", "MPI_Irecv", 4, -1, 4);
    int color = world_rank / 2, rank, size;
    label = label_of("pair %d", color);
    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &comm);
    made(comm, label, "MPI_Comm_split", "WORLD");
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
#if MPI_VERSION >= 4
    int other = size - 1 - rank, count;
    MPI_Status status;
    MPI_Isendrecv(out[0], 40, MPI_CHAR, other, 6, in[0], 40, MPI_CHAR, other, 6, comm, &requests[0]);
    MPI_Wait(&requests[0], &status);
    PMPI_Get_count(&status, MPI_CHAR, &count);
    carried(label, "MPI_Isendrecv", 40, 40, count);
    edge(label, "MPI_Isendrecv", world_rank_of(comm, other), 40);
    called(label, "MPI_Wait");
    done("MPI_Wait", "MPI_Isendrecv", count, -1, count);
#endif
    free_comm(&comm, label);
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    comm = MPI_COMM_WORLD, label = "WORLD";
    everything();
    /* Turned around: the rank before is another one. */
    MPI_Comm_split(MPI_COMM_WORLD, 0, (world_size - world_rank) * 7 % 5, &comm);
    made(comm, "other", "MPI_Comm_split", "WORLD");
    label = "other";
    everything();
    free_comm(&comm, label);
    stale();
    truth_finalize();
}
