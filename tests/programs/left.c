/* left HOW [killed]: calls that the program leaves from within the MPI library, in callbacks of errors and attributes: by an
 * exception (throws), by longjmp (jumps), by ending its thread (exits). They count as failed, and all that comes behind them is as
 * if they had returned. */
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

int main(int argc, char **argv)
{
    int key, provided;
    MPI_Comm copied;
    MPI_Errhandler handler;
    how = argv[1], is_killed = argc > 2;
    MPI_Init_thread(&argc, &argv, how[0] == 'e' ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE, &provided);
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
    everything();
    left(send_to_nobody);
    failed("two", "MPI_Send", 0);
    deep(4);
    MPI_Comm_dup(three, &copied);
    made(copied, "copied", "MPI_Comm_dup", "three");
    free_comm(&copied, "copied");
    free_comm(&three, "three");
    free_comm(&two, "two");
    truth_finalize();
    return 0;
}
