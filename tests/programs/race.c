/* Two threads that write to one place without any order: what ThreadSanitizer is there to find. */
#include <mpi.h>
#include <pthread.h>

static long place;

static void *work(void *argument)
{
    for (int i = 0; i < 1000; i++)
        place += (long)argument;
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
