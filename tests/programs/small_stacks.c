/* Calls of MPI on threads with small stacks, each on a thread of its own, twice: the second time all functions are found.
 * usage: small_stacks measured     prints how many bytes of its stack each thread has used
 *        small_stacks smallest     their stacks are the smallest there are, and they need a part of them themselves
 *        small_stacks ends         threads with little more take a snapshot and finalize MPI
 *        small_stacks handlers KIB the same in a handler of a signal, on a stack of so many KiB that other handlers have in common with it */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* Open MPI's own MPI_Finalize takes 16 032 bytes of a stack. */
enum { MEASURED_BYTES = 1 << 20, OWN_BYTES = 3072, ENDING_BYTES = 20 << 10, UNUSED_BYTE = 0x5a };

static int one = 1, two, outcome, done, indices[2];
static char bytes[100], arrived[100];
static MPI_Request requests[2];
static MPI_Status statuses[2];

static void send_to_nobody(void) { MPI_Send(&one, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD); }

static void sendrecv(void)
{
    MPI_Sendrecv(&one, 1, MPI_INT, 0, 0, &two, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void start(void)
{
    MPI_Irecv(arrived, 100, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(bytes, 10, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[1]);
}

static void wait_for_each(void)
{
    start();
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

static void waitall(void)
{
    start();
    MPI_Waitall(2, requests, statuses);
}

static void waitany(void)
{
    start();
    for (int i = 0; i < 2; i++) MPI_Waitany(2, requests, indices, MPI_STATUS_IGNORE);
}

static void waitsome(void)
{
    start();
    for (int left = 2; left > 0; left -= outcome) MPI_Waitsome(2, requests, &outcome, indices, statuses);
}

static void testall(void)
{
    start();
    for (done = 0; !done;) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
}

static void persistent(void)
{
    MPI_Recv_init(arrived, 100, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Send_init(bytes, 10, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void allreduce(void) { MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF); }

static void duplicate(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_set_name(copy, "copy");
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
}

static void split(void)
{
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_SELF, 0, 0, &part);
    MPI_Comm_free(&part);
}

static void phase(void)
{
    MPI_Pcontrol(3, "phase");
    allreduce();
    MPI_Pcontrol(-1, NULL);
}

static void pause_counting(void)
{
    MPI_Pcontrol(0);
    MPI_Pcontrol(1);
}

static void derived_datatype(void)
{
    static int numbers[64];
    MPI_Datatype vector;
    MPI_Type_vector(3, 2, 4, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Send(numbers, 2, vector, MPI_PROC_NULL, 0, MPI_COMM_SELF);
    MPI_Type_free(&vector);
}

static const struct step {
    const char *name;
    void (*run)(void);
} steps[] = {
    {"send", send_to_nobody}, {"sendrecv", sendrecv}, {"wait", wait_for_each}, {"waitall", waitall}, {"waitany", waitany},
    {"waitsome", waitsome}, {"testall", testall}, {"persistent", persistent}, {"allreduce", allreduce}, {"dup", duplicate},
    {"split", split}, {"phase", phase}, {"pause", pause_counting}, {"datatype", derived_datatype},
};

static void *call(void *step)
{
    ((const struct step *)step)->run();
    return NULL;
}

static void *call_with_own(void *step)
{
    volatile char own[OWN_BYTES];
    for (int i = 0; i < OWN_BYTES; i++) own[i] = 1;
    call(step);
    return own[0] ? NULL : step;
}

static void on_thread(const pthread_attr_t *attributes, void *work(void *), const struct step *step)
{
    pthread_t thread;
    if (pthread_create(&thread, attributes, work, (void *)step) != 0) exit(2);
    pthread_join(thread, NULL);
}

static void snapshot(void) { MPI_Pcontrol(2); }

static void finalize(void) { MPI_Finalize(); }

static void make_fifty(void)
{
    MPI_Comm copies[50];
    for (int i = 0; i < 50; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
        MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, copies[i]);
    }
}

static void on_signal(int number)
{
    volatile unsigned char own[1024];
    memset((void *)own, number, sizeof own);
    if (number == SIGUSR1) {
        MPI_Pcontrol(2);
        MPI_Finalize();
        printf("finalized\n");
    }
    for (size_t i = 0; i < sizeof own; i++)
        if (own[i] != number) abort();
}

static int are_handled;

/* Whoever changes the stack for handlers has one come just before and just behind that. */
int sigaltstack(const stack_t *restrict next, stack_t *restrict before)
{
    if (next && are_handled) raise(SIGALRM);
    int code = (int)syscall(SYS_sigaltstack, next, before);
    if (next && are_handled) raise(SIGALRM);
    return code;
}

static int handlers(size_t stack_bytes)
{
    stack_t stack = {.ss_sp = malloc(stack_bytes), .ss_size = stack_bytes}, then;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    make_fifty();
    if (sigaltstack(&stack, NULL) || sigaction(SIGALRM, &action, NULL) || sigaction(SIGUSR1, &action, NULL)) return 2;
    are_handled = 1;
    setitimer(ITIMER_REAL, &often, NULL);
    raise(SIGUSR1);
    setitimer(ITIMER_REAL, &never, NULL);
    return sigaltstack(NULL, &then) || then.ss_sp != stack.ss_sp || then.ss_flags ? 3 : 0;
}

static int ends(const pthread_attr_t *attributes)
{
    const struct step snapshotting = {"snapshot", snapshot}, finalizing = {"finalize", finalize};
    make_fifty();
    on_thread(attributes, call, &snapshotting);
    on_thread(attributes, call, &finalizing);
    printf("finalized\n");
    return 0;
}

int main(int argc, char **argv)
{
    int provided, is_measured = argc > 1 && !strcmp(argv[1], "measured");
    unsigned char *stack;
    pthread_attr_t attributes;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (posix_memalign((void **)&stack, 4096, MEASURED_BYTES) != 0) return 1;
    pthread_attr_init(&attributes);
    if (is_measured)
        pthread_attr_setstack(&attributes, stack, MEASURED_BYTES);
    else
        pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    if (argc > 1 && !strcmp(argv[1], "ends")) {
        pthread_attr_setstacksize(&attributes, ENDING_BYTES);
        return ends(&attributes);
    }
    if (argc > 2 && !strcmp(argv[1], "handlers")) return handlers((size_t)atoi(argv[2]) << 10);
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            memset(stack, UNUSED_BYTE, MEASURED_BYTES);
            on_thread(&attributes, is_measured ? call : call_with_own, &steps[i]);
            if (!is_measured) continue;
            int unused = 0;
            while (stack[unused] == UNUSED_BYTE) unused++;
            printf("%s-%d %d\n", steps[i].name, turn, MEASURED_BYTES - unused);
        }
    MPI_Finalize();
    return 0;
}
