/* Phases: MPI_Pcontrol with a level above 2 begins one, with a level below 0 ends it. Every call belongs to the phase it is
 * made in, a nonblocking receive to the one it is posted in. Without arguments the usual ways are gone through; with
 * `many N` as many phases are begun. */
#define _GNU_SOURCE
#include "truth.h"
#include <sys/mman.h>
#include <unistd.h>

static void exchange(MPI_Comm comm, const char *label)
{
    int peer = world_rank ^ 1, one = 1, sum;
    char out[100] = {0}, in[100];
    MPI_Sendrecv(out, 100, MPI_BYTE, peer, 1, in, 100, MPI_BYTE, peer, 1, comm, MPI_STATUS_IGNORE);
    carried(label, "MPI_Sendrecv", 100, 100, 100);
    edge(label, "MPI_Sendrecv", peer, 100);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    carried(label, "MPI_Allreduce", 4, 4, 4);
}

/* Begins a phase with whatever stands behind the level, and says which one it must be. */
static void begin(int level, const void *name, const char *phase)
{
    MPI_Pcontrol(level, name);
    truth_phase = strdup(phase);
    called("WORLD", "MPI_Pcontrol");
}

/* The call that ends a phase belongs to it. */
static void end(int level)
{
    MPI_Pcontrol(level, NULL);
    called("WORLD", "MPI_Pcontrol");
    truth_phase = "";
}

/* What is no name is none, and what is not there is not looked at. */
static void names(void)
{
    static const char fits[] = "0123456789012345678901234567890123456789012345678901234567890_3";
    static const char too_long[] = "0123456789012345678901234567890123456789012345678901234567890_34";
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(pages != MAP_FAILED && munmap(pages + page, page) == 0 && strlen(fits) == 63);
    const struct {
        const void *name;
        const char *phase;
    } cases[] = {
        {"assembly", "assembly"}, {"a", "a"}, {"_x/y:z+1.2-3 4", "_x/y:z+1.2-3 4"}, {fits, fits},
        {too_long, "4"}, {"", "4"}, {" begins with a blank", "4"}, {"tab\there", "4"}, {"\xc3\xbc", "4"},
        {"comma,", "4"}, {NULL, "4"}, {(void *)1, "4"}, {(void *)-1L, "4"}, {(void *)0x10000, "4"},
        {pages + page, "4"}, {pages + page - 4, "end"}, {pages + page - 8, "4"},
    };
    strcpy(pages + page - 4, "end");
    memset(pages + page - 8, 'u', 4);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i == sizeof cases / sizeof *cases - 1)
            memset(pages + page - 8, 'u', 8); /* a text that the end of the page cuts off */
        begin(4, cases[i].name, cases[i].phase);
        exchange(MPI_COMM_WORLD, "WORLD");
    }
    end(-1);
    munmap(pages, page);
}

/* Persistent requests are set up once, and started in the phases that come. */
static MPI_Request restarted[2];

static void restart(const char *op)
{
    int peer = world_rank ^ 1;
    if (!strcmp(op, "MPI_Startall")) {
        MPI_Startall(2, restarted);
        called("WORLD", op);
        added("WORLD", op, 400, 400);
        edge("WORLD", op, peer, 400);
    } else {
        for (int i = 0; i < 2; i++)
            MPI_Start(&restarted[i]);
        received("WORLD", op, 400);
        sent("WORLD", op, peer, 400);
    }
}

static void finish(void)
{
    MPI_Waitall(2, restarted, MPI_STATUSES_IGNORE);
    called("WORLD", "MPI_Waitall");
}

static void restarts(void)
{
    static char out[400], in[400];
    static const char *const ops[] = {"MPI_Start", "MPI_Startall"};
    int peer = world_rank ^ 1;
    MPI_Recv_init(in, sizeof in, MPI_BYTE, peer, 8, MPI_COMM_WORLD, &restarted[0]);
    called("WORLD", "MPI_Recv_init");
    MPI_Send_init(out, sizeof out, MPI_BYTE, peer, 8, MPI_COMM_WORLD, &restarted[1]);
    carried("WORLD", "MPI_Send_init", sizeof out, 0, 0);
    for (int round = 0; round < 4; round++) {
        restart(ops[round / 2]);
        finish();
        begin(3, "set up", "set up");
        restart(ops[round / 2]);
        finish();
        restart(ops[round % 2]);
        begin(3, "solve", "solve"); /* what arrives belongs to the start */
        finish();
        restart(ops[round / 2]);
        finish();
        end(-1);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&restarted[i]);
        called("WORLD", "MPI_Request_free");
    }
}

static const char *next_phase;

static int copy_and_go_on(MPI_Comm comm, int key, void *state, void *value, void *result, int *flag)
{
    (void)comm, (void)key, (void)state, (void)value, (void)result;
    begin(3, next_phase, next_phase);
    *flag = 0;
    return MPI_SUCCESS;
}

/* A call in which a phase begins belongs to that: it is counted when it returns. */
static void begun_within(void)
{
    static const char *const names[] = {"set up", "solve"};
    enum { COPIES = 8 };
    MPI_Comm comm, copies[COPIES];
    int key, ordinals[COPIES];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    made(comm, "begun within", "MPI_Comm_dup", "WORLD");
    PMPI_Comm_create_keyval(copy_and_go_on, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    PMPI_Comm_set_attr(comm, key, NULL);
    for (int i = 0; i < COPIES; i++) {
        next_phase = names[i % 2];
        MPI_Comm_dup(comm, &copies[i]);
        called("begun within", "MPI_Comm_dup");
        ordinals[i] = next_ordinal();
    }
    for (int i = 0; i < COPIES; i++) {
        const char *label = label_of("within %d", i);
        made_as(copies[i], label, "MPI_Comm_dup", "begun within", ordinals[i]);
        free_comm(&copies[i], label);
    }
    end(-1);
    free_comm(&comm, "begun within");
}

static void many(int number)
{
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < number; i++) {
            /* 254 phases have a number of their own. */
            begin(3, label_of("phase %d", i), i < 254 ? label_of("phase %d", i) : "other");
            MPI_Barrier(MPI_COMM_WORLD);
            called("WORLD", "MPI_Barrier");
        }
    end(-7);
}

static void usual(void)
{
    int peer = world_rank ^ 1;
    static char out[2000], in[4][2000];
    MPI_Comm dup;
    MPI_Request requests[4];
    exchange(MPI_COMM_WORLD, "WORLD");
    begin(3, "set up", "set up");
    exchange(MPI_COMM_WORLD, "WORLD");
    begin(3, "set up", "set up"); /* it lasts already */
    exchange(MPI_COMM_WORLD, "WORLD");
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    made(dup, "dup", "MPI_Comm_dup", "WORLD");
    exchange(dup, "dup");

    /* Posted here, completed in two later phases, and after the last. */
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(in[i], sizeof in[i], MPI_BYTE, peer, i, dup, &requests[i]);
        received("dup", "MPI_Irecv", 300 + 700 * i);
    }
    MPI_Request persistent;
    MPI_Recv_init(in[3], sizeof in[3], MPI_BYTE, peer, 9, dup, &persistent);
    called("dup", "MPI_Recv_init");
    begin(99, NULL, "99");
    MPI_Start(&persistent);
    received("dup", "MPI_Start", 1500);
    MPI_Send(out, 300, MPI_BYTE, peer, 0, dup);
    sent("dup", "MPI_Send", peer, 300);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    called("dup", "MPI_Wait");
    begin(3, "solve", "solve");
    MPI_Send(out, 1500, MPI_BYTE, peer, 9, dup);
    sent("dup", "MPI_Send", peer, 1500);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    called("dup", "MPI_Wait");
    MPI_Send(out, 1000, MPI_BYTE, peer, 1, dup);
    sent("dup", "MPI_Send", peer, 1000);
    MPI_Irecv(in[3], sizeof in[3], MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[3]);
    received("WORLD", "MPI_Irecv", 0);
    MPI_Send(out, 0, MPI_BYTE, peer, 5, MPI_COMM_WORLD);
    sent("WORLD", "MPI_Send", peer, 0);
    MPI_Request two[2] = {requests[1], requests[3]};
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    called("*", "MPI_Waitall");
    involved("dup", "MPI_Waitall");
    involved("WORLD", "MPI_Waitall");

    /* A phase begun while counting pauses is in force when it goes on; level 2 is none. */
    MPI_Pcontrol(0, NULL);
    called("WORLD", "MPI_Pcontrol");
    truth_paused = 1;
    begin(12, "quiet", "quiet");
    exchange(dup, "dup");
    truth_paused = 0;
    MPI_Pcontrol(1, NULL);
    called("WORLD", "MPI_Pcontrol");
    exchange(dup, "dup");
    MPI_Pcontrol(2, NULL);
    called("WORLD", "MPI_Pcontrol");
    exchange(dup, "dup");
    end(-3);
    MPI_Send(out, 1700, MPI_BYTE, peer, 2, dup);
    sent("dup", "MPI_Send", peer, 1700);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    called("dup", "MPI_Wait");
    MPI_Request_free(&persistent);
    called("dup", "MPI_Request_free");

    /* A phase that some ranks have and others have not. */
    if (world_rank == 1) {
        begin(3, "only rank 1", "only rank 1");
        end(-1);
    }
    begin(3, "set up", "set up");
    exchange(dup, "dup");
    end(-1);
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(world_size % 2 == 0);
    if (argc == 3)
        many(atoi(argv[2]));
    else {
        usual();
        restarts();
        begun_within();
        names();
    }
    begin(3, "the end", argc == 3 && atoi(argv[2]) >= 254 ? "other" : "the end");
    truth_finalize();
    return 0;
}
