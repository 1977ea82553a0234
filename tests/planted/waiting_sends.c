/* Two ranks send each other long messages. In every eighth step the receiver works before it receives, or both work alike. The work is long and
   the other steps are many, so that some of these find both ranks on a processor also where other programs want it. */
#include "planted.h"

#define VALUES (1 << 16)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    static double data[VALUES];
    for (int step = 0; step < 64; step++) {
        int receiver = step / 8 % 2;
        if (step % 8 == 0 && (!is_planted || rank == receiver))
            work_ms(300);
        if (rank != receiver)
            MPI_Send(data, VALUES, MPI_DOUBLE, receiver, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(data, VALUES, MPI_DOUBLE, 1 - receiver, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}
