/* Two threads that write to two places without any order, one of them as Rust copies: what ThreadSanitizer is there to find. */
#include <mpi.h>
#include <pthread.h>

/* The test preloads it. */
__attribute__((weak)) void *__tsan_memcpy(void *to, const void *from, size_t bytes);

static long place, copied[64];

static void *work(void *argument)
{
    long own[64] = {0};
    for (int i = 0; i < 1000; i++) {
        place += (long)argument;
        __tsan_memcpy(copied, own, sizeof own);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
