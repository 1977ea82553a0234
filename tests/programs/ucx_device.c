/* Messages from rank 0 to rank 1 of 64 B to 4 MiB, from one kind of memory into another, with their contents looked at: each once before the
 * receive is posted, and once after.
 *
 * ucx_device FROM INTO    host, cuda0 or cuda1 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#include "truth.h"

enum { MOST = 4 << 20 };

static void *memory(const char *kind, size_t bytes)
{
    int (*retain)(void **, int), (*set)(void *), (*allocate)(uint64_t *, size_t);
    void *context, *driver;
    uint64_t place = 0;

    if (strncmp(kind, "cuda", 4))
        return malloc(bytes);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    EXPECT(driver != NULL);
    retain = (typeof(retain))dlsym(driver, "cuDevicePrimaryCtxRetain");
    set = (typeof(set))dlsym(driver, "cuCtxSetCurrent");
    allocate = (typeof(allocate))dlsym(driver, "cuMemAlloc_v2");
    EXPECT(!retain(&context, atoi(kind + 4)) && !set(context) && !allocate(&place, bytes));
    return (void *)(uintptr_t)place;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    EXPECT(argc == 3);
    char *data = memory(argv[1 + world_rank], MOST);
    for (int bytes = 64, seed = 1; bytes <= MOST; bytes *= 4, seed++) {
        for (int late = 0; late < 2; late++) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status;
            if (world_rank == 0) {
                for (int i = 0; i < bytes; i++)
                    data[i] = (char)(seed + late + i);
                if (!late)
                    MPI_Barrier(MPI_COMM_WORLD);
                MPI_Isend(data, bytes, MPI_CHAR, 1, late, MPI_COMM_WORLD, &request);
                if (late)
                    MPI_Barrier(MPI_COMM_WORLD);
            } else {
                memset(data, 0, (size_t)bytes);
                if (late)
                    MPI_Barrier(MPI_COMM_WORLD);
                MPI_Irecv(data, bytes, MPI_CHAR, 0, late, MPI_COMM_WORLD, &request);
                if (!late)
                    MPI_Barrier(MPI_COMM_WORLD);
            }
            MPI_Wait(&request, &status);
            for (int i = 0; i < bytes; i++)
                EXPECT(data[i] == (char)(seed + late + i));
        }
    }
    MPI_Finalize();
    return 0;
}
