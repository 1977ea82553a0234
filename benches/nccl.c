/* What calls of NCCL cost in the place of NCCL's own: `name nanoseconds` each, the fastest of many short runs. */
#include "timing.h"
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    char data[128];
} id;
#pragma weak ncclCommInitRank
#pragma weak ncclAllReduce
#pragma weak ncclSend
#pragma weak ncclGroupStart
#pragma weak ncclGroupEnd
int ncclCommInitRank(void **comm, int ranks, id unique, int rank);
int ncclAllReduce(const void *send, void *receive, size_t count, int datatype, int operation, void *comm, void *stream);
int ncclSend(const void *send, size_t count, int datatype, int peer, void *comm, void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);

enum { RUNS = 200, CALLS = 2000, GROUP = 16 };

#define FASTEST(name, per, call)                                          \
    do {                                                                  \
        double best = 1e30;                                               \
        for (int run = 0; run < RUNS; run++) {                            \
            double begin = now_ns();                                      \
            for (int at = 0; at < CALLS; at++)                            \
                call;                                                     \
            double took = (now_ns() - begin) / (CALLS * (double)(per));   \
            best = took < best ? took : best;                             \
        }                                                                 \
        printf("%s %.2f\n", name, best);                                  \
    } while (0)

static void *comm, *other;

static void group(void)
{
    ncclGroupStart();
    for (int peer = 0; peer < GROUP; peer++)
        ncclSend(NULL, 1000, 7, peer % 8, comm, NULL);
    ncclGroupEnd();
}

int main(int argc, char **argv)
{
    id first, second;
    MPI_Init(&argc, &argv);
    memset(&first, 1, sizeof first);
    memset(&second, 2, sizeof second);
    ncclCommInitRank(&comm, 8, first, 0);
    ncclCommInitRank(&other, 8, second, 0);
    FASTEST("AllReduce", 1, ncclAllReduce(NULL, NULL, 1000, 7, 0, comm, NULL));
    FASTEST("AllReduce, two communicators and sizes in turn", 1,
            ncclAllReduce(NULL, NULL, at % 2 ? 1000 : 100000, 7, 0, at % 2 ? comm : other, NULL));
    FASTEST("Send in a group of 16, with its share of the group", GROUP, group());
    MPI_Finalize();
    return 0;
}
