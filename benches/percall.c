/* What one call costs: nanoseconds per iteration of a case, the fastest of some repetitions, on one rank; `pingpong` needs two.
 * usage: percall CASE[,CASE…] ITERATIONS REPETITIONS   prints `case,fastest_ns,grown_bytes` for each, both per iteration
 * The case `floor` is what the cheapest possible wrapper pays: two readings of the time-stamp counter and one addition. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include "timing.h"

/* On each communicator: a call that is shorter or longer than all before it takes more instructions, and many of the first few are. */
enum { WARM_UP = 128 };

static MPI_Comm comms[64];
static MPI_Request nulls[64], inactive, pending[16], persistent[2], halo[16];
static MPI_Comm grid;
static MPI_Win window;
static int one = 1, two, flag, rank, size;
static volatile uint64_t sum;

static void do_floor(void) { uint64_t begin = TICKS(); sum += TICKS() - begin; }
static void do_send_null(void) { MPI_Send(&one, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD); }
static void do_iprobe(void) { MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); }
static void do_test_null(void) { MPI_Request request = MPI_REQUEST_NULL; MPI_Test(&request, &flag, MPI_STATUS_IGNORE); }
static void do_test_inactive(void) { MPI_Test(&inactive, &flag, MPI_STATUS_IGNORE); }
static void do_testany_pending(void)
{
    int index;
    MPI_Testany(16, pending, &index, &flag, MPI_STATUS_IGNORE);
}
static void do_sendrecv_self(void) {
    MPI_Sendrecv(&one, 1, MPI_INT, 0, 0, &two, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}
static void do_allreduce_self(void) { MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF); }
static void do_allreduce_dup(void) { MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, comms[0]); }
static void do_allreduce_4_comms(void)
{
    static unsigned turn;
    MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, comms[turn++ % 4]);
}
static void do_allreduce_64_comms(void)
{
    static unsigned turn;
    MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, comms[turn++ % 64]);
}
static void do_bcast_self(void) { MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_SELF); }
static void do_barrier_self(void) { MPI_Barrier(MPI_COMM_SELF); }
static void exchange(MPI_Comm comm) {
    MPI_Request requests[2];
    MPI_Isend(&one, 1, MPI_INT, 0, 0, comm, &requests[0]);
    MPI_Irecv(&two, 1, MPI_INT, 0, 0, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
static void do_exchange_self(void) { exchange(MPI_COMM_SELF); }
static void do_exchange_4_comms(void) { static unsigned turn; exchange(comms[turn++ % 4]); }
static void do_exchange_64_comms(void) { static unsigned turn; exchange(comms[turn++ % 64]); }
static void do_wait_each(void)
{
    MPI_Request requests[2];
    MPI_Isend(&one, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(&two, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}
/* Neighbors: sends that are complete at once share a handle. */
static void do_exchange_2(void)
{
    MPI_Request requests[4];
    static int in[2];
    for (int i = 0; i < 2; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 2; i++) MPI_Isend(&one, 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[2 + i]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}
/* The same, with one neighbor after the other. */
static void do_exchange_in_turn(void)
{
    MPI_Request requests[8];
    static int in[4];
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[2 * i]);
        MPI_Isend(&one, 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[2 * i + 1]);
    }
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}
/* As the first, in a row and in a column. */
static void do_exchange_2_comms(void)
{
    MPI_Request requests[4];
    static int in[2];
    for (int i = 0; i < 2; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, 0, comms[i], &requests[i]);
    for (int i = 0; i < 2; i++) MPI_Isend(&one, 1, MPI_INT, 0, 0, comms[i], &requests[2 + i]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}
/* One neighbor, and none behind the border. */
static void do_exchange_border(void)
{
    MPI_Request requests[4];
    static int in[2];
    for (int i = 0; i < 2; i++) MPI_Irecv(&in[i], 1, MPI_INT, i ? 0 : MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 2; i++) MPI_Isend(&one, 1, MPI_INT, i ? 0 : MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[2 + i]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}
/* Across an edge and across a face. */
static void do_exchange_sizes(void)
{
    MPI_Request requests[4];
    static int in[2][64], out[64];
    for (int i = 0; i < 2; i++) MPI_Irecv(in[i], 64, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 2; i++) MPI_Isend(out, i ? 64 : 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[2 + i]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}
/* Two calls an iteration. */
static void do_allreduce_sizes(void)
{
    static int small[1], large[64];
    MPI_Allreduce(&one, small, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Allreduce(MPI_IN_PLACE, large, 64, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}
static void do_allreduce_types(void)
{
    static float fraction;
    MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Allreduce(MPI_IN_PLACE, &fraction, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
}
static void do_waitany_each(void)
{
    MPI_Request requests[32];
    static int in[16];
    for (int i = 0; i < 16; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 16; i++) MPI_Isend(&one, 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[16 + i]);
    for (int i = 0, index; i < 32; i++) MPI_Waitany(32, requests, &index, MPI_STATUS_IGNORE);
}
static void do_waitall_64(void) {
    MPI_Request requests[64];
    static int in[32];
    for (int i = 0; i < 32; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 32; i++) MPI_Isend(&one, 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[32 + i]);
    MPI_Waitall(64, requests, MPI_STATUSES_IGNORE);
}
static void do_startall(void) { MPI_Startall(2, persistent); MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE); }
static void do_start_each(void)
{
    for (int i = 0; i < 2; i++) MPI_Start(&persistent[i]);
    for (int i = 0; i < 2; i++) MPI_Wait(&persistent[i], MPI_STATUS_IGNORE);
}
static void do_waitall_one(void)
{
    MPI_Request request;
    MPI_Irecv(&two, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(&one, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}
static void do_waitany_persistent(void)
{
    MPI_Startall(16, halo);
    for (int i = 0, index; i < 16; i++) MPI_Waitany(16, halo, &index, MPI_STATUS_IGNORE);
}
static void do_mprobe(void)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Isend(&one, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    MPI_Mprobe(0, 0, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&two, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void do_improbe(void)
{
    MPI_Message message;
    MPI_Improbe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
}
static void do_phases(void)
{
    static const char *const names[] = {"assembly", "solve", "output"};
    static int next;
    MPI_Pcontrol(3, names[next = (next + 1) % 3]);
    MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}
static void do_neighbors(void)
{
    static int in[4];
    MPI_Neighbor_allgather(&one, 1, MPI_INT, in, 1, MPI_INT, grid);
}
static void do_waitall_null(void) { MPI_Waitall(64, nulls, MPI_STATUSES_IGNORE); }
static void do_put_flush(void) { MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, window); MPI_Win_flush(0, window); }
static void do_dup_free(void) { MPI_Comm dup; MPI_Comm_dup(MPI_COMM_SELF, &dup); MPI_Comm_free(&dup); }

/* There and back: what rank 0 measures. */
static void do_pingpong(void)
{
    static double message;
    for (int half = 0; half < 2; half++)
        if (half == rank)
            MPI_Send(&message, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&message, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void make_nulls(void)
{
    for (int i = 0; i < 64; i++) nulls[i] = MPI_REQUEST_NULL;
}
static void make_inactive(void) { MPI_Recv_init(&two, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &inactive); }
static void free_inactive(void) { MPI_Request_free(&inactive); }
static void make_persistent(void)
{
    MPI_Send_init(&one, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &persistent[0]);
    MPI_Recv_init(&two, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &persistent[1]);
}
static void free_persistent(void)
{
    for (int i = 0; i < 2; i++) MPI_Request_free(&persistent[i]);
}
static void make_halo(void)
{
    static int in[8];
    for (int i = 0; i < 8; i++) MPI_Recv_init(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &halo[i]);
    for (int i = 0; i < 8; i++) MPI_Send_init(&one, 1, MPI_INT, 0, i, MPI_COMM_SELF, &halo[8 + i]);
}
static void free_halo(void)
{
    for (int i = 0; i < 16; i++) MPI_Request_free(&halo[i]);
}
static void make_grid(void)
{
    int sizes[2] = {1, 1}, are_periodic[2] = {1, 1};
    MPI_Cart_create(MPI_COMM_SELF, 2, sizes, are_periodic, 0, &grid);
}
static void free_grid(void) { MPI_Comm_free(&grid); }
static void make_pending(void)
{
    for (int i = 0; i < 16; i++) MPI_Irecv(&two, 1, MPI_INT, 0, 100 + i, MPI_COMM_SELF, &pending[i]);
}
static void cancel_pending(void)
{
    for (int i = 0; i < 16; i++) MPI_Cancel(&pending[i]);
    MPI_Waitall(16, pending, MPI_STATUSES_IGNORE);
}
static void open_window(void)
{
    int *memory;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &memory, &window);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
}
static void close_window(void) { MPI_Win_unlock(0, window); MPI_Win_free(&window); }
static void end_phase(void) { MPI_Pcontrol(-1, NULL); }
static void pause_recording(void) { MPI_Pcontrol(0); }
static void resume_recording(void) { MPI_Pcontrol(1); }
/* Ranks that share a processor measure the scheduler. */
static void choose_processor(void)
{
    cpu_set_t set, own;
    sched_getaffinity(0, sizeof set, &set);
    CPU_ZERO(&own);
    for (int i = 0, seen = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set) && seen++ == rank) CPU_SET(i, &own);
    if (size != 2 || !CPU_COUNT(&own)) MPI_Abort(MPI_COMM_WORLD, 2);
    sched_setaffinity(0, sizeof own, &own);
}

static const struct { const char *name; void (*run)(void), (*before)(void), (*after)(void); } cases[] = {
    {"floor", do_floor}, {"send_proc_null", do_send_null}, {"iprobe", do_iprobe}, {"test_null", do_test_null},
    {"test_inactive", do_test_inactive, make_inactive, free_inactive},
    {"testany_16_pending", do_testany_pending, make_pending, cancel_pending},
    {"sendrecv_self", do_sendrecv_self}, {"allreduce_self", do_allreduce_self}, {"allreduce_dup", do_allreduce_dup},
    {"allreduce_4_comms", do_allreduce_4_comms}, {"allreduce_64_comms", do_allreduce_64_comms},
    {"bcast_self", do_bcast_self}, {"barrier_self", do_barrier_self},
    {"isend_irecv_waitall_self", do_exchange_self}, {"isend_irecv_waitall_4_comms", do_exchange_4_comms},
    {"isend_irecv_waitall_64_comms", do_exchange_64_comms}, {"isend_irecv_wait_each", do_wait_each},
    {"2_isend_2_irecv_waitall", do_exchange_2}, {"4_irecv_isend_waitall", do_exchange_in_turn},
    {"2_isend_2_irecv_waitall_2_comms", do_exchange_2_comms},
    {"2_isend_2_irecv_waitall_border", do_exchange_border}, {"2_isend_2_irecv_waitall_2_sizes", do_exchange_sizes},
    {"allreduce_2_sizes", do_allreduce_sizes}, {"allreduce_2_datatypes", do_allreduce_types},
    {"16_isend_16_irecv_waitany", do_waitany_each}, {"32_isend_32_irecv_waitall", do_waitall_64},
    {"startall_waitall", do_startall, make_persistent, free_persistent},
    {"start_wait_each", do_start_each, make_persistent, free_persistent},
    {"startall_16_waitany", do_waitany_persistent, make_halo, free_halo}, {"irecv_send_waitall_1", do_waitall_one},
    {"isend_mprobe_mrecv_wait", do_mprobe}, {"neighbor_allgather", do_neighbors, make_grid, free_grid},
    {"improbe", do_improbe}, {"pcontrol_allreduce", do_phases, NULL, end_phase},
    {"waitall_64_null", do_waitall_null, make_nulls}, {"put_flush", do_put_flush, open_window, close_window},
    {"dup_free", do_dup_free}, {"pingpong", do_pingpong, choose_processor},
    {"send_proc_null_paused", do_send_null, pause_recording, resume_recording},
    {"test_null_paused", do_test_null, pause_recording, resume_recording},
};

/* Under its own name and never inlined: callgrind counts from its entry to its exit, and nowhere else. */
__attribute__((noipa)) void timed_loop(void (*run)(void), long iterations)
{
    for (long i = 0; i < iterations; i++) run();
}

/* `Open MPI v4.1.4` or `MPICH Version: 4.0.2`, whatever else the library says of itself. */
static void say_version(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = 0;
    for (char *at = version; (at = strchr(at, '\t'));) *at = ' ';
    printf("# version: %s\n", version);
}

static size_t find(const char *name)
{
    size_t c = 0;
    while (c < sizeof cases / sizeof *cases && strcmp(name, cases[c].name)) c++;
    if (c == sizeof cases / sizeof *cases) fprintf(stderr, "percall: no case %s\n", name), exit(2);
    return c;
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: percall CASE[,CASE...] ITERATIONS REPETITIONS\n"), 2;
    long iterations = atol(argv[2]);
    int repetitions = atoi(argv[3]);
    double *ns = malloc(sizeof *ns * repetitions), *ticks = malloc(sizeof *ticks * repetitions);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 64; i++) MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    if (rank == 0) say_version();
    CALLGRIND_START_INSTRUMENTATION; /* beginning and end take most of the time */
    for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
        size_t c = find(name);
        if (cases[c].before) cases[c].before();
        int used = strstr(name, "_64_comms") ? 64 : strstr(name, "_4_comms") ? 4 : 1;
        for (int i = 0; i < used * WARM_UP; i++) cases[c].run();
        long before_kib = self_kib("smaps_rollup", "Rss:");
        for (int r = 0; r < repetitions; r++) {
            double begin_ns = now_ns();
            uint64_t begin = TICKS();
            timed_loop(cases[c].run, iterations);
            ticks[r] = (double)(TICKS() - begin) / iterations;
            ns[r] = (now_ns() - begin_ns) / iterations;
        }
        double grown_bytes = (self_kib("smaps_rollup", "Rss:") - before_kib) * 1024.0;
        if (rank == 0) {
            printf("# ticks: %.1f\n", least(ticks, repetitions));
            say_result(name, least(ns, repetitions), grown_bytes / iterations / repetitions);
        }
        if (cases[c].after) cases[c].after();
    }
    CALLGRIND_STOP_INSTRUMENTATION;
    MPI_Finalize();
    return 0;
}
