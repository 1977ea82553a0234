/* A token goes round, and only who holds it works; or all work, and the token goes round quickly. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double token = 0;
    int before = (rank + size - 1) % size, after = (rank + 1) % size;
    for (int round = 0; round < 6; round++) {
        if (!is_planted)
            work_ms(40);
        if (rank > 0 || round > 0)
            MPI_Recv(&token, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (is_planted)
            work_ms(40);
        MPI_Send(&token, 1, MPI_DOUBLE, after, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        MPI_Recv(&token, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end();
}
