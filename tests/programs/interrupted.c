/* Calls of MPI by a handler of a signal, at each instruction of the profiler's in other calls: the standard does not allow them, but
 * programs with timers make them, and they do no harm where none of MPI is interrupted. */
#include "steps.h"
#include "truth.h"

enum { ROUNDS = 3 };

static MPI_Comm one, other;
static int barriers, tests;

#ifdef __x86_64__
static void interrupt(ucontext_t *at)
{
    (void)at;
    if ((barriers + tests) % 2) {
        MPI_Barrier(other);
        barriers++;
    } else {
        MPI_Request none = MPI_REQUEST_NULL;
        int flag;
        MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
        tests++;
    }
}
#endif

static void probe(void)
{
    int flag;
    MPI_Iprobe(0, 1, one, &flag, MPI_STATUS_IGNORE);
}

static void send_to_nobody(void) { MPI_Send(&barriers, 1, MPI_INT, MPI_PROC_NULL, 0, one); }

static void barrier(void) { MPI_Barrier(one); }

static void reduce(void)
{
    int give = 1, take;
    MPI_Allreduce(&give, &take, 1, MPI_INT, MPI_SUM, one);
}

int main(int argc, char **argv)
{
    static void (*const calls[])(void) = {probe, send_to_nobody, barrier, reduce};
    int rank;
    truth_init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *one_label = label_of("one of %d", rank), *other_label = label_of("other of %d", rank);
    MPI_Comm_dup(MPI_COMM_SELF, &one);
    made(one, one_label, "MPI_Comm_dup", "SELF");
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    made(other, other_label, "MPI_Comm_dup", "SELF");
#ifdef __x86_64__
    begin_steps(interrupt);
#endif
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            calls[i](); /* from now on nothing of it is new */
            MPI_Barrier(other);
            called(other_label, "MPI_Barrier");
            step(calls[i]);
        }
    for (int i = 0; i < 2 * ROUNDS; i++) {
        called(one_label, "MPI_Iprobe");
        carried(one_label, "MPI_Send", sizeof(int), 0, 0);
        called(one_label, "MPI_Barrier");
        carried(one_label, "MPI_Allreduce", sizeof(int), sizeof(int), sizeof(int));
    }
    for (int i = 0; i < barriers; i++) called(other_label, "MPI_Barrier");
    for (int i = 0; i < tests; i++) called("-", "MPI_Test");
#ifdef __x86_64__
    if (high && barriers + tests < 100) return 3;
#endif
    free_comm(&one, one_label);
    free_comm(&other, other_label);
    truth_finalize();
    return 0;
}
