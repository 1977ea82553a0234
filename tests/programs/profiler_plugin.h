/* NCCL's side of its profiler plugins, versions 4 to 6, as far as replay.c needs it: layouts and gates are those of NCCL's
 * src/include/plugin/profiler and src/plugin/profiler.cc. */
#ifndef PROFILER_PLUGIN_H
#define PROFILER_PLUGIN_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { GROUP = 1, COLL = 2, P2P = 4, PROXY_OP = 8, PROXY_STEP = 16, KERNEL_CH = 64, GROUP_API = 256, COLL_API = 512, P2P_API = 1024 };
enum { SEND_GPU_WAIT = 8, SEND_WAIT = 9, RECV_WAIT = 10, KERNEL_CH_STOP = 22, SEND_PEER_WAIT = 20 };

/* The first byte of `type` is all that version 4 has. */
struct event {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct { uint64_t sequence; const char *func; const void *send; void *receive; size_t count; int root; const char *datatype;
                 uint8_t channels, warps; const char *algo, *proto; void *group; } coll;
        struct { const char *func; void *buffer; const char *datatype; size_t count; int peer; uint8_t channels; void *group; } p2p;
        struct { const char *func; size_t count; const char *datatype; int root; void *stream; uint8_t captured; } coll_api;
        struct { const char *func; size_t count; const char *datatype; void *stream; uint8_t captured; } p2p_api;
        struct { pid_t pid; uint8_t channel; int peer, steps, chunk_bytes, is_send; } proxy_op;
        struct { int step; } proxy_step;
        struct { uint8_t channel; uint64_t timer; } kernel_ch;
    };
};
union state { size_t sent_bytes; uint64_t timer; };

struct plugin {
    const char *name;
    void *init;
    int (*start)(void *context, void **handle, struct event *event);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, union state *arguments);
    int (*finalize)(void *context);
};
typedef int init_4(void **, int *, const char *, uint64_t, int, int, int, void *);
typedef int init_5(void **, uint64_t, int *, const char *, int, int, int, void *);

struct comm {
    void *context;
    int ranks, rank;
};

/* A call that waits in a group for what NCCL does for it. */
struct task {
    struct comm *comm;
    void *api, *handle;
    const char *func, *datatype;
    size_t count;
    int peer, mask;
};

extern struct plugin *plugin;
extern int version, mask;

#define CHECK(condition) ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

/* Memory that NCCL never set is full of this. */
static inline struct event garbage(uint64_t type)
{
    struct event event;
    memset(&event, 0xaa, sizeof event);
    if (version == 4)
        memcpy(&event.type, &(uint8_t){(uint8_t)type}, 1);
    else
        event.type = type;
    event.parent = NULL;
    event.rank = 0;
    return event;
}

static inline struct comm comm_init(uint64_t id, const char *name, int ranks, int rank)
{
    struct comm comm = {NULL, ranks, rank};
    int code = version == 4 ? ((init_4 *)plugin->init)(&comm.context, &mask, name, id, 1, ranks, rank, NULL)
                            : ((init_5 *)plugin->init)(&comm.context, id, &mask, name, 1, ranks, rank, NULL);
    CHECK(code == 0);
    return comm;
}

static inline void comm_finalize(struct comm *comm)
{
    if (comm->context)
        CHECK(plugin->finalize(comm->context) == 0);
}

/* Null where the plugin wants no such event. Places for handles are not reset. */
static inline void begin(struct comm *comm, void **handle, struct event *event)
{
    CHECK(plugin->start(comm->context, handle, event) == 0);
}

/* The program calls a function: from version 5 on NCCL tells of that, also as the parent of what the plugin asked for. */
static inline struct task call(struct comm *comm, const char *func, size_t count, const char *datatype, int peer)
{
    static __thread void *api = (void *)0x10;
    int is_p2p = strcmp(func, "Send") == 0 || strcmp(func, "Recv") == 0;
    int parents = is_p2p ? P2P_API | P2P : COLL_API | COLL;
    struct task task = {comm, NULL, NULL, func, datatype, count, peer, mask};
    if (version > 4 && task.mask & (parents | PROXY_OP | PROXY_STEP | KERNEL_CH)) {
        struct event event = garbage(is_p2p ? P2P_API : COLL_API);
        if (is_p2p) {
            event.p2p_api.func = func, event.p2p_api.count = count, event.p2p_api.datatype = datatype;
        } else {
            event.coll_api.func = func, event.coll_api.count = count, event.coll_api.datatype = datatype;
            event.coll_api.root = peer;
        }
        begin(comm, &api, &event);
        if (api)
            CHECK(plugin->stop(api) == 0);
    }
    task.api = api;
    return task;
}

/* NCCL does a collective: that of AllGather and Broadcast is counted in bytes. */
static inline void run(struct task *task, const char *algo, const char *proto, int channels)
{
    struct event event = garbage(COLL);
    int in_bytes = strcmp(task->func, "AllGather") == 0 || strcmp(task->func, "Broadcast") == 0;
    size_t size = strstr(task->datatype, "64") ? 8 : strstr(task->datatype, "32") ? 4 : strstr(task->datatype, "16") ? 2 : 1;
    if (!(task->mask & (COLL | PROXY_OP | PROXY_STEP | KERNEL_CH)))
        return;
    event.rank = task->comm->rank;
    event.parent = version > 4 ? task->api : NULL;
    event.coll.sequence = 0;
    event.coll.func = task->func;
    event.coll.count = in_bytes ? task->count * size : task->count;
    event.coll.datatype = in_bytes ? "ncclInt8" : task->datatype;
    event.coll.root = task->peer;
    event.coll.channels = (uint8_t)channels;
    event.coll.algo = algo;
    event.coll.proto = proto;
    begin(task->comm, &task->handle, &event);
}

/* NCCL sends or receives. Newer libraries hand version 4 a number of channels that was never set. */
static inline void run_p2p(struct task *task, int channels)
{
    struct event event = garbage(P2P);
    if (!(task->mask & (P2P | PROXY_OP | PROXY_STEP | KERNEL_CH)))
        return;
    event.rank = task->comm->rank;
    event.parent = version > 4 ? task->api : NULL;
    event.p2p.func = task->func;
    event.p2p.buffer = NULL;
    event.p2p.datatype = task->datatype;
    event.p2p.count = task->count;
    event.p2p.peer = task->peer;
    if (version > 4)
        event.p2p.channels = (uint8_t)channels;
    begin(task->comm, &task->handle, &event);
}

/* It is in a queue of the GPU. */
static inline void enqueued(struct task *task)
{
    if (task->handle)
        CHECK(plugin->stop(task->handle) == 0);
}

static inline void *channel_begins(struct task *task, int channel, uint64_t timer)
{
    struct event event = garbage(KERNEL_CH);
    void *handle = NULL;
    if (!(task->mask & KERNEL_CH))
        return NULL;
    event.parent = task->handle;
    event.kernel_ch.channel = (uint8_t)channel;
    event.kernel_ch.timer = timer;
    begin(task->comm, &handle, &event);
    return handle;
}

static inline void channel_ends(void *handle, uint64_t timer)
{
    union state state = {.timer = timer};
    if (handle) {
        CHECK(plugin->record(handle, KERNEL_CH_STOP, &state) == 0);
        CHECK(plugin->stop(handle) == 0);
    }
}

/* A proxy moves so many steps of so many bytes, for an operation of the process `pid`, whose pointers `context` and `parent` are. */
static inline void proxy(int tasks_mask, void *context, void *parent, pid_t pid, int peer, int is_send, int steps, size_t bytes)
{
    struct event event = garbage(PROXY_OP);
    struct comm comm = {context, 0, 0};
    void *handle = NULL;
    if (!(tasks_mask & (PROXY_OP | PROXY_STEP)))
        return;
    event.parent = parent;
    event.proxy_op.pid = pid;
    event.proxy_op.peer = peer;
    event.proxy_op.steps = steps;
    event.proxy_op.is_send = is_send;
    begin(&comm, &handle, &event);
    union state none = {.sent_bytes = 0};
    for (int step = 0; step < steps && tasks_mask & PROXY_STEP; step++) {
        void *step_handle = NULL;
        struct event step_event = garbage(PROXY_STEP);
        step_event.parent = handle;
        step_event.proxy_step.step = step;
        begin(&comm, &step_handle, &step_event);
        if (step_handle && handle) {
            /* The bytes of a step are known when the network takes it; before, those of the last one are told again. */
            union state sent = {.sent_bytes = bytes};
            int states[] = {is_send ? SEND_GPU_WAIT : RECV_WAIT, SEND_PEER_WAIT, SEND_WAIT};
            for (int at = 0; at < (is_send ? 3 : 1); at++)
                CHECK(plugin->record(step_handle, states[at], states[at] == SEND_WAIT || step > 0 ? &sent : &none) == 0);
            CHECK(plugin->stop(step_handle) == 0);
        }
    }
    if (handle)
        CHECK(plugin->stop(handle) == 0);
}

#endif
