/* The part of CUDA's driver (libcuda) that the tests call, found at run time, so that no CUDA toolkit is needed; for programs with a `rank`. */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: rank %d: does not hold: %s\n", __FILE__, __LINE__, rank, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
        } \
    } while (0)
#define DONE(call) \
    do { \
        int code_ = (int)(call); \
        if (code_) { \
            fprintf(stderr, "%s:%d: rank %d: %s: %d\n", __FILE__, __LINE__, rank, #call, code_); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
        } \
    } while (0)

/* name, arguments */
#define DRIVER(one) \
    one(cuInit, unsigned) one(cuDeviceGetCount, int *) one(cuDevicePrimaryCtxRetain, void **, int) one(cuCtxSetCurrent, void *) \
    one(cuCtxSynchronize, void) one(cuStreamCreate, void **, unsigned) one(cuStreamSynchronize, void *) \
    one(cuStreamBeginCapture_v2, void *, int) one(cuStreamEndCapture, void *, void **) \
    one(cuGraphInstantiateWithFlags, void **, void *, unsigned long long) one(cuGraphLaunch, void *, void *) \
    one(cuMemAlloc_v2, uint64_t *, size_t) one(cuMemHostAlloc, void **, size_t, unsigned) one(cuMemAllocManaged, uint64_t *, size_t, unsigned) \
    one(cuMemcpyHtoD_v2, uint64_t, const void *, size_t) one(cuMemcpyDtoH_v2, void *, uint64_t, size_t) \
    one(cuMemcpyDtoD_v2, uint64_t, uint64_t, size_t) one(cuMemcpy, uint64_t, uint64_t, size_t) \
    one(cuMemcpyHtoDAsync_v2, uint64_t, const void *, size_t, void *) one(cuMemcpyDtoHAsync_v2, void *, uint64_t, size_t, void *) \
    one(cuMemcpyDtoDAsync_v2, uint64_t, uint64_t, size_t, void *)
#define DECLARED(name, ...) int (*name)(__VA_ARGS__);
#define FOUND_IN_DRIVER(name, ...) CHECK((driver.name = (typeof(driver.name))dlsym(library, #name)) != NULL);
static struct { DRIVER(DECLARED) } driver;

/* The GPU of this rank: several may have one. */
static void start_gpu(void)
{
    int count;
    void *context, *library = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(library != NULL);
    DRIVER(FOUND_IN_DRIVER)
    DONE(driver.cuInit(0));
    DONE(driver.cuDeviceGetCount(&count));
    DONE(driver.cuDevicePrimaryCtxRetain(&context, rank % count));
    DONE(driver.cuCtxSetCurrent(context));
}

#endif
