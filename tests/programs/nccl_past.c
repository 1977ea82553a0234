/* nccl_past: a program that finds the stand-in for NCCL by itself, as vLLM and JAX do. The library calls its own public functions, which are those of the
 * module then. For two ranks; tests/profiled/nccl.rs has the rows. */
#define _GNU_SOURCE
#include "truth.h"
#include "standin_nccl.h"
#include <dlfcn.h>

#define DONE(call) EXPECT((call) == 0)
#define FIND(name) typeof(&nccl##name) name = (typeof(name))dlsym(library, "nccl" #name); EXPECT(name != NULL)

static float data[1 << 14];

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    void *library = dlopen(getenv("STANDIN"), RTLD_NOW | RTLD_LOCAL);
    EXPECT(library != NULL);
    FIND(CommInitRankConfig);
    FIND(AllReduce);
    FIND(Bcast);
    FIND(AlltoAll);
    FIND(CommDestroy);
    /* Both have the same ranks: only NCCL knows them apart. */
    ccl_comm comms[2];
    for (int which = 0; which < 2; which++) {
        ccl_id id = {{(char)(which + 1)}};
        DONE(CommInitRankConfig(&comms[which], size, id, rank, NULL));
    }
    for (int which = 0; which < 2; which++) {
        DONE(AllReduce(data, data, 100, CCL_FLOAT32, CCL_SUM, comms[which], NULL));
        DONE(Bcast(data, 500, CCL_FLOAT32, which, comms[which], NULL));
        DONE(AlltoAll(data, data, 10, CCL_FLOAT32, comms[which], NULL));
    }
    DONE(CommDestroy(comms[0]));
    MPI_Finalize();
    return 0;
}
