/* taken WAY WHAT: MPI_THREAD_MULTIPLE, and a handler of a signal at each instruction of the profiler's in calls that make and free communicators
 * (dup), that open and close files (file), that start and complete requests where threads have handed some to each other (own), or that complete
 * requests of another thread (other). The handler calls MPI itself (call), leaves by a jump (jump), or does so in a thread that makes no
 * further call before others have made theirs (stay). Prints how many barriers it has made, all of them behind what was left. */
#include "leave.h"
#include "truth.h"
#include <sys/resource.h>
#include <unistd.h>

enum { STRIDE = 31, MOST_STEPS = 20000, SECONDS = 60 };

static MPI_Comm one, other;
static volatile int interruptions;
static MPI_Comm copy;
static MPI_File file;
static MPI_Request request;
static int out, latest_sent, in, barriers;

#ifdef __x86_64__
static void call_mpi(ucontext_t *at)
{
    (void)at;
    MPI_Comm inner;
    MPI_File inner_file;
    MPI_Request inner_request = MPI_REQUEST_NULL;
    int give = 1, take = 0, flag;
    switch (interruptions++ % (file == MPI_FILE_NULL ? 3 : 4)) {
    case 0:
        MPI_Comm_dup(other, &inner);
        MPI_Comm_free(&inner);
        break;
    case 1:
        MPI_Irecv(&take, 1, MPI_INT, 0, 2, other, &inner_request);
        MPI_Send(&give, 1, MPI_INT, 0, 2, other);
        MPI_Wait(&inner_request, MPI_STATUS_IGNORE);
        EXPECT(take == give);
        break;
    case 2: MPI_Test(&inner_request, &flag, MPI_STATUS_IGNORE); break;
    default:
        MPI_File_open(other, "inner.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &inner_file);
        MPI_File_close(&inner_file);
    }
}
#endif

static void *run(void *argument)
{
    (*(void (**)(void))argument)();
    return NULL;
}

static void elsewhere(void (*call)(void))
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, &call);
    pthread_join(thread, NULL);
}

static void dup_and_free(void)
{
    MPI_Comm_dup(one, &copy);
    MPI_Comm_free(&copy);
}

static void free_copy(void)
{
    if (copy != MPI_COMM_NULL) MPI_Comm_free(&copy);
}

static void open_and_close(void)
{
    MPI_File_open(one, "taken.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_close(&file);
}

static void close_file(void)
{
    if (file != MPI_FILE_NULL) MPI_File_close(&file);
}

/* Only what a thread receives is a request of its own: sends that are complete at once have one handle, whoever started them. */
static void start(void)
{
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, one, &request);
    PMPI_Send(&out, 1, MPI_INT, 0, 1, one);
    latest_sent = out;
}

static void complete(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

static void start_and_complete(void)
{
    start();
    complete();
}

/* What was left undone of it. */
static void complete_left(void)
{
    if (request != MPI_REQUEST_NULL && latest_sent != out) PMPI_Send(&out, 1, MPI_INT, 0, 1, one);
    complete();
}

static void anew(void)
{
    out++;
    copy = MPI_COMM_NULL, file = MPI_FILE_NULL, request = MPI_REQUEST_NULL;
}

static void hand_over(void)
{
    anew();
    elsewhere(start);
    complete();
    EXPECT(in == out);
}

/* How often this thread has given its processor away to wait: each pause of one that waits for what was left, however busy the machine is. */
static long pauses(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static pthread_barrier_t met;
static volatile int was_left;

static void stay_after(void (*call)(void))
{
    was_left = leave(call);
    pthread_barrier_wait(&met);
    pthread_barrier_wait(&met);
}

static void leave_own(void)
{
    was_left = leave(start_and_complete);
    complete_left();
    /* Once more, and now nothing of it is called any more. */
    anew();
    stay_after(start_and_complete);
}

static void leave_others(void) { stay_after(complete); }

/* Others wait for what was left once, and go without until the thread that has left it ends. */
static void stay(int is_other)
{
    enum { MANY = 1000 };
    long waited = 0;
    for (target = 1; waited < MANY; target += STRIDE) {
        pthread_t thread;
        void (*call)(void) = is_other ? leave_others : leave_own;
        anew();
        if (is_other) start();
        pthread_barrier_init(&met, NULL, 2);
        pthread_create(&thread, NULL, run, &call);
        pthread_barrier_wait(&met);
        long before = pauses();
        complete_left();
        is_other ? start_and_complete() : hand_over();
        waited = pauses() - before;
        before = pauses();
        is_other ? start_and_complete() : hand_over();
        EXPECT(pauses() - before < MANY);
        MPI_Barrier(other);
        barriers++;
        pthread_barrier_wait(&met);
        pthread_join(thread, NULL);
        is_other ? start_and_complete() : (void)0;
        hand_over();
        if (!was_left) return;
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    EXPECT(provided == MPI_THREAD_MULTIPLE && argc == 3);
    const char *way = argv[1], *what = argv[2];
    alarm(SECONDS);
    MPI_Comm_dup(MPI_COMM_SELF, &one);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    int is_own = !strcmp(what, "own"), is_other = !strcmp(what, "other"), is_dup = !strcmp(what, "dup");
    void (*call)(void) = is_own ? start_and_complete : is_other ? complete : is_dup ? dup_and_free : open_and_close;
    void (*rest)(void) = is_own || is_other ? complete_left : is_dup ? free_copy : close_file;
    anew();
    call == complete ? (void)0 : call(); /* from now on nothing of it is new */
    hand_over();
#ifdef __x86_64__
    begin_steps(way[0] == 'c' ? call_mpi : jump);
#endif
    int is_left = 1;
    if (way[0] == 's') {
        stay(is_other);
        is_left = 0;
    }
    for (target = 1; is_left && target < MOST_STEPS; target += STRIDE) {
        anew();
        if (is_other) elsewhere(start);
        is_left = leave(call);
        rest();
        EXPECT(!is_other || in == out);
        MPI_Barrier(other);
        barriers++;
    }
    MPI_Comm last;
    MPI_Comm_dup(one, &last);
    MPI_Bcast(&out, 1, MPI_INT, 0, last);
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, last, &request);
    PMPI_Send(&out, 1, MPI_INT, 0, 1, last);
    complete();
    MPI_Comm_free(&last);
    hand_over();
    printf("%d\n", barriers);
#ifdef __x86_64__
    if (high && interruptions + barriers < 5) return 3;
#endif
    MPI_Finalize();
    return 0;
}
