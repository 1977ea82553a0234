/* Preloaded behind the profiler: a hook module that tells what one for NCCL would, of a library that does nothing. The rows are those of
 * NCCL: messages by function with the root of a collective for a peer, and kernels, which carry no bytes. */
#define _GNU_SOURCE
#include "ccl.h"
#include <dlfcn.h>
#include <stdlib.h>

#include "../../profiler/hooks/commsee_hook.h"

#define CORE(name) ((typeof(&commsee_hook_##name))dlsym(RTLD_DEFAULT, "commsee_hook_" #name))

static int32_t module = COMMSEE_HOOK_NOT_WANTED;

static uint64_t identity_of(int rank)
{
    return 0xcc1000u + 5u * (unsigned)rank;
}

__attribute__((constructor)) static void announce(void)
{
    if (CORE(open))
        module = CORE(open)(COMMSEE_HOOK_VERSION, "nccl");
}

void ccl_begin(int rank, int size)
{
    (void)size;
    if (module >= 0)
        CORE(self)(module, identity_of(rank));
}

uint32_t ccl_init(char letter, uint64_t identity, int ranks, int rank)
{
    commsee_hook_communicator communicator = {.size = sizeof communicator, .ranks = (uint32_t)ranks, .identity = {identity, 11},
                                              .rank = (uint32_t)rank, .letter = letter, .root = COMMSEE_HOOK_UNKNOWN};
    return module < 0 ? 0 : CORE(communicator_number)(module, &communicator);
}

static void count(uint32_t communicator, commsee_hook_route route, int peer, uint64_t size, uint64_t bytes, uint64_t ns)
{
    commsee_hook_call call = {.size = sizeof call};
    if (module < 0 || !CORE(here)(&call))
        return;
    CORE(on)(&call, communicator);
    uint32_t number = peer < 0 ? 0 : CORE(peer)(module, identity_of(peer));
    CORE(count)(&call, CORE(route_number)(module, &route), number, size, bytes, ns);
}

/* Each call takes 3000 ns. */
void ccl_call(uint32_t communicator, const char *function, const char *protocol, int peer, uint64_t size, uint64_t bytes)
{
    commsee_hook_route route = {.size = sizeof route, .layer = "nccl", .function = function, .protocol = protocol,
                                .role = COMMSEE_HOOK_MESSAGE};
    count(communicator, route, peer, size, bytes, 3000);
}

void ccl_kernel(uint32_t communicator, const char *function, const char *protocol, uint64_t size, uint64_t ns)
{
    commsee_hook_route route = {.size = sizeof route, .layer = "nccl-kernel", .function = function, .protocol = protocol,
                                .role = COMMSEE_HOOK_DEVICE};
    count(communicator, route, -1, size, 0, ns);
}
