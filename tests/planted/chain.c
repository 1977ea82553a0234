/* In each step a rank begins when the one before it has ended, or all begin at once. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double part = rank;
    for (int step = 0; step < 8; step++) {
        if (!is_planted)
            work_ms(40);
        if (rank > 0)
            MPI_Recv(&part, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (is_planted)
            work_ms(40);
        if (rank + 1 < size)
            MPI_Send(&part, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end();
}
