/* Values that go to the neighbour one by one, and in one message. */
#include "planted.h"

#define VALUES 200

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double out[VALUES] = {0}, in[VALUES];
    MPI_Request requests[2 * VALUES];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int parts = is_planted ? VALUES : 1;
    for (int step = 0; step < 100; step++) {
        for (int i = 0; i < parts; i++)
            MPI_Irecv(in + i, VALUES / parts, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < parts; i++)
            MPI_Isend(out + i, VALUES / parts, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &requests[parts + i]);
        MPI_Waitall(2 * parts, requests, MPI_STATUSES_IGNORE);
    }
    return end();
}
