/* What the benchmark programs share: clocks, and how large the process is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* Where benches/percall/count.rs looks for it too. */
#if __has_include("/usr/include/valgrind/callgrind.h")
#include "/usr/include/valgrind/callgrind.h"
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif
#if defined(__x86_64__)
#include <x86intrin.h>
#define TICKS() __rdtsc()
#else
#define TICKS() ((uint64_t)clock())
#endif

static inline double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static inline double least(const double *values, int count)
{
    double value = values[0];
    for (int i = 1; i < count; i++)
        if (values[i] < value) value = values[i];
    return value;
}

/* A quantity of /proc/self in KiB, such as `VmHWM:` of `status`. `statm` is a few dozen pages off, `smaps_rollup` is not. */
static inline long self_kib(const char *file, const char *key)
{
    char path[64], line[256];
    long kib = -1;
    snprintf(path, sizeof path, "/proc/self/%s", file);
    FILE *stream = fopen(path, "r");
    while (stream && fgets(line, sizeof line, stream))
        if (!strncmp(line, key, strlen(key))) kib = atol(line + strlen(key));
    if (stream) fclose(stream);
    return kib;
}

/* Under its own name, as `timed_loop` of each program: callgrind writes down what it has counted before it is called. */
__attribute__((noipa, unused)) static void say_result(const char *name, double ns, double grown_bytes)
{
    printf("%s,%.2f,%.1f\n", name, ns, grown_bytes);
}
