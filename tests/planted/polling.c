/* Ranks ask for a message all the time that their neighbour needs to send it, or work themselves meanwhile. */
#include "planted.h"

int main(int argc, char **argv)
{
    /* On a busy machine Open MPI would give away a time slice each time, and ask a hundred times instead of ten thousand. */
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
    begin(&argc, &argv);
    double in, out = rank;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int step = 0; step < 16; step++) {
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, &request);
        int done = 0, is_asking = rank % 2 == step % 2;
        if (!is_planted || !is_asking)
            work_ms(40);
        MPI_Send(&out, 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD);
        while (is_planted && !done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return end();
}
