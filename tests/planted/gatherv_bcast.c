/* One rank collects from all, in two size classes, what it then sends to all. */
#include "planted.h"

/* Of rank 0 they are less than 8 KiB, of the others more. */
#define VALUES 1000

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm all;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    int *counts = malloc(2 * size * sizeof *counts), *begins = counts + size, sum = 0;
    for (int other = 0; other < size; other++) {
        counts[other] = VALUES + 50 * other;
        begins[other] = sum;
        sum += counts[other];
    }
    double *own = calloc(counts[rank], sizeof *own), *whole = calloc(sum, sizeof *whole);
    for (int step = 0; step < 40; step++) {
        work_ms(5);
        if (is_planted) {
            MPI_Gatherv(own, counts[rank], MPI_DOUBLE, whole, counts, begins, MPI_DOUBLE, 0, all);
            MPI_Bcast(whole, sum, MPI_DOUBLE, 0, all);
        } else {
            MPI_Allgatherv(own, counts[rank], MPI_DOUBLE, whole, counts, begins, MPI_DOUBLE, all);
        }
    }
    free(whole);
    free(own);
    free(counts);
    MPI_Comm_free(&all);
    return end();
}
