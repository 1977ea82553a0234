// A halo exchange on a grid: halo DIMS PERIODS STEPS, such as halo 3,4 0,1 10. With a fourth word, rank 0 sends its result to the last rank.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int numbers(char *text, int *into)
{
    int count = 0;
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ","))
        into[count++] = atoi(word);
    return count;
}

int main(int argc, char **argv)
{
    static double sent[1000], received[1000];
    int dims[4], periods[4], rank, last;
    MPI_Comm grid;

    MPI_Init(&argc, &argv);
    int count = numbers(argv[1], dims);
    numbers(argv[2], periods);
    MPI_Cart_create(MPI_COMM_WORLD, count, dims, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Comm_size(grid, &last);
    last -= 1;
    for (int step = 0; step < atoi(argv[3]); step++)
        for (int way = 0; way < 2 * count; way++) {
            int source, target;
            MPI_Cart_shift(grid, way / 2, way % 2 ? 1 : -1, &source, &target);
            MPI_Sendrecv(sent, 1000, MPI_DOUBLE, target, way, received, 1000, MPI_DOUBLE, source, way, grid, MPI_STATUS_IGNORE);
        }
    if (argc > 4 && rank == 0)
        MPI_Send(sent, 100, MPI_DOUBLE, last, 99, grid);
    if (argc > 4 && rank == last)
        MPI_Recv(received, 100, MPI_DOUBLE, 0, 99, grid, MPI_STATUS_IGNORE);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
