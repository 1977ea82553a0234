/* Two rows of ranks add up; on the second one its last rank comes late each time. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm row;
    MPI_Comm_split(MPI_COMM_WORLD, 2 * rank / size, rank, &row);
    double sum, part = rank;
    for (int step = 0; step < 16; step++) {
        work_ms(is_planted && rank == size - 1 ? 60 : 20);
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, row);
    }
    MPI_Comm_free(&row);
    return end();
}
