/* Heat in a square plate on a grid of processes. Halos go to neighbours in a Cartesian communicator, which also checks
 * convergence; rows add up, columns look for their maximum, and rank 0 gathers a summary over a duplicate of
 * MPI_COMM_WORLD. A profile that adds all of this up cannot tell them apart; one by communicator does.
 *
 * usage: heat [--grid COLUMNSxROWS] [--cells N] [--steps N] [--uneven]     needs no more than MPI-2
 *
 *   --grid 4x2   4 columns and 2 rows of processes; by default what MPI_Dims_create chooses
 *   --cells N    N x N cells (512)
 *   --steps N    time steps (400)
 *   --uneven     rank 5, or the last one of fewer, computes twice as long */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_NORTH, TAG_SOUTH, TAG_WEST, TAG_EAST };
enum { CHECK_EVERY = 10, REPORT_EVERY = 100 };

struct options {
    int columns, rows, cells, steps, uneven;
};

struct plate {
    MPI_Comm grid, row, column, output;
    MPI_Datatype edge;
    int rank, place[2], north, south, west, east;
    int height, width, pitch;
    double *now, *next, *sums, *maxima, *all;
};

/* A whole positive number, or 0. */
static int number(const char *word) {
    char *end;
    long value = word ? strtol(word, &end, 10) : 0;
    return value > 0 && value <= 1000000 && *end == '\0' ? (int)value : 0;
}

static int is_understood(int argc, char **argv, struct options *options) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--uneven") == 0) {
            options->uneven = 1;
            continue;
        } else if (strcmp(argv[i], "--grid") == 0) {
            char rest;
            if (!value || sscanf(value, "%dx%d%c", &options->columns, &options->rows, &rest) != 2) return 0;
            if (options->columns < 1 || options->rows < 1) return 0;
        } else if (strcmp(argv[i], "--cells") == 0) {
            if (!(options->cells = number(value))) return 0;
        } else if (strcmp(argv[i], "--steps") == 0) {
            if (!(options->steps = number(value))) return 0;
        } else {
            return 0;
        }
        i++;
    }
    return 1;
}

/* Rank 0 reads the command line and tells the others. Returns whether it makes sense. */
static int read_input(int argc, char **argv, int rank, int ranks, struct options *options) {
    if (rank == 0) {
        int is_right = is_understood(argc, argv, options) && options->cells >= ranks;
        if (is_right && options->columns && (long)options->columns * options->rows != ranks) {
            is_right = 0;
            fprintf(stderr, "heat: a grid of %dx%d does not have %d ranks\n", options->columns, options->rows, ranks);
        }
        if (!is_right) {
            fprintf(stderr, "usage: heat [--grid COLUMNSxROWS] [--cells N] [--steps N] [--uneven]   (N cells >= ranks)\n");
            options->steps = 0;
        }
    }
    MPI_Bcast(options, sizeof *options, MPI_BYTE, 0, MPI_COMM_WORLD);
    return options->steps > 0;
}

static void make_grid(struct plate *plate, const struct options *options, int ranks) {
    int dims[2] = {options->rows, options->columns}, periodic[2] = {0, 0};
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &plate->grid);
    MPI_Comm_set_name(plate->grid, "grid");
    MPI_Comm_rank(plate->grid, &plate->rank);
    MPI_Cart_coords(plate->grid, plate->rank, 2, plate->place);
    MPI_Cart_shift(plate->grid, 0, 1, &plate->north, &plate->south);
    MPI_Cart_shift(plate->grid, 1, 1, &plate->west, &plate->east);
    plate->height = options->cells / dims[0];
    plate->width = options->cells / dims[1];
}

static void make_rows(struct plate *plate) {
    int keep[2] = {0, 1};
    MPI_Cart_sub(plate->grid, keep, &plate->row);
    MPI_Comm_set_name(plate->row, "row");
}

static void open_output(struct plate *plate) {
    MPI_Comm_dup(MPI_COMM_WORLD, &plate->output);
    MPI_Comm_set_name(plate->output, "output");
}

static void make_columns(struct plate *plate) {
    int keep[2] = {1, 0};
    MPI_Cart_sub(plate->grid, keep, &plate->column);
    MPI_Comm_set_name(plate->column, "column");
}

static void *room(size_t values) {
    void *room = calloc(values, sizeof(double));
    if (!room) {
        fprintf(stderr, "heat: not enough memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return room;
}

static void fill(struct plate *plate, int ranks) {
    size_t cells = (size_t)(plate->height + 2) * (plate->width + 2);
    plate->pitch = plate->width + 2;
    plate->now = room(cells), plate->next = room(cells);
    plate->sums = room(plate->height), plate->maxima = room(plate->width), plate->all = room(ranks);
    MPI_Type_vector(plate->height, 1, plate->pitch, MPI_DOUBLE, &plate->edge);
    MPI_Type_commit(&plate->edge);
    if (plate->place[0] == 0)
        for (int j = 0; j < plate->pitch; j++) plate->now[j] = plate->next[j] = 100;
}

/* Halos: the outermost cells of all four neighbours. */
static void exchange(struct plate *plate) {
    double *now = plate->now;
    int height = plate->height, width = plate->width, pitch = plate->pitch;
    MPI_Request requests[8];
    MPI_Status statuses[8];
    MPI_Irecv(&now[1], width, MPI_DOUBLE, plate->north, TAG_SOUTH, plate->grid, &requests[0]);
    MPI_Irecv(&now[(height + 1) * pitch + 1], width, MPI_DOUBLE, plate->south, TAG_NORTH, plate->grid, &requests[1]);
    MPI_Irecv(&now[pitch], 1, plate->edge, plate->west, TAG_EAST, plate->grid, &requests[2]);
    MPI_Irecv(&now[pitch + width + 1], 1, plate->edge, plate->east, TAG_WEST, plate->grid, &requests[3]);
    MPI_Isend(&now[pitch + 1], width, MPI_DOUBLE, plate->north, TAG_NORTH, plate->grid, &requests[4]);
    MPI_Isend(&now[height * pitch + 1], width, MPI_DOUBLE, plate->south, TAG_SOUTH, plate->grid, &requests[5]);
    MPI_Isend(&now[pitch + 1], 1, plate->edge, plate->west, TAG_WEST, plate->grid, &requests[6]);
    MPI_Isend(&now[pitch + width], 1, plate->edge, plate->east, TAG_EAST, plate->grid, &requests[7]);
    MPI_Waitall(8, requests, statuses);
}

/* One time step: each cell becomes the mean of its neighbours. Returns the largest change. */
static double relax(struct plate *plate) {
    const double *now = plate->now;
    double *next = plate->next, largest = 0;
    int pitch = plate->pitch;
    for (int i = 1; i <= plate->height; i++)
        for (int j = 1; j <= plate->width; j++) {
            int c = i * pitch + j;
            next[c] = 0.25 * (now[c - 1] + now[c + 1] + now[c - pitch] + now[c + pitch]);
            largest = fmax(largest, fabs(next[c] - now[c]));
        }
    return largest;
}

/* The largest change of the whole plate. */
static double residual(struct plate *plate, double largest) {
    double change;
    MPI_Allreduce(&largest, &change, 1, MPI_DOUBLE, MPI_MAX, plate->grid);
    return change;
}

/* Sums along rows of cells, which need all processes of a row. */
static void smooth(struct plate *plate) {
    for (int i = 0; i < plate->height; i++) {
        plate->sums[i] = 0;
        for (int j = 1; j <= plate->width; j++) plate->sums[i] += plate->now[(i + 1) * plate->pitch + j];
    }
    MPI_Allreduce(MPI_IN_PLACE, plate->sums, plate->height, MPI_DOUBLE, MPI_SUM, plate->row);
}

/* Maxima along columns of cells. */
static void look(struct plate *plate) {
    memset(plate->maxima, 0, plate->width * sizeof *plate->maxima);
    for (int i = 1; i <= plate->height; i++)
        for (int j = 0; j < plate->width; j++)
            plate->maxima[j] = fmax(plate->maxima[j], plate->now[i * plate->pitch + j + 1]);
    MPI_Allreduce(MPI_IN_PLACE, plate->maxima, plate->width, MPI_DOUBLE, MPI_MAX, plate->column);
}

/* Rank 0 gathers the first row sum of each rank. */
static void report(struct plate *plate) {
    MPI_Gather(plate->sums, 1, MPI_DOUBLE, plate->all, 1, MPI_DOUBLE, 0, plate->output);
}

static double step(struct plate *plate, int number, int sweeps) {
    static double change;
    double largest = 0;
    exchange(plate);
    for (int sweep = 0; sweep < sweeps; sweep++) largest = relax(plate);
    double *swap = plate->now;
    plate->now = plate->next;
    plate->next = swap;
    if (number % CHECK_EVERY == 0) {
        change = residual(plate, largest);
        smooth(plate);
        look(plate);
    }
    return change;
}

int main(int argc, char **argv) {
    struct options options = {0, 0, 512, 400, 0};
    struct plate plate;
    int ranks, rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!read_input(argc, argv, rank, ranks, &options)) {
        MPI_Finalize();
        return 2;
    }
    make_grid(&plate, &options, ranks);
    make_rows(&plate);
    open_output(&plate);
    make_columns(&plate);
    fill(&plate, ranks);

    int slow = ranks > 5 ? 5 : ranks - 1;
    int sweeps = options.uneven && plate.rank == slow ? 2 : 1;
    double change = 0;
    for (int number = 0; number < options.steps; number++) {
        change = step(&plate, number, sweeps);
        if (number % REPORT_EVERY == 0) report(&plate);
    }
    if (rank == 0)
        printf("heat: %d x %d cells, %d steps, last change %.3e, hottest row %.3f\n", options.cells, options.cells,
               options.steps, change, plate.sums[0]);

    MPI_Type_free(&plate.edge);
    free(plate.now), free(plate.next), free(plate.sums), free(plate.maxima), free(plate.all);
    MPI_Comm_free(&plate.row), MPI_Comm_free(&plate.column), MPI_Comm_free(&plate.output), MPI_Comm_free(&plate.grid);
    MPI_Finalize();
    return 0;
}
