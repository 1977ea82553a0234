/* replay VERSION WHAT: finds the profiler plugin as an NCCL does that knows its interface up to VERSION, and hands it the events of
 * operations that tests/profiled/nccl_plugin.rs knows. No NCCL is there, and no GPU. -DSTATIC_PLUGIN: it looks for the plugin in the program,
 * which -DHAS_PLUGIN gives one. */
#define _GNU_SOURCE
#include <mpi.h>
#include "profiler_plugin.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

struct plugin *plugin;
int version, mask;

static int rank, size;
static const uint64_t everybody = 0x1234567890abcdef;

#ifdef STATIC_PLUGIN
#define PLUGIN NULL
#else
#define PLUGIN "libnccl-profiler.so"
#endif

#ifdef HAS_PLUGIN
extern const struct plugin ncclProfiler_v4;
const struct plugin ncclProfiler_v4 = {.name = "the program's"};
#endif

/* NCCL asks for the newest that it knows first. */
static int find(int newest)
{
    void *library = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    for (version = newest; version > 0 && plugin == NULL; version -= plugin == NULL) {
        char name[32];
        snprintf(name, sizeof name, "ncclProfiler_v%d", version);
        plugin = dlsym(library, name);
    }
    return plugin != NULL;
}

static void collective(struct comm *comm, const char *func, size_t count, const char *datatype, int root, const char *algo, int channels)
{
    struct task task = call(comm, func, count, datatype, root);
    run(&task, algo, "LL128", channels);
    enqueued(&task);
}

static void point_to_point(struct comm *comm, int next, int previous)
{
    struct task send = call(comm, "Send", 64, "ncclInt64", next), receive = call(comm, "Recv", 64, "ncclInt64", previous);
    /* Receives come first. */
    run_p2p(&receive, 2);
    run_p2p(&send, 2);
    enqueued(&receive);
    enqueued(&send);
}

/* One of each kind. In a group NCCL begins with the largest. */
static void all(void)
{
    struct comm comm = comm_init(everybody, "all of them", size, rank);
    CHECK(mask == (COLL | P2P));
    collective(&comm, "AllReduce", 1000, "ncclFloat32", 0, "RING", 4);
    collective(&comm, "AllGather", 500, "ncclInt32", 0, "RING", 4);
    collective(&comm, "ReduceScatter", 100, "ncclFloat64", 0, "TREE", 1);
    collective(&comm, "Reduce", 10, "ncclBfloat16", 1, "RING", 1);
    /* NCCL has no name for ncclUint8. From 2.29.2 on, which brought version 6, nothing follows Broadcast. */
    struct task broadcast = call(&comm, "Broadcast", 300, "Unknown", 1);
    if (version < 6) {
        run(&broadcast, "RING", "LL128", 2);
        enqueued(&broadcast);
    }
    struct task small = call(&comm, "AllReduce", 8, "ncclInt8", 0), large = call(&comm, "AllReduce", 1 << 20, "ncclFloat32", 0);
    run(&large, "NVLS", "SIMPLE", 16);
    run(&small, "TREE", "LL", 1);
    enqueued(&large);
    enqueued(&small);
    point_to_point(&comm, (rank + 1) % size, (rank + size - 1) % size);
    /* Not a function that this plugin knows, nor a datatype. */
    collective(&comm, "Invalid", 8, "ncclInt8", 0, "RING", 1);
    collective(&comm, "AllReduce", 8, "ncclFloat4", 0, "RING", 1);
    comm_finalize(&comm);
}

/* A graph: what was captured once is done three times, while the next calls are under way; the last call is done by nobody. */
static void graph(void)
{
    struct comm comm = comm_init(everybody, NULL, size, rank);
    struct task captured = call(&comm, "AllReduce", 100, "ncclFloat32", 0), send = call(&comm, "Send", 7, "ncclInt8", 0);
    for (int launch = 0; launch < 3; launch++) {
        if (version > 4 || launch == 0) {
            run(&captured, "RING", "LL", 1);
            enqueued(&captured);
        }
        collective(&comm, "AllReduce", 1000, "ncclFloat32", 0, "RING", 4);
    }
    /* Left to MPI_Finalize. */
    if (version == 4)
        run_p2p(&send, 1);
}

/* More calls in one group than the plugin keeps: those that it lets go are counted without their peer, and all of them once. With
 * version 6 a snapshot is taken meanwhile. */
static void many(void)
{
    enum { CALLS = 20000 };
    struct comm comm = comm_init(everybody, NULL, size, rank);
    struct task *tasks = calloc(CALLS, sizeof *tasks);
    for (int at = 0; at < CALLS; at++)
        tasks[at] = call(&comm, "Send", 8, "ncclInt8", 1);
    if (version == 6)
        MPI_Pcontrol(2);
    for (int at = 0; at < CALLS; at++)
        run_p2p(&tasks[at], 1);
    struct task after = call(&comm, "Send", 8, "ncclInt8", 1);
    run_p2p(&after, 1);
    free(tasks);
    comm_finalize(&comm);
}

/* Channels that end in a thread of NCCL's, in any order, after their operation was enqueued. */
struct channels { struct task *task; void *handles[4]; };

static void *end_channels(void *argument)
{
    struct channels *channels = argument;
    for (int at = 0; at < 4; at++)
        channels->handles[at] = channel_begins(channels->task, at, 5000000 + 32 * (uint64_t)at);
    channel_ends(channels->handles[2], 5009000);
    channel_ends(channels->handles[0], 5007000);
    channel_ends(channels->handles[3], 5008000);
    channel_ends(channels->handles[1], 5006000);
    return NULL;
}

static void on_channels(struct task *task, int channels, uint64_t begin_ns, uint64_t end_ns)
{
    void *handles[16];
    for (int at = 0; at < channels; at++)
        handles[at] = channel_begins(task, at, begin_ns);
    for (int at = 0; at < channels; at++)
        channel_ends(handles[at], end_ns);
}

static void kernels(void)
{
    struct comm comm = comm_init(everybody, "all of them", size, rank);
    CHECK(mask == (COLL | P2P | KERNEL_CH));
    struct task all = call(&comm, "AllReduce", 1000, "ncclFloat32", 0);
    struct channels channels = {.task = &all};
    run(&all, "RING", "LL128", 4);
    enqueued(&all);
    pthread_t thread;
    pthread_create(&thread, NULL, end_channels, &channels);
    pthread_join(thread, NULL);

    struct task send = call(&comm, "Send", 64, "ncclInt64", (rank + 1) % size);
    run_p2p(&send, 2);
    enqueued(&send);
    on_channels(&send, 2, 1000, 3000);
    /* Its other half has the other channel. */
    struct task half = call(&comm, "Send", 16, "ncclInt64", (rank + 1) % size);
    run_p2p(&half, 2);
    enqueued(&half);
    on_channels(&half, 1, 1000, 1500);
    /* A shorter one that ends before NCCL has come back. */
    struct task early = call(&comm, "AllReduce", 1000, "ncclFloat32", 0);
    run(&early, "RING", "LL128", 4);
    on_channels(&early, 4, 100, 1100);
    enqueued(&early);
    /* The same operation again, of a graph. */
    run(&early, "RING", "LL128", 4);
    enqueued(&early);
    on_channels(&early, 4, 2000, 2500);

    /* Its timestamps are those of another one, or missing. */
    struct task broken = call(&comm, "ReduceScatter", 100, "ncclFloat64", 0);
    run(&broken, "TREE", "LL", 2);
    enqueued(&broken);
    on_channels(&broken, 2, 3000, 2000);
    run(&broken, "TREE", "LL", 1);
    enqueued(&broken);
    CHECK(plugin->stop(channel_begins(&broken, 0, 3000)) == 0);
    /* No channels are told. */
    collective(&comm, "AllGather", 500, "ncclInt32", 0, "RING", 4);
    /* Somebody switches all events off and on, while one is under way. */
    struct task under_way = call(&comm, "AllReduce", 2000, "ncclFloat32", 0);
    run(&under_way, "RING", "LL128", 1);
    enqueued(&under_way);
    mask = 0;
    collective(&comm, "AllReduce", 4000, "ncclFloat32", 0, "RING", 1);
    on_channels(&under_way, 1, 10000, 50000);
    mask = COLL | P2P | KERNEL_CH;
    /* Open when its communicator goes: a channel has not ended, and one has not begun. */
    struct task open = call(&comm, "Reduce", 10, "ncclBfloat16", 1);
    run(&open, "RING", "LL128", 3);
    enqueued(&open);
    channel_ends(channel_begins(&open, 0, 100), 200);
    void *late = channel_begins(&open, 1, 100);
    comm_finalize(&comm);
    channel_ends(late, 300);
}

static void proxies(void)
{
    struct comm comm = comm_init(everybody, "all of them", size, rank);
    CHECK(mask == (COLL | P2P | PROXY_OP | PROXY_STEP));
    int next = (rank + 1) % size;
    struct task all = call(&comm, "AllReduce", 1000, "ncclFloat32", 0);
    run(&all, "RING", "LL128", 4);
    enqueued(&all);
    proxy(all.mask, comm.context, all.handle, getpid(), next, 1, 3, 2000);
    proxy(all.mask, comm.context, all.handle, getpid(), (rank + size - 1) % size, 0, 3, 2000);
    /* For another process, whose pointers mean nothing here, though they may look as if. */
    proxy(all.mask, (void *)0x1000, all.handle, getpid() + 1, 0, 1, 2, 500);
    proxy(all.mask, comm.context, (void *)0xdead, getpid() + 1, 0, 1, 1, 500);
    /* Of what operation it is was not told. */
    proxy(all.mask, comm.context, NULL, getpid(), next, 1, 1, 100);
    comm_finalize(&comm);
}

/* Two Shrinks of one communicator have one hash: with as many ranks they are one here, else two. The last is left open. */
static void shrink(void)
{
    struct comm first = comm_init(everybody, "first", size, rank), second = comm_init(everybody, "second", size, rank);
    collective(&first, "AllReduce", 100, "ncclInt8", 0, "RING", 1);
    comm_finalize(&first);
    collective(&second, "AllReduce", 100, "ncclInt8", 0, "RING", 1);
    if (rank < size - 1) {
        struct comm smaller = comm_init(everybody, "smaller", size - 1, rank);
        collective(&smaller, "AllReduce", 10, "ncclInt8", 0, "RING", 1);
        comm_finalize(&smaller);
    }
}

/* Two Shrinks that leave other processes out, and as many: NCCL gives them one hash, too, and rank 1 is another process in each. */
static void shrinks(void)
{
    for (int left_out = 2; left_out > 0; left_out--) {
        if (rank == left_out)
            continue;
        struct comm comm = comm_init(everybody, NULL, 2, rank > 0);
        collective(&comm, "AllReduce", 100, "ncclInt8", 0, "RING", 1);
        if (rank == 0 && left_out == 1) {
            struct task send = call(&comm, "Send", 10, "ncclInt8", 1);
            run_p2p(&send, 1);
        }
        comm_finalize(&comm);
    }
}

/* A process alone: NCCL copies, and tells of nothing but sends to itself. */
static void alone(void)
{
    struct comm comm = comm_init(everybody + (uint64_t)rank, "alone", 1, 0);
    point_to_point(&comm, 0, 0);
    comm_finalize(&comm);
}

/* Two ranks in each process, of two communicators each. */
static void ranks(void)
{
    struct comm comms[2][2];
    for (int which = 0; which < 2; which++)
        for (int own = 0; own < 2; own++)
            comms[which][own] = comm_init(everybody + (uint64_t)which, which ? "even" : "odd", 2 * size, 2 * rank + own);
    for (int own = 0; own < 2; own++) {
        int me = 2 * rank + own, all = 2 * size;
        point_to_point(&comms[0][own], (me + 1) % all, (me + all - 1) % all);
        collective(&comms[1][own], "Broadcast", 300, "ncclInt8", 1, "RING", 1);
    }
    for (int which = 0; which < 2; which++)
        for (int own = 0; own < 2; own++)
            comm_finalize(&comms[which][own]);
}

/* Communicators that come, work and go in several threads at once: 16000 calls in all, which the plugin can have in flight, however long one of
 * the threads has to wait for a processor. */
static void *in_thread(void *argument)
{
    uint64_t which = (uint64_t)(uintptr_t)argument;
    for (uint64_t round = 0; round < 4; round++) {
        struct comm comm = comm_init(everybody + 4 * which + round, NULL, size, rank);
        for (int at = 0; at < 1000; at++) {
            struct task task = call(&comm, "AllReduce", 100, "ncclInt8", 0);
            run(&task, "RING", "LL", 2);
            enqueued(&task);
            on_channels(&task, 2, 1000, 1010);
            proxy(task.mask, comm.context, task.handle, getpid(), 0, 1, 2, 50);
        }
        comm_finalize(&comm);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[4];
    mask = COLL | P2P | KERNEL_CH | PROXY_OP | PROXY_STEP;
    for (uintptr_t at = 0; at < 4; at++)
        pthread_create(&thread[at], NULL, in_thread, (void *)at);
    for (int at = 0; at < 4; at++)
        pthread_join(thread[at], NULL);
}

/* The child of a fork is not profiled. */
static void forks(void)
{
    struct comm comm = comm_init(everybody, NULL, size, rank);
    collective(&comm, "AllReduce", 100, "ncclInt8", 0, "RING", 1);
    pid_t child = fork();
    if (child == 0) {
        collective(&comm, "AllReduce", 100, "ncclInt8", 0, "RING", 1);
        mask = 0;
        struct comm own = comm_init(everybody + 1, NULL, size, rank);
        comm_finalize(&own);
        comm_finalize(&comm);
        _exit(mask == 0 && own.context == NULL ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Events that are no sequence of NCCL's: nothing comes of them, neither a count nor a crash. */
static void nonsense(void)
{
    struct comm comm = comm_init(everybody, NULL, size, rank);
    for (uintptr_t word = 0; word < 4096; word += 3) {
        struct event event = garbage(word % 2 ? KERNEL_CH : PROXY_STEP);
        union state state = {.timer = 1};
        void *handle;
        event.parent = (void *)word;
        begin(&comm, &handle, &event);
        CHECK(plugin->record(handle, SEND_WAIT, &state) == 0 && plugin->stop(handle) == 0);
        CHECK(plugin->record((void *)word, KERNEL_CH_STOP, &state) == 0 && plugin->record((void *)word, SEND_WAIT, NULL) == 0);
        CHECK(plugin->stop((void *)word) == 0);
    }
    struct event unknown = garbage(COLL);
    unknown.coll.func = NULL, unknown.coll.datatype = NULL, unknown.coll.algo = NULL, unknown.coll.proto = NULL;
    void *handle;
    begin(&comm, &handle, &unknown);
    CHECK(plugin->start(comm.context, NULL, &unknown) == 0 && plugin->finalize(NULL) == 0);
    unknown.coll.func = "AllReduce", unknown.coll.datatype = "ncclInt8", unknown.coll.count = SIZE_MAX;
    CHECK(plugin->start(NULL, &handle, &unknown) == 0 && handle == NULL);
}

static const struct { const char *name; void (*replay)(void); } replays[] = {
    {"all", all}, {"graph", graph}, {"many", many}, {"kernels", kernels}, {"proxies", proxies}, {"shrink", shrink},
    {"shrinks", shrinks},
    {"alone", alone}, {"ranks", ranks}, {"threads", threads}, {"forks", forks}, {"nonsense", nonsense},
};

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!find(atoi(argv[1]))) {
        CHECK(strcmp(argv[2], "none") == 0);
    } else if (strcmp(argv[2], "whose") == 0) {
        if (rank == 0)
            printf("%s %d\n", plugin->name, version);
    } else {
        CHECK(version == atoi(argv[1]));
        size_t at = 0;
        while (at < sizeof replays / sizeof *replays && strcmp(replays[at].name, argv[2]) != 0)
            at++;
        CHECK(at < sizeof replays / sizeof *replays);
        replays[at].replay();
    }
    MPI_Finalize();
    return 0;
}
