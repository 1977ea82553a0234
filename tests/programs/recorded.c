/* recorded VERSION FILE: hands the profiler plugin what NCCL told one on a GPU, as recorder.c wrote it down in FILE.RANK, in that order and in one thread.
 * Two ranks. What the plugin did not want NCCL would not tell, but for the parents of what it wants. */
#define _GNU_SOURCE
#include <mpi.h>
#include "profiler_plugin.h"
#include <unistd.h>

struct plugin *plugin;
int version, mask;

enum { MOST = 1 << 14 };
static struct comm comms[64];
static void *handles[MOST];

/* The plugin's word for the recorder's number. */
static void *handle(long number)
{
    CHECK(number >= 0 && number < MOST);
    return handles[number];
}

static const char *word(const char *text)
{
    return strcmp(text, "-") == 0 ? NULL : strdup(text);
}

static void init(char *rest)
{
    /* The name may have spaces. */
    char *at = strrchr(rest, ' ');
    int rank = atoi(at), ranks, number = atoi(rest);
    *at = 0, at = strrchr(rest, ' '), ranks = atoi(at);
    *at = 0, at = strrchr(rest, ' ');
    *at = 0, at = strrchr(rest, ' ');
    uint64_t id = strtoull(at, NULL, 16);
    *at = 0;
    CHECK(number > 0 && number < 64);
    comms[number] = comm_init(id, word(strchr(rest, ' ') + 1), ranks, rank);
}

static void start(const char *rest)
{
    long number, in, parent;
    char kind[16], func[32], datatype[32], algo[32], proto[32];
    int own, peer, channels, channel, steps, bytes, is_send, captured;
    size_t count;
    struct event event;
    CHECK(sscanf(rest, "%ld %ld %15s %ld", &number, &in, kind, &parent) == 4);
    CHECK(number < MOST && in < 64);
    rest = strstr(rest, kind) + strlen(kind);
    if (strcmp(kind, "coll") == 0) {
        CHECK(sscanf(rest, "%*d %31s %zu %31s %d %d %31s %31s", func, &count, datatype, &peer, &channels, algo, proto) == 7);
        event = garbage(COLL);
        event.coll.func = word(func), event.coll.count = count, event.coll.datatype = word(datatype), event.coll.root = peer;
        event.coll.channels = (uint8_t)channels, event.coll.algo = word(algo), event.coll.proto = word(proto);
    } else if (strcmp(kind, "p2p") == 0) {
        CHECK(sscanf(rest, "%*d %31s %zu %31s %d %d", func, &count, datatype, &peer, &channels) == 5);
        event = garbage(P2P);
        event.p2p.func = word(func), event.p2p.count = count, event.p2p.datatype = word(datatype), event.p2p.peer = peer;
        event.p2p.channels = (uint8_t)channels;
    } else if (strcmp(kind, "coll_api") == 0) {
        CHECK(sscanf(rest, "%*d %31s %zu %31s %d %d", func, &count, datatype, &peer, &captured) == 5);
        event = garbage(COLL_API);
        event.coll_api.func = word(func), event.coll_api.count = count, event.coll_api.datatype = word(datatype), event.coll_api.root = peer;
    } else if (strcmp(kind, "p2p_api") == 0) {
        CHECK(sscanf(rest, "%*d %31s %zu %31s %d", func, &count, datatype, &captured) == 4);
        event = garbage(P2P_API);
        event.p2p_api.func = word(func), event.p2p_api.count = count, event.p2p_api.datatype = word(datatype);
    } else if (strcmp(kind, "proxy_op") == 0) {
        CHECK(sscanf(rest, "%*d %d %d %d %d %d %d", &own, &channel, &peer, &steps, &bytes, &is_send) == 6);
        if (!(mask & (PROXY_OP | PROXY_STEP)))
            return;
        event = garbage(PROXY_OP);
        event.proxy_op.pid = own ? getpid() : getpid() + 1, event.proxy_op.channel = (uint8_t)channel, event.proxy_op.peer = peer;
        event.proxy_op.steps = steps, event.proxy_op.chunk_bytes = bytes, event.proxy_op.is_send = is_send;
    } else if (strcmp(kind, "proxy_step") == 0) {
        CHECK(sscanf(rest, "%*d %d", &steps) == 1);
        if (!(mask & PROXY_STEP))
            return;
        event = garbage(PROXY_STEP);
        event.proxy_step.step = steps;
    } else if (strcmp(kind, "kernel_ch") == 0) {
        unsigned long timer;
        CHECK(sscanf(rest, "%*d %d %lu", &channel, &timer) == 2);
        if (!(mask & KERNEL_CH))
            return;
        event = garbage(KERNEL_CH);
        event.kernel_ch.channel = (uint8_t)channel, event.kernel_ch.timer = timer;
    } else {
        long type;
        CHECK(sscanf(rest, "%*d %ld", &type) == 1);
        event = garbage((uint64_t)type);
    }
    event.parent = handle(parent);
    event.rank = comms[in].rank;
    begin(&comms[in], &handles[number], &event);
}

int main(int argc, char **argv)
{
    int rank;
    char path[512], *line = NULL;
    size_t room = 0;
    CHECK(argc == 3);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *library = dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    version = atoi(argv[1]);
    snprintf(path, sizeof path, "ncclProfiler_v%d", version);
    plugin = dlsym(library, path);
    CHECK(plugin != NULL);
    snprintf(path, sizeof path, "%s.%d", argv[2], rank);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (getline(&line, &room, file) > 0) {
        char what[16];
        int length;
        long number, state;
        unsigned long value;
        line[strcspn(line, "\n")] = 0;
        CHECK(sscanf(line, "%*d %15s %n", what, &length) == 1);
        char *rest = line + length;
        if (strcmp(what, "init") == 0) {
            init(rest);
        } else if (strcmp(what, "start") == 0) {
            start(rest);
        } else if (strcmp(what, "stop") == 0) {
            if (handle(atol(rest)))
                CHECK(plugin->stop(handle(atol(rest))) == 0);
        } else if (strcmp(what, "record") == 0) {
            CHECK(sscanf(rest, "%ld %ld %lu", &number, &state, &value) == 3);
            union state arguments = {.timer = value};
            if (handle(number))
                CHECK(plugin->record(handle(number), (int)state, &arguments) == 0);
        } else {
            CHECK(strcmp(what, "finalize") == 0);
            comm_finalize(&comms[atol(rest)]);
        }
    }
    fclose(file);
    MPI_Finalize();
    return 0;
}
