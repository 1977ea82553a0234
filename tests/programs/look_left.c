/* A program polls an array of receives that do not come, and a handler of a signal leaves another call over many requests by a jump, while that notes them:
 * it writes over what was noted of the first ones. What completes behind the jump is one of these. Prints how many did. */
#include "leave.h"
#include "truth.h"
#include <unistd.h>

enum { STRIDE = 11, FEWEST_LEFT = 20, POLLED = 2, MOST = 20, SECONDS = 600 };

static MPI_Comm polled_comm, left_comm;
static MPI_Request polled[POLLED], left[MOST];
static int in[POLLED], in_left[MOST], count_left;

/* None is complete, so that it looks at all of them. */
static void poll_many(void)
{
    int index, flag;
    MPI_Testany(count_left, left, &index, &flag, MPI_STATUS_IGNORE);
}

static int poll(void)
{
    int index, flag;
    MPI_Testany(POLLED, polled, &index, &flag, MPI_STATUS_IGNORE);
    return flag ? index : MPI_UNDEFINED;
}

int main(int argc, char **argv)
{
    int rounds = 0, is_left = 1, out = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &polled_comm);
    MPI_Comm_dup(MPI_COMM_SELF, &left_comm);
    alarm(SECONDS);
    begin_leaving();
    for (int i = 0; i < MOST; i++)
        MPI_Irecv(&in_left[i], 1, MPI_INT, 0, i, left_comm, &left[i]);
    for (target = 1; is_left; target += STRIDE) {
        for (int i = 0; i < POLLED; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, 0, i, polled_comm, &polled[i]);
        for (int again = 0; again < 3; again++)
            EXPECT(poll() == MPI_UNDEFINED);
        /* More than there was room for so far, once. */
        count_left = rounds < 40 ? 6 : MOST;
        is_left = leave(poll_many);
        MPI_Barrier(MPI_COMM_SELF);
        EXPECT(poll() == MPI_UNDEFINED);
        EXPECT(poll() == MPI_UNDEFINED);
        for (int i = 0; i < POLLED; i++) {
            PMPI_Send(&out, 1, MPI_INT, 0, i, polled_comm);
            EXPECT(poll() == i);
        }
        rounds++;
    }
#ifdef __x86_64__
    if (high && rounds < FEWEST_LEFT) return 3;
#endif
    printf("%d\n", POLLED * rounds);
    for (int i = 0; i < MOST; i++)
        PMPI_Send(&out, 1, MPI_INT, 0, i, left_comm);
    PMPI_Waitall(MOST, left, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
