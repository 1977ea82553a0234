/* kin [adopts]: what a program sees of processes that are started in its MPI_Init, also where orphans become its children, as those of
 * process 1 of a container do. */
#include <mpi.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void count(int signal)
{
    (void)signal;
    ended++;
}

static int children(void)
{
    int status, found = 0;
    while (waitpid(-1, &status, WNOHANG | __WALL) >= 0 && found < 1000)
        found++;
    return found * 1000 + errno;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
    pid_t group = getpgrp(), session = getsid(0);
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sigset_t blocked, pending;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    sigpending(&pending);
    printf("rank %d: ends of children %d, children %d, same group %d, same session %d, blocked %d, pending %d\n", rank,
           (int)ended, children(), getpgrp() == group, getsid(0) == session, sigismember(&blocked, SIGCHLD),
           sigismember(&pending, SIGCHLD));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
