/* left HOW [killed]: calls that the program leaves from within the MPI library, in callbacks of errors and attributes: by an
 * exception (throws), by longjmp (jumps), by ending its thread (exits). They count as failed, and all that comes behind them is as
 * if they had returned. And calls of a thread that has been cancelled (cancels), which is to end elsewhere. */
#include "truth.h"

#include <setjmp.h>
#include <signal.h>

void throw_left(void);
int is_left(void (*work)(void));

static const char *how;
static jmp_buf back;
static MPI_Comm two, three;
static int is_leaving, is_killed, value, flag;

static void leave(void)
{
    if (how[0] == 't')
        throw_left();
    else if (how[0] == 'j')
        longjmp(back, 1);
    else
        pthread_exit(&value);
}

static void *run(void *work)
{
    ((void (*)(void))(long)work)();
    return NULL;
}

/* Does work that is left. */
static void left(void (*work)(void))
{
    is_leaving = 1;
    if (how[0] == 't') {
        EXPECT(is_left(work));
    } else if (how[0] == 'j') {
        if (!setjmp(back)) {
            work();
            EXPECT(!"it returns");
        }
    } else {
        pthread_t thread;
        void *result;
        EXPECT(!pthread_create(&thread, NULL, run, (void *)(long)work));
        EXPECT(!pthread_join(thread, &result) && result == &value);
    }
    is_leaving = 0;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    leave();
}

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *is_copied)
{
    (void)comm, (void)key, (void)state, (void)in, (void)out;
    *is_copied = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    called("WORLD", "MPI_Iprobe");
    if (is_leaving)
        leave();
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *in, void *state)
{
    (void)comm, (void)key, (void)in, (void)state;
    if (is_leaving)
        leave();
    return MPI_SUCCESS;
}

static void send_to_nobody(void)
{
    MPI_Send(&value, 1, MPI_INT, world_size + 5, 0, two);
}

/* With -DFORTRAN through the library's Fortran layer, which may call a C function on its way. */
void mpi_send_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *error);

#ifdef FORTRAN
static void send_from_fortran(void)
{
    MPI_Fint count = 1, type = MPI_Type_c2f(MPI_INT), to = world_size + 5, tag = 0, comm = MPI_Comm_c2f(two), error;
    mpi_send_(&value, &count, &type, &to, &tag, &comm, &error);
}

static void in_fortran(void)
{
    for (int i = 0; i < 3; i++) {
        left(send_from_fortran);
        failed("two", "MPI_Send", 0);
        left(send_to_nobody);
        failed("two", "MPI_Send", 0);
        MPI_Barrier(two);
        called("two", "MPI_Barrier");
    }
}
#else
static void in_fortran(void)
{
}
#endif

static void test_with_an_error(void)
{
    static MPI_Request none[1];
    static MPI_Status statuses[1];
    MPI_Testall(-1, none, &flag, statuses);
}

static void duplicate(void)
{
    MPI_Comm made;
    MPI_Comm_dup(three, &made);
}

static void free_three(void)
{
    MPI_Comm handle = three;
    MPI_Comm_free(&handle);
}

/* Calls from further down the stack than those that were left. */
static int deep(int levels)
{
    volatile char room[4096];
    room[0] = (char)levels;
    if (levels > 0)
        return deep(levels - 1) + room[0];
    for (int i = 0; i < 600; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        called("WORLD", "MPI_Iprobe");
    }
    if (is_killed) {
        PMPI_Barrier(MPI_COMM_WORLD);
        raise(SIGKILL);
    }
    return room[0];
}

static void everything(void)
{
    for (int i = 0; i < 3; i++) {
        left(send_to_nobody);
        failed("two", "MPI_Send", 0);
        MPI_Barrier(two);
        called("two", "MPI_Barrier");
    }
    left(duplicate);
    failed("three", "MPI_Comm_dup", 0);
    left(free_three);
    failed("three", "MPI_Comm_free", 0);
    MPI_Barrier(three);
    called("three", "MPI_Barrier");
    left(test_with_an_error);
    failed("-", "MPI_Testall", 0);
}

/* A thread that has been cancelled goes on until it calls the system, and it is not the profiler that does so. */
static void *send_on(void *unused)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    EXPECT(!pthread_cancel(pthread_self()));
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    for (int phase = 3; phase < 203; phase++) {
        MPI_Pcontrol(phase, NULL);
        MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, two);
        MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, two);
        MPI_Rsend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, two);
        MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, two, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, two, MPI_STATUS_IGNORE);
    }
    MPI_Pcontrol(-1, NULL);
    value = 42;
    pthread_testcancel();
    return unused;
}

static void cancelled(void)
{
    pthread_t thread;
    void *result;
    EXPECT(!pthread_create(&thread, NULL, send_on, NULL));
    EXPECT(!pthread_join(thread, &result) && result == PTHREAD_CANCELED && value == 42);
}

int main(int argc, char **argv)
{
    int key, provided;
    MPI_Comm copied;
    MPI_Errhandler handler;
    how = argv[1], is_killed = argc > 2;
    MPI_Init_thread(&argc, &argv, how[0] == 'e' || how[0] == 'c' ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE, &provided);
    truth_begin("MPI_Init_thread");
    MPI_Comm_dup(MPI_COMM_WORLD, &two);
    made(two, "two", "MPI_Comm_dup", "WORLD");
    MPI_Comm_dup(MPI_COMM_WORLD, &three);
    made(three, "three", "MPI_Comm_dup", "WORLD");
    PMPI_Comm_create_errhandler(on_error, &handler);
    PMPI_Comm_set_errhandler(two, handler);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    PMPI_Comm_create_keyval(copy, delete, &key, NULL);
    PMPI_Comm_set_attr(three, key, NULL);
    if (how[0] == 'c') {
        cancelled();
    } else {
        everything();
        in_fortran();
        left(send_to_nobody);
        failed("two", "MPI_Send", 0);
        deep(4);
    }
    MPI_Comm_dup(three, &copied);
    made(copied, "copied", "MPI_Comm_dup", "three");
    free_comm(&copied, "copied");
    free_comm(&three, "three");
    free_comm(&two, "two");
    truth_finalize();
    return 0;
}
