/* In every second step the receiver of a long message works before it receives it, or both work alike. */
#include "planted.h"

#define VALUES (1 << 15)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    static double data[VALUES];
    for (int step = 0; step < 24; step++) {
        if (step % 2 && (!is_planted || rank == 1))
            work_ms(60);
        if (rank == 0)
            MPI_Send(data, VALUES, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(data, VALUES, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}
