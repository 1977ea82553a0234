/* Every collective call, blocking, nonblocking and (MPI-4) persistent, over MPI_COMM_WORLD, over a communicator in
 * reversed order, over its halves and over MPI_COMM_SELF, then over an intercommunicator. */
#include "truth.h"

#include "persistent_init.h"

enum { BLOCK = 1 << 16 };
static char out[16 * BLOCK], in[16 * BLOCK];

static void wait_for(const char *label, MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
}

static UNUSED long long larger(long long one, long long other)
{
    return one > other ? one : other;
}

/* Twice started, then given up. The set-up counts by the message's size, each start carries the bytes. */
static UNUSED void persistent(const char *label, MPI_Request *request, const char *name, long long size, long long give,
                              long long take)
{
    for (int round = 0; round < 2; round++) {
        MPI_Start(request);
        carried(label, "MPI_Start", size, give, take);
        own_size_of(label, "MPI_Start", name, larger(give, take), give, take);
        wait_for(label, request);
    }
    MPI_Request_free(request);
    called(label, "MPI_Request_free");
}

#ifdef INIT
#define PERSISTENT(name, size, give, take, ...)                                                                        \
    do {                                                                                                               \
        if (comm_size > PERSISTENT_MOST)                                                                               \
            break;                                                                                                     \
        INIT(name)(__VA_ARGS__, comm, MPI_INFO_NULL, &request);                                                        \
        carried(label, "MPI_" #name "_init", size, 0, 0);                                                              \
        own_size_of(label, "MPI_" #name "_init", #name, larger(give, take), 0, 0);                                     \
        persistent(label, &request, #name, size, give, take);                                                          \
    } while (0)
#else
#define PERSISTENT(name, size, give, take, ...)
#endif

/* The same call in its three forms; `give` and `take` are this rank's bytes. */
#define FORMS(name, nonblocking, size, give, take, ...)                                                                \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        MPI_##name(__VA_ARGS__, comm);                                                                                 \
        carried(label, "MPI_" #name, size, give, take);                                                                \
        own_size_of(label, "MPI_" #name, #name, larger(give, take), give, take);                                       \
        MPI_##nonblocking(__VA_ARGS__, comm, &request);                                                                \
        carried(label, "MPI_" #nonblocking, size, give, take);                                                         \
        own_size_of(label, "MPI_" #nonblocking, #name, larger(give, take), give, take);                                \
        wait_for(label, &request);                                                                                     \
        PERSISTENT(name, size, give, take, __VA_ARGS__);                                                               \
    } while (0)

/* Lists of counts and places for the [v,w] forms: rank i has to do with i + 1 integers. */
static int counts[16], places[16], twos[16], byte_places[16];
static MPI_Datatype types[16];

static int make_lists(int size)
{
    int sum = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1, places[i] = sum, byte_places[i] = sum * 4;
        twos[i] = 2;
        types[i] = i % 2 ? MPI_INT : MPI_FLOAT;
        sum += counts[i];
    }
    return sum;
}

static void rooted(MPI_Comm comm, const char *label, int comm_size, int rank, int root)
{
    int at_root = rank == root, sum = make_lists(comm_size) * 4, own = (rank + 1) * 4;
    const int block = 50; /* integers: 200 bytes, in the second bucket */
    FORMS(Bcast, Ibcast, 200, at_root ? 200 : 0, at_root ? 0 : 200, out, block, MPI_INT, root);
    FORMS(Bcast, Ibcast, 0, 0, 0, NULL, 0, MPI_INT, root);
    FORMS(Reduce, Ireduce, 200, 200, at_root ? 200 : 0, out, in, block, MPI_INT, MPI_SUM, root);
    FORMS(Reduce, Ireduce, 200, 200, at_root ? 200 : 0, at_root ? MPI_IN_PLACE : out, in, block, MPI_INT, MPI_MAX, root);
    /* What only matters at the root is nonsense elsewhere. */
    int there = at_root ? block : -5;
    MPI_Datatype type_there = at_root ? MPI_INT : MPI_DATATYPE_NULL;
    FORMS(Gather, Igather, 200, 200, at_root ? 200 * comm_size : 0, out, block, MPI_INT, in, there, type_there, root);
    FORMS(Gather, Igather, 200, 200, at_root ? 200 * comm_size : 0, at_root ? MPI_IN_PLACE : out, at_root ? 0 : block,
          at_root ? MPI_DATATYPE_NULL : MPI_INT, in, there, type_there, root);
    FORMS(Scatter, Iscatter, 200, at_root ? 200 * comm_size : 0, 200, out, there, type_there, in, block, MPI_INT, root);
    FORMS(Scatter, Iscatter, 200, at_root ? 200 * comm_size : 0, 200, out, there, type_there, at_root ? MPI_IN_PLACE : in,
          at_root ? 0 : block, at_root ? MPI_DATATYPE_NULL : MPI_INT, root);
    FORMS(Gatherv, Igatherv, 0, own, at_root ? sum : 0, out, rank + 1, MPI_INT, in, at_root ? counts : NULL,
          at_root ? places : NULL, type_there, root);
    FORMS(Gatherv, Igatherv, 0, own, at_root ? sum : 0, at_root ? MPI_IN_PLACE : out, rank + 1, MPI_INT, in,
          at_root ? counts : NULL, at_root ? places : NULL, type_there, root);
    FORMS(Scatterv, Iscatterv, 0, at_root ? sum : 0, own, out, at_root ? counts : NULL, at_root ? places : NULL,
          type_there, in, rank + 1, MPI_INT, root);
    FORMS(Scatterv, Iscatterv, 0, at_root ? sum : 0, own, out, at_root ? counts : NULL, at_root ? places : NULL,
          type_there, at_root ? MPI_IN_PLACE : in, rank + 1, MPI_INT, root);
}

static void unrooted(MPI_Comm comm, const char *label, int comm_size, int rank)
{
    int sum = make_lists(comm_size) * 4, own = (rank + 1) * 4;
    MPI_Request request;
    MPI_Barrier(comm);
    called(label, "MPI_Barrier");
    MPI_Ibarrier(comm, &request);
    called(label, "MPI_Ibarrier");
    wait_for(label, &request);
#ifdef INIT
    if (comm_size <= PERSISTENT_MOST) {
        INIT(Barrier)(comm, MPI_INFO_NULL, &request);
        called(label, "MPI_Barrier_init");
        persistent(label, &request, "Barrier", 0, 0, 0);
    }
#endif
    FORMS(Allreduce, Iallreduce, 8, 8, 8, out, in, 1, MPI_DOUBLE, MPI_SUM);
    FORMS(Allreduce, Iallreduce, 4096, 4096, 4096, MPI_IN_PLACE, in, 512, MPI_DOUBLE, MPI_SUM);
    FORMS(Scan, Iscan, 400, 400, 400, out, in, 100, MPI_INT, MPI_SUM);
    FORMS(Scan, Iscan, 400, 400, 400, MPI_IN_PLACE, in, 100, MPI_INT, MPI_SUM);
    FORMS(Exscan, Iexscan, 400, 400, rank ? 400 : 0, out, in, 100, MPI_INT, MPI_SUM);
    FORMS(Exscan, Iexscan, 400, 400, rank ? 400 : 0, MPI_IN_PLACE, in, 100, MPI_INT, MPI_SUM);
    FORMS(Allgather, Iallgather, 12, 12, 12 * comm_size, out, 3, MPI_INT, in, 12, MPI_BYTE);
    FORMS(Allgather, Iallgather, 1200, 1200, 1200 * comm_size, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 300, MPI_INT);
    FORMS(Allgatherv, Iallgatherv, 0, own, sum, out, rank + 1, MPI_INT, in, counts, places, MPI_INT);
    FORMS(Allgatherv, Iallgatherv, 0, own, sum, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_INT);
    FORMS(Alltoall, Ialltoall, 40, 40 * comm_size, 40 * comm_size, out, 10, MPI_INT, in, 10, MPI_INT);
    FORMS(Alltoall, Ialltoall, BLOCK, BLOCK * comm_size, BLOCK * comm_size, out, BLOCK, MPI_BYTE, in, BLOCK, MPI_BYTE);
    FORMS(Alltoall, Ialltoall, 40, 40 * comm_size, 40 * comm_size, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 10, MPI_INT);
    /* Everyone sends i + 1 integers to rank i, so everyone receives rank + 1 integers from each. */
    int takes[16], from[16], bytes_from[16];
    for (int i = 0; i < comm_size; i++)
        takes[i] = rank + 1, from[i] = i * (rank + 1), bytes_from[i] = 4 * i * (rank + 1);
    FORMS(Alltoallv, Ialltoallv, 0, sum, own * comm_size, out, counts, places, MPI_INT, in, takes, from, MPI_INT);
    FORMS(Alltoallw, Ialltoallw, 0, sum, own * comm_size, out, counts, byte_places, types, in, takes, bytes_from,
          rank % 2 ? (MPI_Datatype[]){MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT}
                   : (MPI_Datatype[]){MPI_FLOAT, MPI_FLOAT, MPI_FLOAT, MPI_FLOAT, MPI_FLOAT, MPI_FLOAT, MPI_FLOAT,
                                      MPI_FLOAT});
    for (int i = 0; i < comm_size; i++)
        from[i] = 2 * i;
    FORMS(Alltoallv, Ialltoallv, 0, 8 * comm_size, 8 * comm_size, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, twos, from,
          MPI_INT);
    /* In the class of the whole, not of a block: rank 0 gives and takes more than the others. */
    int heavy[16], heavy_from[16];
    for (int i = 0; i < comm_size; i++)
        heavy[i] = rank == 0 || i == 0 ? 300 : 3, heavy_from[i] = 300 * i;
    long long weight = 4 * (rank == 0 ? 300 * comm_size : 300 + 3 * (comm_size - 1));
    FORMS(Alltoallv, Ialltoallv, 0, weight, weight, out, heavy, heavy_from, MPI_INT, in, heavy, heavy_from, MPI_INT);
    FORMS(Reduce_scatter_block, Ireduce_scatter_block, 2000, 2000 * comm_size, 2000, out, in, 500, MPI_INT, MPI_SUM);
    FORMS(Reduce_scatter_block, Ireduce_scatter_block, 8, 8 * comm_size, 8, MPI_IN_PLACE, in, 2, MPI_INT, MPI_SUM);
    FORMS(Reduce_scatter, Ireduce_scatter, sum, sum, own, out, in, counts, MPI_INT, MPI_SUM);
    FORMS(Reduce_scatter, Ireduce_scatter, sum, sum, own, MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM);
}

static void everything(MPI_Comm comm, const char *label)
{
    int size, rank;
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_rank(comm, &rank);
    rooted(comm, label, size, rank, 0);
    if (size > 1)
        rooted(comm, label, size, rank, size - 1);
    unrooted(comm, label, size, rank);
}

/* Several in flight, of one and of two communicators. */
static void in_flight(MPI_Comm first, const char *first_label, MPI_Comm second, const char *second_label)
{
    MPI_Request requests[4];
    for (int round = 0; round < 20; round++) {
        MPI_Ibarrier(first, &requests[0]);
        called(first_label, "MPI_Ibarrier");
        MPI_Iallreduce(out, in, 4, MPI_INT, MPI_SUM, second, &requests[1]);
        carried(second_label, "MPI_Iallreduce", 16, 16, 16);
        MPI_Iallreduce(out, in + 64, 4, MPI_INT, MPI_SUM, first, &requests[2]);
        carried(first_label, "MPI_Iallreduce", 16, 16, 16);
        MPI_Ibarrier(second, &requests[3]);
        called(second_label, "MPI_Ibarrier");
        if (round % 2) {
            MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
            called("*", "MPI_Waitall");
            involved(first_label, "MPI_Waitall");
            involved(second_label, "MPI_Waitall");
        } else {
            for (int i = 0; i < 4; i++)
                wait_for(i == 0 || i == 2 ? first_label : second_label, &requests[i]);
        }
    }
}

/* More than an int or 32 bits can hold: nothing moves, since the process is alone. */
static void gigantic(void)
{
    MPI_Datatype type;
    PMPI_Type_contiguous(1 << 30, MPI_INT, &type);
    PMPI_Type_commit(&type);
    MPI_Bcast(out, 3, type, 0, MPI_COMM_SELF);
    carried("SELF", "MPI_Bcast", 3LL << 32, 3LL << 32, 0);
    PMPI_Type_free(&type);
}

/* Both groups have as many processes; the lower half gives from its rank 1 (or 0), the upper half takes. */
static void between_groups(void)
{
    int upper = world_rank >= world_size / 2, half = world_size / 2;
    const char *name = label_of("half %d", upper), *label = "bridge";
    MPI_Comm local, comm;
    MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &local);
    made(local, name, "MPI_Comm_split", "WORLD");
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, upper ? 0 : half, 3, &comm);
    made(comm, label, "MPI_Intercomm_create", name);
    int rank, giver = half - 1;
    PMPI_Comm_rank(comm, &rank);
    int root = upper ? giver : rank == giver ? MPI_ROOT : MPI_PROC_NULL;
    int at_root = root == MPI_ROOT;

    MPI_Request request;
    MPI_Barrier(comm);
    called(label, "MPI_Barrier");
    MPI_Ibarrier(comm, &request);
    called(label, "MPI_Ibarrier");
    wait_for(label, &request);

    /* Of those who stand aside no argument means anything, and MPICH takes no elements of no datatype. */
    int aside = root == MPI_PROC_NULL, piece = aside ? 0 : 300, block = aside ? 0 : 160;
    MPI_Datatype byte = MPI_BYTE, integer = MPI_INT;
#ifdef MPICH
    if (aside) byte = integer = MPI_DATATYPE_NULL;
#endif
    MPI_Bcast(out, piece, byte, root, comm);
    carried(label, "MPI_Bcast", piece, at_root ? 300 : 0, upper ? 300 : 0);
    MPI_Ibcast(out, piece, byte, root, comm, &request);
    carried(label, "MPI_Ibcast", piece, at_root ? 300 : 0, upper ? 300 : 0);
    wait_for(label, &request);
    MPI_Reduce(out, in, aside ? 0 : 40, integer, MPI_SUM, root, comm);
    carried(label, "MPI_Reduce", block, upper ? 160 : 0, at_root ? 160 : 0);
    MPI_Gather(out, 40, MPI_INT, in, 40, MPI_INT, root, comm);
    carried(label, "MPI_Gather", block, upper ? 160 : 0, at_root ? 160 * half : 0);
    MPI_Scatter(out, 40, MPI_INT, in, 40, MPI_INT, root, comm);
    carried(label, "MPI_Scatter", block, at_root ? 160 * half : 0, upper ? 160 : 0);
    MPI_Allreduce(out, in, 5, MPI_DOUBLE, MPI_SUM, comm);
    carried(label, "MPI_Allreduce", 40, 40, 40);
    MPI_Allgather(out, 7, MPI_INT, in, 7, MPI_INT, comm);
    carried(label, "MPI_Allgather", 28, 28, 28 * half);
    MPI_Alltoall(out, 7, MPI_INT, in, 7, MPI_INT, comm);
    carried(label, "MPI_Alltoall", 28, 28 * half, 28 * half);
    in_flight(local, name, MPI_COMM_WORLD, "WORLD");
    free_comm(&comm, label);
    free_comm(&local, name);
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(world_size <= 8 && world_size % 2 == 0);
    everything(MPI_COMM_WORLD, "WORLD");
    MPI_Comm reversed, part;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
    made(reversed, "reversed", "MPI_Comm_split", "WORLD");
    everything(reversed, "reversed");
    const char *name = label_of("part %d", world_rank % 2);
    MPI_Comm_split(reversed, world_rank % 2, 0, &part);
    made(part, name, "MPI_Comm_split", "reversed");
    everything(part, name);
    everything(MPI_COMM_SELF, "SELF");
    gigantic();
    in_flight(reversed, "reversed", part, name);
    between_groups();
    truth_finalize();
    return 0;
}
