/* A root sends its values to every other rank by itself, or by a broadcast. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double values[64] = {rank};
    for (int step = 0; step < 100; step++)
        if (!is_planted)
            MPI_Bcast(values, 64, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        else if (rank == 0)
            for (int other = 1; other < size; other++)
                MPI_Send(values, 64, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(values, 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end();
}
