/* gpu_copies: copies of a GPU, in MPI calls and outside of them, through CUDA's driver. tests/gpu.sh calls it.
 *
 * gpu_copies counts TRUTH        TRUTH.RANK has a line for each copy: communicator|operation|direction|memory|bytes
 * gpu_copies times REPETITIONS   `copy NANOSECONDS`, of a copy of 4 KiB to the GPU, the median of blocks of a hundred; it makes REPETITIONS blocks */
#define _GNU_SOURCE
#include "cuda_driver.h"
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { BYTES = 4 << 20 };

static FILE *truth;
static uint64_t here, there, managed;
static char *pageable;
static void *pinned, *context, *stream;
static const char *comm = "-", *op = "-";

static void told(const char *direction, const char *memory, size_t bytes)
{
    fprintf(truth, "%s|%s|%s|%s|%zu\n", comm, op, direction, memory, bytes);
}

static void to_gpu(size_t bytes)
{
    DONE(driver.cuMemcpyHtoD_v2(here, pageable, bytes));
    told("HtoD", "pageable to device", bytes);
}

static void *in_thread(void *nothing)
{
    DONE(driver.cuCtxSetCurrent(context));
    for (int round = 0; round < 10; round++)
        DONE(driver.cuMemcpyHtoD_v2(there, pageable, 777));
    return nothing;
}

/* Called while MPI frees a communicator. */
static int deleted(MPI_Comm freed, int key, void *value, void *extra)
{
    (void)freed, (void)key, (void)value, (void)extra;
    op = "MPI_Comm_free";
    comm = "d0.1";
    DONE(driver.cuMemcpyDtoH_v2(pageable, here, 1000));
    told("DtoH", "device to pageable", 1000);
    to_gpu(2000);
    comm = op = "-";
    return MPI_SUCCESS;
}

/* Called while MPI reduces. */
static void add(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)datatype;
    op = "MPI_Allreduce";
    comm = "W0.0";
    to_gpu(64);
    comm = op = "-";
    for (int at = 0; at < *length; at++)
        ((int *)inout)[at] += ((int *)in)[at];
}

static void counts(void)
{
    for (int round = 0; round < 3; round++)
        to_gpu(4000);
    to_gpu(300000);
    for (int round = 0; round < 2; round++) {
        DONE(driver.cuMemcpyHtoDAsync_v2(here, pinned, 8192, stream));
        told("HtoD", "pinned to device", 8192);
        DONE(driver.cuMemcpyDtoHAsync_v2(pinned, here, 2000, stream));
        told("DtoH", "device to pinned", 2000);
    }
    for (int round = 0; round < 5; round++) {
        DONE(driver.cuMemcpyDtoD_v2(there, here, 1 << 20));
        told("DtoD", "device to device", 1 << 20);
    }
    DONE(driver.cuMemcpyDtoDAsync_v2(there, here, 12345, stream));
    told("DtoD", "device to device", 12345);
    DONE(driver.cuMemcpy(here, (uint64_t)(uintptr_t)pinned, 600));
    told("HtoD", "pinned to device", 600);
    DONE(driver.cuMemcpyHtoD_v2(managed, pageable, 500));
    told("HtoD", "pageable to managed", 500);
    /* Nothing is copied. */
    DONE(driver.cuMemcpyHtoD_v2(here, pageable, 0));
    CHECK(driver.cuMemcpyHtoD_v2(0x10, pageable, 4000) != 0);

    void *captured, *executable;
    DONE(driver.cuStreamBeginCapture_v2(stream, 1));
    DONE(driver.cuMemcpyDtoDAsync_v2(there, here, 100, stream));
    DONE(driver.cuMemcpyHtoDAsync_v2(here, pinned, 200, stream));
    DONE(driver.cuStreamEndCapture(stream, &captured));
    DONE(driver.cuGraphInstantiateWithFlags(&executable, captured, 0));
    for (int round = 0; round < 3; round++) {
        DONE(driver.cuGraphLaunch(executable, stream));
        told("DtoD", "device to device", 100);
        told("HtoD", "pinned to device", 200);
    }
    DONE(driver.cuStreamSynchronize(stream));

    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    for (int round = 0; round < 10; round++)
        told("HtoD", "pageable to device", 777);

    int key, one = 1, sum = 0, size;
    MPI_Comm other;
    MPI_Op own;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Comm_set_attr(other, key, NULL);
    MPI_Comm_free(&other);
    MPI_Op_create(add, 1, &own);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, own, MPI_COMM_WORLD);
    CHECK(sum == size);

    MPI_Pcontrol(0);
    DONE(driver.cuMemcpyHtoD_v2(here, pageable, 4000));
    MPI_Pcontrol(1);
    /* More than a buffer of records. */
    for (int round = 0; round < 20000; round++)
        DONE(driver.cuMemcpyDtoDAsync_v2(there, here, 8, stream));
    for (int round = 0; round < 20000; round++)
        told("DtoD", "device to device", 8);
    /* Left to the end. */
    DONE(driver.cuMemcpyHtoDAsync_v2(here, pinned, BYTES, stream));
    told("HtoD", "pinned to device", BYTES);
}

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void times(int blocks)
{
    double *took = calloc((size_t)blocks, sizeof *took);
    for (int block = 0; block < blocks; block++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int copy = 0; copy < 100; copy++)
            DONE(driver.cuMemcpyHtoD_v2(here, pageable, 4096));
        clock_gettime(CLOCK_MONOTONIC, &end);
        took[block] = ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / 100;
    }
    qsort(took, (size_t)blocks, sizeof *took, ascending);
    if (rank == 0)
        printf("copy %.0f\n", took[blocks / 2]);
    free(took);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(argc == 3);
    start_gpu();
    int (*current)(void **) = (int (*)(void **))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxGetCurrent");
    DONE(current(&context));
    DONE(driver.cuStreamCreate(&stream, 0));
    DONE(driver.cuMemAlloc_v2(&here, BYTES));
    DONE(driver.cuMemAlloc_v2(&there, BYTES));
    DONE(driver.cuMemAllocManaged(&managed, 4096, 1));
    DONE(driver.cuMemHostAlloc(&pinned, BYTES, 0));
    pageable = calloc(1, BYTES);
    if (strcmp(argv[1], "times") == 0) {
        times(atoi(argv[2]));
    } else {
        char path[512];
        snprintf(path, sizeof path, "%s.%d", argv[2], rank);
        truth = fopen(path, "w");
        CHECK(truth != NULL);
        counts();
        CHECK(fclose(truth) == 0);
    }
    MPI_Finalize();
    return 0;
}
