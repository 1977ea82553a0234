/* In each step another rank comes late. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double sum, part = rank;
    for (int step = 0; step < 16; step++) {
        work_ms(is_planted ? (step % size == rank ? 60 : 20) : 30);
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return end();
}
