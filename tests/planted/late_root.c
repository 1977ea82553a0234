/* The root of a broadcast reads something before each step while the others wait for it, or all begin at once. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double part = rank;
    for (int step = 0; step < 12; step++) {
        if (rank == 1 || !is_planted)
            work_ms(40);
        MPI_Bcast(&part, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end();
}
