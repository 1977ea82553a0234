/* A barrier before each sum, which holds the ranks anyway. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double sum, part = rank;
    for (int step = 0; step < 100; step++) {
        work_ms(5);
        if (is_planted)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return end();
}
