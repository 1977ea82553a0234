/* The large-count forms of MPI-4, each counted under the name without _c. For an even number of ranks. */
#include "truth.h"

#if MPI_VERSION < 4
#error "needs MPI-4"
#endif

static char out[1 << 16], in[1 << 16];

static void wait_for(const char *label, MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
}

static void messages(int peer)
{
    const char *label = "WORLD";
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request, requests[2];
    MPI_Message message;
    MPI_Count bytes = 1000;
    if (world_rank < peer) {
        MPI_Send_c(out, bytes, MPI_BYTE, peer, 1, comm);
        sent(label, "MPI_Send", peer, bytes);
        MPI_Ssend_c(out, bytes, MPI_BYTE, peer, 1, comm);
        sent(label, "MPI_Ssend", peer, bytes);
        MPI_Isend_c(out, bytes, MPI_BYTE, peer, 1, comm, &request);
        sent(label, "MPI_Isend", peer, bytes);
        wait_for(label, &request);
        MPI_Send_c(out, bytes, MPI_BYTE, peer, 1, comm);
        sent(label, "MPI_Send", peer, bytes);
    } else {
        MPI_Recv_c(in, 2 * bytes, MPI_BYTE, peer, 1, comm, MPI_STATUS_IGNORE);
        received(label, "MPI_Recv", bytes);
        MPI_Irecv_c(in, 2 * bytes, MPI_BYTE, peer, 1, comm, &request);
        wait_for(label, &request);
        received(label, "MPI_Irecv", bytes);
        MPI_Mprobe(peer, 1, comm, &message, MPI_STATUS_IGNORE);
        called(label, "MPI_Mprobe");
        MPI_Mrecv_c(in, 2 * bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        received(label, "MPI_Mrecv", bytes);
        MPI_Mprobe(peer, 1, comm, &message, MPI_STATUS_IGNORE);
        called(label, "MPI_Mprobe");
        MPI_Imrecv_c(in, 2 * bytes, MPI_BYTE, &message, &request);
        wait_for(label, &request);
        received(label, "MPI_Imrecv", bytes);
    }
    MPI_Sendrecv_c(out, bytes, MPI_BYTE, peer, 2, in, bytes, MPI_BYTE, peer, 2, comm, MPI_STATUS_IGNORE);
    carried(label, "MPI_Sendrecv", bytes, bytes, bytes);
    edge(label, "MPI_Sendrecv", peer, bytes);
    MPI_Sendrecv_replace_c(out, bytes, MPI_BYTE, peer, 2, peer, 2, comm, MPI_STATUS_IGNORE);
    carried(label, "MPI_Sendrecv_replace", bytes, bytes, bytes);
    edge(label, "MPI_Sendrecv_replace", peer, bytes);
    MPI_Recv_init_c(in, bytes, MPI_BYTE, peer, 3, comm, &requests[0]);
    called(label, "MPI_Recv_init");
    MPI_Send_init_c(out, bytes, MPI_BYTE, peer, 3, comm, &requests[1]);
    carried(label, "MPI_Send_init", bytes, 0, 0);
    for (int i = 0; i < 2; i++)
        MPI_Start(&requests[i]);
    sent(label, "MPI_Start", peer, bytes);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    called(label, "MPI_Waitall");
    received(label, "MPI_Start", bytes);
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&requests[i]);
        called(label, "MPI_Request_free");
    }
}

static void collectives(void)
{
    const char *label = "WORLD";
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    MPI_Count counts[16], block = 100;
    MPI_Aint places[16];
    int at_root = world_rank == 0;
    long long size = 400, all = size * world_size;
    for (int i = 0; i < world_size; i++)
        counts[i] = block, places[i] = i * block;
    MPI_Bcast_c(out, block, MPI_INT, 0, comm);
    carried(label, "MPI_Bcast", size, at_root ? size : 0, at_root ? 0 : size);
    MPI_Ibcast_c(out, block, MPI_INT, 0, comm, &request);
    carried(label, "MPI_Ibcast", size, at_root ? size : 0, at_root ? 0 : size);
    wait_for(label, &request);
    MPI_Allreduce_c(out, in, block, MPI_INT, MPI_SUM, comm);
    carried(label, "MPI_Allreduce", size, size, size);
    MPI_Reduce_c(out, in, block, MPI_INT, MPI_SUM, 0, comm);
    carried(label, "MPI_Reduce", size, size, at_root ? size : 0);
    MPI_Gather_c(out, block, MPI_INT, in, block, MPI_INT, 0, comm);
    carried(label, "MPI_Gather", size, size, at_root ? all : 0);
    MPI_Gatherv_c(out, block, MPI_INT, in, counts, places, MPI_INT, 0, comm);
    carried(label, "MPI_Gatherv", 0, size, at_root ? all : 0);
    MPI_Scatterv_c(out, counts, places, MPI_INT, in, block, MPI_INT, 0, comm);
    carried(label, "MPI_Scatterv", 0, at_root ? all : 0, size);
    MPI_Allgather_c(out, block, MPI_INT, in, block, MPI_INT, comm);
    carried(label, "MPI_Allgather", size, size, all);
    MPI_Allgatherv_c(out, block, MPI_INT, in, counts, places, MPI_INT, comm);
    carried(label, "MPI_Allgatherv", 0, size, all);
    MPI_Iallgatherv_c(out, block, MPI_INT, in, counts, places, MPI_INT, comm, &request);
    carried(label, "MPI_Iallgatherv", 0, size, all);
    wait_for(label, &request);
    MPI_Alltoall_c(out, block, MPI_INT, in, block, MPI_INT, comm);
    carried(label, "MPI_Alltoall", size, all, all);
    MPI_Alltoallv_c(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm);
    carried(label, "MPI_Alltoallv", 0, all, all);
    MPI_Reduce_scatter_c(out, in, counts, MPI_INT, MPI_SUM, comm);
    carried(label, "MPI_Reduce_scatter", all, all, size);
    MPI_Scan_c(out, in, block, MPI_INT, MPI_SUM, comm);
    carried(label, "MPI_Scan", size, size, size);
    /* More than an int can count; nothing moves, since the process is alone. */
    MPI_Bcast_c(out, 5000000000LL, MPI_BYTE, 0, MPI_COMM_SELF);
    carried("SELF", "MPI_Bcast", 5000000000LL, 5000000000LL, 0);
}

static void neighbors(void)
{
    MPI_Comm ring;
    MPI_Count counts[] = {5, 5};
    MPI_Aint places[] = {0, 5};
    int periodic = 1, right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &periodic, 0, &ring);
    made(ring, "ring", "MPI_Cart_create", "WORLD");
    MPI_Neighbor_alltoall_c(out, 5, MPI_INT, in, 5, MPI_INT, ring);
    carried("ring", "MPI_Neighbor_alltoall", 20, 40, 40);
    edge("ring", "MPI_Neighbor_alltoall", left, 20);
    edge("ring", "MPI_Neighbor_alltoall", right, 20);
    MPI_Neighbor_alltoallv_c(out, counts, places, MPI_INT, in, counts, places, MPI_INT, ring);
    carried("ring", "MPI_Neighbor_alltoallv", 0, 40, 40);
    edge("ring", "MPI_Neighbor_alltoallv", left, 20);
    edge("ring", "MPI_Neighbor_alltoallv", right, 20);
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(world_size % 2 == 0 && world_size <= 16);
    messages(world_rank ^ 1);
    collectives();
    neighbors();
    truth_finalize();
    return 0;
}
