/* Persistent collectives of one size, one of them of the [v,w] forms, which one call completes. Needs MPI 4. */
#include <mpi.h>

int main(int argc, char **argv)
{
    enum { BYTES = 200, ROUNDS = 6 };
    char out[BYTES] = {0}, in[BYTES];
    int count = BYTES, place = 0;
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Alltoallv_init(out, &count, &place, MPI_CHAR, in, &count, &place, MPI_CHAR, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Bcast_init(in, BYTES, MPI_CHAR, 0, comm, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Start(&requests[0]);
        MPI_Start(&requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&requests[i]);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
