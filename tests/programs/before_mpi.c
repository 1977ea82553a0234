/* before_mpi: each rank reduces over oneCCL before MPI is initialized, and with all others afterwards; tests/profiled/without_mpi.rs has the rows. */
#include "truth.h"
#include "nccl.h"

#define DONE(call) EXPECT((call) == 0)
static double from[1000], to[1000];

int main(int argc, char **argv)
{
    ccl_comm own, all;
    ccl_id id;
    int rank, size;
    DONE(CCL(GetUniqueId)(&id));
    DONE(CCL(CommInitRank)(&own, 1, id, 0));
    DONE(CCL(AllReduce)(from, to, 1000, CCL_FLOAT64, CCL_SUM, own, NULL));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        DONE(CCL(GetUniqueId)(&id));
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    DONE(CCL(CommInitRank)(&all, (ccl_ranks)size, id, rank));
    DONE(CCL(AllReduce)(from, to, 10, CCL_FLOAT64, CCL_SUM, all, NULL));
    DONE(CCL(AllReduce)(from, to, 10, CCL_FLOAT64, CCL_SUM, own, NULL));
    MPI_Allreduce(from, to, 500, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    DONE(CCL(CommDestroy)(all));
    DONE(CCL(CommDestroy)(own));
    MPI_Finalize();
    return 0;
}
