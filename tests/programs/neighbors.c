/* Neighbourhood collectives on every kind of topology. A neighbour that is MPI_PROC_NULL, beyond the border of a grid
 * that is not periodic, gives and takes nothing. */
#include "truth.h"

#include "persistent_init.h"

enum { MOST = 8 };
static char out[1 << 16], in[1 << 16];

/* The neighbours of this process, as ranks of the communicator, in MPI's order. */
struct around {
    int sources[MOST], destinations[MOST];
    int indegree, outdegree;
};

static void wait_for(const char *label, MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
}

/* Bytes of the messages to all destinations, `bytes[i]` to neighbour i (all alike: `stride` 0). */
static long long to_all(MPI_Comm comm, const char *label, const char *op, const struct around *around,
                        const int *bytes, int stride)
{
    long long sum = 0;
    for (int i = 0; i < around->outdegree; i++) {
        if (around->destinations[i] == MPI_PROC_NULL)
            continue;
        sum += bytes[i * stride];
        if (op)
            edge(label, op, world_rank_of(comm, around->destinations[i]), bytes[i * stride]);
    }
    return sum;
}

static long long from_all(const struct around *around, const int *bytes, int stride)
{
    long long sum = 0;
    for (int i = 0; i < around->indegree; i++)
        if (around->sources[i] != MPI_PROC_NULL)
            sum += bytes[i * stride];
    return sum;
}

static UNUSED long long larger(long long one, long long other)
{
    return one > other ? one : other;
}

#ifdef INIT
#define PERSISTENT(name, size, give, take, bytes, stride, ...)                                                         \
    do {                                                                                                               \
        if (world_size > PERSISTENT_MOST)                                                                              \
            break;                                                                                                     \
        MPI_Request again;                                                                                             \
        INIT(Neighbor_##name)(__VA_ARGS__, comm, MPI_INFO_NULL, &again);                                               \
        carried(label, "MPI_Neighbor_" #name "_init", size, 0, 0);                                                     \
        own_size_of(label, "MPI_Neighbor_" #name "_init", #name, larger(give, take), 0, 0);                            \
        for (int round = 0; round < 2; round++) {                                                                      \
            MPI_Start(&again);                                                                                         \
            carried(label, "MPI_Start", size, give, take);                                                             \
            own_size_of(label, "MPI_Start", #name, larger(give, take), give, take);                                    \
            to_all(comm, label, "MPI_Start", around, bytes, stride);                                                   \
            wait_for(label, &again);                                                                                   \
        }                                                                                                              \
        MPI_Request_free(&again);                                                                                      \
        called(label, "MPI_Request_free");                                                                             \
    } while (0)
#else
#define PERSISTENT(...)
#endif

/* The same call in its three forms. */
#define FORMS(name, size, give, take, bytes, stride, ...)                                                              \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        MPI_Neighbor_##name(__VA_ARGS__, comm);                                                                        \
        carried(label, "MPI_Neighbor_" #name, size, give, take);                                                       \
        own_size_of(label, "MPI_Neighbor_" #name, #name, larger(give, take), give, take);                              \
        to_all(comm, label, "MPI_Neighbor_" #name, around, bytes, stride);                                             \
        MPI_Ineighbor_##name(__VA_ARGS__, comm, &request);                                                             \
        carried(label, "MPI_Ineighbor_" #name, size, give, take);                                                      \
        own_size_of(label, "MPI_Ineighbor_" #name, #name, larger(give, take), give, take);                             \
        to_all(comm, label, "MPI_Ineighbor_" #name, around, bytes, stride);                                            \
        wait_for(label, &request);                                                                                     \
        PERSISTENT(name, size, give, take, bytes, stride, __VA_ARGS__);                                                \
    } while (0)

static void everything(MPI_Comm comm, const char *label, const struct around *around)
{
    const int block = 200; /* bytes, in the second bucket */
    int reached = 0;
    for (int i = 0; i < around->outdegree; i++)
        reached |= around->destinations[i] != MPI_PROC_NULL;
    long long give = to_all(comm, label, NULL, around, &block, 0), take = from_all(around, &block, 0);
    FORMS(allgather, block, reached ? block : 0, take, &block, 0, out, 50, MPI_INT, in, 50, MPI_INT);
    FORMS(alltoall, block, give, take, &block, 0, out, 50, MPI_INT, in, block, MPI_BYTE);

    /* Who sends decides the length in the v form: a process of rank r sends 4 (r + 1) bytes. */
    int rank, lengths[MOST], places[MOST];
    PMPI_Comm_rank(comm, &rank);
    for (int i = 0; i < around->indegree; i++) {
        lengths[i] = around->sources[i] == MPI_PROC_NULL ? 0 : around->sources[i] + 1;
        places[i] = i * 64;
    }
    int own = 4 * (rank + 1), arrives[MOST];
    for (int i = 0; i < around->indegree; i++)
        arrives[i] = 4 * lengths[i];
    long long taken = from_all(around, arrives, 1);
    FORMS(allgatherv, 0, reached ? own : 0, taken, &own, 0, out, rank + 1, MPI_INT, in, lengths, places, MPI_INT);

    int counts[MOST], from[MOST], leaves[MOST] = {0};
    for (int i = 0; i < around->outdegree; i++)
        counts[i] = rank + 1, from[i] = i * 64, leaves[i] = own;
    long long given_bytes = to_all(comm, label, NULL, around, leaves, 1);
    FORMS(alltoallv, 0, given_bytes, taken, leaves, 1, out, counts, from, MPI_INT, in, lengths, places, MPI_INT);

    MPI_Aint far[MOST], near[MOST];
    MPI_Datatype give_types[MOST], take_types[MOST];
    for (int i = 0; i < MOST; i++)
        far[i] = near[i] = i * 256, give_types[i] = take_types[i] = MPI_FLOAT;
    FORMS(alltoallw, 0, given_bytes, taken, leaves, 1, out, counts, far, give_types, in, lengths, near, take_types);
}

static void grid(const char *label, int dimensions, const int *dims, const int *periods)
{
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &comm);
    made(comm, label, "MPI_Cart_create", "WORLD");
    if (comm == MPI_COMM_NULL)
        return;
    struct around around = {.indegree = 2 * dimensions, .outdegree = 2 * dimensions};
    for (int i = 0; i < dimensions; i++) {
        PMPI_Cart_shift(comm, i, 1, &around.sources[2 * i], &around.sources[2 * i + 1]);
        PMPI_Cart_shift(comm, i, 1, &around.destinations[2 * i], &around.destinations[2 * i + 1]);
    }
    everything(comm, label, &around);
    /* A duplicate has the same neighbours. */
    MPI_Comm twin;
    const char *name = label_of("twin of %s", label);
    MPI_Comm_dup(comm, &twin);
    made(twin, name, "MPI_Comm_dup", label);
    free_comm(&comm, label);
    everything(twin, name, &around);
    free_comm(&twin, name);
}

/* Rank 0 and all others know each other. */
static void star(void)
{
    int index[16], edges[32], count = 0;
    for (int rank = 0; rank < world_size; rank++) {
        if (rank == 0)
            for (int other = 1; other < world_size; other++)
                edges[count++] = other;
        else
            edges[count++] = 0;
        index[rank] = count;
    }
    MPI_Comm comm;
    MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &comm);
    made(comm, "star", "MPI_Graph_create", "WORLD");
    struct around around = {.indegree = world_rank ? 1 : world_size - 1, .outdegree = world_rank ? 1 : world_size - 1};
    for (int i = 0; i < around.indegree; i++)
        around.sources[i] = around.destinations[i] = world_rank ? 0 : i + 1;
    everything(comm, "star", &around);
}

/* MPICH 4.0.2 hangs, or ends in "Invalid communicator", where a process has nobody to receive from. */
#ifdef MPICH_VERSION
static const int closed = 1;
#else
static const int closed = 0;
#endif

/* A line in one direction: the last process reaches nobody, the first one is reached by nobody. */
static void line(void)
{
    struct around around = {.indegree = closed || world_rank > 0,
                            .outdegree = closed || world_rank < world_size - 1};
    around.sources[0] = (world_rank + world_size - 1) % world_size;
    around.destinations[0] = (world_rank + 1) % world_size;
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, around.indegree, around.sources, MPI_UNWEIGHTED, around.outdegree,
                                   around.destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    made(comm, "line", "MPI_Dist_graph_create_adjacent", "WORLD");
    everything(comm, "line", &around);

    /* The same, each edge told by the process it leads to. */
    MPI_Comm told;
    int degree = 1;
    MPI_Dist_graph_create(MPI_COMM_WORLD, around.indegree, around.sources, &degree, &world_rank, MPI_UNWEIGHTED,
                          MPI_INFO_NULL, 0, &told);
    made(told, "told", "MPI_Dist_graph_create", "WORLD");
    everything(told, "told", &around);
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(world_size % 2 == 0 && world_size <= MOST);
    int all[] = {world_size}, two[] = {world_size / 2, 2}, open[] = {0, 0}, round[] = {1, 1}, mixed[] = {1, 0};
    grid("open line", 1, all, open);
    grid("ring", 1, all, round);
    grid("cylinder", 2, two, mixed);
    int fewer[] = {world_size - 1};
    grid("leftover", 1, fewer, open); /* one process gets MPI_COMM_NULL */
    star();
    line();
    truth_finalize();
    return 0;
}
