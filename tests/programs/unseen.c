/* unseen LEVEL: a request that gets the handle of one of the call that it is made in; and receives that are completed past the profiler, each
 * followed by another request that may get its handle. Only what MPI_ calls have completed may be told of, over their communicators. */
#include "generalized.h"
#include "truth.h"

enum { ROUNDS = 10 };

static MPI_Comm first, second, copy;
static MPI_Request inner;
static int in, out, two_in[2], two_out[2];

/* The call that completes the other request calls this, when it has freed that. */
static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Irecv(&in, 1, MPI_INT, 0, 2, second, &inner);
    return grequest_status(status, 0);
}

static void complete_unseen(void)
{
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, first, &request);
    PMPI_Send(&out, 1, MPI_INT, 0, 1, first);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int provided, level = argc > 1 ? atoi(argv[1]) : MPI_THREAD_SINGLE;
    MPI_Request request, both[2];
    MPI_Status statuses[2];
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_dup(MPI_COMM_SELF, &first);
    MPI_Comm_dup(MPI_COMM_SELF, &second);
    MPI_Irecv(&in, 1, MPI_INT, 0, 2, first, &both[0]);
    PMPI_Send(&out, 1, MPI_INT, 0, 2, first);
    MPI_Grequest_start(query, grequest_free, grequest_cancel, NULL, &both[1]);
    MPI_Grequest_complete(both[1]);
    MPI_Waitall(2, both, statuses);
    PMPI_Send(&out, 1, MPI_INT, 0, 2, second);
    MPI_Wait(&inner, MPI_STATUS_IGNORE);
    for (int round = 0; round < ROUNDS; round++) {
        complete_unseen();
        MPI_Irecv(two_in, 2, MPI_INT, 0, 1, second, &request);
        PMPI_Send(two_out, 2, MPI_INT, 0, 1, second);
        MPI_Wait(&request, MPI_STATUS_IGNORE);

        complete_unseen();
        MPI_Issend(two_out, 2, MPI_INT, 0, 1, second, &request);
        PMPI_Recv(two_in, 2, MPI_INT, 0, 1, second, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);

        complete_unseen();
        MPI_Recv_init(two_in, 2, MPI_INT, 0, 1, second, &request);
        MPI_Start(&request);
        PMPI_Send(two_out, 2, MPI_INT, 0, 1, second);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);

        complete_unseen();
        MPI_Comm_idup(second, &copy, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(copy);
        MPI_Comm_free(&copy);
    }
    MPI_Finalize();
    return 0;
}
