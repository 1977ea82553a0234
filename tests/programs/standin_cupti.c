/* See standin_cupti.h. SUBSCRIBE=CODE: what cuptiSubscribe answers; else it takes one at a time. */
#define _GNU_SOURCE
#include "standin_cupti.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENTER, EXIT };
enum { DRIVER = 1, RUNTIME = 2 };
enum { MEMCPY = 1, MEMCPY2 = 22, UNIFIED = 25 };

/* cupti_callbacks.h and cupti_activity.h of CUDA 13.0. */
struct told {
    int site;
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation;
};
struct record {
    int kind;
    uint8_t direction, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    union {
        struct { uint32_t correlation; } one;
        struct { uint32_t source_device, source_context, destination_device, destination_context, correlation; } peer;
    };
};
struct counter {
    int kind, counted;
    uint64_t value, start, end, address;
    uint32_t source, destination, stream, process, flags, pad;
};
struct configuration {
    int scope, counted;
    uint32_t device, is_enabled;
};
_Static_assert(sizeof(struct counter) == 64, "CUpti_ActivityUnifiedMemoryCounter");
typedef void callback(void *, int, uint32_t, const void *);

static const char *const of_driver[] = {NULL, "cuInit", "cuMemAlloc_v2", NULL, "cuMemcpyHtoDAsync_v2", "cuGraphLaunch", "cuLaunchKernel",
                                        "cuMemcpyBatchAsync_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuMemAllocManaged",
                                        "cuMemcpy2DAsync_v2_ptsz"};
static const char *const of_runtime[] = {NULL, "cudaMalloc_v3020", "cudaMemcpyAsync_v3020", "cudaGraphLaunch_v10000", "cudaMemcpyBatchAsync_v13000",
                                         "cudaFree_v3020"};
enum { ALLOCATE = 2, FREE = 8, ALLOCATE_HOST = 9, FREE_HOST = 10, ALLOCATE_MANAGED = 11, COPY_2D = 12, ALLOCATE_IN_RUNTIME = 1, FREE_IN_RUNTIME = 5 };
enum { COPY_IN_DRIVER = 4, LAUNCH_IN_DRIVER = 5, BATCH_IN_DRIVER = 7, COPY_IN_RUNTIME = 2, LAUNCH_IN_RUNTIME = 3, BATCH_IN_RUNTIME = 4 };

int standin_dropped, standin_flushes;
static callback *subscriber;
static void *data;
static int is_wanted[3][16], is_enabled[64], is_counted[16];
static void (*request)(uint8_t **, size_t *, size_t *);
static void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *buffer;
static size_t room, filled;
static uint32_t correlations = 1000;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int cuptiGetVersion(uint32_t *version) { return *version = 130001, 0; }
int cuptiGetResultString(int code, const char **text) { return *text = code == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR", 0; }
int cuptiGetTimestamp(uint64_t *time) { return *time = now(), 0; }

/* CUPTI calls no function of its own by a name that others may have. */
static int subscribe(void **handle, callback *called, void *user)
{
    const char *code = getenv("SUBSCRIBE");
    if (code)
        return atoi(code);
    if (subscriber)
        return 39;
    subscriber = called, data = user;
    return *handle = &subscriber, 0;
}

int cuptiSubscribe(void **handle, callback *called, void *user) { return subscribe(handle, called, user); }

int cuptiSubscribe_v2(void **handle, callback *called, void *user, void *parameters)
{
    return parameters ? 1 : subscribe(handle, called, user);
}

int cuptiUnsubscribe(void *handle)
{
    memset(is_wanted, 0, sizeof is_wanted);
    return (void)handle, subscriber = NULL, 0;
}

int cuptiGetCallbackName(int domain, uint32_t number, const char **name)
{
    size_t count = domain == DRIVER ? sizeof of_driver / sizeof *of_driver : sizeof of_runtime / sizeof *of_runtime;
    if (number >= count)
        return 1;
    *name = (domain == DRIVER ? of_driver : of_runtime)[number];
    return *name ? 0 : 1;
}

int cuptiEnableCallback(uint32_t enable, void *handle, int domain, uint32_t number)
{
    return (void)handle, is_wanted[domain][number] = (int)enable, 0;
}

int cuptiActivityRegisterCallbacks(void *requested, void *completed)
{
    memcpy(&request, &requested, sizeof request);
    memcpy(&complete, &completed, sizeof complete);
    return 0;
}

int cuptiActivityEnable(int kind) { return is_enabled[kind] = 1, 0; }

int cuptiActivityConfigureUnifiedMemoryCounter(const struct configuration *wanted, uint32_t count)
{
    for (uint32_t at = 0; at < count; at++)
        is_counted[wanted[at].counted] = wanted[at].scope == 1 && wanted[at].is_enabled;
    return 0;
}

int cuptiActivityDisable(int kind) { return is_enabled[kind] = 0, 0; }

static size_t bytes_of(int kind) { return kind == MEMCPY ? 96 : kind == UNIFIED ? sizeof(struct counter) : 104; }

int cuptiActivityGetNextRecord(uint8_t *start, size_t bytes, uint8_t **record)
{
    uint8_t *next = *record ? *record + bytes_of(((struct record *)(void *)*record)->kind) : start;
    if (next >= start + bytes)
        return 12;
    return *record = next, 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = (size_t)standin_dropped;
    return standin_dropped = 0, 0;
}

static void hand_over(void)
{
    uint8_t *full = buffer;
    if (full) {
        buffer = NULL;
        complete(NULL, 0, full, room, filled);
    }
}

int cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    standin_flushes++;
    pthread_mutex_lock(&lock);
    hand_over();
    pthread_mutex_unlock(&lock);
    return 0;
}

static void *in_thread(void *nothing)
{
    hand_over();
    return nothing;
}

static void add_any(const void *record, size_t known)
{
    int kind = *(const int *)record;
    size_t bytes = bytes_of(kind);
    if (!is_enabled[kind] || !request)
        return;
    pthread_mutex_lock(&lock);
    if (buffer && filled + bytes > room) {
        pthread_t thread;
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
    }
    if (!buffer) {
        size_t most = 0;
        filled = 0;
        request(&buffer, &room, &most);
    }
    if (buffer) {
        memset(buffer + filled, 0xaa, bytes);
        memcpy(buffer + filled, record, known < bytes ? known : bytes);
        filled += bytes;
    }
    pthread_mutex_unlock(&lock);
}

static void add(struct record record) { add_any(&record, sizeof record); }

static void call_with(int domain, uint32_t number, int site, uint32_t correlation, int result, const void *parameters)
{
    struct told told = {.site = site, .function = (domain == DRIVER ? of_driver : of_runtime)[number], .correlation = correlation};
    told.parameters = parameters;
    told.result = site == EXIT ? &result : NULL;
    if (subscriber && is_wanted[domain][number])
        subscriber(data, domain, number, &told);
}

static void call(int domain, uint32_t number, int site, uint32_t correlation, int result)
{
    call_with(domain, number, site, correlation, result, NULL);
}

static uint32_t begin_with(int runtime, int driver, const void *parameters)
{
    /* Other calls have numbers, too. */
    uint32_t correlation = __atomic_add_fetch(&correlations, 3, __ATOMIC_RELAXED);
    call(RUNTIME, (uint32_t)runtime, ENTER, correlation, 0);
    call_with(DRIVER, (uint32_t)driver, ENTER, correlation, 0, parameters);
    return correlation;
}

static uint32_t begin(int runtime, int driver) { return begin_with(runtime, driver, NULL); }

static void end(int runtime, int driver, uint32_t correlation, int result)
{
    call(DRIVER, (uint32_t)driver, EXIT, correlation, result);
    call(RUNTIME, (uint32_t)runtime, EXIT, correlation, result);
}

const char *standin_start(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (initialize && !initialize())
        abort();
    return path;
}

static void copy(int driver, const void *parameters, int direction, int source, int destination, uint64_t bytes, uint64_t time_ns, int result)
{
    uint32_t correlation = begin_with(COPY_IN_RUNTIME, driver, parameters);
    uint64_t start = now();
    struct record record = {MEMCPY, (uint8_t)direction, (uint8_t)source, (uint8_t)destination, 0, bytes, start, start + time_ns, 0, 1, 7, {{0}}};
    if (time_ns == 0)
        record.start = record.end = 0;
    record.one.correlation = correlation;
    if (direction == PTOP) {
        record.kind = MEMCPY2;
        record.peer.source_device = 0, record.peer.destination_device = 1, record.peer.correlation = correlation;
    }
    if (result == 0)
        add(record);
    end(COPY_IN_RUNTIME, driver, correlation, result);
}

void standin_copy(int direction, int source, int destination, uint64_t bytes, uint64_t time_ns, int result)
{
    copy(COPY_IN_DRIVER, NULL, direction, source, destination, bytes, time_ns, result);
}

void standin_move(int direction, int source, int destination, uint64_t from, uint64_t to, uint64_t bytes)
{
    const uint64_t parameters[] = {to, from, bytes, 0};
    copy(COPY_IN_DRIVER, parameters, direction, source, destination, bytes, 100, 0);
}

/* CUDA_MEMCPY2D. */
void standin_move_2d(int direction, int source, int destination, uint64_t from, uint64_t to, uint64_t bytes)
{
    struct end {
        uint64_t x, y;
        uint32_t memory;
        uint64_t host, device, array, pitch;
    } ends[] = {{0, 0, source == DEVICE ? 2 : 1, source == DEVICE ? 1 : from, source == DEVICE ? from : 1, 1, 64},
                {0, 0, destination == DEVICE ? 2 : 1, destination == DEVICE ? 1 : to, destination == DEVICE ? to : 1, 1, 64}};
    const void *parameters[] = {ends, NULL};
    copy(COPY_2D, parameters, direction, source, destination, bytes, 100, 0);
}

static int allocating(int memory) { return memory == PINNED ? ALLOCATE_HOST : memory == MANAGED ? ALLOCATE_MANAGED : ALLOCATE; }

static void allocated(int memory, uint64_t address, uint64_t bytes)
{
    uint64_t place = 0;
    const struct { uint64_t *place; uint64_t bytes, flags; } parameters = {&place, bytes, 0};
    uint32_t correlation = __atomic_add_fetch(&correlations, 3, __ATOMIC_RELAXED);
    call(RUNTIME, ALLOCATE_IN_RUNTIME, ENTER, correlation, 0);
    call_with(DRIVER, (uint32_t)allocating(memory), ENTER, correlation, 0, &parameters);
    place = address;
    call_with(DRIVER, (uint32_t)allocating(memory), EXIT, correlation, 0, &parameters);
    call(RUNTIME, ALLOCATE_IN_RUNTIME, EXIT, correlation, 0);
}

static uint64_t next = 0x700000000000, freed, freed_bytes, last, last_bytes;

uint64_t standin_allocate(int memory, uint64_t bytes)
{
    int is_again = freed && bytes == freed_bytes;
    uint64_t address = is_again ? freed : next;
    if (is_again)
        freed = 0;
    else
        next += bytes + 4096;
    last = address, last_bytes = bytes;
    allocated(memory, address, bytes);
    return address;
}

void standin_free(int memory, uint64_t address)
{
    const uint64_t parameters[] = {address};
    int driver = memory == PINNED ? FREE_HOST : FREE;
    uint32_t correlation = begin_with(FREE_IN_RUNTIME, driver, parameters);
    if (address == last)
        freed = address, freed_bytes = last_bytes;
    end(FREE_IN_RUNTIME, driver, correlation, 0);
}

void standin_told(uint64_t address, uint64_t bytes)
{
    static int is_started;
    if (!is_started++)
        standin_start();
    allocated(DEVICE, address, bytes);
}

void standin_managed(int kind, uint64_t value, uint64_t address, uint32_t source, uint32_t destination)
{
    uint64_t start = now();
    struct counter counter = {UNIFIED, kind, value, start, start + 500, address, source, destination, 0, 1, 0, 0};
    if (is_counted[kind])
        add_any(&counter, sizeof counter);
}

void standin_nothing(void)
{
    end(COPY_IN_RUNTIME, COPY_IN_DRIVER, begin(COPY_IN_RUNTIME, COPY_IN_DRIVER), 0);
}

static void many(int runtime, int driver, int copies)
{
    uint32_t correlation = begin(runtime, driver);
    for (int at = 0; at < copies; at++) {
        struct record record = {MEMCPY, DTOD, DEVICE, DEVICE, 0, 100, 1000, 1500, 0, 1, 7, {{correlation}}};
        add(record);
    }
    end(runtime, driver, correlation, 0);
}

void standin_launch(int copies)
{
    many(LAUNCH_IN_RUNTIME, LAUNCH_IN_DRIVER, copies);
}

void standin_batch(int copies)
{
    many(BATCH_IN_RUNTIME, BATCH_IN_DRIVER, copies);
}
