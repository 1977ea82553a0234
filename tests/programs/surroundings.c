/* What belongs to the program: its signals, its descriptors, its time before MPI_Init and after MPI_Finalize. It prints what it
 * finds, to be compared with a run without the profiler. */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;

/* Descriptors of files that only commsee opens. */
static int descriptors_of_commsee(void)
{
    int found = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[300], target[4096];
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        found += strstr(target, ".shard") || strstr(target, ".db") || strstr(target, ".snapshot") || strstr(target, "commsee-1");
    }
    closedir(folder);
    return found;
}

static void tell(const char *when)
{
    sigset_t mask, pending;
    char blocked[66] = "", waiting[66] = "", handled[66] = "";
    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigpending(&pending);
    for (int number = 1; number <= 64; number++) {
        struct sigaction action;
        strcat(blocked, sigismember(&mask, number) == 1 ? "1" : "0");
        strcat(waiting, sigismember(&pending, number) == 1 ? "1" : "0");
        int known = sigaction(number, NULL, &action) == 0;
        strcat(handled, !known ? "?" : action.sa_handler == SIG_DFL ? "0" : action.sa_handler == SIG_IGN ? "i" : "h");
    }
    if (rank == 0)
        printf("%s: blocked %s pending %s handled %s descriptors %d\n", when, blocked, waiting, handled,
               descriptors_of_commsee());
}

__attribute__((destructor)) static void last(void)
{
    int initialized, finalized;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (rank == 0)
        printf("destructor: initialized %d finalized %d\n", initialized, finalized);
}

int main(int argc, char **argv)
{
    int initialized, finalized, version, subversion, length, sum, one = 1;
    char name[MPI_MAX_LIBRARY_VERSION_STRING], command[200];
    const char *of_openmpi = getenv("OMPI_COMM_WORLD_RANK"), *of_mpich = getenv("PMI_RANK");
    rank = atoi(of_openmpi ? of_openmpi : of_mpich ? of_mpich : "0");
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    MPI_Get_version(&version, &subversion);
    MPI_Get_library_version(name, &length);
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR1), sigaddset(&mine, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &mine, NULL);
    raise(SIGXFSZ); /* pending: it must not get lost where commsee keeps the signal away from itself */
    signal(SIGUSR2, SIG_IGN);
    tell("before MPI_Init");
    if (rank == 0)
        printf("initialized %d finalized %d version %d.%d\n", initialized, finalized, version, subversion);
    MPI_Init(&argc, &argv);
    tell("after MPI_Init");
    for (int i = 0; i < 300; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Comm_free(&comm);
    }
    MPI_Pcontrol(3, "a phase");
    MPI_Pcontrol(2);
    tell("after calls");
    fflush(stdout);
    if (rank == 0) {
        /* What a child inherits; the shell's own view of its descriptors. */
        snprintf(command, sizeof command, "ls -l /proc/self/fd | grep -c -e [.]shard -e [.]db -e [.]snapshot");
        printf("a child fails to find any: %d\n", system(command) == 1 << 8);
        fflush(stdout);
    }
    MPI_Finalize();
    tell("after MPI_Finalize");
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (rank == 0)
        printf("initialized %d finalized %d\n", initialized, finalized);
    return 0;
}
