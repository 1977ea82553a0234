/* nccl_gpu: NCCL on one GPU that several processes share, or one each: known operations, and how long they take. Memory is the driver's
 * (libcuda), so that no CUDA toolkit is needed. Needs NCCL_HOSTID to differ between processes that share a GPU, and NCCL_SOCKET_IFNAME=lo.
 *
 * nccl_gpu [REPETITIONS]: rank 0 prints `us BYTES MICROSECONDS` for AllReduce, the median of the repetitions, from the call to the end of its
 * stream. Counts, which tests/gpu.sh compares: 3 Broadcast of 4000 bytes from rank 1, 2 AllGather of 800, and one group of Send and Recv of 1200. */
#define NCCL
#include "nccl.h"
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call) \
    do { \
        int code_ = (int)(call); \
        if (code_) { \
            fprintf(stderr, "%s: %d\n", #call, code_); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
        } \
    } while (0)

static void *driver(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "libcuda.so.1 has no %s\n", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return found;
}

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    enum { MOST_BYTES = 64 << 20, MOST = 1000 };
    static double took[MOST];
    int rank, size, count, repetitions = argc > 1 ? atoi(argv[1]) : 50;
    ccl_id id;
    ccl_comm comm;
    void *context, *stream;
    uint64_t send, receive;
    if (repetitions < 1 || repetitions > MOST)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    CHECK(((int (*)(unsigned))driver("cuInit"))(0));
    CHECK(((int (*)(int *))driver("cuDeviceGetCount"))(&count));
    CHECK(((int (*)(void **, int))driver("cuDevicePrimaryCtxRetain"))(&context, rank % count));
    CHECK(((int (*)(void *))driver("cuCtxSetCurrent"))(context));
    CHECK(((int (*)(void **, unsigned))driver("cuStreamCreate"))(&stream, 0));
    CHECK(((int (*)(uint64_t *, size_t))driver("cuMemAlloc_v2"))(&send, MOST_BYTES));
    CHECK(((int (*)(uint64_t *, size_t))driver("cuMemAlloc_v2"))(&receive, MOST_BYTES));
    int (*done)(void *) = (int (*)(void *))driver("cuStreamSynchronize");

    if (rank == 0)
        CHECK(ncclGetUniqueId(&id));
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(ncclCommInitRank(&comm, size, id, rank));
    const void *from = (const void *)send;
    void *to = (void *)receive;
    for (size_t bytes = 8; bytes <= MOST_BYTES; bytes *= 8) {
        for (int repetition = -5; repetition < repetitions; repetition++) {
            double begin = now_us();
            CHECK(ncclAllReduce(from, to, bytes / 4, CCL_FLOAT32, CCL_SUM, comm, stream));
            CHECK(done(stream));
            if (repetition >= 0)
                took[repetition] = now_us() - begin;
        }
        qsort(took, (size_t)repetitions, sizeof *took, ascending);
        if (rank == 0)
            printf("us %zu %.2f\n", bytes, took[repetitions / 2]);
    }
    for (int round = 0; round < 3; round++)
        CHECK(ncclBroadcast(from, to, 1000, CCL_FLOAT32, 1, comm, stream));
    for (int round = 0; round < 2; round++)
        CHECK(ncclAllGather(from, to, 200, CCL_FLOAT32, comm, stream));
    CHECK(ncclGroupStart());
    CHECK(ncclSend(from, 300, CCL_FLOAT32, (rank + 1) % size, comm, stream));
    CHECK(ncclRecv(to, 300, CCL_FLOAT32, (rank + size - 1) % size, comm, stream));
    CHECK(ncclGroupEnd());
    CHECK(done(stream));
    CHECK(ncclCommDestroy(comm));
    MPI_Finalize();
    return 0;
}
