/* lines_waits: calls over several requests after others that the program has left by a jump, one made within the other. Each is charged to its own line. */
#include "lines.h"
#include "generalized.h"

#include <setjmp.h>

static jmp_buf out;
static MPI_Comm own;
static int depth;

static int leave(void *state, MPI_Status *status);

/* A send to self and its receive, and a request whose completion calls `leave` in the call that completes it. */
static void begin(MPI_Request requests[3], int leaves)
{
    static int give, take;
    MPI_Irecv(&take, 1, MPI_INT, 0, 0, own, &requests[0]);
    MPI_Isend(&give, 1, MPI_INT, 0, 0, own, &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    if (leaves) {
        PMPI_Grequest_start(leave, grequest_free, grequest_cancel, NULL, &requests[2]);
        PMPI_Grequest_complete(requests[2]);
    }
}

static int leave(void *state, MPI_Status *status)
{
    MPI_Request requests[3];
    (void)state, (void)status;
    if (depth++)
        longjmp(out, 1);
    begin(requests, 1);
    return AT("own", MPI_Waitall, 0, 0, 3, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Request requests[3];
    AT("WORLD", MPI_Init, 0, 0, &argc, &argv);
    lines_begin();
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    MPI_Comm_set_name(own, "own");
    for (volatile int i = 0; i < 3; i++) {
        depth = 0;
        begin(requests, 1);
        if (!setjmp(out))
            AT("own", MPI_Waitall, 0, 0, 3, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 3; k++) {
            begin(requests, 0);
            AT("own", MPI_Waitall, 0, 0, 3, requests, MPI_STATUSES_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
