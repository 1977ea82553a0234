/* Preloaded behind the profiler: a hook module that knows a made-up layer, MPI's own functions under their PMPI_ names. So what it
 * tells is what the profiler counts by itself, and both must agree.
 *   PMPI_Send, PMPI_Isend   a transfer to the receiver, complete when PMPI_Isend's is counted
 *   PMPI_Recv               one that arrived from the sender
 *                           and those by a counter that it is given, as long as the thread's state says that it is the right one
 *   PMPI_Allreduce          three transfers without peer, of a third each, timed with 1000, 2000 and 3000 ns, the last two by a counter
 *   made_up_outside()       one outside of MPI, where the program calls it there
 * Programs are single-threaded in each call, but may have threads: nothing here is shared. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../profiler/hooks/commsee_hook.h"

static int32_t module = COMMSEE_HOOK_NOT_WANTED;
static uint32_t send_route, receive_route, reduce_route;

#define CORE(name) ((typeof(&commsee_hook_##name))dlsym(RTLD_DEFAULT, "commsee_hook_" #name))

/* What a layer calls a process: not its rank. */
static uint64_t identity_of(int world_rank)
{
    return 0x5eed0000u + 17u * (unsigned)world_rank;
}

__attribute__((constructor)) static void announce(void)
{
    if (!CORE(open))
        return;
    if (getenv("MADE_UP_VERSION"))
        fprintf(stderr, "made up: %d\n", CORE(open)((uint32_t)atoi(getenv("MADE_UP_VERSION")), "made-up"));
    module = CORE(open)(COMMSEE_HOOK_VERSION, "made-up");
    if (module < 0) {
        fprintf(stderr, "made up: not wanted\n");
        return;
    }
    commsee_hook_route route = {.size = sizeof route, .layer = "made-up", .function = "put", .protocol = "eager",
                                .transport = "pigeon", .device = "loft0", .kind = "network", .role = COMMSEE_HOOK_WIRE};
    send_route = CORE(route_number)(module, &route);
    if (CORE(route_number)(module, &route) != send_route)
        abort();
    commsee_hook_route arrival = {.size = sizeof arrival, .layer = "made-up-rx", .function = "get", .flags = COMMSEE_HOOK_ARRIVES};
    receive_route = CORE(route_number)(module, &arrival);
    commsee_hook_route reduction = {.size = sizeof reduction, .layer = "made-up", .function = "add \"quoted\"\nline"};
    reduce_route = CORE(route_number)(module, &reduction);
    CORE(note)(module, "made-up 1.0: all of it");
}
static int rank_in_world(MPI_Comm comm, int rank)
{
    MPI_Group world, group;
    int answer, inter;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    if (inter)
        PMPI_Comm_remote_group(comm, &group);
    else
        PMPI_Comm_group(comm, &group);
    PMPI_Group_translate_ranks(group, 1, &rank, world, &answer);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return answer;
}

static void tell(MPI_Comm comm, int peer, int count, MPI_Datatype type, uint32_t route)
{
    commsee_hook_call call = {.size = sizeof call};
    int size, rank;
    if (module < 0 || peer < 0)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CORE(self)(module, identity_of(rank));
    PMPI_Type_size(type, &size);
    if (CORE(here)(&call)) {
        /* A word of this thread stays what it was made. */
        uint64_t *word = CORE(word)(module);
        if (*word == 0)
            *word = call.thread + 1;
        if (*word != call.thread + 1)
            abort();
        uint32_t number = CORE(peer)(module, identity_of(rank_in_world(comm, peer)));
        uint64_t bytes = (uint64_t)count * (uint64_t)size;
        uint64_t now = CORE(now_ns)();
        CORE(count)(&call, route, number, bytes, bytes, COMMSEE_HOOK_AT_ONCE);
        CORE(event)(&call, route, number, bytes, now, CORE(now_ns)());
    }
}

/* Whether the core would answer as it did where `known` was written. */
static int is_the_same(const commsee_hook_thread *thread, const uint64_t known[3])
{
    const commsee_hook_in_flight *call = thread->call;
    return *thread->owner != 0 && *thread->outside == *thread->owner && *thread->state == 2 && call[0].begin > call[0].end &&
           call[1].begin <= call[1].end && call[0].operation >> 16 == known[0] && call[0].comm == known[1] &&
           *thread->epoch == known[2];
}

/* A send, counted where the counter of the last one lies if this one is like that. */
static void tell_at_the_counter(MPI_Comm comm, int peer, int count, MPI_Datatype type)
{
    static __thread uint64_t known[3];
    static __thread int known_peer;
    static __thread commsee_hook_counter counter;
    static __thread commsee_hook_thread thread = {.size = sizeof thread};
    commsee_hook_call call = {.size = sizeof call};
    int size, rank;
    if (module < 0 || peer < 0)
        return;
    PMPI_Type_size(type, &size);
    uint64_t bytes = (uint64_t)count * (uint64_t)size;
    if (counter.counted && known_peer == peer && is_the_same(&thread, known) && bytes >= counter.size_low && bytes <= counter.size_high) {
        counter.counted[0] += 1;
        counter.counted[1] += bytes;
        return;
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CORE(self)(module, identity_of(rank));
    counter = (commsee_hook_counter){.size = sizeof counter};
    if (!CORE(thread_of)(&thread) || !CORE(here)(&call))
        return;
    if (call.flags & COMMSEE_HOOK_TRACED) {
        tell(comm, peer, count, type, send_route);
        return;
    }
    uint32_t number = CORE(peer)(module, identity_of(rank_in_world(comm, peer)));
    known[0] = thread.call[0].operation >> 16, known[1] = thread.call[0].comm, known[2] = *thread.epoch;
    known_peer = peer;
    if (!CORE(counter_of)(&call, send_route, number, bytes, &counter) || counter.size_low > bytes || counter.size_high < bytes)
        abort();
    CORE(add)(counter.counted, bytes, COMMSEE_HOOK_AT_ONCE);
    if (!is_the_same(&thread, known))
        abort();
    CORE(renew)();
    if (is_the_same(&thread, known))
        abort();
    known[2] = *thread.epoch;
}

int PMPI_Send(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm)
{
    typeof(&PMPI_Send) real = dlsym(RTLD_NEXT, "PMPI_Send");
    int code = real(buffer, count, type, peer, tag, comm);
    tell_at_the_counter(comm, peer, count, type);
    return code;
}

int PMPI_Isend(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    typeof(&PMPI_Isend) real = dlsym(RTLD_NEXT, "PMPI_Isend");
    tell(comm, peer, count, type, send_route);
    return real(buffer, count, type, peer, tag, comm, request);
}

int PMPI_Recv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status *status)
{
    typeof(&PMPI_Recv) real = dlsym(RTLD_NEXT, "PMPI_Recv");
    MPI_Status own;
    int arrived;
    int code = real(buffer, count, type, peer, tag, comm, &own);
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    PMPI_Get_count(&own, type, &arrived);
    tell(comm, own.MPI_SOURCE, arrived, type, receive_route);
    return code;
}

/* Adds an operation that took its time, without the core where that may be. */
static void add_timed(const commsee_hook_counter *counter, uint64_t bytes, uint64_t duration_ns)
{
    const uint32_t *extremes = (const uint32_t *)&counter->counted[4];
    if (counter->timed && duration_ns < COMMSEE_HOOK_EXACT_NS && duration_ns >= extremes[0] && duration_ns <= extremes[1]) {
        counter->counted[0] += 1;
        counter->counted[1] += bytes;
        counter->counted[2] += 1;
        counter->counted[3] += duration_ns;
    } else {
        CORE(add)(counter->counted, bytes, duration_ns);
    }
}

int PMPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    typeof(&PMPI_Allreduce) real = dlsym(RTLD_NEXT, "PMPI_Allreduce");
    commsee_hook_call call = {.size = sizeof call};
    int size;
    int code = real(in, out, count, type, op, comm);
    PMPI_Type_size(type, &size);
    if (module >= 0 && CORE(here)(&call))
        for (uint64_t part = 1; part <= 3; part++) {
            uint64_t bytes = (uint64_t)(count * size), now = CORE(now_ns)();
            commsee_hook_counter counter = {.size = sizeof counter};
            if (part == 1)
                CORE(count)(&call, reduce_route, 0, bytes, bytes, part * 1000);
            else if (CORE(counter_of)(&call, reduce_route, 0, bytes, &counter))
                add_timed(&counter, bytes, part * 1000);
            CORE(event)(&call, reduce_route, 0, bytes, now, now);
        }
    return code;
}

void made_up_outside(void)
{
    commsee_hook_call call = {.size = sizeof call};
    if (module >= 0 && CORE(here)(&call))
        CORE(count)(&call, send_route, 0, 77, 77, COMMSEE_HOOK_AT_ONCE);
}
