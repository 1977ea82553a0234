/* What one call costs: nanoseconds per iteration of a case, on one rank, the fastest of some repetitions.
 * usage: percall CASE ITERATIONS REPETITIONS [paused]   prints `case,fastest_ns,grown_bytes`, both per iteration
 * The case `floor` is what the cheapest possible wrapper pays: two readings of the time-stamp counter and one addition. */
#include <mpi.h>
#include "timing.h"

enum { WARM_UP = 100 }; /* every communicator met, every function found */

static MPI_Comm comms[64];
static int one = 1, two, flag;
static volatile uint64_t sum;

static void do_floor(void) { uint64_t begin = TICKS(); sum += TICKS() - begin; }
static void do_send_null(void) { MPI_Send(&one, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD); }
static void do_iprobe(void) { MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); }
static void do_test_null(void) { MPI_Request request = MPI_REQUEST_NULL; MPI_Test(&request, &flag, MPI_STATUS_IGNORE); }
static void do_sendrecv_self(void) {
    MPI_Sendrecv(&one, 1, MPI_INT, 0, 0, &two, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}
static void do_allreduce_self(void) { MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF); }
static void do_allreduce_dup(void) { MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, comms[0]); }
static void exchange(MPI_Comm comm) {
    MPI_Request requests[2];
    MPI_Isend(&one, 1, MPI_INT, 0, 0, comm, &requests[0]);
    MPI_Irecv(&two, 1, MPI_INT, 0, 0, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
static void do_exchange_self(void) { exchange(MPI_COMM_SELF); }
static void do_exchange_64_comms(void) { static unsigned turn; exchange(comms[turn++ % 64]); }
static void do_waitall_64(void) {
    MPI_Request requests[64];
    static int in[32];
    for (int i = 0; i < 32; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 32; i++) MPI_Isend(&one, 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[32 + i]);
    MPI_Waitall(64, requests, MPI_STATUSES_IGNORE);
}
static void do_dup_free(void) { MPI_Comm dup; MPI_Comm_dup(MPI_COMM_SELF, &dup); MPI_Comm_free(&dup); }

static const struct { const char *name; void (*run)(void); } cases[] = {
    {"floor", do_floor}, {"send_proc_null", do_send_null}, {"iprobe", do_iprobe}, {"test_null", do_test_null},
    {"sendrecv_self", do_sendrecv_self}, {"allreduce_self", do_allreduce_self}, {"allreduce_dup", do_allreduce_dup},
    {"isend_irecv_waitall_self", do_exchange_self}, {"isend_irecv_waitall_64_comms", do_exchange_64_comms},
    {"32_isend_32_irecv_waitall", do_waitall_64}, {"dup_free", do_dup_free},
};

/* Under its own name and never inlined: callgrind counts from its entry to its exit, and nowhere else. */
__attribute__((noipa)) void timed_loop(void (*run)(void), long iterations)
{
    for (long i = 0; i < iterations; i++) run();
}

int main(int argc, char **argv)
{
    void (*run)(void) = NULL;
    for (size_t c = 0; argc >= 4 && c < sizeof cases / sizeof *cases; c++)
        if (!strcmp(argv[1], cases[c].name)) run = cases[c].run;
    if (!run) return fprintf(stderr, "usage: percall CASE ITERATIONS REPETITIONS [paused]\n"), 2;
    long iterations = atol(argv[2]);
    int repetitions = atoi(argv[3]), paused = argc > 4;
    double *ns = malloc(sizeof *ns * repetitions);
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 64; i++) MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    for (int i = 0; i < WARM_UP; i++) run();
    if (paused) MPI_Pcontrol(0);
    long before_kib = self_kib("smaps_rollup", "Rss:");
    for (int r = 0; r < repetitions; r++) {
        double begin = now_ns();
        timed_loop(run, iterations);
        ns[r] = (now_ns() - begin) / iterations;
    }
    double grown_bytes = (self_kib("smaps_rollup", "Rss:") - before_kib) * 1024.0;
    printf("%s,%.2f,%.1f\n", argv[1], least(ns, repetitions), grown_bytes / iterations / repetitions);
    MPI_Finalize();
    return 0;
}
