/* signalled jumps|finalizes|multiple|threads: a signal comes while commsee asks the system for room, and its handler leaves that for good: by
 * a jump, or by MPI_Finalize and the process's end. "multiple": jumps under MPI_THREAD_MULTIPLE. "threads": jumps out of the first calls of
 * threads, which stay. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls that are lost make nothing grow: so many are enough for whatever grows. */
enum { JUMPS = 6, MANY = 20000, MORE = 1000, THREADS = 200 };

static __thread sigjmp_buf back;
static volatile sig_atomic_t is_armed, is_finalizing;

/* In the library's place: commsee's shard grows by it. */
int posix_fallocate(int file, off_t offset, off_t bytes)
{
    int (*next)(int, off_t, off_t) = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
    if (is_armed)
        raise(SIGUSR1);
    return next(file, offset, bytes);
}

static void leave(int signal)
{
    (void)signal;
    is_armed = 0;
    if (!is_finalizing)
        siglongjmp(back, 1);
    MPI_Finalize();
    exit(0);
}

static void make_one(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_free(&comm);
}

static void name_one(int number)
{
    MPI_Comm comm;
    char name[32];
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    snprintf(name, sizeof name, "made %d", number);
    MPI_Comm_set_name(comm, name);
    MPI_Comm_free(&comm);
}

static pthread_barrier_t all_came;

static void *first_call(void *unused)
{
    int one = 1, sum;
    if (!sigsetjmp(back, 1)) {
        is_armed = 1;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    }
    is_armed = 0;
    pthread_barrier_wait(&all_came);
    for (;;)
        pause();
    return unused;
}

/* One after the other; each lives on, so that none takes over what another one has left. */
static int with_threads(void)
{
    pthread_attr_t small;
    pthread_barrier_init(&all_came, NULL, 2);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, first_call, NULL))
            return 1;
        pthread_barrier_wait(&all_came);
    }
    MPI_Finalize();
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int provided;
    MPI_Init_thread(&argc, &argv, strcmp(how, "multiple") ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE, &provided);
    is_finalizing = !strcmp(how, "finalizes");
    signal(SIGUSR1, leave);
    if (!strcmp(how, "threads"))
        return with_threads();
    for (volatile int jumps = 0; jumps < JUMPS; jumps++) {
        if (!sigsetjmp(back, 1)) {
            is_armed = 1;
            for (int i = 0; is_armed && i < MANY; i++) {
                /* By turns: what grows differs. */
                if (jumps % 2)
                    make_one();
                else
                    name_one(i);
                MPI_Barrier(MPI_COMM_SELF);
            }
        }
    }
    for (int i = 0; i < MORE; i++) {
        int one = 1, sum;
        name_one(i);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    }
    MPI_Finalize();
    return 0;
}
