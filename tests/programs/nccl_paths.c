/* nccl_paths: what no library of NCCL's kind does without a GPU, on the stand-in: each way to make a communicator, nonblocking ones, what the
 * profiler plugin says of calls, in groups and without, calls that pass the wrappers by. For two ranks; tests/profiled/nccl.rs has the rows. */
#define _GNU_SOURCE
#include "truth.h"
#include "standin_nccl.h"
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#define DONE(call) EXPECT((call) == 0)
#define REDUCE(count, comm) ncclAllReduce(data, data, count, CCL_FLOAT32, CCL_SUM, comm, NULL)

static float data[1 << 14];

/* The same on all ranks. */
static ccl_id id_of(int number)
{
    ccl_id id = {{0}};
    memcpy(&id, &number, sizeof number);
    return id;
}

int main(int argc, char **argv)
{
    int rank, size, state;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size;

    ccl_comm all, named, scalable, clique[2], row = NULL, one, two, less = NULL, lesser = NULL, grown;
    DONE(ncclCommInitRank(&all, size, id_of(1), rank));
    ccl_config config = CCL_CONFIG(.comm_name = "data parallel");
    DONE(ncclCommInitRankConfig(&named, size, id_of(2), rank, &config));
    ccl_config nonblocking = CCL_CONFIG(.comm_name = "row");
    nonblocking.blocking = 0;
    ccl_id ids[2] = {id_of(3), id_of(4)};
    EXPECT(ncclCommInitRankScalable(&scalable, size, rank, 2, ids, &nonblocking) == 7);
    DONE(ncclCommInitAll(clique, 2, NULL));

    standin_ranks = size;
    standin_rank = rank;
    EXPECT(ncclCommSplit(all, 5, rank, &row, &nonblocking) == 7 && row == NULL);
    DONE(ncclCommGetAsyncError(all, &state));
    EXPECT(row != NULL);
    DONE(REDUCE(100, row));
    DONE(ncclGroupStart());
    DONE(ncclCommSplit(all, 0, rank, &one, NULL));
    DONE(ncclCommSplit(named, 0, rank, &two, NULL));
    DONE(ncclGroupEnd());
    if (rank == 0) {
        int excluded[1] = {1};
        standin_ranks = 1;
        DONE(ncclCommShrink(all, excluded, 1, &less, NULL, 0));
        DONE(ncclCommShrink(all, excluded, 1, &lesser, NULL, 0));
    }
    standin_ranks = size;
    ccl_id id = id_of(9);
    DONE(ncclCommGrow(rank == 0 ? all : NULL, size, rank == 0 ? NULL : &id, rank == 0 ? -1 : rank, &grown, NULL));

    DONE(REDUCE(100, all));
    DONE(REDUCE(1000, all));
    DONE(REDUCE(0, all));
    DONE(ncclBroadcast(data, data, 500, CCL_FLOAT32, 0, all, NULL));
    DONE(ncclBcast(data, 100, CCL_FLOAT32, 1, all, NULL));
    DONE(ncclAllGather(data, data, 10, CCL_FLOAT32, all, NULL));
    DONE(ncclAlltoAll(data, data, 100, CCL_FLOAT32, all, NULL));
    DONE(ncclPutSignal(data, 64, CCL_FLOAT32, next, NULL, 0, 0, 0, 0, all, NULL));
    DONE(REDUCE(100, scalable));
    DONE(REDUCE(100, one));
    DONE(REDUCE(100, two));
    DONE(REDUCE(100, grown));

    /* The library does the larger ones first. */
    DONE(ncclGroupStart());
    DONE(REDUCE(200, named));
    DONE(REDUCE(2000, named));
    DONE(ncclSend(data, 300, CCL_FLOAT32, next, named, NULL));
    DONE(ncclRecv(data, 300, CCL_FLOAT32, next, named, NULL));
    DONE(ncclGroupEnd());
    DONE(ncclGroupStart());
    DONE(REDUCE(3000, all));
    DONE(REDUCE(50, named));
    DONE(REDUCE(50, named));
    DONE(ncclGroupEnd());
    DONE(ncclGroupStart());
    DONE(REDUCE(10, clique[0]));
    DONE(REDUCE(10, clique[1]));
    DONE(ncclGroupEnd());
    DONE(ncclGroupStart());
    DONE(REDUCE(7777, all));
    DONE(ncclGroupSimulateEnd(NULL));
    EXPECT(REDUCE(4, NULL) == 4);
    EXPECT(ncclGroupEnd() == 5);

    /* As a program that found the library by itself. */
    void *library = dlopen(getenv("STANDIN"), RTLD_NOW | RTLD_NOLOAD);
    EXPECT(library != NULL);
    ccl_comm past;
    DONE(((typeof(&ncclCommInitRankConfig))dlsym(library, "ncclCommInitRankConfig"))(&past, size, id_of(77), rank, NULL));
    DONE(((typeof(&ncclAllReduce))dlsym(library, "ncclAllReduce"))(data, data, 100, CCL_FLOAT32, CCL_SUM, past, NULL));
    /* This one passes a wrapper after all. */
    DONE(REDUCE(1000, past));

    pid_t child = fork();
    if (child == 0)
        _exit(REDUCE(5, all));
    int status;
    waitpid(child, &status, 0);
    EXPECT(status == 0);

    DONE(ncclCommDestroy(one));
    DONE(ncclCommAbort(two));
    EXPECT(ncclCommDestroy(NULL) == 4);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
