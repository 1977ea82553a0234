/* The same halves are made anew for each step. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm half = MPI_COMM_NULL;
    double sum, part = rank;
    for (int step = 0; step < 60; step++) {
        work_ms(5);
        if (is_planted || step == 0)
            MPI_Comm_split(MPI_COMM_WORLD, 2 * rank / size, rank, &half);
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
        if (is_planted || step == 59)
            MPI_Comm_free(&half);
    }
    return end();
}
