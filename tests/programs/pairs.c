/* Fifty messages of 100 bytes between the ranks of each pair, and nothing that would connect other ranks. Needs an even number of them. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    char out[100] = {0}, in[100];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 50; i++)
        MPI_Sendrecv(out, 100, MPI_CHAR, rank ^ 1, 0, in, 100, MPI_CHAR, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
