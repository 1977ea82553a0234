/* alive HOW: one process that lives, or is followed by others that do, until the file end is in $ALIVE_DIR. The file ready there holds
   its number when it does what HOW says. */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void path(char *place, size_t bytes, const char *name)
{
    snprintf(place, bytes, "%s/%s", getenv("ALIVE_DIR"), name);
}

static void tell(void)
{
    char aside[4096], ready[4096];
    path(aside, sizeof aside, "aside"), path(ready, sizeof ready, "ready");
    FILE *file = fopen(aside, "w");
    if (!file)
        exit(65);
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    rename(aside, ready);
}

static void wait_for_end(void)
{
    char end[4096];
    path(end, sizeof end, "end");
    while (access(end, F_OK))
        usleep(10000);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 64;
    const char *how = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "closes")) {
        /* As programs do that become daemons; but the MPI library ends a process that closes its sockets and pipes. */
        for (int fd = 3; fd < 4096; fd++) {
            struct stat facts;
            if (!fstat(fd, &facts) && S_ISREG(facts.st_mode))
                close(fd);
        }
        tell();
        wait_for_end();
    } else if (!strcmp(how, "forks")) {
        /* The children outlive their parent: one goes on in this program, one in another. */
        for (int child = 0; child < 2; child++)
            if (!fork()) {
                setsid();
                if (child == 1)
                    execl("/bin/sh", "sh", "-c", "until [ -e \"$ALIVE_DIR/end\" ]; do sleep 0.05; done", (char *)NULL);
                tell();
                wait_for_end();
                _exit(0);
            }
        char ready[4096];
        path(ready, sizeof ready, "ready");
        while (access(ready, F_OK))
            usleep(10000);
    } else if (!strcmp(how, "execs")) {
        tell();
        execl("/bin/sh", "sh", "-c", "until [ -e \"$ALIVE_DIR/end\" ]; do sleep 0.05; done", (char *)NULL);
    } else {
        tell();
        wait_for_end();
    }
    kill(getpid(), SIGKILL);
    /* The first process of a container cannot kill itself. */
    _exit(1);
}
