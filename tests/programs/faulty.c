/* faulty WHICH: a program with one error, for those who look for such: none, overflow, leak, shift or race. "loaded" prints which of
 * the libraries that a test preloads are in rank 0. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int word;

static void *raise_word(void *unused)
{
    word++;
    return unused;
}

/* Apart, so that main keeps no address in its frame. */
__attribute__((noinline)) static void leak(int length)
{
    static char *volatile lost;
    lost = malloc(length);
    lost[0] = 1;
    lost = NULL;
}

static void tell_loaded(void)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "libasan") || strstr(line, "libjemalloc") || strstr(line, "libtcmalloc_minimal"))
            fputs(line, stdout);
    if (maps)
        fclose(maps);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "none";
    int rank, sum;
    /* Volatile, so that no compiler sees what is wrong. */
    volatile int length = 10, one = 1, bits = 40;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    volatile char *bytes = malloc(length);
    memset((void *)bytes, 1, length);
    if (!strcmp(which, "overflow"))
        bytes[length] = 3;
    if (!strcmp(which, "shift"))
        printf("%d\n", one << bits);
    if (!strcmp(which, "race")) {
        pthread_t other;
        pthread_create(&other, NULL, raise_word, NULL);
        word++;
        pthread_join(other, NULL);
    }
    if (!strcmp(which, "loaded") && rank == 0)
        tell_loaded();
    if (!strcmp(which, "leak"))
        leak(length);
    free((void *)bytes);
    MPI_Finalize();
    return 0;
}
