/* Neighbours exchange, and one rank works longer than the others. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double in, out = rank;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int step = 0; step < 16; step++) {
        work_ms(is_planted && rank == 2 ? 60 : 20);
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, next, 0, &in, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}
