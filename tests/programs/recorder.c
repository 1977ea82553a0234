/* A profiler plugin for NCCL that writes down each call of NCCL's, in the order in which they come: tests/inputs/nccl/ was recorded with it on a GPU, by
 * `nccl_gpu past` (with -DVERSION=4 `nccl_gpu past4`) on two ranks, with NCCL_PROFILER_PLUGIN=.../librecorder5.so RECORD_MASK=94. RECORD names the file, to
 * which the process's number is added; RECORD_MASK says which events are wanted. -DVERSION=4, 5 or 6: its interface.
 *
 * A line has the thread that calls, in the order of their first calls, what it calls, and what that is about; what the plugin hands out are numbers. */
#define _GNU_SOURCE
#include "profiler_plugin.h"
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 5
#endif

int version = VERSION, mask;
struct plugin *plugin;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *record_file;
static int threads;
static intptr_t contexts, handles;
static __thread int thread;

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
    va_list arguments;
    if (!record_file) {
        char path[512];
        snprintf(path, sizeof path, "%s.%d", getenv("RECORD"), (int)getpid());
        record_file = fopen(path, "w");
        CHECK(record_file != NULL);
    }
    if (!thread)
        thread = ++threads;
    fprintf(record_file, "%d ", thread);
    va_start(arguments, format);
    vfprintf(record_file, format, arguments);
    va_end(arguments);
    fputc('\n', record_file);
    fflush(record_file);
}

static int initialize(void **context, int *wanted, const char *name, uint64_t id, int nodes, int ranks, int rank)
{
    pthread_mutex_lock(&lock);
    *context = (void *)++contexts;
    *wanted = atoi(getenv("RECORD_MASK"));
    line("init %ld %s %#lx %d %d %d", (long)contexts, name && *name ? name : "-", (unsigned long)id, nodes, ranks, rank);
    pthread_mutex_unlock(&lock);
    return 0;
}

#if VERSION == 4
static int init(void **context, int *wanted, const char *name, uint64_t id, int nodes, int ranks, int rank, void *log)
{
    (void)log;
    return initialize(context, wanted, name, id, nodes, ranks, rank);
}
#else
static int init(void **context, uint64_t id, int *wanted, const char *name, int nodes, int ranks, int rank, void *log)
{
    (void)log;
    return initialize(context, wanted, name, id, nodes, ranks, rank);
}
#endif

static const char *word(const char *text)
{
    return text && *text ? text : "-";
}

static int start(void *context, void **handle, struct event *event)
{
    long type = VERSION == 4 ? *(uint8_t *)event : (long)event->type, parent = (long)event->parent, in = (long)context;
    pthread_mutex_lock(&lock);
    *handle = (void *)++handles;
    long number = (long)handles;
    switch (type) {
    case COLL:
        line("start %ld %ld coll %ld %s %zu %s %d %d %s %s", number, in, parent, word(event->coll.func), event->coll.count,
             word(event->coll.datatype), event->coll.root, event->coll.channels, word(event->coll.algo), word(event->coll.proto));
        break;
    case P2P:
        line("start %ld %ld p2p %ld %s %zu %s %d %d", number, in, parent, word(event->p2p.func), event->p2p.count, word(event->p2p.datatype),
             event->p2p.peer, event->p2p.channels);
        break;
    case COLL_API:
        line("start %ld %ld coll_api %ld %s %zu %s %d %d", number, in, parent, word(event->coll_api.func), event->coll_api.count,
             word(event->coll_api.datatype), event->coll_api.root, event->coll_api.captured);
        break;
    case P2P_API:
        line("start %ld %ld p2p_api %ld %s %zu %s %d", number, in, parent, word(event->p2p_api.func), event->p2p_api.count,
             word(event->p2p_api.datatype), event->p2p_api.captured);
        break;
    case PROXY_OP:
        line("start %ld %ld proxy_op %ld %d %d %d %d %d %d", number, in, parent, event->proxy_op.pid == getpid(), event->proxy_op.channel,
             event->proxy_op.peer, event->proxy_op.steps, event->proxy_op.chunk_bytes, event->proxy_op.is_send);
        break;
    case PROXY_STEP:
        line("start %ld %ld proxy_step %ld %d", number, in, parent, event->proxy_step.step);
        break;
    case KERNEL_CH:
        line("start %ld %ld kernel_ch %ld %d %lu", number, in, parent, event->kernel_ch.channel, (unsigned long)event->kernel_ch.timer);
        break;
    default:
        line("start %ld %ld other %ld %ld", number, in, parent, type);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

static int stop(void *handle)
{
    pthread_mutex_lock(&lock);
    line("stop %ld", (long)handle);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int record(void *handle, int state, union state *arguments)
{
    pthread_mutex_lock(&lock);
    line("record %ld %d %lu", (long)handle, state, arguments ? (unsigned long)arguments->timer : 0);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int finalize(void *context)
{
    pthread_mutex_lock(&lock);
    line("finalize %ld", (long)context);
    pthread_mutex_unlock(&lock);
    return 0;
}

#define NAMED(version) ncclProfiler_v##version
#define OF(version) NAMED(version)
extern struct plugin OF(VERSION);
struct plugin OF(VERSION) = {"recorder", (void *)init, start, stop, record, finalize};
