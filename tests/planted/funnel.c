/* A sum over messages that all go to one rank, and one over a tree. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double sum = 0, part = rank;
    for (int step = 0; step < 60; step++) {
        work_ms(5);
        if (!is_planted)
            MPI_Reduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (rank > 0)
            MPI_Send(&part, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        else
            for (int from = 1; from < size; from++) {
                double one;
                MPI_Recv(&one, 1, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                sum += one;
            }
    }
    return end();
}
