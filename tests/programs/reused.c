/* A receive that is too long fails, and the handler of errors sets up a persistent receive, which libraries give the handle that has just become free.
 * argv: whether the one that fails is persistent, too, and by what it is completed. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10, SHORT = 10, LONG = 20, BYTES = 33 };

static MPI_Comm failing, other;
static MPI_Request made;
static char out[BYTES], in[BYTES];

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    MPI_Recv_init(in, BYTES, MPI_BYTE, 0, 0, other, &made);
}

int main(int argc, char **argv)
{
    int is_persistent = strcmp(argv[1], "persistent") == 0;
    const char *way = argv[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &failing);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(failing, own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own); /* MPICH may call that of these. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request send, receive;
        MPI_Status status;
        int count, index;
        MPI_Isend(out, LONG, MPI_BYTE, 0, 0, failing, &send);
        if (is_persistent) {
            MPI_Recv_init(in, SHORT, MPI_BYTE, 0, 0, failing, &receive);
            MPI_Start(&receive);
        } else {
            MPI_Irecv(in, SHORT, MPI_BYTE, 0, 0, failing, &receive);
        }
        if (strcmp(way, "wait") == 0)
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
        else if (strcmp(way, "all") == 0)
            MPI_Waitall(1, &receive, MPI_STATUSES_IGNORE);
        else
            MPI_Waitsome(1, &receive, &count, &index, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Start(&made);
        MPI_Isend(out, BYTES, MPI_BYTE, 0, 0, other, &send);
        MPI_Wait(&made, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Request_free(&made);
    }
    MPI_Finalize();
    return 0;
}
