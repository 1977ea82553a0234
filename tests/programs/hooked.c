/* hooked [ROUNDS]: messages, reductions and something outside of MPI, for a hook module to tell of. With $HOOKED_DIES it ends badly. */
#define _GNU_SOURCE
#include "truth.h"
#include "meet.h"
#include <dlfcn.h>

static void exchange(MPI_Comm comm, int length)
{
    static char out[100000], in[100000];
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request request;
    MPI_Isend(out, length, MPI_CHAR, next, 1, comm, &request);
    MPI_Recv(in, sizeof in, MPI_CHAR, before, 1, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank % 2 == 0 && rank + 1 < size)
        MPI_Send(out, length / 2, MPI_CHAR, rank + 1, 2, comm);
    if (rank % 2 == 1)
        MPI_Recv(in, sizeof in, MPI_CHAR, rank - 1, 2, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm half;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    void (*outside)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "made_up_outside");
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    for (int round = 0; round < rounds; round++) {
        double one = 1, sum;
        /* Each of its own length, so that no message can be taken for another one. */
        exchange(MPI_COMM_WORLD, 10 + 2 * round);
        exchange(half, 70000 + 2 * round);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        if (outside)
            outside();
    }
    MPI_Pcontrol(0);
    exchange(MPI_COMM_WORLD, 10);
    MPI_Pcontrol(1);
    MPI_Comm_free(&half);
    if (getenv("HOOKED_DIES")) {
        meet(rank, size);
        abort();
    }
    MPI_Finalize();
    return 0;
}
