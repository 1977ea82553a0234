/* Heat in a square plate on a grid of processes: halos go to neighbours in a Cartesian communicator, row sums over row
 * communicators, the maximum of each column over column communicators, and the change of the whole plate over a
 * duplicate of MPI_COMM_WORLD. A profile that adds all of this up cannot tell them apart; one by communicator does.
 *
 * usage: heat [CELLS_PER_SIDE [STEPS]]     needs no more than MPI-2 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_NORTH, TAG_SOUTH, TAG_WEST, TAG_EAST };

int main(int argc, char **argv) {
    int ranks, rank, dims[2] = {0, 0}, periodic[2] = {0, 0}, place[2], keep_row[2] = {0, 1}, keep_column[2] = {1, 0};
    int north, south, west, east;
    MPI_Comm grid, row, column, check;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int side = argc > 1 ? atoi(argv[1]) : 512, steps = argc > 2 ? atoi(argv[2]) : 400;
    if (side < ranks || steps < 1) {
        fprintf(stderr, "heat: needs at least %d cells per side and one step\n", ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 1, &grid);
    MPI_Cart_sub(grid, keep_row, &row);
    MPI_Cart_sub(grid, keep_column, &column);
    MPI_Comm_dup(MPI_COMM_WORLD, &check);
    MPI_Comm_set_name(grid, "halo exchange");
    MPI_Comm_set_name(row, "row sums");
    MPI_Comm_set_name(column, "column maxima");
    MPI_Comm_set_name(check, "convergence");
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, place);
    MPI_Cart_shift(grid, 0, 1, &north, &south);
    MPI_Cart_shift(grid, 1, 1, &west, &east);

    int height = side / dims[0], width = side / dims[1], pitch = width + 2;
    double *now = calloc((size_t)(height + 2) * pitch, sizeof *now), *next = calloc((size_t)(height + 2) * pitch, sizeof *next);
    double *sums = calloc(height, sizeof *sums), *maxima = calloc(width, sizeof *maxima), change = 1;
    MPI_Datatype edge;
    MPI_Type_vector(height, 1, pitch, MPI_DOUBLE, &edge);
    MPI_Type_commit(&edge);
    if (place[0] == 0)
        for (int j = 0; j < pitch; j++) now[j] = next[j] = 100;

    for (int step = 0; step < steps; step++) {
        MPI_Request requests[8];
        MPI_Irecv(&now[1], width, MPI_DOUBLE, north, TAG_SOUTH, grid, &requests[0]);
        MPI_Irecv(&now[(height + 1) * pitch + 1], width, MPI_DOUBLE, south, TAG_NORTH, grid, &requests[1]);
        MPI_Irecv(&now[pitch], 1, edge, west, TAG_EAST, grid, &requests[2]);
        MPI_Irecv(&now[pitch + width + 1], 1, edge, east, TAG_WEST, grid, &requests[3]);
        MPI_Isend(&now[pitch + 1], width, MPI_DOUBLE, north, TAG_NORTH, grid, &requests[4]);
        MPI_Isend(&now[height * pitch + 1], width, MPI_DOUBLE, south, TAG_SOUTH, grid, &requests[5]);
        MPI_Isend(&now[pitch + 1], 1, edge, west, TAG_WEST, grid, &requests[6]);
        MPI_Isend(&now[pitch + width], 1, edge, east, TAG_EAST, grid, &requests[7]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);

        double largest = 0;
        for (int i = 1; i <= height; i++)
            for (int j = 1; j <= width; j++) {
                int c = i * pitch + j;
                next[c] = 0.25 * (now[c - 1] + now[c + 1] + now[c - pitch] + now[c + pitch]);
                largest = fmax(largest, fabs(next[c] - now[c]));
            }
        double *swap = now;
        now = next;
        next = swap;

        if (step % 10 == 0) {
            MPI_Allreduce(&largest, &change, 1, MPI_DOUBLE, MPI_MAX, check);
            for (int i = 0; i < height; i++) {
                sums[i] = 0;
                for (int j = 1; j <= width; j++) sums[i] += now[(i + 1) * pitch + j];
            }
            MPI_Allreduce(MPI_IN_PLACE, sums, height, MPI_DOUBLE, MPI_SUM, row);
            memset(maxima, 0, width * sizeof *maxima);
            for (int i = 1; i <= height; i++)
                for (int j = 0; j < width; j++) maxima[j] = fmax(maxima[j], now[i * pitch + j + 1]);
            MPI_Allreduce(MPI_IN_PLACE, maxima, width, MPI_DOUBLE, MPI_MAX, column);
        }
    }
    if (rank == 0) printf("heat: %d x %d cells, %d steps, last change %.3e, hottest row %.3f\n", side, side, steps, change, sums[0]);

    MPI_Type_free(&edge);
    free(now), free(next), free(sums), free(maxima);
    MPI_Comm_free(&row), MPI_Comm_free(&column), MPI_Comm_free(&check), MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
