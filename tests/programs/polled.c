/* Polls by a handler of a signal, of an array of its own, at each instruction of the profiler's in calls that complete or start requests.
 * As in interrupted.c. */
#include "steps.h"
#include "truth.h"

#include <unistd.h>

enum { ROUNDS = 4, FEW = 4, MANY = 40, TAG = 1 };

static MPI_Comm one, other;
static const char *one_label, *other_label;
static MPI_Request few[FEW], kept[FEW], many[MANY];
static int out[FEW], in[FEW], far[MANY], rank;
static int polls, tests, somes, steps, round;
static int is_first, done, index_of[FEW], flag;

#ifdef __x86_64__
static void interrupt(ucontext_t *at)
{
    int index, count, indices[MANY], is_done;
    /* In each round at others, since a poll may yield the processor. */
    if (at && ++steps % (ROUNDS - 1) != round % (ROUNDS - 1)) return;
    switch ((polls + tests + somes) % 3) {
    case 0:
        MPI_Testany(MANY, many, &index, &is_done, MPI_STATUS_IGNORE);
        polls++;
        break;
    case 1:
        MPI_Testall(MANY / 2, many + 1, &is_done, MPI_STATUSES_IGNORE);
        tests++;
        break;
    default:
        MPI_Testsome(MANY, many, &count, indices, MPI_STATUSES_IGNORE);
        is_done = count != 0;
        somes++;
    }
    EXPECT(!is_done);
}
#endif

static void begin(void)
{
    for (int i = 0; i < FEW / 2; i++) {
        MPI_Irecv(&in[i], 1, MPI_INT, 0, TAG, one, &few[2 * i]);
        MPI_Isend(&out[i], 1, MPI_INT, 0, TAG, one, &few[2 * i + 1]);
        received(one_label, "MPI_Irecv", sizeof(int));
        carried(one_label, "MPI_Isend", sizeof(int), sizeof(int), 0);
        edge(one_label, "MPI_Isend", rank, sizeof(int));
    }
    done = 0;
}

static void wait_all(void) { MPI_Waitall(FEW, few, MPI_STATUSES_IGNORE), done = FEW; }

static void wait_two(void) { MPI_Waitall(2, few + done, MPI_STATUSES_IGNORE), done += 2; }

static void wait_any(void) { MPI_Waitany(FEW, few, &index_of[0], MPI_STATUS_IGNORE), done++; }

static void wait_one(void) { MPI_Wait(&few[done], MPI_STATUS_IGNORE), done++; }

static void test_one(void) { MPI_Test(&few[done], &flag, MPI_STATUS_IGNORE), done += flag; }

static void test_all(void) { MPI_Testall(FEW, few, &flag, MPI_STATUSES_IGNORE), done = flag ? FEW : 0; }

static void test_any(void) { MPI_Testany(FEW, few, &index_of[0], &flag, MPI_STATUS_IGNORE), done += flag; }

static void wait_some(void)
{
    int count;
    MPI_Waitsome(FEW, few, &count, index_of, MPI_STATUSES_IGNORE);
    done += count;
}

static void wait_kept(void) { MPI_Waitall(FEW, kept, MPI_STATUSES_IGNORE), done = FEW; }

static void start_all(void) { MPI_Startall(FEW, kept); }

static void start(void)
{
    is_first ? start_all() : step(start_all);
    called(one_label, "MPI_Startall");
    for (int i = 0; i < FEW / 2; i++) {
        added(one_label, "MPI_Startall", sizeof(int), sizeof(int));
        edge(one_label, "MPI_Startall", rank, sizeof(int));
    }
    done = 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *op;
        void (*prepare)(void), (*call)(void);
    } calls[] = {{"MPI_Waitall", begin, wait_all}, {"MPI_Waitall", begin, wait_two}, {"MPI_Waitany", begin, wait_any},
                 {"MPI_Testall", begin, test_all}, {"MPI_Testany", begin, test_any}, {"MPI_Waitsome", begin, wait_some},
                 {"MPI_Wait", begin, wait_one},    {"MPI_Test", begin, test_one},    {"MPI_Waitall", start, wait_kept}};
    truth_init(&argc, &argv);
    double begin_s = PMPI_Wtime();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    one_label = label_of("one of %d", rank), other_label = label_of("other of %d", rank);
    MPI_Comm_dup(MPI_COMM_SELF, &one);
    made(one, one_label, "MPI_Comm_dup", "SELF");
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    made(other, other_label, "MPI_Comm_dup", "SELF");
    for (int i = 0; i < FEW / 2; i++) {
        MPI_Recv_init(&in[i], 1, MPI_INT, 0, TAG, one, &kept[2 * i]);
        called(one_label, "MPI_Recv_init");
        MPI_Send_init(&out[i], 1, MPI_INT, 0, TAG, one, &kept[2 * i + 1]);
        carried(one_label, "MPI_Send_init", sizeof(int), 0, 0);
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(&far[i], 1, MPI_INT, 0, TAG, other, &many[i]);
        received(other_label, "MPI_Irecv", sizeof(int));
    }
#ifdef __x86_64__
    for (int i = 0; i < 3; i++) interrupt(NULL);
    begin_steps(interrupt);
#endif
    for (round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            is_first = round == 0; /* then all of it is new */
            calls[i].prepare();
            while (done < FEW) {
                is_first ? calls[i].call() : step(calls[i].call);
                called(one_label, calls[i].op);
            }
        }
    for (int i = 0; i < polls; i++) called(other_label, "MPI_Testany");
    for (int i = 0; i < tests; i++) called(other_label, "MPI_Testall");
    for (int i = 0; i < somes; i++) called(other_label, "MPI_Testsome");
#ifdef __x86_64__
    if (high && polls + tests + somes < 1000) return 3;
#endif
    for (int i = 0; i < MANY; i++) {
        MPI_Send(&out[0], 1, MPI_INT, 0, TAG, other);
        carried(other_label, "MPI_Send", sizeof(int), sizeof(int), 0);
        edge(other_label, "MPI_Send", rank, sizeof(int));
    }
    MPI_Waitall(MANY, many, MPI_STATUSES_IGNORE);
    called(other_label, "MPI_Waitall");
    for (int i = 0; i < FEW; i++) {
        MPI_Request_free(&kept[i]);
        called(one_label, "MPI_Request_free");
    }
    free_comm(&one, one_label);
    free_comm(&other, other_label);
    /* Calls that a handler makes in others are in the time of both: without this there would be more of it than there was. */
    usleep((PMPI_Wtime() - begin_s) * 1e6 / 8);
    truth_finalize();
    return 0;
}
