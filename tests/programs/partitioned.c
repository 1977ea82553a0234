/* Partitioned communication: each partition that is marked ready is a message; the receive takes all when it completes.
 * Needs an even number of ranks. */
#include "truth.h"

#if MPI_VERSION < 4
#error "needs MPI-4"
#endif

enum { PARTITIONS = 8, ROUNDS = 3, THREADS = 4 };

static char out[1 << 16], in[1 << 16];

struct pair {
    MPI_Comm comm;
    const char *label;
    int peer, world;
};

static void started(MPI_Request *request)
{
    MPI_Start(request);
}

static void waited(const char *label, MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
}

static void discarded(const char *label, MPI_Request *request)
{
    MPI_Request_free(request);
    called(label, "MPI_Request_free");
}

/* `count` partitions of so many bytes are marked by one call. */
static void readied(struct pair at, const char *op, int count, int bytes)
{
    carried(at.label, op, bytes, (long long)count * bytes, 0);
    for (int i = 0; i < count; i++)
        edge(at.label, op, at.world, bytes);
}

struct part {
    struct pair at;
    MPI_Request request;
    int partition, bytes;
};

static void *mark(void *given)
{
    struct part *part = given;
    MPI_Pready(part->partition, part->request);
    readied(part->at, "MPI_Pready", 1, part->bytes);
    return NULL;
}

static void send_in_parts(struct pair at, int ints)
{
    int bytes = 4 * ints;
    MPI_Request request;
    MPI_Psend_init(out, PARTITIONS, ints, MPI_INT, at.peer, 5, at.comm, MPI_INFO_NULL, &request);
    carried(at.label, "MPI_Psend_init", bytes, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PARTITIONS * ints; i++)
            ((int *)out)[i] = i + round;
        started(&request);
        called(at.label, "MPI_Start");
        switch (round) {
        case 0:
            for (int i = PARTITIONS - 1; i >= 0; i--) {
                MPI_Pready(i, request);
                readied(at, "MPI_Pready", 1, bytes);
            }
            break;
        case 1: {
            int some[] = {6, 4, 5};
            MPI_Pready_range(0, 3, request);
            readied(at, "MPI_Pready_range", 4, bytes);
            MPI_Pready_list(3, some, request);
            readied(at, "MPI_Pready_list", 3, bytes);
            MPI_Pready_range(7, 7, request);
            readied(at, "MPI_Pready_range", 1, bytes);
            break;
        }
        default: {
            pthread_t threads[THREADS];
            struct part parts[THREADS];
            for (int i = 0; i < THREADS; i++) {
                parts[i] = (struct part){at, request, i, bytes};
                pthread_create(&threads[i], NULL, mark, &parts[i]);
            }
            MPI_Pready_range(THREADS, PARTITIONS - 1, request);
            readied(at, "MPI_Pready_range", PARTITIONS - THREADS, bytes);
            for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        }
        }
        waited(at.label, &request);
    }
    discarded(at.label, &request);
}

static void receive_in_parts(struct pair at, int ints)
{
    int bytes = 4 * ints;
    MPI_Request request;
    MPI_Precv_init(in, PARTITIONS, ints, MPI_INT, at.peer, 5, at.comm, MPI_INFO_NULL, &request);
    carried(at.label, "MPI_Precv_init", bytes, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        memset(in, 0, sizeof in);
        started(&request);
        if (round == 1) {
            int flag = 0;
            while (!flag) {
                MPI_Parrived(request, 2, &flag);
                called(at.label, "MPI_Parrived");
            }
            EXPECT(((int *)in)[2 * ints] == 2 * ints + round);
        }
        waited(at.label, &request);
        received(at.label, "MPI_Start", (long long)PARTITIONS * bytes);
        for (int i = 0; i < PARTITIONS * ints; i++)
            EXPECT(((int *)in)[i] == i + round);
    }
    discarded(at.label, &request);
}

static void lists(struct pair at)
{
    MPI_Request requests[2];
    MPI_Psend_init(out, 2, 100, MPI_BYTE, at.peer, 6, at.comm, MPI_INFO_NULL, &requests[0]);
    carried(at.label, "MPI_Psend_init", 100, 0, 0);
    MPI_Precv_init(in, 2, 100, MPI_BYTE, at.peer, 6, at.comm, MPI_INFO_NULL, &requests[1]);
    carried(at.label, "MPI_Precv_init", 100, 0, 0);
    MPI_Startall(2, requests);
    called(at.label, "MPI_Startall");
    MPI_Pready_range(0, 1, requests[0]);
    readied(at, "MPI_Pready_range", 2, 100);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    called(at.label, "MPI_Waitall");
    added(at.label, "MPI_Startall", 0, 200);
    discarded(at.label, &requests[0]);
    discarded(at.label, &requests[1]);
}

int main(int argc, char **argv)
{
    int provided, place, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    EXPECT(provided == MPI_THREAD_MULTIPLE);
    truth_begin("MPI_Init_thread");
    EXPECT(world_size % 2 == 0);
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
    made(reversed, "reversed", "MPI_Comm_split", "WORLD");
    PMPI_Comm_rank(reversed, &place);
    PMPI_Comm_size(reversed, &size);
    struct pair pairs[] = {
        {MPI_COMM_WORLD, "WORLD", world_rank ^ 1, world_rank ^ 1},
        {reversed, "reversed", place ^ 1, world_rank_of(reversed, place ^ 1)},
    };
    const int ints[] = {1, 32, 33, 1000};
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < 4; i++) {
            struct pair at = pairs[which];
            if (world_rank < at.world) {
                send_in_parts(at, ints[i]);
                receive_in_parts(at, ints[i]);
            } else {
                receive_in_parts(at, ints[i]);
                send_in_parts(at, ints[i]);
            }
        }
    lists(pairs[0]);
    lists(pairs[1]);
    truth_finalize();
    return 0;
}
