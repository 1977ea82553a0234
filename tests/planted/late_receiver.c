/* Ranks send a long message to a rank that has posted its receive and works before it waits for it, or waits at once. */
#include "planted.h"

#define VALUES (1 << 20)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    static double data[VALUES];
    MPI_Request request;
    for (int step = 0; step < 10; step++) {
        if (rank == 0) {
            MPI_Send(data, VALUES, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            if (!is_planted)
                work_ms(60);
        } else {
            MPI_Irecv(data, VALUES, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
            if (is_planted)
                work_ms(60);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (!is_planted)
                work_ms(60);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return end();
}
