/* A message that comes long after its receive, and one that comes when it is expected. */
#include "planted.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double in[2], out = rank;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int step = 0; step < 16; step++) {
        work_ms(is_planted && rank == 1 ? 100 : 20);
        MPI_Request request;
        MPI_Isend(&out, 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(in, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        /* All take as long for a step as the late one, and the one that waits for it. */
        work_ms(is_planted && rank != 1 && rank != 2 ? 80 : 0);
    }
    return end();
}
