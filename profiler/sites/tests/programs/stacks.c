/* Stacks of all kinds, compared with what the C library's unwinder finds. Argument: the library that is compared. */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

static uint32_t (*stack)(uint32_t depth, char *text, size_t bytes);
static long checks;

#define MOST 64

struct list {
    int length;
    uintptr_t calls[4096];
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data)
{
    struct list *list = data;
    int is_before = 0;
    uintptr_t at = _Unwind_GetIPInfo(context, &is_before);
    if (at > 1 && list->length < 4096)
        list->calls[list->length++] = at - !is_before;
    return _URC_NO_REASON;
}

/* The innermost frame is the call in here, which has another address in each of the two lists. */
__attribute__((noinline)) static void check(uint32_t depth)
{
    char text[16384];
    struct list list;
    list.length = 0;
    stack(depth, text, sizeof text);
    _Unwind_Backtrace(step, &list);
    int length = 0;
    uintptr_t found[MOST];
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        found[length++] = strtoull(strchr(line, '+') + 1, NULL, 16);
    int expected = list.length < (int)depth ? list.length : (int)depth;
    int is_same = length == expected && length > 0;
    for (int at = 1; is_same && at < length; at++)
        is_same = found[at] == list.calls[at];
    if (!is_same) {
        fprintf(stderr, "depth %u: %d frames, expected %d\n", depth, length, expected);
        for (int at = 0; at < length || at < expected; at++)
            fprintf(stderr, "%lx %lx\n", at < length ? found[at] : 0, at < expected ? list.calls[at] : 0);
        exit(1);
    }
    checks++;
}

typedef void (*work)(uint32_t);

/* Frames of a size that only the run knows. */
__attribute__((noinline)) static void variable(int levels, uint32_t depth)
{
    volatile char *room = alloca((size_t)levels * 40 + 8);
    room[levels] = 1;
    if (levels)
        variable(levels - 1, depth);
    else
        check(depth);
    room[0] = room[levels];
}

/* Frames that are aligned to more than the stack is. */
__attribute__((noinline)) static void aligned(int levels, uint32_t depth)
{
    volatile char room[64] __attribute__((aligned(64)));
    memset((void *)room, levels, sizeof room);
    if (levels)
        aligned(levels - 1, depth);
    else
        check(depth);
    room[1] = room[levels & 63];
}

/* The same, of a size that only the run knows. */
__attribute__((noinline)) static void both(int levels, uint32_t depth)
{
    volatile char room[32] __attribute__((aligned(128)));
    volatile char *more = alloca((size_t)levels * 24 + 8);
    room[0] = more[levels] = 1;
    if (levels & 1)
        aligned(2, depth);
    if (levels)
        both(levels - 1, depth);
    else
        check(depth);
    more[0] = room[0];
}

/* As many arguments as lie on the stack, and all registers in use. */
__attribute__((noinline)) static long many(long a, long b, long c, long d, long e, long f, long g, long h, uint32_t depth)
{
    long i = a * b, j = c * d, k = e * f, l = g * h, m = a + h, n = b + g;
    if (a)
        i += many(a - 1, b, c, d, e, f, g, h, depth);
    else
        check(depth);
    return i + j + k + l + m + n;
}

static int compare(const void *a, const void *b)
{
    check(20);
    return *(const int *)a - *(const int *)b;
}

static void all(void)
{
    static const uint32_t depths[] = {1, 2, 3, 8, 13, 64};
    for (int round = 0; round < 3; round++)
        for (int at = 0; at < 6; at++)
            for (int levels = 0; levels < 12; levels += 3) {
                variable(levels, depths[at]);
                aligned(levels, depths[at]);
                both(levels, depths[at]);
                many(levels, 2, 3, 4, 5, 6, 7, 8, depths[at]);
            }
    int numbers[] = {3, 1, 2, 5, 4};
    qsort(numbers, 5, sizeof numbers[0], compare);
}

static void *in_thread(void *argument)
{
    all();
    return argument;
}

int main(int count, char **arguments)
{
    void *library = dlopen(arguments[count - 1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void (*start)(const char *) = (void (*)(const char *))dlsym(library, "inspect_start");
    stack = (uint32_t(*)(uint32_t, char *, size_t))dlsym(library, "inspect_stack");
    start("libinspect.so");
    all();
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    printf("%ld\n", checks);
    return 0;
}
