/* A stand-in for libnccl: no GPU, no communication, no data. It answers as NCCL's header says, and tells a profiler plugin of version 5 what it
 * would do, in the order in which NCCL does (a group's tasks the largest first). It exercises paths of the module that no library without a
 * GPU reaches, and proves nothing about NCCL. What a communicator's ranks are, its user says beforehand: `standin_ranks`, `standin_rank`. */
#define _GNU_SOURCE
#include "standin_nccl.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int standin_ranks, standin_rank, standin_fails, standin_is_early, standin_warnings;

struct ccl_comm {
    int ranks, rank;
    /* Until then NCCL warns whoever asks it for anything but its state, and does not know its GPU. */
    bool is_complete;
    void *context;
};

/* Version 5 of the plugin's interface, as far as it is used here. */
typedef struct {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct {
            uint64_t number;
            const char *function;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
            void *parent_group;
        } coll;
        struct {
            const char *function;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t channels;
            void *parent_group;
        } p2p;
        char room[128];
    };
} descriptor;
typedef struct {
    const char *name;
    int (*init)(void **, uint64_t, int *, const char *, int, int, int, void *);
    int (*start)(void *, void **, descriptor *);
    int (*stop)(void *);
    int (*record)(void *, int, void *);
    int (*finalize)(void *);
} plugin_v5;

static plugin_v5 *plugin;
static int mask;
static uint64_t communicators;

struct task {
    ccl_comm comm;
    const char *function;
    size_t count, bytes;
    int peer;
};
static struct task tasks[1 << 12];
static int task_count, depth;
static ccl_comm made_in_group[64];
static int made_count;
static struct { ccl_comm *place; ccl_comm made; } unfinished[16];
static int unfinished_count;

static const size_t element_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
static const char *const element_names[] = {"ncclInt8",    "Unknown",     "ncclInt32",   "ncclUint32",  "ncclInt64",       "ncclUint64",
                                            "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};

/* One that is there before it is complete, and how often its parent still says so. */
static struct { ccl_comm comm, parent; uint64_t hash; int polls; } early;

static void begin_plugin(ccl_comm comm, uint64_t hash, const char *name)
{
    void *library = plugin ? NULL : dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
    if (library)
        plugin = dlsym(library, "ncclProfiler_v5");
    if (plugin)
        plugin->init(&comm->context, hash, &mask, name, 1, comm->ranks, comm->rank, NULL);
}

static ccl_comm made(uint64_t hash, const char *name, int ranks, int rank)
{
    ccl_comm comm = calloc(1, sizeof *comm);
    comm->ranks = ranks;
    comm->rank = rank;
    comm->is_complete = depth == 0;
    if (depth > 0)
        made_in_group[made_count++] = comm;
    begin_plugin(comm, hash, name);
    return comm;
}

static void launch(const struct task *task)
{
    if (!plugin || !task->comm->context || task->count == 0 || !(mask & 6))
        return;
    bool is_p2p = !strcmp(task->function, "Send") || !strcmp(task->function, "Recv");
    void *handle = NULL;
    descriptor told = {.type = is_p2p ? 4 : 2, .rank = task->comm->rank};
    /* What the plugin keeps of these it must copy. */
    char function[16], datatype[16], algorithm[8], protocol[8];
    strcpy(function, task->function);
    strcpy(datatype, element_names[task->bytes / task->count == 4 ? 7 : 8]);
    strcpy(algorithm, task->bytes < 1024 ? "TREE" : "RING");
    strcpy(protocol, task->bytes < 1024 ? "LL" : "SIMPLE");
    if (is_p2p) {
        told.p2p.function = function;
        told.p2p.datatype = datatype;
        told.p2p.count = task->count;
        told.p2p.peer = task->peer;
        told.p2p.channels = 2;
    } else {
        /* Some are done as those of bytes. */
        bool is_of_bytes = !strcmp(function, "Broadcast") || !strcmp(function, "AllGather");
        told.coll.function = function;
        told.coll.datatype = is_of_bytes ? "ncclInt8" : datatype;
        told.coll.count = is_of_bytes ? task->bytes : task->count;
        told.coll.root = task->peer < 0 ? 0 : task->peer;
        told.coll.channels = task->bytes < 1024 ? 1 : 4;
        told.coll.algorithm = algorithm;
        told.coll.protocol = protocol;
    }
    plugin->start(task->comm->context, &handle, &told);
    memset(function, 'x', sizeof function - 1);
    memset(algorithm, 'x', sizeof algorithm - 1);
    if (handle)
        plugin->stop(handle);
}

static int asked(ccl_comm comm, const char *function, size_t count, int datatype, int peer)
{
    if (!comm)
        return 4;
    struct task task = {comm, function, count, count * element_bytes[datatype], peer};
    if (depth > 0)
        tasks[task_count++] = task;
    else
        launch(&task);
    return 0;
}

static int larger_first(const void *one, const void *other)
{
    const struct task *a = one, *b = other;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

int ncclGetVersion(int *version)
{
    *version = 22809;
    return 0;
}

int ncclGetUniqueId(ccl_id *id)
{
    static uint64_t number;
    memset(id, 0, sizeof *id);
    number++;
    memcpy(id, &number, sizeof number);
    return 0;
}

/* NCCL calls its public names, too. */
int ncclCommInitRank(ccl_comm *comm, int ranks, ccl_id id, int rank)
{
    return ncclCommInitRankConfig(comm, ranks, id, rank, NULL);
}

int ncclCommInitRankConfig(ccl_comm *comm, int ranks, ccl_id id, int rank, ccl_config *config)
{
    uint64_t hash;
    memcpy(&hash, &id, sizeof hash);
    *comm = made(hash * 1000003, config && config->comm_name ? config->comm_name : "", ranks, rank);
    if (config && config->blocking == 0)
        (*comm)->is_complete = false;
    return config && config->blocking == 0 ? 7 : 0;
}

int ncclCommInitRankScalable(ccl_comm *comm, int ranks, int rank, int id_count, ccl_id *ids, ccl_config *config)
{
    (void)id_count;
    return ncclCommInitRankConfig(comm, ranks, ids[0], rank, config);
}

int ncclCommInitAll(ccl_comm *comms, int ranks, const int *devices)
{
    (void)devices;
    communicators++;
    for (int rank = 0; rank < ranks; rank++)
        comms[rank] = made(communicators << 32, "", ranks, rank);
    return 0;
}

static int derived(ccl_comm parent, ccl_comm *place, ccl_config *config)
{
    *place = NULL;
    if (!parent)
        return 4;
    if (standin_is_early) {
        early.comm = *place = calloc(1, sizeof **place);
        early.parent = parent;
        early.hash = ++communicators << 40;
        early.polls = 3;
        return 0;
    }
    ccl_comm one = made(++communicators << 40, config && config->comm_name ? config->comm_name : "", standin_ranks, standin_rank);
    bool is_nonblocking = config && config->blocking == 0;
    if (is_nonblocking && standin_fails)
        return 7;
    if (is_nonblocking || depth > 0) {
        /* It is there when its user has asked for it, or the group has ended. */
        one->is_complete = false;
        unfinished[unfinished_count].place = place;
        unfinished[unfinished_count++].made = one;
        return is_nonblocking ? 7 : 0;
    }
    *place = one;
    return 0;
}

int ncclCommSplit(ccl_comm comm, int color, int key, ccl_comm *place, ccl_config *config)
{
    (void)key;
    *place = NULL;
    return color < 0 ? 0 : derived(comm, place, config);
}

int ncclCommShrink(ccl_comm comm, int *excluded, int count, ccl_comm *place, ccl_config *config, int flags)
{
    (void)excluded, (void)count, (void)flags;
    return derived(comm, place, config);
}

int ncclCommGrow(ccl_comm comm, int ranks, const ccl_id *id, int rank, ccl_comm *place, ccl_config *config)
{
    (void)ranks, (void)id, (void)rank;
    /* The hash of a grown one is the same for old and new ranks. */
    (void)config;
    (void)comm;
    *place = made(424242, "", standin_ranks, standin_rank);
    return 0;
}

static void complete(void)
{
    for (int at = 0; at < unfinished_count; at++) {
        *unfinished[at].place = unfinished[at].made;
        unfinished[at].made->is_complete = true;
    }
    unfinished_count = 0;
}

int ncclCommGetAsyncError(ccl_comm comm, int *state)
{
    *state = 0;
    if (early.comm && comm == early.comm)
        return 0;
    if (early.comm && comm == early.parent) {
        if (early.polls-- > 0)
            return *state = 7, 0;
        early.comm->ranks = standin_ranks, early.comm->rank = standin_rank, early.comm->is_complete = true;
        begin_plugin(early.comm, early.hash, "");
        early.comm = NULL;
        return 0;
    }
    if (comm && depth == 0)
        comm->is_complete = true;
    complete();
    *state = 0;
    return 0;
}

static void ask(ccl_comm comm)
{
    standin_warnings += !comm->is_complete;
}

int ncclCommCount(ccl_comm comm, int *ranks)
{
    ask(comm);
    *ranks = comm->ranks;
    return 0;
}

int ncclCommUserRank(ccl_comm comm, int *rank)
{
    ask(comm);
    *rank = comm->rank;
    return 0;
}

int ncclCommCuDevice(ccl_comm comm, int *device)
{
    ask(comm);
    *device = comm->is_complete ? 3 : 0;
    return 0;
}

int ncclCommFinalize(ccl_comm comm)
{
    return comm ? 0 : 4;
}

int ncclCommDestroy(ccl_comm comm)
{
    if (!comm)
        return 4;
    if (plugin && comm->context)
        plugin->finalize(comm->context);
    free(comm);
    return 0;
}

int ncclCommAbort(ccl_comm comm)
{
    return ncclCommDestroy(comm);
}

int ncclGroupStart(void)
{
    depth++;
    return 0;
}

int ncclGroupEnd(void)
{
    if (depth == 0)
        return 5;
    if (--depth > 0)
        return 0;
    for (int at = 0; at < made_count; at++)
        made_in_group[at]->is_complete = true;
    made_count = 0;
    complete();
    qsort(tasks, (size_t)task_count, sizeof *tasks, larger_first);
    for (int at = 0; at < task_count; at++)
        launch(&tasks[at]);
    task_count = 0;
    return 0;
}

int ncclGroupSimulateEnd(void *info)
{
    (void)info;
    if (--depth == 0)
        task_count = 0;
    return 0;
}

#define COLLECTIVE(name, ...) \
    int nccl##name(const void *send, void *receive, size_t count, int datatype, __VA_ARGS__, ccl_comm comm, void *stream)

COLLECTIVE(AllReduce, int operation)
{
    (void)send, (void)receive, (void)stream, (void)operation;
    return asked(comm, "AllReduce", count, datatype, -1);
}

COLLECTIVE(Broadcast, int root)
{
    (void)send, (void)receive, (void)stream;
    return asked(comm, "Broadcast", count, datatype, root);
}

int ncclBcast(void *buffer, size_t count, int datatype, int root, ccl_comm comm, void *stream)
{
    return ncclBroadcast(buffer, buffer, count, datatype, root, comm, stream);
}

COLLECTIVE(Reduce, int operation, int root)
{
    (void)send, (void)receive, (void)stream, (void)operation;
    return asked(comm, "Reduce", count, datatype, root);
}

COLLECTIVE(ReduceScatter, int operation)
{
    (void)send, (void)receive, (void)stream, (void)operation;
    return asked(comm, "ReduceScatter", count, datatype, -1);
}

int ncclAllGather(const void *send, void *receive, size_t count, int datatype, ccl_comm comm, void *stream)
{
    (void)send, (void)receive, (void)stream;
    return asked(comm, "AllGather", count, datatype, -1);
}

int ncclSend(const void *send, size_t count, int datatype, int peer, ccl_comm comm, void *stream)
{
    (void)send, (void)stream;
    return asked(comm, "Send", count, datatype, peer);
}

int ncclRecv(void *receive, size_t count, int datatype, int peer, ccl_comm comm, void *stream)
{
    (void)receive, (void)stream;
    return asked(comm, "Recv", count, datatype, peer);
}

/* As sends and receives, which the plugin is told of; their own words call the public names. */
int ncclAlltoAll(const void *send, void *receive, size_t count, int datatype, ccl_comm comm, void *stream)
{
    ncclGroupStart();
    for (int peer = 0; peer < comm->ranks; peer++) {
        ncclSend(send, count, datatype, peer, comm, stream);
        ncclRecv(receive, count, datatype, peer, comm, stream);
    }
    return ncclGroupEnd();
}

int ncclPutSignal(const void *local, size_t count, int datatype, int peer, void *window, size_t offset, int signal, int context,
                  unsigned flags, ccl_comm comm, void *stream)
{
    (void)local, (void)count, (void)datatype, (void)peer, (void)window, (void)offset, (void)signal, (void)context, (void)flags, (void)stream;
    return comm ? 0 : 4;
}
