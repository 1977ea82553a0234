/* What groupbench.h promises of errors: each has its code and its text, nothing is done, and the composition goes on. Says what differs. */
#include <groupbench.h>
#include <stdio.h>
#include <string.h>

static int differing;

static void expect(int line, int code, int expected, const char *text)
{
    if (code == expected && (expected == GROUPBENCH_OK || strstr(groupbench_error(), text)))
        return;
    printf("line %d: %d: %s\n", line, code, groupbench_error());
    differing++;
}

#define EXPECT(call, code, text) expect(__LINE__, call, code, text)
#define FINE(call) expect(__LINE__, call, GROUPBENCH_OK, "")

static const groupbench_place given = { GROUPBENCH_GIVEN, 0 }, result = { GROUPBENCH_RESULT, 0 };

int main(int argc, char **argv)
{
    groupbench *way = NULL;
    groupbench_times times;
    int rank;

    if (strcmp(groupbench_error(), ""))
        differing++;
    EXPECT(groupbench_create(MPI_COMM_WORLD, 1, "twosided", &way), GROUPBENCH_ARGUMENT, "MPI is not initialized");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* Errors that a program wants to see itself do not become silent ones of groupbench. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    EXPECT(groupbench_create(MPI_COMM_WORLD, 1, "pigeon", &way), GROUPBENCH_ARGUMENT, "\"pigeon\" is no library: twosided");
    EXPECT(groupbench_create(MPI_COMM_WORLD, 0, "twosided", &way), GROUPBENCH_ARGUMENT, "groups of 0 ranks");
    EXPECT(groupbench_create(MPI_COMM_NULL, 1, "twosided", &way), GROUPBENCH_ARGUMENT, "MPI_COMM_NULL");
    EXPECT(groupbench_create(MPI_COMM_WORLD, 1, "twosided", NULL), GROUPBENCH_ARGUMENT, "NULL");
    EXPECT(groupbench_prepare(NULL), GROUPBENCH_ARGUMENT, "the composition is NULL");
    FINE(groupbench_free(NULL));
    FINE(groupbench_free(&way));

    FINE(groupbench_create(MPI_COMM_WORLD, 1, "twosided", &way));
    EXPECT(groupbench_prepare(way), GROUPBENCH_ARGUMENT, "there is no message");
    EXPECT(groupbench_add(way, -1, 0, given, 1, result, 8), GROUPBENCH_ARGUMENT, "step -1");
    EXPECT(groupbench_add(way, 0, 0, given, 2, result, 8), GROUPBENCH_ARGUMENT, "rank 2 of 2");
    EXPECT(groupbench_add(way, 0, 0, given, 1, given, 8), GROUPBENCH_ARGUMENT, "arrives in GROUPBENCH_RELAY");
    EXPECT(groupbench_add(way, 0, 0, given, 1, result, UINT64_MAX), GROUPBENCH_ARGUMENT, "no machine");
    EXPECT(groupbench_start(way, 0), GROUPBENCH_ARGUMENT, "not prepared");
    EXPECT(groupbench_measure(way, &times), GROUPBENCH_ARGUMENT, "not prepared");
    FINE(groupbench_add(way, 1, 0, given, 1, result, 8));
    EXPECT(groupbench_prepare(way), GROUPBENCH_ARGUMENT, "step 0 has no message");
    /* The ranks do not add the same. */
    FINE(groupbench_add(way, 0, rank, given, 1 - rank, result, 8));
    EXPECT(groupbench_prepare(way), GROUPBENCH_ARGUMENT, "other messages were added than on rank 0 (rank 1)");
    FINE(groupbench_free(&way));
    if (way)
        differing++;

    FINE(groupbench_create(MPI_COMM_WORLD, 1, "scatter", &way));
    FINE(groupbench_add(way, 0, 0, given, 0, result, 8));
    EXPECT(groupbench_prepare(way), GROUPBENCH_UNAVAILABLE, "scatter: ");
    FINE(groupbench_free(&way));

    FINE(groupbench_create(MPI_COMM_WORLD, 1, "twosided", &way));
    FINE(groupbench_add(way, 0, 0, given, 1, result, UINT64_C(40) << 40));
    EXPECT(groupbench_prepare(way), GROUPBENCH_MEMORY, "memory for messages cannot be had");
    FINE(groupbench_free(&way));

    /* Exchanged in memory of its own by MPI_Alltoall, again and again. */
    FINE(groupbench_create(MPI_COMM_WORLD, 1, "alltoall", &way));
    FINE(groupbench_add(way, 0, 0, given, 1, result, 8));
    FINE(groupbench_add(way, 0, 1, given, 0, result, 8));
    FINE(groupbench_prepare(way));
    EXPECT(groupbench_prepare(way), GROUPBENCH_ARGUMENT, "prepared already");
    EXPECT(groupbench_add(way, 0, 0, given, 1, result, 8), GROUPBENCH_ARGUMENT, "nothing can be added");
    EXPECT(groupbench_wait(way, 0), GROUPBENCH_ARGUMENT, "step 0 is not started");
    EXPECT(groupbench_start(way, 1), GROUPBENCH_ARGUMENT, "step 1 of 1");
    for (int64_t round = 1; round < 4; round++) {
        *(int64_t *)groupbench_at(way, given) = 10 * round + rank;
        FINE(groupbench_start(way, 0));
        EXPECT(groupbench_start(way, 0), GROUPBENCH_ARGUMENT, "step 0 is under way");
        EXPECT(groupbench_measure(way, &times), GROUPBENCH_ARGUMENT, "step 0 is under way");
        EXPECT(groupbench_free(&way), GROUPBENCH_ARGUMENT, "step 0 is under way");
        FINE(groupbench_wait(way, 0));
        if (*(int64_t *)groupbench_at(way, result) != 10 * round + 1 - rank)
            differing++;
    }
    groupbench_place behind = { GROUPBENCH_RESULT, 9 };
    if (groupbench_at(way, behind) || !strstr(groupbench_error(), "no message of this rank"))
        differing++;
    EXPECT(groupbench_measure(way, NULL), GROUPBENCH_ARGUMENT, "times is NULL");
    FINE(groupbench_free(&way));
    printf("%d differing on rank %d\n", differing, rank);
    MPI_Finalize();
    return differing != 0;
}
