/* Duplicates on which nobody communicates; one, as libraries make it for themselves, is no fault. */
#include "planted.h"

#define MOST 16

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm own[MOST];
    int count = is_planted ? MOST : 1;
    for (int i = 0; i < count; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    double sum, part = rank;
    for (int step = 0; step < 10; step++) {
        work_ms(20);
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    for (int i = 0; i < count; i++)
        MPI_Comm_free(&own[i]);
    return end();
}
