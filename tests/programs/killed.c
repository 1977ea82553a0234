/* killed SEED STEPS VICTIM CALL HOW: makes random MPI calls, the same plan on all ranks, until rank VICTIM ends as HOW says
 * right behind its call number CALL. HOW "watched" has another process send SIGKILL instead, a random while after that call, so
 * that it strikes at any instruction.
 *
 * The log of the calls that returned lies in a file mapped MAP_SHARED: the kernel keeps it, whatever becomes of the process. */
#include <mpi.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OPERATIONS(_)                                                                                                  \
    _(MPI_Init) _(MPI_Finalize) _(MPI_Comm_dup) _(MPI_Comm_split) _(MPI_Comm_free) _(MPI_Comm_set_name) _(MPI_Allreduce)   \
    _(MPI_Bcast) _(MPI_Barrier) _(MPI_Sendrecv) _(MPI_Isend) _(MPI_Irecv) _(MPI_Wait) _(MPI_Waitall) _(MPI_Ibarrier)    \
    _(MPI_Send_init) _(MPI_Start) _(MPI_Request_free) _(MPI_Iprobe) _(MPI_Gather)
#define AS_INDEX(name) of_##name,
#define AS_NAME(name) #name,
enum operation { OPERATIONS(AS_INDEX) OPERATION_COUNT };
static const char *const names[] = {OPERATIONS(AS_NAME)};

enum { NAME_BYTES = 32, MOST_COMMS = 256, MOST_ALIVE = 12 };

/* Read by tests/profiled/faults.rs. */
static volatile struct log {
    uint64_t returned;  /* calls */
    uint64_t in_flight; /* 1 + the place in `counts` that the call in progress will be counted in, or 0 */
    uint64_t operation_count, comm_count;
    char operations[64][NAME_BYTES];
    char comms[MOST_COMMS][NAME_BYTES]; /* the profiler's names */
    uint64_t counts[MOST_COMMS * OPERATION_COUNT];
} *volatile log_;

static int rank, size, victim;
static const char *how;
static uint64_t fatal_call, plan_state;

/* A communicator of the plan. */
static struct comm {
    MPI_Comm handle;
    int place; /* in the log */
    int whole; /* all ranks are in it */
} comms[MOST_ALIVE];
static int alive;
static const struct comm none = {MPI_COMM_NULL, MOST_COMMS - 1, 0};

/* xorshift64* (Vigna 2016). */
static int plan(int below)
{
    plan_state ^= plan_state >> 12, plan_state ^= plan_state << 25, plan_state ^= plan_state >> 27;
    return (int)((plan_state * 0x2545F4914F6CDD1DULL >> 33) % (uint64_t)below);
}

static void end(void)
{
    static const struct { const char *name; int number; } signals[] = {
        {"SIGKILL", SIGKILL}, {"SIGTERM", SIGTERM}, {"SIGSEGV", SIGSEGV}, {"SIGABRT", SIGABRT}};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!strcmp(how, signals[i].name)) {
            kill(getpid(), signals[i].number);
            for (;;) /* a handler of the library may end the process by and by */
                pause();
        }
    if (!strcmp(how, "_exit"))
        _exit(3);
    if (!strcmp(how, "exit"))
        exit(3);
    if (!strcmp(how, "MPI_Abort"))
        MPI_Abort(MPI_COMM_WORLD, 3);
}

static void begin_call(const struct comm *comm, enum operation operation)
{
    log_->in_flight = 1 + (uint64_t)comm->place * OPERATION_COUNT + operation;
}

static void end_call(void)
{
    log_->counts[log_->in_flight - 1]++;
    log_->in_flight = 0;
    if (++log_->returned == fatal_call && rank == victim)
        end();
}

#define CALL(comm, operation, ...) (begin_call(comm, of_##operation), operation(__VA_ARGS__), end_call())

/* Before MPI_Init: its library must not be used by a child. */
static void watch(unsigned seed)
{
    pid_t parent = getpid();
    if (fork())
        return;
    int finalizing = !strcmp(how, "finalizing");
    while (getppid() == parent &&
           (finalizing ? log_->in_flight != 1 + of_MPI_Finalize : log_->returned < fatal_call))
        sched_yield();
    /* The profile is written in some milliseconds. */
    for (volatile unsigned i = seed * 2654435761u % (finalizing ? 5000000 : 200000); i; i--) {}
    kill(parent, SIGKILL);
    _exit(0);
}

static void open_log(void)
{
    char path[4096];
    const char *of_openmpi = getenv("OMPI_COMM_WORLD_RANK"), *of_mpich = getenv("PMI_RANK");
    rank = atoi(of_openmpi ? of_openmpi : of_mpich ? of_mpich : "0");
    snprintf(path, sizeof path, "%s/%d", getenv("TRUTH_DIR"), rank);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *log_))
        exit(70);
    log_ = mmap(NULL, sizeof *log_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (log_ == MAP_FAILED)
        exit(71);
    log_->operation_count = OPERATION_COUNT;
    for (int i = 0; i < OPERATION_COUNT; i++)
        strcpy((char *)log_->operations[i], names[i]);
    strcpy((char *)log_->comms[0], "W0.0");
    strcpy((char *)log_->comms[none.place], "-");
    log_->comm_count = 1;
}

/* Makes a communicator known before it is made: all its records bear this name. */
static struct comm *next_comm(char letter, int root, int whole)
{
    struct comm *comm = &comms[alive++];
    comm->place = (int)log_->comm_count++;
    comm->whole = whole;
    snprintf((char *)log_->comms[comm->place], NAME_BYTES, "%c%d.%d", letter, root, comm->place);
    return comm;
}

static void make(const struct comm *parent)
{
    if (!parent->whole || plan(2)) {
        struct comm *comm = next_comm('d', parent->whole ? 0 : rank % 2, parent->whole);
        CALL(parent, MPI_Comm_dup, parent->handle, &comm->handle);
        return;
    }
    struct comm *comm = next_comm('s', rank % 2, 0);
    CALL(parent, MPI_Comm_split, parent->handle, rank % 2, rank, &comm->handle);
}

static char out[1 << 16], in[1 << 16];

static void step(void)
{
    static const int sizes[] = {0, 1, 100, 5000, 1 << 16};
    int chosen = plan(alive), kind = plan(12), bytes = sizes[plan(5)], root, own, ranks;
    struct comm *comm = &comms[chosen];
    MPI_Request requests[2];
    PMPI_Comm_rank(comm->handle, &own);
    PMPI_Comm_size(comm->handle, &ranks);
    int right = (own + 1) % ranks, left = (own + ranks - 1) % ranks, value = 1, sum, flag;
    switch (kind) {
    case 0: case 1:
        if (alive < MOST_ALIVE && log_->comm_count < MOST_COMMS - 1)
            make(comm);
        break;
    case 2:
        if (chosen == 0)
            break;
        CALL(comm, MPI_Comm_free, &comm->handle);
        *comm = comms[--alive];
        break;
    case 3: CALL(comm, MPI_Allreduce, &value, &sum, 1, MPI_INT, MPI_SUM, comm->handle); break;
    case 4:
        root = plan(2) % ranks;
        CALL(comm, MPI_Bcast, out, bytes, MPI_BYTE, root, comm->handle);
        break;
    case 5: CALL(comm, MPI_Barrier, comm->handle); break;
    case 6:
        CALL(comm, MPI_Sendrecv, out, bytes, MPI_BYTE, right, 1, in, sizeof in, MPI_BYTE, left, 1, comm->handle,
             MPI_STATUS_IGNORE);
        break;
    case 7: case 8:
        CALL(comm, MPI_Irecv, in, sizeof in, MPI_BYTE, left, 2, comm->handle, &requests[0]);
        CALL(comm, MPI_Isend, out, bytes, MPI_BYTE, right, 2, comm->handle, &requests[1]);
        if (kind == 7) {
            CALL(comm, MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
        } else {
            CALL(comm, MPI_Wait, &requests[1], MPI_STATUS_IGNORE);
            CALL(comm, MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
        }
        break;
    case 9:
        CALL(comm, MPI_Ibarrier, comm->handle, &requests[0]);
        CALL(comm, MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
        break;
    case 10:
        CALL(comm, MPI_Irecv, in, sizeof in, MPI_BYTE, left, 3, comm->handle, &requests[0]);
        CALL(comm, MPI_Send_init, out, bytes, MPI_BYTE, right, 3, comm->handle, &requests[1]);
        CALL(comm, MPI_Start, &requests[1]);
        CALL(comm, MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
        CALL(comm, MPI_Request_free, &requests[1]);
        break;
    default:
        CALL(comm, MPI_Iprobe, left, 9, comm->handle, &flag, MPI_STATUS_IGNORE);
        CALL(comm, MPI_Gather, &value, 1, MPI_INT, in, 1, MPI_INT, 0, comm->handle);
        CALL(comm, MPI_Comm_set_name, comm->handle, "one of many");
    }
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 64;
    unsigned seed = (unsigned)atoi(argv[1]);
    plan_state = seed * 2654435761u + 88172645463325252ULL;
    victim = atoi(argv[3]), fatal_call = strtoull(argv[4], NULL, 10), how = argv[5];
    open_log();
    if ((!strcmp(how, "watched") || !strcmp(how, "finalizing")) && rank == victim)
        watch(seed);
    const struct comm *world = &comms[0];
    comms[0] = (struct comm){MPI_COMM_WORLD, 0, 1};
    alive = 1;
    CALL(world, MPI_Init, &argc, &argv);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = atoi(argv[2]); i; i--)
        step();
    CALL(world, MPI_Finalize);
    return 0;
}
