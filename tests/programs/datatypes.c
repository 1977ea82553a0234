/* Datatypes: which were used, how often and for how many bytes. Only uses of datatypes are stated here, not calls: other
 * programs do that. Needs an even number of ranks. */
#include "truth.h"

static int peer;
/* Each thread has buffers of its own. */
static __thread double out[4096], in[4096];

/* A message to the peer and one from it, each with the same datatype; both sides state their argument. */
static void exchange(MPI_Comm comm, const char *label, MPI_Datatype type, int count, const char *text, int contiguous)
{
    int size;
    MPI_Request request;
    PMPI_Type_size(type, &size);
    MPI_Isend(out, count, type, peer, 1, comm, &request);
    described(label, "MPI_Isend", text, contiguous, (long long)count * size);
    MPI_Recv(in, count, type, peer, 1, comm, MPI_STATUS_IGNORE);
    described(label, "MPI_Recv", text, contiguous, (long long)count * size);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void use(MPI_Datatype type, const char *text, int contiguous)
{
    exchange(MPI_COMM_WORLD, "WORLD", type, 2, text, contiguous);
}

/* Commits, uses and frees a derived datatype. */
static void once(MPI_Datatype type, const char *text, int contiguous)
{
    MPI_Type_commit(&type);
    use(type, text, contiguous);
    MPI_Type_free(&type);
}

static void predefined(void)
{
    use(MPI_INT, "MPI_INT", 1);
    use(MPI_DOUBLE, "MPI_DOUBLE", 1);
    use(MPI_BYTE, "MPI_BYTE", 1);
    use(MPI_CHAR, "MPI_CHAR", 1);
    use(MPI_UNSIGNED_LONG, "MPI_UNSIGNED_LONG", 1);
    use(MPI_UINT64_T, "MPI_UINT64_T", 1);
    use(MPI_FLOAT_INT, "MPI_FLOAT_INT", 1);
    use(MPI_SHORT_INT, "MPI_SHORT_INT", 0); /* two bytes between its parts */
}

static void structures(void)
{
    MPI_Datatype type, inner, outer;
    MPI_Type_contiguous(4, MPI_DOUBLE, &type);
    once(type, "contiguous(4 of MPI_DOUBLE)", 1);
    MPI_Type_vector(16, 4, 128, MPI_DOUBLE, &type);
    once(type, "vector(16 x 4 of MPI_DOUBLE, stride 128)", 0);
    MPI_Type_vector(8, 4, 4, MPI_INT, &type);
    once(type, "vector(8 x 4 of MPI_INT, stride 4)", 1);
    MPI_Type_create_hvector(3, 2, 100, MPI_INT, &type);
    once(type, "hvector(3 x 2 of MPI_INT, stride 100 bytes)", 0);

    int lengths[3] = {1, 2, 3}, places[3] = {0, 5, 10};
    MPI_Aint bytes[3] = {0, 40, 80};
    MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    once(type, "indexed(3 blocks, 6 of MPI_INT)", 0);
    MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type);
    once(type, "hindexed(3 blocks, 6 of MPI_INT)", 0);
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type);
    once(type, "indexed_block(3 x 2 of MPI_INT)", 0);
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type);
    once(type, "hindexed_block(3 x 2 of MPI_INT)", 0);

    MPI_Datatype types[8] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    int ones[8] = {1, 2, 3, 1, 1, 1, 1, 1};
    MPI_Aint at[8] = {0, 8, 24, 28, 32, 36, 40, 44};
    MPI_Type_create_struct(3, ones, at, types, &type);
    once(type, "struct(1 of MPI_INT, 2 of MPI_DOUBLE, 3 of MPI_CHAR)", 0);
    MPI_Type_create_struct(8, ones, at, types, &type);
    once(type, "struct(1 of MPI_INT, 2 of MPI_DOUBLE, 3 of MPI_CHAR, 1 of MPI_INT, 1 of MPI_INT, 1 of MPI_INT, … 8 members)", 0);

    int whole[2] = {16, 8}, part[2] = {4, 2}, start[2] = {1, 1};
    MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &type);
    once(type, "subarray(4x2 in 16x8 of MPI_DOUBLE)", 0);
    int distributions[1] = {MPI_DISTRIBUTE_BLOCK}, arguments[1] = {MPI_DISTRIBUTE_DFLT_DARG}, processes[1] = {2};
    MPI_Type_create_darray(2, 0, 1, (int[]){64}, distributions, arguments, processes, MPI_ORDER_C, MPI_INT, &type);
    once(type, "darray(64 over 2 processes of MPI_INT)", 0);
    MPI_Type_create_resized(MPI_INT, 0, 16, &type);
    once(type, "resized(MPI_INT, extent 16)", 0);
    MPI_Type_dup(MPI_DOUBLE, &type);
    once(type, "dup(MPI_DOUBLE)", 1);

    /* The inner one is freed before the outer one is used. */
    MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    MPI_Type_contiguous(3, inner, &outer);
    MPI_Type_free(&inner);
    once(outer, "contiguous(3 of vector(2 x 1 of MPI_INT, stride 2))", 0);
    type = MPI_INT;
    for (int level = 0; level < 6; level++) {
        MPI_Type_contiguous(2, type, &outer);
        if (type != MPI_INT)
            MPI_Type_free(&type);
        type = outer;
    }
    once(type, "contiguous(2 of contiguous(2 of contiguous(2 of contiguous(2 of …))))", 1);
    /* Members that are built of others are described, too, and none of them is lost. */
    MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    types[0] = inner, types[1] = MPI_INT, types[2] = inner;
    at[0] = 0, at[1] = 64, at[2] = 128;
    MPI_Type_create_struct(3, ones, at, types, &outer);
    once(outer, "struct(1 of vector(2 x 1 of MPI_INT, stride 2), 2 of MPI_INT, 3 of vector(2 x 1 of MPI_INT, stride 2))", 0);
    once(inner, "vector(2 x 1 of MPI_INT, stride 2)", 0);
#if MPI_VERSION >= 4
    MPI_Type_contiguous_c(4, MPI_DOUBLE, &type);
    once(type, "contiguous (large count)", 1);
    MPI_Type_vector_c(2, 1, 2, MPI_DOUBLE, &type);
    once(type, "vector (large count)", 0);
#endif
}

/* A handle that is freed and given again means something else, of the same size or of another. */
static void recycled(void)
{
    int again = 0, unseen = 0;
    for (int i = 0; i < 50; i++) {
        MPI_Datatype first, second;
        MPI_Type_vector(4, 1, 3, MPI_INT, &first);
        MPI_Datatype was = first;
        once(first, "vector(4 x 1 of MPI_INT, stride 3)", 0);
        MPI_Type_contiguous(4, MPI_INT, &second);
        again += second == was;
        once(second, "contiguous(4 of MPI_INT)", 1);
        /* Freed where the profiler does not see it. */
        MPI_Type_contiguous(5, MPI_INT, &first);
        MPI_Type_commit(&first);
        was = first;
        use(first, "contiguous(5 of MPI_INT)", 1);
        PMPI_Type_free(&first);
        MPI_Type_contiguous(6, MPI_INT, &second);
        unseen += second == was;
        once(second, "contiguous(6 of MPI_INT)", 1);
    }
    EXPECT(again > 0 && unseen > 0);
}

static void point_to_point(void)
{
    const char *world = "WORLD";
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Message message;
    /* The buffer of a receive counts, not what arrives. */
    MPI_Irecv(in, 100, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[0]);
    described(world, "MPI_Irecv", "MPI_INT", 1, 400);
    MPI_Send(out, 3, MPI_INT, peer, 2, MPI_COMM_WORLD);
    described(world, "MPI_Send", "MPI_INT", 1, 12);
    MPI_Wait(&requests[0], &status);
    /* Both sides of one call, with different datatypes. */
    MPI_Sendrecv(out, 2, MPI_INT, peer, 3, in, 8, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &status);
    described(world, "MPI_Sendrecv", "MPI_INT", 1, 8);
    described(world, "MPI_Sendrecv", "MPI_BYTE", 1, 8);
    MPI_Sendrecv_replace(out, 5, MPI_DOUBLE, peer, 3, peer, 3, MPI_COMM_WORLD, &status);
    described(world, "MPI_Sendrecv_replace", "MPI_DOUBLE", 1, 40);
    MPI_Sendrecv_replace(out, 5, MPI_DOUBLE, MPI_PROC_NULL, 3, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    /* What goes nowhere and what has no elements describes nothing. */
    MPI_Send(out, 3, MPI_FLOAT, MPI_PROC_NULL, 2, MPI_COMM_WORLD);
    MPI_Recv(in, 3, MPI_FLOAT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &status);
    MPI_Sendrecv(out, 0, MPI_FLOAT, peer, 3, in, 0, MPI_FLOAT, peer, 3, MPI_COMM_WORLD, &status);
    MPI_Sendrecv(out, 3, MPI_FLOAT, MPI_PROC_NULL, 3, in, 3, MPI_LONG, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);

    MPI_Isend(out, 4, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[0]);
    described(world, "MPI_Isend", "MPI_INT", 1, 16);
    MPI_Mprobe(peer, 4, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(in, 16, MPI_BYTE, &message, &status);
    described(world, "MPI_Mrecv", "MPI_BYTE", 1, 16);
    MPI_Wait(&requests[0], &status);
    MPI_Isend(out, 4, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[0]);
    described(world, "MPI_Isend", "MPI_INT", 1, 16);
    MPI_Mprobe(peer, 4, MPI_COMM_WORLD, &message, &status);
    MPI_Imrecv(in, 9, MPI_INT, &message, &requests[1]);
    described(world, "MPI_Imrecv", "MPI_INT", 1, 36);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    /* Persistent requests count at each start. */
    MPI_Send_init(out, 7, MPI_INT, peer, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, 8, MPI_INT, peer, 5, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&requests[0]);
        described(world, "MPI_Start", "MPI_INT", 1, 28);
        MPI_Start(&requests[1]);
        described(world, "MPI_Start", "MPI_INT", 1, 32);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Startall(2, requests);
        described(world, "MPI_Startall", "MPI_INT", 1, 28);
        described(world, "MPI_Startall", "MPI_INT", 1, 32);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    /* A call that fails uses nothing. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EXPECT(MPI_Send(out, 1, MPI_INT, world_size + 7, 1, MPI_COMM_WORLD) != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);

    MPI_Pcontrol(0, NULL);
    MPI_Sendrecv(out, 2, MPI_LONG, peer, 3, in, 2, MPI_LONG, peer, 3, MPI_COMM_WORLD, &status);
    MPI_Pcontrol(1, NULL);
}

static void collectives(void)
{
    const char *world = "WORLD";
    int n = world_size, sum = 0, is_root = world_rank == 0;
    int counts[64], displs[64], sizes[64];
    MPI_Datatype types[64], pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    const char *pair_text = "contiguous(2 of MPI_INT)";
    EXPECT(n <= 64);
    for (int i = 0; i < n; i++)
        counts[i] = i, displs[i] = i * 8, sizes[i] = i * 64, sum += i, types[i] = i % 2 ? MPI_INT : pair;

    MPI_Bcast(out, 3, MPI_INT, 0, MPI_COMM_WORLD);
    described(world, "MPI_Bcast", "MPI_INT", 1, 12);
    MPI_Reduce(out, in, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    described(world, "MPI_Reduce", "MPI_DOUBLE", 1, 24);
    MPI_Allreduce(out, in, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    described(world, "MPI_Allreduce", "MPI_DOUBLE", 1, 32);
    MPI_Allreduce(MPI_IN_PLACE, in, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    described(world, "MPI_Allreduce", "MPI_DOUBLE", 1, 32);
    MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    described(world, "MPI_Scan", "MPI_INT", 1, 4);
    MPI_Exscan(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    described(world, "MPI_Exscan", "MPI_INT", 1, 4);

    /* Beside the root the other side's datatype is not looked at. */
    MPI_Gather(out, 2, MPI_INT, in, 1, is_root ? pair : MPI_DOUBLE, 0, MPI_COMM_WORLD);
    described(world, "MPI_Gather", "MPI_INT", 1, 8);
    if (is_root)
        described(world, "MPI_Gather", pair_text, 1, 8 * n);
    MPI_Gather(is_root ? MPI_IN_PLACE : (void *)out, 2, MPI_INT, in, 2, MPI_INT, 0, MPI_COMM_WORLD);
    described(world, "MPI_Gather", "MPI_INT", 1, is_root ? 8 * n : 8);
    MPI_Gatherv(out, world_rank, MPI_INT, in, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
    if (world_rank > 0)
        described(world, "MPI_Gatherv", "MPI_INT", 1, 4 * world_rank);
    if (is_root)
        described(world, "MPI_Gatherv", "MPI_INT", 1, 4 * sum);
    MPI_Scatter(out, 2, MPI_INT, in, 1, pair, 0, MPI_COMM_WORLD);
    described(world, "MPI_Scatter", pair_text, 1, 8);
    if (is_root)
        described(world, "MPI_Scatter", "MPI_INT", 1, 8 * n);
    MPI_Scatterv(out, counts, displs, MPI_INT, in, world_rank, MPI_INT, 0, MPI_COMM_WORLD);
    if (world_rank > 0)
        described(world, "MPI_Scatterv", "MPI_INT", 1, 4 * world_rank);
    if (is_root)
        described(world, "MPI_Scatterv", "MPI_INT", 1, 4 * sum);
    MPI_Allgather(out, 2, MPI_INT, in, 1, pair, MPI_COMM_WORLD);
    described(world, "MPI_Allgather", "MPI_INT", 1, 8);
    described(world, "MPI_Allgather", pair_text, 1, 8 * n);
    MPI_Allgather(MPI_IN_PLACE, 2, MPI_INT, in, 1, pair, MPI_COMM_WORLD);
    described(world, "MPI_Allgather", pair_text, 1, 8 * n);
    MPI_Allgatherv(out, world_rank, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD);
    if (world_rank > 0)
        described(world, "MPI_Allgatherv", "MPI_INT", 1, 4 * world_rank);
    described(world, "MPI_Allgatherv", "MPI_INT", 1, 4 * sum);
    MPI_Alltoall(out, 2, MPI_INT, in, 1, pair, MPI_COMM_WORLD);
    described(world, "MPI_Alltoall", "MPI_INT", 1, 8 * n);
    described(world, "MPI_Alltoall", pair_text, 1, 8 * n);
    int mine[64];
    for (int i = 0; i < n; i++)
        mine[i] = world_rank;
    MPI_Alltoallv(out, mine, displs, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD);
    if (world_rank > 0)
        described(world, "MPI_Alltoallv", "MPI_INT", 1, 4 * n * world_rank);
    described(world, "MPI_Alltoallv", "MPI_INT", 1, 4 * sum);
    /* To and from every rank two of its type: pairs for even ranks, integers for odd ones. */
    MPI_Datatype own[64];
    int twos[64];
    for (int i = 0; i < n; i++)
        twos[i] = 2, own[i] = types[world_rank];
    MPI_Request request;
    MPI_Ialltoallw(out, twos, sizes, types, in, twos, sizes, own, MPI_COMM_WORLD, &request);
    described(world, "MPI_Ialltoallw", pair_text, 1, 16 * (n / 2));
    described(world, "MPI_Ialltoallw", "MPI_INT", 1, 8 * (n / 2));
    if (world_rank % 2)
        described(world, "MPI_Ialltoallw", "MPI_INT", 1, 8 * n);
    else
        described(world, "MPI_Ialltoallw", pair_text, 1, 16 * n);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Reduce_scatter_block(out, in, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    described(world, "MPI_Reduce_scatter_block", "MPI_INT", 1, 12 * n);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    described(world, "MPI_Reduce_scatter", "MPI_INT", 1, 4 * sum);
    MPI_Barrier(MPI_COMM_WORLD);

    /* A line of ranks: the first and the last have one neighbour. */
    MPI_Comm line;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, (int[]){0}, 0, &line);
    made(line, "line", "MPI_Cart_create", "WORLD");
    int neighbors = 2 - (world_rank == 0) - (world_rank == n - 1);
    MPI_Neighbor_allgather(out, 2, MPI_INT, in, 1, pair, line);
    described("line", "MPI_Neighbor_allgather", "MPI_INT", 1, 8);
    described("line", "MPI_Neighbor_allgather", pair_text, 1, 8 * neighbors);
    MPI_Neighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, line);
    described("line", "MPI_Neighbor_alltoall", "MPI_INT", 1, 8 * neighbors);
    described("line", "MPI_Neighbor_alltoall", "MPI_INT", 1, 8 * neighbors);
    int three[2] = {3, 3}, at[2] = {0, 8};
    MPI_Neighbor_alltoallv(out, three, at, MPI_INT, in, three, at, MPI_INT, line);
    described("line", "MPI_Neighbor_alltoallv", "MPI_INT", 1, 12 * neighbors);
    described("line", "MPI_Neighbor_alltoallv", "MPI_INT", 1, 12 * neighbors);
    MPI_Datatype both[2] = {MPI_INT, pair};
    MPI_Aint places[2] = {0, 128};
    /* Sent as integers to the left and as pairs to the right, so taken as pairs from the left. */
    MPI_Datatype crossed[2] = {pair, MPI_INT};
    MPI_Neighbor_alltoallw(out, three, places, both, in, three, places, crossed, line);
    if (world_rank > 0) {
        described("line", "MPI_Neighbor_alltoallw", "MPI_INT", 1, 12);
        described("line", "MPI_Neighbor_alltoallw", pair_text, 1, 24);
    }
    if (world_rank < n - 1) {
        described("line", "MPI_Neighbor_alltoallw", pair_text, 1, 24);
        described("line", "MPI_Neighbor_alltoallw", "MPI_INT", 1, 12);
    }
    MPI_Type_free(&pair);
}

static MPI_Comm thread_comms[2];

/* Two threads that build, use and free datatypes of their own over communicators of their own. */
static void *work(void *argument)
{
    int which = (int)(long)argument;
    MPI_Comm comm = thread_comms[which];
    for (int i = 0; i < 100; i++) {
        MPI_Datatype type;
        const char *text;
        /* Both threads use one size for different structures, so that handles that were mixed up would show. */
        if ((i + which) % 2) {
            MPI_Type_vector(2 + which, which ? 4 : 6, 8, MPI_INT, &type);
            text = which ? "vector(3 x 4 of MPI_INT, stride 8)" : "vector(2 x 6 of MPI_INT, stride 8)";
        } else {
            MPI_Type_contiguous(12, MPI_INT, &type);
            text = "contiguous(12 of MPI_INT)";
        }
        MPI_Type_commit(&type);
        exchange(comm, label_of("thread %d", which), type, 1, text, !((i + which) % 2));
        exchange(comm, label_of("thread %d", which), MPI_INT, 1 + which, "MPI_INT", 1);
        MPI_Type_free(&type);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    truth_begin("MPI_Init_thread");
    EXPECT(provided == MPI_THREAD_MULTIPLE && world_size % 2 == 0);
    peer = world_rank ^ 1;
    predefined();
    structures();
    recycled();
    point_to_point();
    collectives();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &thread_comms[i]);
        made(thread_comms[i], label_of("thread %d", i), "MPI_Comm_dup", "WORLD");
    }
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    truth_finalize();
    return 0;
}
