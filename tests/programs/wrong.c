/* Wrong calls on a communicator with an error handler of the program's own, which only counts. All other errors are fatal. Prints what each call
 * returned: MPICH since 4.2 returns MPI_SUCCESS then. The first of its kind each. */
#include "handled.h"

int main(int argc, char **argv)
{
    MPI_Errhandler counting;
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    int in[8], out[8] = {0}, negative[2] = {-3, -3}, places[2] = {0};
    MPI_Datatype none[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(count_errors, &counting);
    MPI_Comm_set_errhandler(comm, counting);
    say("send of -1", MPI_Send(out, -1, MPI_CHAR, 0, 0, comm));
    say("send of no type", MPI_Ssend(out, 1, MPI_DATATYPE_NULL, 0, 0, comm));
    say("send to nobody", MPI_Bsend(out, 1, MPI_CHAR, 99, 0, comm));
    say("isend of -1", MPI_Isend(out, -1, MPI_CHAR, 0, 0, comm, &request));
    say("irecv of -1", MPI_Irecv(in, -1, MPI_CHAR, 0, 0, comm, &request));
    say("broadcast from nobody", MPI_Bcast(out, 1, MPI_INT, 99, comm));
    say("gather to nobody", MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 99, comm));
    say("alltoallv of -3", MPI_Alltoallv(out, negative, places, MPI_INT, in, negative, places, MPI_INT, comm));
    say("alltoallw of -3", MPI_Alltoallw(out, negative, places, none, in, negative, places, none, comm));
    /* The same where the call is known. */
    for (int i = 0; i < 3; i++) {
        MPI_Sendrecv(out, 1, MPI_CHAR, 0, 0, in, 1, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
        MPI_Allreduce(out, in, 1, MPI_CHAR, MPI_BAND, comm);
        MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, comm);
    }
    say("sendrecv of -1", MPI_Sendrecv(out, -1, MPI_CHAR, 0, 0, in, 1, MPI_CHAR, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
    MPI_Finalize();
    return 0;
}
