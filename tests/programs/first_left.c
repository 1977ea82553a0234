/* A handler of a signal leaves the first call of an operation on a communicator by a jump, at an instruction of the profiler's: whatever was being
 * looked up for it is half there. Behind each jump the program makes three more such calls on that communicator, which is made for them and freed.
 * Prints for each operation how many calls were made so on each communicator, and how many communicators there were. */
#include "leave.h"
#include "truth.h"
#include <unistd.h>

/* Instructions from one jump to the next, and how many calls must have been left. */
enum { STRIDE = 5, FEWEST_LEFT = 20, BEHIND = 3, SECONDS = 600 };

static MPI_Comm comm;
static int one = 1, in;

static void barrier(void) { MPI_Barrier(comm); }
static void reduce(void) { MPI_Allreduce(&one, &in, 1, MPI_INT, MPI_SUM, comm); }
static void send_to_nobody(void) { MPI_Send(&one, 1, MPI_INT, MPI_PROC_NULL, 0, comm); }
static void exchange(void) { MPI_Sendrecv(&one, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE); }

/* Nothing arrives for what is left, and its request is lost. */
static void receive(void)
{
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, 0, is_stepping ? 1 : 0, comm, &request);
    if (!is_stepping) {
        PMPI_Send(&one, 1, MPI_INT, 0, 0, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        PMPI_Cancel(&request);
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } calls[] = {
        {"MPI_Barrier", barrier},   {"MPI_Allreduce", reduce}, {"MPI_Send", send_to_nobody},
        {"MPI_Sendrecv", exchange}, {"MPI_Irecv", receive},
    };
    MPI_Init(&argc, &argv);
    alarm(SECONDS);
    begin_leaving();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int rounds = 0, is_left = 1;
        for (target = 1; is_left; target += STRIDE) {
            MPI_Comm_dup(MPI_COMM_SELF, &comm);
            is_left = leave(calls[i].call);
            for (int again = 0; again < BEHIND; again++)
                calls[i].call();
            MPI_Comm_free(&comm);
            rounds++;
        }
#ifdef __x86_64__
        if (high && rounds < FEWEST_LEFT) return 3;
#endif
        printf("%s %d %d\n", calls[i].name, BEHIND, rounds);
    }
    MPI_Finalize();
    return 0;
}
