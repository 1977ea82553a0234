/* What one call costs where threads call at the same time: each of four threads has a one-rank communicator of its own. In the case
 * `handed_over` each has another thread start its receives, and they take turns: under MPICH eight threads that wait for its one lock would wake
 * each other in another way from run to run.
 * usage: percall_threads CASE[,CASE…] ITERATIONS REPETITIONS [in_turn]   prints lines as percall.c does, and where the threads ran
 * Nanoseconds are the time of a processor: wall-clock time × processors ÷ (threads × iterations), or that of each thread where they take turns.
 * Waiting for a lock, of the MPI library or of a profiler, counts. With `in_turn` no thread waits for another: instructions can be counted. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include "timing.h"

enum { THREADS = 4, WARM_UP = 100 };

struct thread {
    _Alignas(128) MPI_Comm comm;
    int one, two, processor;
    volatile uint64_t sum;
    double *begin_ns, *end_ns; /* by repetition */
    pthread_t id, giver;
    pthread_barrier_t met; /* with the giver */
    MPI_Request *given;
    long asked, taken;
};

static struct thread threads[THREADS];
static pthread_barrier_t start;
static long iterations;
static int repetitions, in_turn, takes_turns;
static void (*run)(struct thread *);

static void do_floor(struct thread *own) { uint64_t begin = TICKS(); own->sum += TICKS() - begin; }
static void do_allreduce(struct thread *own)
{
    MPI_Allreduce(&own->one, &own->two, 1, MPI_INT, MPI_SUM, own->comm);
}

static void do_exchange(struct thread *own)
{
    MPI_Request requests[2];
    MPI_Isend(&own->one, 1, MPI_INT, 0, 0, own->comm, &requests[0]);
    MPI_Irecv(&own->two, 1, MPI_INT, 0, 0, own->comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void do_wait_for_given(struct thread *own)
{
    MPI_Send(&own->one, 1, MPI_INT, 0, 0, own->comm);
    MPI_Wait(&own->given[own->taken++], MPI_STATUS_IGNORE);
}

static void start_given(struct thread *own)
{
    for (long i = 0; i < own->asked; i++) MPI_Irecv(&own->two, 1, MPI_INT, 0, 0, own->comm, &own->given[i]);
}

/* Counted as the loop itself is. */
__attribute__((noipa)) void timed_loop_of_giver(struct thread *own) { start_given(own); }

static void *give(void *argument)
{
    struct thread *own = argument;
    for (int is_warm = 0;; is_warm = 1) {
        pthread_barrier_wait(&own->met);
        if (own->asked == 0) return NULL;
        is_warm ? timed_loop_of_giver(own) : start_given(own);
        pthread_barrier_wait(&own->met);
    }
}

/* Has the giver start so many receives; none ends it. */
static void ask(struct thread *own, long count)
{
    own->asked = count;
    own->taken = 0;
    pthread_barrier_wait(&own->met);
    if (count != 0) pthread_barrier_wait(&own->met);
}

/* As in percall.c. */
__attribute__((noipa)) void timed_loop(struct thread *own)
{
    for (long i = 0; i < iterations; i++) run(own);
}

static void *work(void *argument)
{
    struct thread *own = argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(own->processor, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    int is_given = run == do_wait_for_given;
    if (is_given) {
        pthread_barrier_init(&own->met, NULL, 2);
        pthread_create(&own->giver, NULL, give, own); /* on the same processor */
    }
    for (int turn = 0; turn < (takes_turns ? THREADS : 1); turn++) {
        pthread_barrier_wait(&start);
        if (takes_turns && own != &threads[turn]) continue;
        if (is_given) ask(own, iterations);
        /* What is given is given by new handles as long as there were fewer of them at a time. */
        for (long i = 0; i < (is_given ? iterations : WARM_UP); i++) run(own);
    }
    for (int r = 0; r < repetitions; r++) {
        for (int turn = 0; turn < (takes_turns ? THREADS : 1); turn++) {
            pthread_barrier_wait(&start);
            if (takes_turns && own != &threads[turn]) continue;
            own->begin_ns[r] = now_ns();
            if (is_given) ask(own, iterations);
            timed_loop(own);
            own->end_ns[r] = now_ns();
        }
    }
    if (is_given) ask(own, 0), pthread_join(own->giver, NULL);
    return NULL;
}

static void measure(const char *name, int processors)
{
    double *ns = malloc(sizeof *ns * repetitions);
    run = !strcmp(name, "floor")                 ? do_floor
          : !strcmp(name, "allreduce")           ? do_allreduce
          : !strcmp(name, "isend_irecv_waitall") ? do_exchange
          : !strcmp(name, "handed_over")         ? do_wait_for_given
                                                 : NULL;
    if (!run) fprintf(stderr, "percall_threads: no case %s\n", name), exit(2);
    takes_turns = in_turn || run == do_wait_for_given;
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t].id, NULL, work, &threads[t]);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t].id, NULL);
    for (int r = 0; r < repetitions; r++) {
        double begin_ns = threads[0].begin_ns[r], end_ns = threads[0].end_ns[r], sum_ns = end_ns - begin_ns;
        for (int t = 1; t < THREADS; t++) {
            sum_ns += threads[t].end_ns[r] - threads[t].begin_ns[r];
            if (threads[t].begin_ns[r] < begin_ns) begin_ns = threads[t].begin_ns[r];
            if (threads[t].end_ns[r] > end_ns) end_ns = threads[t].end_ns[r];
        }
        double processor_ns = takes_turns ? sum_ns : (end_ns - begin_ns) * (processors < THREADS ? processors : THREADS);
        ns[r] = processor_ns / THREADS / iterations;
    }
    say_result(name, least(ns, repetitions), 0);
    free(ns);
}

int main(int argc, char **argv)
{
    if (argc < 4) return fprintf(stderr, "usage: percall_threads CASE[,CASE...] ITERATIONS REPETITIONS [in_turn]\n"), 2;
    iterations = atol(argv[2]);
    repetitions = atoi(argv[3]);
    in_turn = argc > 4;
    int provided, processors[CPU_SETSIZE], count = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) return fprintf(stderr, "the library has no MPI_THREAD_MULTIPLE\n"), 1;
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) processors[count++] = i;
    pthread_barrier_init(&start, NULL, THREADS);
    printf("# pinned: to processors");
    for (int t = 0; t < THREADS; t++) {
        threads[t].processor = processors[t % count];
        threads[t].begin_ns = malloc(sizeof(double) * repetitions);
        threads[t].end_ns = malloc(sizeof(double) * repetitions);
        threads[t].given = malloc(sizeof(MPI_Request) * iterations);
        MPI_Comm_dup(MPI_COMM_SELF, &threads[t].comm);
        printf(" %d", threads[t].processor);
    }
    printf("\n");
    CALLGRIND_START_INSTRUMENTATION; /* beginning and end take most of the time */
    for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) measure(name, count);
    CALLGRIND_STOP_INSTRUMENTATION;
    MPI_Finalize();
    return 0;
}
