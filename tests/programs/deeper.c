/* A handler of a signal that leaves calls by a jump, at each of the first instructions of the profiler's in turn. A call stores first that it
 * begins, then its stack pointer. Left between the two, it has that of the call before, which was made further up the stack: then all calls
 * behind the jump seem to be made in it. One of them gets the handle of a request that was completed past the profiler. In a call it would be
 * followed beside that one, and its completion charged to the other's communicator. Prints how many requests were completed by MPI_Wait. */
#include "leave.h"
#include "truth.h"
#include <unistd.h>

/* Calls whose stack pointers lie so far apart may be made one in the other. */
enum { ROOM_BYTES = 1 << 14, MOST_STEPS = 100, FEWEST_STEPS = 20, SECONDS = 600 };

static MPI_Comm one, first, second;
static int rounds;

static void probe(void)
{
    int flag;
    MPI_Iprobe(0, 1, one, &flag, MPI_STATUS_IGNORE);
}

static void send_to_nobody(void) { MPI_Send(&rounds, 1, MPI_INT, MPI_PROC_NULL, 0, one); }

static void barrier(void) { MPI_Barrier(one); }

static void reduce(void)
{
    int give = 1, take;
    MPI_Allreduce(&give, &take, 1, MPI_INT, MPI_SUM, one);
}

/* The profiler sees only the completion over the second communicator. */
static void receive(void)
{
    MPI_Request request;
    int in, two_in[2], two_out[2] = {rounds, -rounds};
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, first, &request);
    PMPI_Send(&rounds, 1, MPI_INT, 0, 1, first);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(two_in, 2, MPI_INT, 0, 1, second, &request);
    PMPI_Send(two_out, 2, MPI_INT, 0, 1, second);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(in == rounds && two_in[1] == -rounds);
}

/* Far below the calls of `main`, which have left their stack pointer. */
static __attribute__((noinline)) int leave_deeper(void (*call)(void))
{
    volatile char room[ROOM_BYTES];
    room[0] = (char)leave(call);
    receive();
    return room[0];
}

int main(int argc, char **argv)
{
    static void (*const calls[])(void) = {probe, send_to_nobody, barrier, reduce};
    MPI_Init(&argc, &argv);
    alarm(SECONDS);
    MPI_Comm_dup(MPI_COMM_SELF, &one);
    MPI_Comm_dup(MPI_COMM_SELF, &first);
    MPI_Comm_dup(MPI_COMM_SELF, &second);
    begin_leaving();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int is_left = 1;
        calls[i](); /* from now on nothing of it is new */
        for (target = 1; is_left && target < MOST_STEPS; target++) {
            rounds++;
            MPI_Barrier(second);
            is_left = leave_deeper(calls[i]);
        }
#ifdef __x86_64__
        if (high && target < FEWEST_STEPS) return 3;
#endif
    }
    printf("%d\n", rounds);
    MPI_Finalize();
    return 0;
}
