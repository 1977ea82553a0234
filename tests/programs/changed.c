/* A program that exchanges over the rows and columns of a grid; it is changed by "calls" (one more reduction in each step, on the rows) or by
 * "size" (messages on the columns twice as long). */
#include <mpi.h>
#include <string.h>

enum { STEPS = 20, LENGTH = 1 << 12 };

int main(int argc, char **argv)
{
    static char out[2 * LENGTH], in[2 * LENGTH];
    const char *change = argc > 1 ? argv[1] : "";
    int rank, ranks, place, size, sum;
    MPI_Comm grid, row, column;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &grid);
    MPI_Comm_split(grid, rank / (ranks / 2), rank, &row);
    MPI_Comm_split(grid, rank % (ranks / 2), rank, &column);
    MPI_Comm_rank(column, &place);
    MPI_Comm_size(column, &size);
    int more = strcmp(change, "calls") ? 0 : 1, bytes = strcmp(change, "size") ? LENGTH : 2 * LENGTH;
    for (int step = 0; step < STEPS; step++) {
        for (int call = 0; call < 1 + more; call++)
            MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, row);
        MPI_Sendrecv(out, bytes, MPI_CHAR, (place + 1) % size, 0, in, bytes, MPI_CHAR, (place + size - 1) % size, 0, column,
                     MPI_STATUS_IGNORE);
        MPI_Barrier(grid);
    }
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
