/* nccl_errors: the real NCCL without a GPU: what it answers, one line a call, which must be the same with and without the profiler. */
#define NCCL
#include "nccl.h"
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define SAY(call) printf("%s %d\n", #call, call)

int main(int argc, char **argv)
{
    int version = 0, ranks = -1;
    ccl_id id;
    ccl_comm comm = NULL, made = NULL;
    void *place = NULL;
    char data[64] = {0};
    MPI_Init(&argc, &argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    SAY(ncclGetVersion(&version));
    printf("version %d\n", version);
    SAY(ncclGetUniqueId(&id));
    SAY(ncclGetUniqueId(NULL));
    SAY(ncclGroupStart());
    SAY(ncclGroupEnd());
    SAY(ncclGroupEnd());
    SAY(ncclCommInitRank(&comm, 1, id, 0));
    SAY(ncclCommInitRank(&comm, 2, id, 5));
    SAY(ncclCommInitAll(&comm, 1, NULL));
    SAY(ncclCommSplit(NULL, 0, 0, &made, NULL));
    SAY(ncclCommCount(NULL, &ranks));
    SAY(ncclCommFinalize(NULL));
    SAY(ncclCommDestroy(NULL));
    SAY(ncclAllReduce(data, data, 4, CCL_FLOAT32, CCL_SUM, NULL, NULL));
    SAY(ncclBroadcast(data, data, 4, CCL_FLOAT32, 0, NULL, NULL));
    SAY(ncclReduce(data, data, 4, CCL_FLOAT32, CCL_SUM, 0, NULL, NULL));
    SAY(ncclAllGather(data, data, 4, CCL_FLOAT32, NULL, NULL));
    SAY(ncclReduceScatter(data, data, 4, CCL_FLOAT32, CCL_SUM, NULL, NULL));
    SAY(ncclSend(data, 4, CCL_FLOAT32, 0, NULL, NULL));
    SAY(ncclRecv(data, 4, CCL_FLOAT32, 0, NULL, NULL));
    SAY(ncclMemAlloc(&place, 1024));
    ncclGroupStart();
    SAY(ncclAllReduce(data, data, 4, CCL_FLOAT32, CCL_SUM, NULL, NULL));
    SAY(ncclGroupEnd());
    MPI_Finalize();
    return 0;
}
