/* without_mpi: ranks that reduce over oneCCL and know each other by two variables and a file, as those of torchrun do; tests/profiled/without_mpi.rs has the rows.
 *
 * without_mpi ID RANK SIZE [exit|child]    ID: the file by which rank 0 tells the communicator's id; RANK, SIZE: the variables. `exit`: by _exit. `child`:
 *                                          rank 0 runs the program once more, alone, by the variables CHILD_RANK and CHILD_SIZE
 *
 * It checks its results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "nccl.h"

#define DONE(call) do { if ((call) != 0) { fprintf(stderr, "%s failed\n", #call); exit(3); } } while (0)
enum { COUNT = 1000, ROUNDS = 3 };
static double from[COUNT], to[COUNT];

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

static ccl_id told(int rank, const char *path)
{
    static ccl_id id;
    char aside[4096];
    FILE *file;
    if (rank == 0) {
        DONE(CCL(GetUniqueId)(&id));
        snprintf(aside, sizeof aside, "%s.part", path);
        DONE((file = fopen(aside, "w")) == NULL);
        DONE(fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) || rename(aside, path));
        return id;
    }
    while ((file = fopen(path, "r")) == NULL)
        usleep(1000);
    DONE(fread(&id, sizeof id, 1, file) != 1 || fclose(file));
    return id;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int rank = number(argv[2]), size = number(argv[3]);
    ccl_comm all;
    DONE(rank < 0 || size < 1);
    DONE(CCL(CommInitRank)(&all, (ccl_ranks)size, told(rank, argv[1]), rank));
    if (argc > 4 && strcmp(argv[4], "child") == 0 && rank == 0) {
        char command[8192];
        snprintf(command, sizeof command, "'%s' '%s-of-child' CHILD_RANK CHILD_SIZE", argv[0], argv[1]);
        DONE(system(command));
    }
    for (int at = 0; at < COUNT; at++)
        from[at] = rank + at;
    for (int round = 0; round < ROUNDS; round++) {
        DONE(CCL(AllReduce)(from, to, COUNT, CCL_FLOAT64, CCL_SUM, all, NULL));
        for (int at = 0; at < COUNT; at++)
            DONE(to[at] != size * at + size * (size - 1) / 2.0);
    }
    DONE(CCL(Broadcast)(from, to, 10, CCL_FLOAT64, 0, all, NULL));
    DONE(CCL(CommDestroy)(all));
    printf("rank %d of %d\n", rank, size);
    fflush(stdout);
    if (argc > 4 && strcmp(argv[4], "exit") == 0)
        _exit(0);
    return 0;
}
