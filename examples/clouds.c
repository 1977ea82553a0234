/* A small weather model on a grid of processes, 2 columns wide. Every process moves the air of its cells, and rains where there are clouds,
 * which takes longer. Rows exchange their moisture after each step; everybody agrees on the next time step after every tenth.
 *
 * The clouds hang over one process. `clouds spread` deals the cells with clouds out to all processes of the row.
 *
 * usage: clouds [spread]     needs an even number of processes */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 1000, CLOUDY = 8000, STEPS = 200, LEVELS = 200, OVERCAST = 2 };

static double cell(int at, int step) {
    double heat = 1.0 / (2 + at + step);
    for (int level = 0; level < LEVELS; level++)
        heat = 3.7 * heat * (1 - heat);
    return heat;
}

static double move_air(int step) {
    double moisture = 0;
    for (int at = 0; at < CELLS; at++)
        moisture += cell(at, step);
    return moisture;
}

static double rain(int cells, int step) {
    double moisture = 0;
    for (int at = 0; at < cells; at++)
        moisture -= cell(at, step) / 2;
    return moisture;
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Comm row;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_set_name(row, "row");

    int is_spread = argc > 1 && !strcmp(argv[1], "spread");
    int is_below = is_spread ? rank / 2 == OVERCAST / 2 : rank == OVERCAST % ranks;
    int cloudy = is_below ? CLOUDY / (is_spread ? 2 : 1) : 0;
    double moisture = 0, of_row, longest = 0;
    for (int step = 0; step < STEPS; step++) {
        moisture = move_air(step) + rain(cloudy, step);
        MPI_Allreduce(&moisture, &of_row, 1, MPI_DOUBLE, MPI_SUM, row);
        if (step % 10 == 0)
            MPI_Allreduce(&of_row, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("clouds: %d steps, longest %.3f\n", STEPS, longest);
    MPI_Comm_free(&row);
    MPI_Finalize();
    return 0;
}
