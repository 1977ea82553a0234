/* A tool of the program's own that watches a GPU that there is not, in one library with the stand-in for CUPTI; gpu_tool.c opens it. */
#include "standin_cupti.h"
#include <stddef.h>
#include <stdlib.h>

typedef void callback(void *, int, uint32_t, const void *);
int cuptiSubscribe(void **handle, callback *called, void *user);
int cuptiSubscribe_v2(void **handle, callback *called, void *user, void *parameters);
int cuptiEnableCallback(uint32_t enable, void *handle, int domain, uint32_t number);
int cuptiActivityRegisterCallbacks(void *requested, void *completed);
int cuptiActivityEnable(int kind);
int cuptiActivityFlushAll(uint32_t flag);

enum { DRIVER = 1, COPY_IN_DRIVER = 4, MEMCPY = 1, RECORD_BYTES = 96, BUFFER_BYTES = 4096 };
static int heard, records;

static void hear(void *user, int domain, uint32_t number, const void *told)
{
    (void)domain, (void)number, (void)told;
    if (user == &heard)
        heard++;
}

static void ask(uint8_t **own, size_t *bytes, size_t *most)
{
    *bytes = BUFFER_BYTES, *most = 0;
    *own = malloc(*bytes);
}

static void take(void *context, uint32_t stream, uint8_t *own, size_t bytes, size_t full)
{
    (void)context, (void)stream;
    /* Buffers of others make the tool fail. */
    records += bytes == BUFFER_BYTES ? (int)(full / RECORD_BYTES) : 1000;
    free(own);
}

const char *tool_start(void) { return standin_start(); }

void tool_copy(uint64_t bytes) { standin_copy(HTOD, PAGEABLE, DEVICE, bytes, 2000, 0); }

int tool_flushes(void) { return standin_flushes; }

/* What it does first, a letter each: `s`ubscribe, `2` (the newer form), `r`egister, `e`nable, `c`opy. 0, or what failed. */
char tool_begin(const char *order)
{
    for (; *order; order++) {
        void *handle = NULL;
        int code = 0;
        switch (*order) {
        case 's': code = cuptiSubscribe(&handle, hear, &heard); break;
        case '2': code = cuptiSubscribe_v2(&handle, hear, &heard, NULL); break;
        case 'r': code = cuptiActivityRegisterCallbacks((void *)ask, (void *)take); break;
        case 'e': code = cuptiActivityEnable(MEMCPY); break;
        case 'c': tool_copy(100); break;
        }
        if (handle)
            code = cuptiEnableCallback(1, handle, DRIVER, COPY_IN_DRIVER);
        if (code)
            return *order;
    }
    return 0;
}

/* Ends it: how many records it got, and calls it heard of, as hundreds. */
int tool_end(void)
{
    cuptiActivityFlushAll(0);
    return records + 100 * heard;
}
