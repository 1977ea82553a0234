/* One rank collects from all what it then sends to all. */
#include "planted.h"

#define VALUES 1000

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm all;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    double own[VALUES] = {0}, *whole = calloc(size * VALUES, sizeof *whole);
    for (int step = 0; step < 40; step++) {
        work_ms(5);
        if (is_planted) {
            MPI_Gather(own, VALUES, MPI_DOUBLE, whole, VALUES, MPI_DOUBLE, 0, all);
            MPI_Bcast(whole, size * VALUES, MPI_DOUBLE, 0, all);
        } else {
            MPI_Allgather(own, VALUES, MPI_DOUBLE, whole, VALUES, MPI_DOUBLE, all);
        }
    }
    free(whole);
    MPI_Comm_free(&all);
    return end();
}
