/* jumped CALL: a handler of a signal that leaves by a jump, at the first instructions of the profiler's in a matched probe (probe), the receive
 * of its message (receive), or a neighborhood collective (gather). The calls behind it do what they do, and it prints how many barriers are
 * among them. */
#include "steps.h"
#include "truth.h"
#include <setjmp.h>
#include <unistd.h>

enum { STRIDE = 2, MOST_STEPS = 110, AT_PROBE = 1, AT_RECEIVE = 2 };

static MPI_Comm one, grid, other;
static sigjmp_buf back;
static volatile int steps, target, stage, left_at;
static MPI_Message message;
static MPI_Request going;
static int out, in, around[2], barriers;

#ifdef __x86_64__
static void jump(ucontext_t *at)
{
    (void)at;
    if (stage == left_at && ++steps == target) {
        is_stepping = 0;
        siglongjmp(back, 1);
    }
}
#endif

static void probe(void)
{
    stage = AT_PROBE;
    MPI_Mprobe(0, 1, one, &message, MPI_STATUS_IGNORE);
    stage = AT_RECEIVE;
    MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void gather(void) { MPI_Neighbor_allgather(&out, 1, MPI_INT, around, 1, MPI_INT, grid); }

/* What the jump has left undone of the message. */
static void receive(void)
{
    if (message != MPI_MESSAGE_NULL)
        MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    else if (stage == AT_PROBE)
        MPI_Recv(&in, 1, MPI_INT, 0, 1, one, MPI_STATUS_IGNORE);
    EXPECT(in == out);
    MPI_Wait(&going, MPI_STATUS_IGNORE);
}

static void leave(void (*call)(void))
{
    steps = 0;
    if (!sigsetjmp(back, 1)) step(call);
}

int main(int argc, char **argv)
{
    int size = 1, is_periodic = 1;
    MPI_Init(&argc, &argv);
    EXPECT(argc == 2);
    left_at = argv[1][0] == 'p' ? AT_PROBE : argv[1][0] == 'r' ? AT_RECEIVE : 0;
    MPI_Comm_dup(MPI_COMM_SELF, &one);
    MPI_Cart_create(MPI_COMM_SELF, 1, &size, &is_periodic, 0, &grid);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
#ifdef __x86_64__
    begin_steps(jump);
#endif
    for (target = 1; target < MOST_STEPS; target += STRIDE) {
        alarm(60);
        if (left_at) {
            out = target;
            message = MPI_MESSAGE_NULL;
            MPI_Isend(&out, 1, MPI_INT, 0, 1, one, &going);
            leave(probe);
            receive();
        } else {
            leave(gather);
        }
        MPI_Barrier(other);
        barriers++;
    }
    alarm(0);
    printf("%d\n", barriers);
    MPI_Finalize();
    return 0;
}
