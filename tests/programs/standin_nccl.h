/* What of NCCL's interface the stand-in has beyond nccl.h. */
#ifndef STANDIN_NCCL_H
#define STANDIN_NCCL_H

#define NCCL
#include "nccl.h"

/* What the next split, shrunk or grown communicator is. */
extern int standin_ranks, standin_rank;
/* Nonblocking ones come to nothing. */
extern int standin_fails;
/* How often it was asked what it does not know yet. */
extern int standin_warnings;

int ncclCommInitRankConfig(ccl_comm *comm, int ranks, ccl_id id, int rank, ccl_config *config);
int ncclCommInitRankScalable(ccl_comm *comm, int ranks, int rank, int id_count, ccl_id *ids, ccl_config *config);
int ncclCommShrink(ccl_comm comm, int *excluded, int count, ccl_comm *place, ccl_config *config, int flags);
int ncclCommGrow(ccl_comm comm, int ranks, const ccl_id *id, int rank, ccl_comm *place, ccl_config *config);
int ncclCommGetAsyncError(ccl_comm comm, int *state);
int ncclCommCuDevice(ccl_comm comm, int *device);
int ncclCommAbort(ccl_comm comm);
int ncclGroupSimulateEnd(void *info);
int ncclBcast(void *buffer, size_t count, int datatype, int root, ccl_comm comm, void *stream);
int ncclAlltoAll(const void *send, void *receive, size_t count, int datatype, ccl_comm comm, void *stream);
int ncclPutSignal(const void *local, size_t count, int datatype, int peer, void *window, size_t offset, int signal, int context,
                  unsigned flags, ccl_comm comm, void *stream);

#endif
