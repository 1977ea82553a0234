/* nccl_traps: what once led the module for NCCL astray, on the stand-in: questions about communicators that are not complete, splits that come to
 * nothing, places that are used again, threads that end in an open group, groups before MPI_Init. For two ranks; tests/profiled/nccl.rs has the rows. */
#define _GNU_SOURCE
#include "truth.h"
#include "standin_nccl.h"
#include <stdint.h>

#define DONE(call) EXPECT((call) == 0)
#define REDUCE(count, comm) ncclAllReduce(data, data, count, CCL_FLOAT32, CCL_SUM, comm, NULL)

static float data[1 << 14];
static int rank, size;

/* The same on all ranks. */
static ccl_id id_of(int number)
{
    ccl_id id = {{0}};
    memcpy(&id, &number, sizeof number);
    return id;
}

static void *in_open_group(void *argument)
{
    ccl_comm lost;
    (void)argument;
    ncclGroupStart();
    ncclCommInitRank(&lost, size, id_of(5), rank);
    return NULL;
}

int main(int argc, char **argv)
{
    int state, level;
    ccl_comm early, all, reused = NULL, one, two, later;
    ccl_config nonblocking = CCL_CONFIG(.comm_name = NULL);
    nonblocking.blocking = 0;
    /* What launchers tell: NCCL needs no MPI. */
    const char *told = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    rank = atoi(told);
    size = 2;
    standin_ranks = size;
    standin_rank = rank;

    /* A split in a group before MPI_Init: its handle is there at the end of the group. */
    ncclCommInitRank(&all, size, id_of(1), rank);
    ncclGroupStart();
    ncclCommSplit(all, 0, rank, &early, NULL);
    ncclGroupEnd();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    DONE(REDUCE(100, early));

    /* The first split is never used, and its place is. */
    for (int color = 1; color < 3; color++) {
        EXPECT(ncclCommSplit(all, color, rank, &reused, &nonblocking) == 7);
        if (color == 1) {
            DONE(ncclCommGetAsyncError(all, &state));
            DONE(ncclCommGetAsyncError(reused, &state));
            DONE(ncclCommDestroy(reused));
        }
    }
    DONE(ncclCommGetAsyncError(all, &state));
    DONE(ncclCommGetAsyncError(reused, &state));
    DONE(ncclAlltoAll(data, data, 100, CCL_FLOAT32, reused, NULL));

    /* A split that says too early that it is complete: the plugin is told of it later. */
    ccl_comm slow;
    standin_is_early = 1;
    DONE(ncclCommSplit(all, 4, rank, &slow, NULL));
    standin_is_early = 0;
    do
        DONE(ncclCommGetAsyncError(all, &state));
    while (state == 7);
    DONE(REDUCE(2000, slow));
    DONE(ncclAlltoAll(data, data, 100, CCL_FLOAT32, slow, NULL));

    /* A split comes to nothing, and its place holds something else by the time that a communicator is asked for its state. */
    ccl_comm given_up;
    standin_fails = 1;
    EXPECT(ncclCommSplit(all, 3, rank, &given_up, &nonblocking) == 7);
    standin_fails = 0;
    given_up = (ccl_comm)(uintptr_t)16;
    __asm__ volatile("" : : "r"(&given_up) : "memory");
    DONE(ncclCommGetAsyncError(all, &state));

    /* Made in a group, whose end knows the GPU. */
    DONE(ncclGroupStart());
    DONE(ncclCommInitRank(&one, size, id_of(2), rank));
    DONE(ncclGroupEnd());
    DONE(REDUCE(100, one));
    ncclCommInitRankConfig(&two, size, id_of(3), rank, &nonblocking);
    DONE(ncclCommGetAsyncError(two, &state));
    DONE(REDUCE(100, two));

    pthread_t thread;
    pthread_create(&thread, NULL, in_open_group, NULL);
    pthread_join(thread, NULL);
    /* The stand-in has one depth for all threads. */
    ncclGroupEnd();
    DONE(ncclCommInitRank(&later, size, id_of(6), rank));
    DONE(REDUCE(1000, later));

    EXPECT(standin_warnings == 0);
    MPI_Finalize();
    return 0;
}
