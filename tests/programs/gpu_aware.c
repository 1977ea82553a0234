/* gpu_aware: messages from one GPU's memory into another's, for an even number of ranks and an MPI library that takes such memory. tests/gpu.sh calls it.
 *
 * gpu_aware TRUTH        TRUTH.RANK has a line for each copy of its own, none of them in an MPI call, as those of gpu_copies
 *
 * What arrives is checked. How the library moves it is its own matter. */
#define _GNU_SOURCE
#include "cuda_driver.h"

enum { BYTES = 4 << 20, ROUNDS = 3 };

static FILE *truth;
static unsigned char *host;
static uint64_t from, into;

static void told(const char *direction, const char *memory, size_t bytes)
{
    fprintf(truth, "-|-|%s|%s|%zu\n", direction, memory, bytes);
}

static unsigned char byte_of(int sender, size_t at, int round)
{
    return (unsigned char)(at * 7 + (size_t)round * 31 + (size_t)sender * 101 + 1);
}

static void fill(uint64_t place, int sender, size_t bytes, int round)
{
    for (size_t at = 0; at < bytes; at++)
        host[at] = byte_of(sender, at, round);
    DONE(driver.cuMemcpyHtoD_v2(place, host, bytes));
    told("HtoD", "pageable to device", bytes);
    /* From pageable memory it may have returned before. */
    DONE(driver.cuCtxSynchronize());
}

static void is_there(uint64_t place, int sender, size_t bytes, int round)
{
    DONE(driver.cuMemcpyDtoH_v2(host, place, bytes));
    told("DtoH", "device to pageable", bytes);
    for (size_t at = 0; at < bytes; at++)
        CHECK(host[at] == byte_of(sender, at, round));
}

int main(int argc, char **argv)
{
    int size;
    char path[512];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2 && size % 2 == 0);
    snprintf(path, sizeof path, "%s.%d", argv[1], rank);
    truth = fopen(path, "w");
    CHECK(truth != NULL);
    start_gpu();
    DONE(driver.cuMemAlloc_v2(&from, BYTES));
    DONE(driver.cuMemAlloc_v2(&into, BYTES));
    host = malloc(BYTES);
    CHECK(host != NULL);

    int peer = rank ^ 1, is_first = rank < peer;
    void *out = (void *)(uintptr_t)from, *in = (void *)(uintptr_t)into;
    for (int bytes = 8; bytes <= BYTES; bytes *= 8) {
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Request requests[2];
            MPI_Status statuses[2];
            if (is_first) {
                fill(from, rank, (size_t)bytes, round);
                MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
            } else {
                MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                is_there(into, peer, (size_t)bytes, round);
            }
            fill(from, rank, (size_t)bytes, round + 10);
            MPI_Sendrecv(out, bytes, MPI_BYTE, peer, 2, in, bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            is_there(into, peer, (size_t)bytes, round + 10);
            fill(from, rank, (size_t)bytes, round + 20);
            MPI_Irecv(in, bytes, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out, bytes, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, statuses);
            is_there(into, peer, (size_t)bytes, round + 20);
        }
    }
    CHECK(fclose(truth) == 0);
    MPI_Finalize();
    return 0;
}
