/* nccl_gpu: what NCCL does on GPUs, one that processes share or one each; what comes of it is checked. Memory is the driver's (libcuda), so that no
 * CUDA toolkit is needed. Processes that share a GPU need an NCCL_HOSTID of their own, and NCCL_SOCKET_IFNAME=lo. tests/gpu.sh calls it.
 *
 * nccl_gpu counts TRUTH        each function that NCCL 2.28 has, on communicators of each kind. TRUTH.RANK has a line for each call that the module for
 *                              NCCL counts: communicator|layer|function|scope|from|to|bytes
 * nccl_gpu past TRUTH          the same past the wrappers, with functions that `dlsym` finds: what NCCL tells its profiler plugin; past4: a plugin of
 *                              version 4, which is told of each launch of a graph
 * nccl_gpu times REPETITIONS   `us BYTES MICROSECONDS` for AllReduce, the median, from the call to the end of its stream, and `enqueue NANOSECONDS`, of
 *                              a call alone. It makes 5 + REPETITIONS calls of 8 sizes, and then 2000 of 8 bytes */
#define _GNU_SOURCE
#define NCCL
#include "cuda_driver.h"
#include "nccl.h"
#include <string.h>
#include <time.h>

enum { MOST_BYTES = 64 << 20, MOST = 1000, IN_PROGRESS = 7, NOBODY = -1 };

static int size;

#define EACH(one) \
    one(GetUniqueId) one(CommInitRank) one(CommInitRankConfig) one(CommInitRankScalable) one(CommSplit) one(CommShrink) one(CommFinalize) \
    one(CommDestroy) one(CommAbort) one(CommGetAsyncError) one(GroupStart) one(GroupEnd) one(GroupSimulateEnd) one(AllReduce) one(Broadcast) \
    one(Bcast) one(Reduce) one(AllGather) one(ReduceScatter) one(AlltoAll) one(Gather) one(Scatter) one(Send) one(Recv) one(MemAlloc) \
    one(MemFree) one(CommRegister) one(CommDeregister) one(CommWindowRegister) one(CommWindowDeregister)
#define MEMBER(name) typeof(&nccl##name) name;
#define LINKED(name) .name = nccl##name,
#define FOUND(name) nccl.name = (typeof(&nccl##name))dlsym(library, "nccl" #name);
static struct { EACH(MEMBER) } nccl = {EACH(LINKED)};

static void *stream;
static uint64_t sent, received;
#define SENT ((void *)sent)
#define RECEIVED ((void *)received)

static void start(void)
{
    start_gpu();
    DONE(driver.cuStreamCreate(&stream, 0));
    DONE(driver.cuMemAlloc_v2(&sent, MOST_BYTES));
    DONE(driver.cuMemAlloc_v2(&received, MOST_BYTES));
}

static ccl_id new_id(void)
{
    ccl_id id;
    if (rank == 0)
        DONE(nccl.GetUniqueId(&id));
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    return id;
}

/* ---- counts ---- */

/* What is said to have been called, and where. */
struct made {
    ccl_comm comm;
    char name[32];
    int ranks, rank;
    int world[8];
};

static FILE *truth;
static int is_past, counter;

static void told(const char *comm, const char *layer, const char *function, const char *scope, int from, int to, size_t bytes)
{
    char peer[16] = "-";
    if (to != NOBODY)
        snprintf(peer, sizeof peer, "%d", to);
    fprintf(truth, "%s|%s|nccl%s|%s|%d|%s|%zu\n", comm, layer, function, scope, from, peer, bytes);
}

/* A call without data, which the plugin is told nothing of; `*` for one over several communicators. */
static void control(const char *comm, const char *function)
{
    int is_over_several = strcmp(comm, "*") == 0;
    if (!is_past)
        told(is_over_several ? "-" : comm, "nccl", function, is_over_several ? "*" : "", rank, NOBODY, 0);
}

/* An operation. Where there is one rank NCCL copies, and tells of nothing but sends to itself. */
static void operation(const struct made *on, const char *function, int to, size_t bytes)
{
    if (!is_past || on->ranks > 1 || strcmp(function, "Send") == 0)
        told(on->name, "nccl", function, "", rank, to == NOBODY ? to : on->world[to], bytes);
}

static void arrival(const struct made *on, int from, size_t bytes)
{
    told(on->name, "nccl-rx", "Recv", "", on->world[from], rank, bytes);
}

/* All ranks call it; a rank that is in none passes a null handle. Ranks are those of the world in order, or from the last to the first. */
static struct made make(char letter, ccl_comm comm, const int *is_in, int is_reversed)
{
    struct made made = {.comm = comm};
    int counters[8], first;
    for (int at = 0; at < size; at++) {
        int world = is_reversed ? size - 1 - at : at;
        if (!is_in[world])
            continue;
        if (world == rank)
            made.rank = made.ranks;
        made.world[made.ranks++] = world;
    }
    MPI_Allgather(&counter, 1, MPI_INT, counters, 1, MPI_INT, MPI_COMM_WORLD);
    first = made.world[0];
    snprintf(made.name, sizeof made.name, "nccl:%c%d.%d", is_past ? 'i' : letter, first, counters[first]);
    counter += comm != NULL;
    return made;
}

static void complete(ccl_comm comm)
{
    int state = IN_PROGRESS;
    while (state == IN_PROGRESS)
        DONE(nccl.CommGetAsyncError(comm, &state));
    DONE(state);
}

static int is_accepted(int code)
{
    return code == 0 || code == IN_PROGRESS;
}

static void fill(float value, size_t count)
{
    float *host = malloc(count * sizeof *host);
    for (size_t at = 0; at < count; at++)
        host[at] = value;
    DONE(driver.cuMemcpyHtoD_v2(sent, host, count * sizeof *host));
    free(host);
}

static void expect(float value, size_t count)
{
    float *host = malloc(count * sizeof *host);
    DONE(driver.cuStreamSynchronize(stream));
    DONE(driver.cuMemcpyDtoH_v2(host, received, count * sizeof *host));
    for (size_t at = 0; at < count; at++)
        CHECK(host[at] == value);
    free(host);
}

static void reduce(const struct made *on, size_t count)
{
    CHECK(is_accepted(nccl.AllReduce(SENT, RECEIVED, count, CCL_FLOAT32, CCL_SUM, on->comm, stream)));
    if (!is_past || count > 0)
        operation(on, "AllReduce", NOBODY, 4 * count);
}

static void collectives(const struct made *on)
{
    int last = on->ranks - 1;
    size_t own = (size_t)on->ranks;
    /* Every rank sends its number in the world plus one. */
    float sum = 0;
    for (int at = 0; at < on->ranks; at++)
        sum += (float)(on->world[at] + 1);
    fill((float)(rank + 1), 1 << 20);
    reduce(on, 100);
    expect(sum, 100);
    reduce(on, 1 << 20);
    expect(sum, 1 << 20);
    reduce(on, 0);
    for (int round = 0; round < 3; round++) {
        DONE(nccl.Broadcast(SENT, RECEIVED, 500, CCL_FLOAT32, 0, on->comm, stream));
        operation(on, "Broadcast", 0, on->rank == 0 ? 2000 : 0);
    }
    expect((float)(on->world[0] + 1), 500);
    DONE(nccl.Bcast(RECEIVED, 100, CCL_FLOAT32, last, on->comm, stream));
    operation(on, "Broadcast", last, on->rank == last ? 400 : 0);
    DONE(nccl.Reduce(SENT, RECEIVED, 10, CCL_FLOAT64, CCL_SUM, last, on->comm, stream));
    operation(on, "Reduce", last, 80);
    DONE(nccl.AllGather(SENT, RECEIVED, 200, CCL_INT32, on->comm, stream));
    operation(on, "AllGather", NOBODY, 800);
    DONE(nccl.ReduceScatter(SENT, RECEIVED, 50, CCL_FLOAT32, CCL_SUM, on->comm, stream));
    operation(on, "ReduceScatter", NOBODY, 200 * own);
    expect(sum, 50);
    DONE(nccl.AlltoAll(SENT, RECEIVED, 100, CCL_FLOAT32, on->comm, stream));
    DONE(nccl.Gather(SENT, RECEIVED, 64, CCL_FLOAT32, 0, on->comm, stream));
    DONE(nccl.Scatter(SENT, RECEIVED, 32, CCL_FLOAT32, last, on->comm, stream));
    if (!is_past) {
        operation(on, "AlltoAll", NOBODY, 400 * own);
        operation(on, "Gather", 0, 256);
        operation(on, "Scatter", last, on->rank == last ? 128 * own : 0);
    } else if (on->ranks > 1) {
        /* NCCL does them as sends and receives, and tells only that. */
        for (int at = 0; at < on->ranks; at++) {
            operation(on, "Send", at, 400);
            arrival(on, at, 400);
            if (on->rank == 0)
                arrival(on, at, 256);
            if (on->rank == last)
                operation(on, "Send", at, 128);
        }
        operation(on, "Send", 0, 256);
        arrival(on, last, 128);
    }
    int next = (on->rank + 1) % on->ranks, previous = (on->rank + on->ranks - 1) % on->ranks;
    DONE(nccl.GroupStart());
    DONE(nccl.Send(SENT, 300, CCL_FLOAT32, next, on->comm, stream));
    DONE(nccl.Recv(RECEIVED, 300, CCL_FLOAT32, previous, on->comm, stream));
    DONE(nccl.GroupEnd());
    operation(on, "Send", next, 1200);
    arrival(on, previous, 1200);
    control(on->name, "GroupEnd");
    expect((float)(on->world[previous] + 1), 300);
}

/* Captured once, done three times: two calls. */
static void graph(const struct made *on)
{
    void *captured, *executable;
    DONE(driver.cuStreamBeginCapture_v2(stream, 1));
    for (int told = is_past == 4 ? 3 : 1; told > 1; told--)
        operation(on, "AllReduce", NOBODY, 512), operation(on, "AllReduce", NOBODY, 16384);
    reduce(on, 128);
    reduce(on, 4096);
    DONE(driver.cuStreamEndCapture(stream, &captured));
    DONE(driver.cuGraphInstantiateWithFlags(&executable, captured, 0));
    for (int round = 0; round < 3; round++)
        DONE(driver.cuGraphLaunch(executable, stream));
    DONE(driver.cuStreamSynchronize(stream));
}

static void memory(const struct made *on)
{
    void *place, *handle = NULL, *window = NULL;
    DONE(nccl.MemAlloc(&place, 1 << 20));
    control("-", "MemAlloc");
    DONE(nccl.CommRegister(on->comm, place, 1 << 20, &handle));
    control(on->name, "CommRegister");
    DONE(nccl.AllReduce(place, place, 1000, CCL_FLOAT32, CCL_SUM, on->comm, stream));
    operation(on, "AllReduce", NOBODY, 4000);
    DONE(driver.cuStreamSynchronize(stream));
    DONE(nccl.CommDeregister(on->comm, handle));
    control(on->name, "CommDeregister");
    /* Not every network can do it. */
    if (nccl.CommWindowRegister(on->comm, place, 1 << 20, &window, 1) == 0)
        control(on->name, "CommWindowRegister");
    if (window) {
        DONE(nccl.AllReduce(place, place, 2000, CCL_FLOAT32, CCL_SUM, on->comm, stream));
        operation(on, "AllReduce", NOBODY, 8000);
        DONE(driver.cuStreamSynchronize(stream));
        DONE(nccl.CommWindowDeregister(on->comm, window));
        control(on->name, "CommWindowDeregister");
    }
    DONE(nccl.MemFree(place));
    control("-", "MemFree");
}

static void groups(const struct made *one, const struct made *other)
{
    DONE(nccl.GroupStart());
    reduce(one, 3000);
    reduce(other, 50);
    reduce(other, 50);
    DONE(nccl.GroupEnd());
    control("*", "GroupEnd");
    /* NCCL does the large ones first. */
    DONE(nccl.GroupStart());
    reduce(one, 10);
    reduce(one, 100000);
    reduce(one, 1000);
    DONE(nccl.GroupEnd());
    control(one->name, "GroupEnd");
    struct { size_t bytes; unsigned magic, version; float time; } simulated = {24, 0x74685283, 22809, -1};
    DONE(nccl.GroupStart());
    DONE(nccl.AllReduce(SENT, RECEIVED, 7777, CCL_FLOAT32, CCL_SUM, one->comm, stream));
    DONE(nccl.GroupSimulateEnd(&simulated));
    /* The plugin is told of the call, and not that it was not done. */
    if (is_past == 1)
        operation(one, "AllReduce", NOBODY, (size_t)4 * 7777);
    CHECK(nccl.AllReduce(SENT, RECEIVED, 10, 77, CCL_SUM, one->comm, stream) == 4);
    CHECK(nccl.AllReduce(SENT, RECEIVED, 10, CCL_FLOAT32, CCL_SUM, NULL, stream) == 4);
    CHECK(nccl.Broadcast(SENT, RECEIVED, 10, CCL_FLOAT32, size, one->comm, stream) == 4);
    DONE(driver.cuStreamSynchronize(stream));
}

static void freed(const struct made *on, const char *function, int (*call)(ccl_comm))
{
    if (on->comm) {
        CHECK(is_accepted(call(on->comm)));
        control(on->name, function);
    }
}

static void counts(void)
{
    int everybody[8], only[8] = {0}, but_first[8], but_last[8];
    for (int at = 0; at < size; at++)
        everybody[at] = 1, only[at] = at == rank, but_first[at] = at > 0, but_last[at] = at < size - 1;
    ccl_comm comm, grouped[2];
    ccl_id id = new_id();
    if (rank == 0)
        control("-", "GetUniqueId");
    DONE(nccl.CommInitRank(&comm, size, id, rank));
    struct made all = make('i', comm, everybody, 0);
    control(all.name, "CommInitRank");

    ccl_config config = CCL_CONFIG(.cga_cluster_size = INT32_MIN, .min_ctas = INT32_MIN, .max_ctas = INT32_MIN, .split_share = INT32_MIN,
                                   .traffic_class = INT32_MIN, .comm_name = "data parallel");
    id = new_id();
    if (rank == 0)
        control("-", "GetUniqueId");
    DONE(nccl.CommInitRankConfig(&comm, size, id, rank, &config));
    struct made named = make('i', comm, everybody, 0);
    control(named.name, "CommInitRankConfig");

    DONE(nccl.CommSplit(all.comm, 5, size - rank, &comm, NULL));
    struct made back = make('s', comm, everybody, 1);
    DONE(nccl.CommSplit(all.comm, rank, 0, &comm, NULL));
    struct made solo = make('s', comm, only, 0);
    comm = NULL;
    DONE(nccl.CommSplit(all.comm, rank == 0 ? CCL_NO_COLOR : 7, rank, &comm, NULL));
    struct made some = make('s', comm, but_first, 0);
    for (int round = 0; round < 3; round++)
        control(all.name, "CommSplit");

    config.blocking = 0;
    config.comm_name = "nonblocking";
    id = new_id();
    if (rank == 0)
        control("-", "GetUniqueId");
    CHECK(is_accepted(nccl.CommInitRankConfig(&comm, size, id, rank, &config)));
    complete(comm);
    struct made later = make('i', comm, everybody, 0);
    control(later.name, "CommInitRankConfig");
    comm = NULL;
    int code = nccl.CommSplit(later.comm, 0, rank, &comm, NULL), parent = -1, child = -1;
    CHECK(is_accepted(code));
    DONE(nccl.CommGetAsyncError(later.comm, &parent));
    if (comm)
        DONE(nccl.CommGetAsyncError(comm, &child));
    if (rank == 0)
        printf("nonblocking split: %d, its parent %d, itself %d\n", code, parent, child);
    complete(later.comm);
    CHECK(comm != NULL);
    complete(comm);
    struct made row = make('s', comm, everybody, 0);
    control(later.name, "CommSplit");
    fill((float)(rank + 1), 1000);
    reduce(&later, 1000);
    complete(later.comm);
    reduce(&row, 1000);
    complete(row.comm);
    expect((float)(size * (size + 1) / 2), 1000);

    comm = NULL;
    if (but_last[rank]) {
        DONE(nccl.CommShrink(all.comm, (int[]){size - 1}, 1, &comm, NULL, 0));
        control(all.name, "CommShrink");
    }
    struct made less = make('h', comm, but_last, 0);
    id = new_id();
    if (rank == 0)
        control("-", "GetUniqueId");
    DONE(nccl.CommInitRankScalable(&comm, size, rank, 1, &id, NULL));
    struct made scalable = make('i', comm, everybody, 0);
    control(scalable.name, "CommInitRankScalable");

    collectives(&all);
    collectives(&back);
    if (some.comm)
        collectives(&some);
    collectives(&solo);
    if (less.comm)
        collectives(&less);
    reduce(&scalable, 500);
    groups(&all, &named);
    graph(&named);

    if (!is_past) {
        DONE(nccl.GroupStart());
        DONE(nccl.CommSplit(all.comm, 0, rank, &grouped[0], NULL));
        DONE(nccl.CommSplit(named.comm, 0, rank, &grouped[1], NULL));
        DONE(nccl.GroupEnd());
        control(all.name, "CommSplit");
        control(named.name, "CommSplit");
        control("*", "GroupEnd");
        struct made one = make('s', grouped[0], everybody, 0), two = make('s', grouped[1], everybody, 0);
        reduce(&one, 10);
        reduce(&two, 20);
        DONE(driver.cuStreamSynchronize(stream));
        freed(&one, "CommDestroy", nccl.CommDestroy);
        freed(&two, "CommAbort", nccl.CommAbort);
    }
    DONE(driver.cuStreamSynchronize(stream));
    memory(&scalable);
    freed(&row, "CommFinalize", nccl.CommFinalize);
    complete(row.comm);
    const struct made *ends[] = {&row, &later, &less, &some, &solo, &back, &scalable, &all};
    for (size_t at = 0; at < sizeof ends / sizeof *ends; at++)
        freed(ends[at], "CommDestroy", nccl.CommDestroy);
    /* `named` is left to the end of the process. */
}

/* ---- times ---- */

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void times(int repetitions)
{
    static double took[MOST];
    ccl_comm comm;
    DONE(nccl.CommInitRank(&comm, size, new_id(), rank));
    for (size_t bytes = 8; bytes <= MOST_BYTES; bytes *= 8) {
        for (int repetition = -5; repetition < repetitions; repetition++) {
            double begin = now_us();
            DONE(nccl.AllReduce(SENT, RECEIVED, bytes / 4, CCL_FLOAT32, CCL_SUM, comm, stream));
            DONE(driver.cuStreamSynchronize(stream));
            if (repetition >= 0)
                took[repetition] = now_us() - begin;
        }
        qsort(took, (size_t)repetitions, sizeof *took, ascending);
        if (rank == 0)
            printf("us %zu %.2f\n", bytes, took[repetitions / 2]);
    }
    enum { CALLS = 100, BLOCKS = 20 };
    for (int block = 0; block < BLOCKS; block++) {
        double begin = now_us();
        for (int call = 0; call < CALLS; call++)
            DONE(nccl.AllReduce(SENT, RECEIVED, 2, CCL_FLOAT32, CCL_SUM, comm, stream));
        took[block] = (now_us() - begin) * 1000 / CALLS;
        DONE(driver.cuStreamSynchronize(stream));
    }
    qsort(took, BLOCKS, sizeof *took, ascending);
    if (rank == 0)
        printf("enqueue %.0f\n", took[BLOCKS / 2]);
    DONE(nccl.CommDestroy(comm));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3 && size <= 8);
    start();
    if (strcmp(argv[1], "times") == 0) {
        int repetitions = atoi(argv[2]);
        CHECK(repetitions > 0 && repetitions <= MOST);
        times(repetitions);
    } else {
        char path[512];
        snprintf(path, sizeof path, "%s.%d", argv[2], rank);
        truth = fopen(path, "w");
        CHECK(truth != NULL);
        is_past = strcmp(argv[1], "past4") == 0 ? 4 : strcmp(argv[1], "past") == 0;
        if (is_past) {
            void *library = dlopen("libnccl.so.2", RTLD_NOW);
            CHECK(library != NULL);
            EACH(FOUND)
        }
        counts();
        CHECK(fclose(truth) == 0);
    }
    MPI_Finalize();
    return 0;
}
