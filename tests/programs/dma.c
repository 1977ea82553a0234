/* Preloaded behind the profiler: a hook module for a made-up device. It knows nothing of the module `ring`, and less of the interface
 * than there is: its structures are shorter, or longer than the core's. */
#define _GNU_SOURCE
#include "ring.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../profiler/hooks/commsee_hook.h"

#define CORE(name) ((typeof(&commsee_hook_##name))dlsym(RTLD_DEFAULT, "commsee_hook_" #name))
#define CHECK(condition) ((condition) ? (void)0 : (fprintf(stderr, "dma: %s\n", #condition), abort()))

static int32_t module = COMMSEE_HOOK_NOT_WANTED;
static uint32_t copy_route, odd_route;

__attribute__((constructor)) static void announce(void)
{
    if (!CORE(open))
        return;
    module = CORE(open)(COMMSEE_HOOK_VERSION, "dma");
    if (module < 0)
        return;
    commsee_hook_route route = {.size = sizeof route, .layer = "dma", .function = "copy", .device = "dma0", .kind = "memory",
                                .role = COMMSEE_HOOK_DEVICE};
    copy_route = CORE(route_number)(module, &route);
    /* What lies behind the size is not read. */
    route.size = offsetof(commsee_hook_route, role);
    odd_route = CORE(route_number)(module, &route);
    CHECK(odd_route != copy_route);
}

/* A copy of so many bytes; an odd number of them by a route without a role. */
void dma_copy(uint64_t bytes)
{
    struct {
        commsee_hook_call call;
        unsigned char behind[64];
    } longer;
    commsee_hook_call shortest = {.size = offsetof(commsee_hook_call, layer_route) - 1};
    if (module < 0)
        return;
    CHECK(!CORE(here)(&shortest));
    memset(&longer, 0xee, sizeof longer);
    longer.call.size = sizeof longer;
    if (!CORE(here)(&longer.call))
        return;
    for (size_t at = 0; at < sizeof longer.behind; at++)
        CHECK(longer.behind[at] == 0xee);
    /* As little as is needed to count. */
    memset(&longer, 0xee, sizeof longer);
    longer.call.size = 32;
    CHECK(CORE(here)(&longer.call) && longer.call.layer_sequence == 0xeeeeeeeeeeeeeeee);
    CORE(count)(&longer.call, bytes % 2 ? odd_route : copy_route, 0, bytes, bytes, COMMSEE_HOOK_AT_ONCE);
}
