/* A communicator for each step that nobody frees. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm own = MPI_COMM_NULL;
    double sum, part = rank;
    for (int step = 0; step < 60; step++) {
        work_ms(5);
        if (is_planted || step == 0)
            MPI_Comm_dup(MPI_COMM_WORLD, &own);
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, own);
    }
    if (!is_planted)
        MPI_Comm_free(&own);
    return end();
}
