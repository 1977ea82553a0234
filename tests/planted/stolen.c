/* All ranks do the same work. Others take rank 0's processor meanwhile, so that it comes late, or nobody does. */
#define _GNU_SOURCE
#include "planted.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define THIEVES 3

static double ran_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static pid_t thief(void)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        ;
}

int main(int argc, char **argv)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    int is_stolen = argc > 1 && !strcmp(argv[1], "planted") && number && !strcmp(number, "0");
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    pid_t thieves[THIEVES];
    /* Before MPI is there: it does not like to be copied. */
    if (is_stolen && !sched_setaffinity(0, sizeof first, &first))
        for (int at = 0; at < THIEVES; at++)
            thieves[at] = thief();
    else
        is_stolen = 0;
    begin(&argc, &argv);
    double sum = 0;
    for (int step = 0; step < 10; step++) {
        for (double end = ran_s() + 0.05; ran_s() < end;)
            ;
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    for (int at = 0; is_stolen && at < THIEVES; at++) {
        kill(thieves[at], SIGKILL);
        waitpid(thieves[at], NULL, 0);
    }
    return end();
}
