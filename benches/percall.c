/* What one call costs: nanoseconds per iteration of each case, on one rank.
 * usage: percall CASE|all ITERATIONS REPETITIONS   prints `case,iterations,min_ns,median_ns` lines
 * The case `floor` is what the cheapest possible wrapper pays: two readings of the time-stamp counter and one addition. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#define TICKS() __rdtsc()
#else
#define TICKS() ((uint64_t)clock())
#endif

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

static const struct { const char *name; void (*run)(void); int divisor; } cases[] = {
    {"floor", do_floor, 1}, {"send_proc_null", do_send_null, 1}, {"iprobe", do_iprobe, 1}, {"test_null", do_test_null, 1},
    {"sendrecv_self", do_sendrecv_self, 1}, {"allreduce_self", do_allreduce_self, 1}, {"allreduce_dup", do_allreduce_dup, 1},
    {"isend_irecv_waitall_self", do_exchange_self, 1}, {"isend_irecv_waitall_64_comms", do_exchange_64_comms, 1},
    {"32_isend_32_irecv_waitall", do_waitall_64, 40}, {"dup_free", do_dup_free, 200},
};

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: percall CASE|all ITERATIONS REPETITIONS\n"), 2;
    int repetitions = atoi(argv[3]);
    double *ns = malloc(sizeof *ns * repetitions);
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 64; i++) MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (strcmp(argv[1], "all") && strcmp(argv[1], cases[c].name)) continue;
        long iterations = atol(argv[2]) / cases[c].divisor;
        if (iterations == 0) iterations = 1;
        for (int r = 0; r < repetitions; r++) {
            double begin = now_ns();
            for (long i = 0; i < iterations; i++) cases[c].run();
            ns[r] = (now_ns() - begin) / iterations;
        }
        qsort(ns, repetitions, sizeof *ns, ascending);
        printf("%s,%ld,%.2f,%.2f\n", cases[c].name, iterations, ns[0], ns[repetitions / 2]);
    }
    MPI_Finalize();
    return 0;
}
