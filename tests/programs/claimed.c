/* claimed HOW: a snapshot whose last process finds that another one has the claim to write it already, in $COMMSEE_DIR.
 *   killed  that one was killed meanwhile: the snapshot is written now
 *   held    it lives: nobody waits for it, and MPI_Finalize writes the snapshot */
#define _GNU_SOURCE
#include <mpi.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "claimed: %s\n", what);
        abort();
    }
}

/* The claim is named after rank 0's part of the snapshot, and that after the shard. */
static const char *claim(void)
{
    static char path[8192];
    const char *folder = getenv("COMMSEE_DIR"), *end;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; (entry = readdir(entries));)
        if ((end = strstr(entry->d_name, "-0.shard")))
            snprintf(path, sizeof path, "%s/%.*s-0.snapshot-1.claim", folder, (int)(end - entry->d_name), entry->d_name);
    closedir(entries);
    expect(path[0], "there is no shard of rank 0");
    return path;
}

static pid_t hold(const char *path)
{
    int ready[2];
    char byte = 0;
    expect(pipe(ready) == 0, "no pipe");
    pid_t child = fork();
    if (child == 0) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (file >= 0 && fcntl(file, F_OFD_SETLK, &whole) == 0)
            byte = 1;
        if (write(ready[1], &byte, 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    expect(read(ready[0], &byte, 1) == 1 && byte == 1, "the other process has no lock");
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    int rank, size;
    pid_t child = 0;
    MPI_Init(&argc, &argv);
    int is_held = argc > 1 && !strcmp(argv[1], "held");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank < size - 1)
        MPI_Pcontrol(2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        const char *path = claim();
        child = hold(path);
        if (!is_held)
            end(child);
        expect(access(path, F_OK) == 0, "the claim is not there");
        MPI_Pcontrol(2);
        expect(access("profile-snapshot-1.db", F_OK) == (is_held ? -1 : 0), "who writes the snapshot?");
        expect(access(path, F_OK) == (is_held ? 0 : -1), "whose is the claim?");
        if (is_held) {
            end(child);
            unlink(path);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
