/* What the functions of NCCL cost at least: a call that returns. Preloaded in the place of NCCL, behind what is measured. */
#include <stddef.h>
#include <stdlib.h>

#define RANKS 8
typedef struct {
    char data[128];
} id;

int ncclGetVersion(int *version)
{
    *version = 22809;
    return 0;
}

int ncclCommInitRank(void **comm, int ranks, id unique, int rank)
{
    (void)ranks, (void)unique, (void)rank;
    *comm = malloc(64);
    return 0;
}

int ncclCommDestroy(void *comm)
{
    free(comm);
    return 0;
}

int ncclAllReduce(const void *send, void *receive, size_t count, int datatype, int operation, void *comm, void *stream)
{
    (void)send, (void)receive, (void)count, (void)datatype, (void)operation, (void)comm, (void)stream;
    return 0;
}

int ncclSend(const void *send, size_t count, int datatype, int peer, void *comm, void *stream)
{
    (void)send, (void)count, (void)datatype, (void)peer, (void)comm, (void)stream;
    return 0;
}

int ncclGroupStart(void)
{
    return 0;
}

int ncclGroupEnd(void)
{
    return 0;
}
