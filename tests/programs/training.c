/* training: what a program tells NCCL beside MPI. On a communicator of all ranks in the order of MPI_COMM_WORLD, on one of the upper half in
 * the order from the last rank down, and on one of which each process holds two ranks: r and r + size. tests/profiled/ccl.rs says it again.
 * $TRAINING_DIES: it ends badly. */
#include "truth.h"
#include "meet.h"
#include "ccl.h"
#include <stdlib.h>

#define REAL 1000u

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!ccl_begin) {
        MPI_Finalize();
        return 0;
    }
    ccl_begin(rank, size);
    uint64_t ranks = (uint64_t)size;
    uint32_t all = ccl_init('i', 100, size, rank);
    for (int step = 0; step < 3; step++) {
        ccl_call(all, "ncclAllReduce", "RING/LL128 x4", -1, 40000, 40000);
        ccl_kernel(all, "ncclAllReduce", "RING/LL128 x4", 40000, 8000);
        ccl_call(all, "ncclAlltoAll", "", -1, REAL, ranks * REAL);
        ccl_call(all, "ncclBroadcast", "RING/SIMPLE x1", 1, REAL, rank == 1 ? REAL : 0);
        ccl_call(all, "ncclGather", "", 0, 10, 10);
        ccl_call(all, "ncclSend", "", (rank + 1) % size, REAL, REAL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int half = size / 2;
    if (rank >= half) {
        uint32_t upper = ccl_init('s', 200, size - half, size - 1 - rank);
        ccl_call(upper, "ncclAllGather", "RING/LL x2", -1, REAL, REAL);
        ccl_call(upper, "ncclAllReduce", "TREE/LL x2", -1, 64, 64);
    }
    uint32_t first = ccl_init('a', 300, 2 * size, rank);
    uint32_t second = ccl_init('a', 300, 2 * size, rank + size);
    ccl_call(first, "ncclAlltoAll", "", -1, 5, 2 * ranks * 5);
    ccl_call(second, "ncclAlltoAll", "", -1, 5, 2 * ranks * 5);
    if (getenv("TRAINING_DIES")) {
        meet(rank, size);
        abort();
    }
    MPI_Finalize();
    return 0;
}
