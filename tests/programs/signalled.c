/* signalled jumps|finalizes: a signal comes while commsee asks the system for room, and its handler leaves that for good: by a jump, or by
 * MPI_Finalize and the process's end. What the program does is said on standard output: how many communicators it has made, and named. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JUMPS = 5, MORE = 20000 };

static sigjmp_buf back;
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

static void name_one(int number)
{
    MPI_Comm comm;
    char name[32];
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    snprintf(name, sizeof name, "made %d", number);
    MPI_Comm_set_name(comm, name);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    is_finalizing = argc > 1 && !strcmp(argv[1], "finalizes");
    signal(SIGUSR1, leave);
    for (volatile int jumps = 0; jumps < JUMPS; jumps++) {
        if (!sigsetjmp(back, 1)) {
            is_armed = 1;
            for (int i = 0;; i++)
                name_one(i);
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
