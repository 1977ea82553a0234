/* Two ranks send each other long messages. In every second step the receiver works before it receives, or both work alike. */
#include "planted.h"

#define VALUES (1 << 15)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    static double data[VALUES];
    for (int step = 0; step < 32; step++) {
        int receiver = step / 2 % 2;
        if (step % 2 && (!is_planted || rank == receiver))
            work_ms(60);
        if (rank != receiver)
            MPI_Send(data, VALUES, MPI_DOUBLE, receiver, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(data, VALUES, MPI_DOUBLE, 1 - receiver, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}
