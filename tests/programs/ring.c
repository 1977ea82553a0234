/* Preloaded behind the profiler: a hook module for a made-up library of collectives, which is in here, too. It has communicators of its
 * own, calls that others see, and operations that go on after their call. What it tells is in the comment of each function, and
 * tests/profiled/layers.rs says it again. */
#define _GNU_SOURCE
#include "ring.h"
#include <dlfcn.h>
#include <mpi.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../profiler/hooks/commsee_hook.h"

#define CORE(name) ((typeof(&commsee_hook_##name))dlsym(RTLD_DEFAULT, "commsee_hook_" #name))
#define CHECK(condition) ((condition) ? (void)0 : (fprintf(stderr, "ring: %s\n", #condition), abort()))

static int32_t module = COMMSEE_HOOK_NOT_WANTED;
static uint32_t reduce_route, wire_route, sync_route;
static uint64_t sequence;
static int world_rank, world_size;

/* What was posted and has not been collected. */
static struct { commsee_hook_call call; uint64_t bytes; } posted[16];
static int posted_count;

static uint64_t identity_of(int rank)
{
    return 0x71e90000u + 3u * (unsigned)rank;
}

static uint32_t route_of(const char *function, uint32_t role)
{
    commsee_hook_route route = {.size = sizeof route, .layer = "ring", .function = function, .role = role};
    return CORE(route_number)(module, &route);
}

/* Each operation that was posted is complete, after 5000 ns. */
static void collect(void *argument)
{
    CHECK(argument == posted);
    for (int at = 0; at < posted_count; at++)
        CORE(count)(&posted[at].call, reduce_route, 0, posted[at].bytes, posted[at].bytes, 5000);
    posted_count = 0;
}

__attribute__((constructor)) static void announce(void)
{
    if (!CORE(open))
        return;
    module = CORE(open)(getenv("RING_VERSION") ? (uint32_t)atoi(getenv("RING_VERSION")) : COMMSEE_HOOK_VERSION, "ring");
    if (module < 0)
        return;
    reduce_route = route_of("reduce", COMMSEE_HOOK_MESSAGE);
    wire_route = route_of("packet", COMMSEE_HOOK_WIRE);
    sync_route = route_of("sync", COMMSEE_HOOK_MESSAGE);
    CORE(drain)(module, collect, posted);
}

void ring_begin(int rank, int size)
{
    world_rank = rank;
    world_size = size;
    if (module >= 0)
        CORE(self)(module, identity_of(rank));
}

/* A communicator: its root is told where `root` is a rank. */
uint32_t ring_init(char letter, uint64_t identity, int ranks, int rank, int root, uint32_t parent, const char *label)
{
    if (module < 0)
        return 0;
    commsee_hook_communicator communicator = {.size = sizeof communicator, .ranks = (uint32_t)ranks, .identity = {identity, 7},
                                              .label = label, .rank = (uint32_t)rank, .parent = parent, .letter = letter,
                                              .root = root < 0 ? COMMSEE_HOOK_UNKNOWN : (uint32_t)root};
    uint32_t number = CORE(communicator_number)(module, &communicator);
    CHECK(number > 0 && CORE(communicator_number)(module, &communicator) == number);
    return number;
}

void ring_free(uint32_t communicator)
{
    if (module >= 0)
        CORE(communicator_freed)(module, communicator);
}

/* A message of so many bytes on the communicator; in it two copies of half of them, and a packet of them to the next rank. */
void ring_reduce(uint32_t communicator, uint64_t bytes)
{
    commsee_hook_call call = {.size = sizeof call};
    if (module < 0 || !CORE(here)(&call))
        return;
    CHECK(call.layer_route == 0);
    CORE(on)(&call, communicator);
    CORE(count)(&call, reduce_route, 0, bytes, bytes, COMMSEE_HOOK_AT_ONCE);
    uint32_t entered = CORE(enter)(module, reduce_route, communicator, ++sequence);
    dma_copy(bytes / 2);
    dma_copy(bytes / 2);
    commsee_hook_call inside = {.size = sizeof inside};
    CHECK(CORE(here)(&inside));
    CHECK(inside.layer_route == reduce_route && inside.layer_communicator == communicator);
    CHECK(inside.layer_sequence == sequence && inside.layer_module == (uint32_t)module);
    uint64_t begin = CORE(now_ns)();
    uint32_t next = CORE(peer)(module, identity_of((world_rank + 1) % world_size));
    CORE(count)(&inside, wire_route, next, bytes, bytes, 1000);
    CORE(event)(&inside, wire_route, next, bytes, begin, CORE(now_ns)());
    CORE(leave)(entered);
    CHECK(CORE(here)(&call) && call.layer_route == 0 && call.layer_sequence == 0);
}

/* A message that is collected at the end. */
void ring_post(uint32_t communicator, uint64_t bytes)
{
    commsee_hook_call call = {.size = sizeof call};
    if (module < 0 || !CORE(here)(&call))
        return;
    CORE(on)(&call, communicator);
    posted[posted_count].call = call;
    posted[posted_count++].bytes = bytes;
}

/* A copy in a call, which `leave` then leaves otherwise than by its return. */
void ring_lost(uint32_t communicator, uint64_t bytes, void (*leave)(void))
{
    uint32_t entered = module < 0 ? 0 : CORE(enter)(module, reduce_route, communicator, ++sequence);
    dma_copy(bytes);
    leave();
    if (module >= 0)
        CORE(leave)(entered);
}

/* The first one makes a communicator of the MPI communicator that it is over. Each is a message of 8 bytes on that, beside the MPI call,
 * with a copy of 8 bytes in it. Others only pass. */
int PMPI_Barrier(MPI_Comm comm)
{
    static uint32_t of_barrier;
    static MPI_Comm over = MPI_COMM_NULL;
    typeof(&PMPI_Barrier) real = dlsym(RTLD_NEXT, "PMPI_Barrier");
    commsee_hook_call call = {.size = sizeof call};
    int result, size, rank;
    PMPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    if (result == MPI_IDENT || module < 0 || !CORE(here)(&call) || call.operation == COMMSEE_HOOK_NO_OPERATION)
        return real(comm);
    if (of_barrier == 0) {
        PMPI_Comm_size(comm, &size);
        PMPI_Comm_rank(comm, &rank);
        over = comm;
        commsee_hook_communicator communicator = {.size = sizeof communicator, .ranks = (uint32_t)size, .rank = (uint32_t)rank,
                                                  .identity = {900 + (uint64_t)(world_rank % 2), 7}, .letter = 'b',
                                                  .root = COMMSEE_HOOK_UNKNOWN, .parent_comm = call.comm};
        of_barrier = CORE(communicator_number)(module, &communicator);
    }
    CHECK(over == comm);
    CORE(on)(&call, of_barrier);
    CORE(count)(&call, sync_route, 0, 8, 8, COMMSEE_HOOK_AT_ONCE);
    uint32_t entered = CORE(enter)(module, sync_route, of_barrier, ++sequence);
    dma_copy(8);
    int code = real(comm);
    CORE(leave)(entered);
    return code;
}
