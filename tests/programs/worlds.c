/* Worlds of one size that are spawned: each makes another number of calls, so that its profile shows which one it is of. The world that was
 * started makes 3, then spawns
 *   `several` two worlds one after the other (5 and 7 calls), which live at the same time;
 *   `at-once` the same, each by one of its processes, at the same time;
 *   `nested` a world (5) that spawns another one (7);
 *   `multiple` a world (5) by two commands. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program;

static void call(int times)
{
    int one = 1, sum;
    for (int i = 0; i < times; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* A world of `ranks` that makes so many calls, and spawns one more if told so. */
static MPI_Comm spawn(MPI_Comm over, int ranks, char *times, char *more)
{
    MPI_Comm spawned;
    char *words[] = {"child", times, more, NULL};
    MPI_Comm_spawn(program, words, ranks, MPI_INFO_NULL, 0, over, &spawned, MPI_ERRCODES_IGNORE);
    return spawned;
}

int main(int argc, char **argv)
{
    MPI_Comm parents, first = MPI_COMM_NULL, second = MPI_COMM_NULL;
    int rank, ranks;
    program = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL) {
        call(atoi(argv[2]));
        if (argc > 3)
            first = spawn(MPI_COMM_WORLD, ranks, "7", NULL);
        MPI_Barrier(parents);
        MPI_Comm_disconnect(&parents);
    } else {
        call(3);
        if (strcmp(argv[1], "several") == 0) {
            first = spawn(MPI_COMM_WORLD, ranks, "5", NULL);
            second = spawn(MPI_COMM_WORLD, ranks, "7", NULL);
        } else if (strcmp(argv[1], "at-once") == 0) {
            if (rank < 2)
                first = spawn(MPI_COMM_SELF, ranks, rank == 0 ? "5" : "7", NULL);
        } else if (strcmp(argv[1], "nested") == 0) {
            first = spawn(MPI_COMM_WORLD, ranks, "5", "7");
        } else {
            char *commands[] = {argv[0], argv[0]}, *words[] = {"child", "5", NULL}, **all[] = {words, words};
            int counts[] = {ranks - 1, 1};
            MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
            MPI_Comm_spawn_multiple(2, commands, all, counts, infos, 0, MPI_COMM_WORLD, &first, MPI_ERRCODES_IGNORE);
        }
    }
    MPI_Comm *spawned[] = {&first, &second};
    for (int i = 0; i < 2; i++) {
        if (*spawned[i] == MPI_COMM_NULL)
            continue;
        MPI_Barrier(*spawned[i]);
        MPI_Comm_disconnect(spawned[i]);
    }
    MPI_Finalize();
    return 0;
}
