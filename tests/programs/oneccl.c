/* oneccl: communicators of oneCCL beside MPI's: two by ids, splits of which some ranks are in none, groups over one and over several, errors.
 * tests/profiled/nccl.rs says what each rank does here once more. It checks its results, since they must be those without the profiler. */
#include "truth.h"
#include "nccl.h"

#define DONE(call) EXPECT((call) == 0)
enum { MOST = 4096, MOST_RANKS = 8 };
/* Operations of a group go on when the group has ended: what they read and write stays. */
static double from[16][MOST], to[16][MOST];

static ccl_comm initialized(int rank, int size)
{
    static ccl_id id;
    ccl_comm made;
    if (rank == 0)
        DONE(CCL(GetUniqueId)(&id));
    PMPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    DONE(CCL(CommInitRank)(&made, (ccl_ranks)size, id, rank));
    return made;
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);

    ccl_comm all = initialized(rank, size), second = initialized(rank, size), even = NULL, pair = NULL;
    DONE(CCL(CommSplit)(all, rank % 2 ? CCL_NO_COLOR : 7, rank, &even, NULL));
    EXPECT((even == NULL) == (rank % 2 == 1));
    DONE(CCL(CommSplit)(all, rank / 2, rank, &pair, NULL));

    for (int round = 0; round < 3; round++) {
        for (int at = 0; at < 100; at++)
            from[0][at] = rank + at + round;
        DONE(CCL(AllReduce)(from[0], to[0], 100, CCL_FLOAT64, CCL_SUM, all, NULL));
        for (int at = 0; at < 100; at++)
            EXPECT(to[0][at] == size * (at + round) + size * (size - 1) / 2.0);
    }
    DONE(CCL(Broadcast)(from[0], to[1], 100, CCL_FLOAT64, 1, all, NULL));
    EXPECT(to[1][7] == 1 + 7 + 2);
    DONE(CCL(Reduce)(from[0], to[2], 10, CCL_FLOAT64, CCL_SUM, size - 1, all, NULL));
    DONE(CCL(AllGather)(from[0], to[3], 50, CCL_FLOAT64, all, NULL));
    EXPECT(to[3][50 * (size - 1) + 3] == size - 1 + 3 + 2);
    DONE(CCL(ReduceScatter)(from[0], to[4], 20, CCL_FLOAT32, CCL_SUM, all, NULL));
    DONE(CCL(AllToAll)(from[0], to[5], 9, CCL_INT64, all, NULL));
    size_t give[MOST_RANKS], take[MOST_RANKS];
    for (int other = 0; other < size; other++) {
        give[other] = (size_t)other + 1;
        take[other] = (size_t)rank + 1;
    }
    DONE(CCL(AllToAllV)(from[0], give, to[6], take, CCL_INT32, all, NULL));
    DONE(CCL(Scatter)(from[0], to[7], 3, CCL_FLOAT64, 0, all, NULL));
    DONE(CCL(AllReduce)(from[0], to[8], 0, CCL_FLOAT64, CCL_SUM, all, NULL));

    for (int round = 0; round < 2; round++)
        DONE(CCL(AllReduce)(from[0], to[9], 1000, CCL_FLOAT32, CCL_SUM, second, NULL));
    if (even)
        DONE(CCL(AllReduce)(from[0], to[10], 5, CCL_INT8, CCL_MAX, even, NULL));

    /* To the next rank, in a group within a group. */
    DONE(CCL(GroupStart)());
    DONE(CCL(GroupStart)());
    DONE(CCL(Send)(from[0], 200, CCL_FLOAT32, (rank + 1) % size, all, NULL));
    DONE(CCL(Recv)(to[11], 200, CCL_FLOAT32, (rank + size - 1) % size, all, NULL));
    DONE(CCL(GroupEnd)());
    DONE(CCL(GroupEnd)());
    DONE(CCL(GroupStart)());
    DONE(CCL(AllReduce)(from[0], to[12], 300, CCL_FLOAT32, CCL_SUM, all, NULL));
    DONE(CCL(AllReduce)(from[0], to[13], 70, CCL_FLOAT32, CCL_SUM, pair, NULL));
    DONE(CCL(GroupEnd)());

    EXPECT(CCL(AllReduce)(from[0], to[0], 4, CCL_FLOAT32, CCL_SUM, NULL, NULL) == 4);
    EXPECT(CCL(CommDestroy)(NULL) == 4);

    /* What is between is not counted. */
    MPI_Pcontrol(0);
    DONE(CCL(AllReduce)(from[0], to[14], 64, CCL_FLOAT32, CCL_SUM, all, NULL));
    MPI_Pcontrol(1);

    DONE(CCL(CommFinalize)(pair));
    DONE(CCL(CommDestroy)(pair));
    if (even)
        DONE(CCL(CommDestroy)(even));
    DONE(CCL(CommDestroy)(second));
    MPI_Barrier(half);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
