/* A program whose messages somebody else's would meet: the first one is a broadcast, and ranks wait for anything from anybody, before
 * others and after others have come to MPI_Finalize. What it prints is the same in every run. */
#include <mpi.h>
#include <stdio.h>

static void answer(int *data, int count, MPI_Comm comm)
{
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (rank > 0) {
        MPI_Send(&rank, 1, MPI_INT, 0, rank, comm);
        MPI_Recv(data, count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = 1; i < ranks; i++) {
        int who = -1;
        MPI_Status status;
        MPI_Recv(&who, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        if (who != status.MPI_SOURCE || who != status.MPI_TAG)
            printf("from %d with tag %d came %d\n", status.MPI_SOURCE, status.MPI_TAG, who);
    }
    for (int i = 1; i < ranks; i++)
        MPI_Send(data, count, MPI_INT, i, 7, comm);
}

int main(int argc, char **argv)
{
    int rank, ranks, data[256], wrong = 0, all = 0;
    MPI_Comm dup, half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 256; i++)
        data[i] = rank ? -1 : i;
    MPI_Bcast(data, 256, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 256; i++)
        wrong += data[i] != i;
    answer(data, 256, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(dup, rank % 2, 0, &half);
    answer(data, 100, half);
    for (int i = 0; i < 256; i++)
        wrong += data[i] != i;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, dup);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
    /* The last rank waits for a word of rank 0's, which says it last. */
    if (rank == 0)
        printf("%d wrong\n", all);
    if (rank == 0 && ranks > 1)
        MPI_Send(data, 64, MPI_INT, ranks - 1, 9, MPI_COMM_WORLD);
    if (rank && rank == ranks - 1) {
        MPI_Recv(data, 256, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 64; i++)
            all += data[i] != i;
    }
    MPI_Finalize();
    return all ? 1 : 3;
}
