/* A message between groups in three steps, each moved by another library: split over the ranks of its group, across, and assembled; with work of the
 * program's own while each step is under way. The last rank of the program is rank 0 of the composition.
 *
 *     mpicc stripe.c -I.. -L../../../target/groupbench/openmpi/release -lgroupbench && mpirun -n 4 ./a.out shared/twosided/put
 */
#include <groupbench.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES ((1u << 20) + 3)
#define HALF (BYTES / 2)

static MPI_Comm comm;

static void check(int code)
{
    if (code == GROUPBENCH_OK)
        return;
    fprintf(stderr, "stripe: %s\n", groupbench_error());
    MPI_Abort(comm, code);
}

static groupbench_place at(groupbench_area area, uint64_t offset)
{
    groupbench_place place = { area, offset };
    return place;
}

static unsigned char byte(unsigned round, unsigned index)
{
    return (unsigned char)(round * 101 + index * 7 + index / 251);
}

int main(int argc, char **argv)
{
    const char *library = argc > 1 ? argv[1] : "shared/twosided/put";
    int world_rank, rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size != 4) {
        fprintf(stderr, "stripe: start it on four ranks\n");
        MPI_Abort(comm, 1);
    }

    /* Ranks 0 and 1 are a group, 2 and 3 the other one. */
    groupbench *way;
    check(groupbench_create(comm, 2, library, &way));
    check(groupbench_add(way, 0, 0, at(GROUPBENCH_GIVEN, HALF), 1, at(GROUPBENCH_RELAY, 0), BYTES - HALF));
    check(groupbench_add(way, 1, 0, at(GROUPBENCH_GIVEN, 0), 2, at(GROUPBENCH_RESULT, 0), HALF));
    check(groupbench_add(way, 1, 1, at(GROUPBENCH_RELAY, 0), 3, at(GROUPBENCH_RELAY, 0), BYTES - HALF));
    check(groupbench_add(way, 2, 3, at(GROUPBENCH_RELAY, 0), 2, at(GROUPBENCH_RESULT, HALF), BYTES - HALF));
    check(groupbench_prepare(way));

    unsigned wrong = 0;
    double worked = 0;
    for (unsigned round = 1; round <= 3; round++) {
        if (rank == 0) {
            unsigned char *given = groupbench_at(way, at(GROUPBENCH_GIVEN, 0));
            for (unsigned index = 0; index < BYTES; index++)
                given[index] = byte(round, index);
        }
        if (rank == 2)
            memset(groupbench_at(way, at(GROUPBENCH_RESULT, 0)), 0, BYTES);
        for (int step = 0; step < 3; step++) {
            check(groupbench_start(way, step));
            for (int unit = 0; unit < 100000; unit++)
                worked += 1.0 / (unit + 1);
            check(groupbench_wait(way, step));
        }
        if (rank == 2) {
            const unsigned char *result = groupbench_at(way, at(GROUPBENCH_RESULT, 0));
            for (unsigned index = 0; index < BYTES; index++)
                wrong += result[index] != byte(round, index);
        }
    }

    groupbench_times times;
    check(groupbench_measure(way, &times));
    if (!(times.min_s > 0 && times.min_s <= times.median_s && times.median_s <= times.max_s && times.executions >= 6))
        wrong++;
    check(groupbench_free(&way));
    if (rank == 2)
        printf("%u bytes wrong in 3 rounds, %d units of work, median %.9f s\n", wrong, worked > 0, times.median_s);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return wrong != 0;
}
