/*
 * What Rust's instrumentation for ThreadSanitizer calls beyond what GCC's runtime offers. Calls of the plain functions would not do: the
 * runtime is told not to look at what they touch, because the MPI libraries call them, too.
 */
#include <string.h>

void __tsan_read_range(void *from, unsigned long bytes);
void __tsan_write_range(void *to, unsigned long bytes);

void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    __tsan_read_range((void *)from, bytes);
    __tsan_write_range(to, bytes);
    return memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    __tsan_read_range((void *)from, bytes);
    __tsan_write_range(to, bytes);
    return memmove(to, from, bytes);
}

void *__tsan_memset(void *to, int value, size_t bytes)
{
    __tsan_write_range(to, bytes);
    return memset(to, value, bytes);
}
