/* A program in which commsee asks much of the system: its counters grow, it takes snapshots and names phases. What it prints is
 * the same in every run. */
#include <mpi.h>
#include <stdio.h>

enum { COMMS = 200 };

int main(int argc, char **argv)
{
    int rank, ranks, codes = 0, digest = 0;
    MPI_Comm comms[COMMS];
    codes |= MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < COMMS; i++) {
        int value = rank + i, sum = 0, peer = (rank + 1) % ranks, got = 0;
        codes |= MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        codes |= MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
        codes |= MPI_Sendrecv(&value, 1, MPI_INT, peer, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, comms[i], MPI_STATUS_IGNORE);
        digest = digest * 31 + sum + got;
        if (i == 50)
            codes |= MPI_Pcontrol(3, "second half");
        if (i == 100)
            codes |= MPI_Pcontrol(2);
    }
    int nowhere = MPI_Send(&rank, 1, MPI_INT, ranks + 7, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
    for (int i = 0; i < COMMS; i++)
        codes |= MPI_Comm_free(&comms[i]);
    for (int turn = 0; turn < ranks; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            int all[2] = {digest, codes};
            if (turn)
                MPI_Recv(all, 2, MPI_INT, turn, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("rank %d: digest %d, codes %d, sending to nobody fails: %d\n", turn, all[0], all[1], nowhere);
        } else if (rank == turn) {
            MPI_Send((int[2]){digest, codes}, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
        }
    }
    codes |= MPI_Finalize();
    return codes ? 1 : 0;
}
