/* Rows of two: in the second one a rank works longer, so that the other comes late to the whole. The world waits for both. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double sum, part = rank;
    MPI_Comm row;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_set_name(row, "row");
    for (int step = 0; step < 12; step++) {
        work_ms(is_planted && rank == 2 ? 80 : 20);
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, row);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&row);
    return end();
}
