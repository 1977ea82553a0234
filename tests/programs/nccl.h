/* The part of oneCCL's interface in C that the tests call, and of NCCL's, which is the same under other names: -DNCCL. */
#ifndef NCCL_H
#define NCCL_H

#include <stddef.h>

#ifdef NCCL
#define CCL(name) nccl##name
#define CCL_ID_BYTES 128
typedef int ccl_ranks;
#else
#define CCL(name) oneccl##name
#define CCL_ID_BYTES 4096
typedef size_t ccl_ranks;
#endif

typedef struct ccl_comm *ccl_comm;
/* ncclConfig_t of NCCL 2.27 up to the communicator's name. */
typedef struct {
    size_t size;
    unsigned magic, version;
    int blocking, cga_cluster_size, min_ctas, max_ctas;
    const char *net_name;
    int split_share, traffic_class;
    const char *comm_name;
} ccl_config;
#define CCL_CONFIG(...) {.size = sizeof(ccl_config), .magic = 0xcafebeef, .version = 22809, .blocking = 1, __VA_ARGS__}

typedef struct {
    char data[CCL_ID_BYTES];
} ccl_id;

enum { CCL_INT8 = 0, CCL_INT32 = 2, CCL_INT64 = 4, CCL_FLOAT32 = 7, CCL_FLOAT64 = 8 };
enum { CCL_SUM = 0, CCL_MAX = 2 };
enum { CCL_NO_COLOR = -1 };

int CCL(GetVersion)(int *version);
int CCL(GetUniqueId)(ccl_id *id);
int CCL(CommInitRank)(ccl_comm *comm, ccl_ranks ranks, ccl_id id, int rank);
int CCL(CommSplit)(ccl_comm comm, int color, int key, ccl_comm *made, ccl_config *config);
int CCL(CommCount)(ccl_comm comm, int *ranks);
int CCL(CommUserRank)(ccl_comm comm, int *rank);
int CCL(CommFinalize)(ccl_comm comm);
int CCL(CommDestroy)(ccl_comm comm);
int CCL(GroupStart)(void);
int CCL(GroupEnd)(void);
int CCL(AllReduce)(const void *send, void *receive, size_t count, int datatype, int operation, ccl_comm comm, void *stream);
int CCL(Broadcast)(const void *send, void *receive, size_t count, int datatype, int root, ccl_comm comm, void *stream);
int CCL(Reduce)(const void *send, void *receive, size_t count, int datatype, int operation, int root, ccl_comm comm, void *stream);
int CCL(AllGather)(const void *send, void *receive, size_t count, int datatype, ccl_comm comm, void *stream);
int CCL(ReduceScatter)(const void *send, void *receive, size_t count, int datatype, int operation, ccl_comm comm, void *stream);
int CCL(Send)(const void *send, size_t count, int datatype, int peer, ccl_comm comm, void *stream);
int CCL(Recv)(void *receive, size_t count, int datatype, int peer, ccl_comm comm, void *stream);
#ifndef NCCL
int CCL(AllToAll)(const void *send, void *receive, size_t count, int datatype, ccl_comm comm, void *stream);
int CCL(AllToAllV)(const void *send, const size_t *send_counts, void *receive, const size_t *receive_counts, int datatype, ccl_comm comm,
                   void *stream);
int CCL(Scatter)(const void *send, void *receive, size_t count, int datatype, int root, ccl_comm comm, void *stream);
#else
int ncclCommInitAll(ccl_comm *comms, int ranks, const int *devices);
int ncclMemAlloc(void **place, size_t bytes);
int ncclMemFree(void *place);
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
int ncclGather(const void *send, void *receive, size_t count, int datatype, int root, ccl_comm comm, void *stream);
int ncclScatter(const void *send, void *receive, size_t count, int datatype, int root, ccl_comm comm, void *stream);
int ncclCommRegister(ccl_comm comm, void *buffer, size_t bytes, void **handle);
int ncclCommDeregister(ccl_comm comm, void *handle);
int ncclCommWindowRegister(ccl_comm comm, void *buffer, size_t bytes, void **window, int flags);
int ncclCommWindowDeregister(ccl_comm comm, void *window);
#endif

#endif
