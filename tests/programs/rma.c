/* One-sided communication: every way to make a window, every operation, every kind of synchronization; windows over a
 * communicator whose ranks differ from the world's, over a part of the processes, and over one that is freed. */
#include "truth.h"

enum { INTS = 8192, REGION = 1024 };

struct window {
    MPI_Win win;
    MPI_Comm comm;
    char label[LABEL_LENGTH];
    int *memory;
    int rank, size;
    int right, left;             /* ranks in the communicator */
    int right_world, left_world; /* the same in MPI_COMM_WORLD */
};

static int out[INTS], in[INTS], fetched[INTS];

/* Unseen by the profiler. */
static void meet(const struct window *w)
{
    PMPI_Barrier(w->comm);
}

static void moved(const struct window *w, const char *op, int target_world, long long sent, long long received)
{
    long long size = sent > received ? sent : received;
    carried(w->label, op, size, sent, received);
    edge(w->label, op, target_world, size);
}

static struct window over(MPI_Comm comm, const char *label)
{
    struct window w = {.comm = comm};
    strcpy(w.label, label);
    PMPI_Comm_rank(comm, &w.rank);
    PMPI_Comm_size(comm, &w.size);
    w.right = (w.rank + 1) % w.size;
    w.left = (w.rank + w.size - 1) % w.size;
    w.right_world = world_rank_of(comm, w.right);
    w.left_world = world_rank_of(comm, w.left);
    return w;
}

static struct window created(MPI_Comm comm, const char *label)
{
    struct window w = over(comm, label);
    w.memory = calloc(INTS, sizeof(int));
    MPI_Win_create(w.memory, INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &w.win);
    called(label, "MPI_Win_create");
    return w;
}

static struct window allocated(MPI_Comm comm, const char *label)
{
    struct window w = over(comm, label);
    MPI_Win_allocate(INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &w.memory, &w.win);
    called(label, "MPI_Win_allocate");
    memset(w.memory, 0, INTS * sizeof(int));
    meet(&w);
    return w;
}

static void freed(struct window *w)
{
    MPI_Win_free(&w->win);
    called(w->label, "MPI_Win_free");
    EXPECT(w->win == MPI_WIN_NULL);
}

static void fence(const struct window *w, int assertion)
{
    MPI_Win_fence(assertion, w->win);
    called(w->label, "MPI_Win_fence");
}

/* Messages of all sizes; bytes are those of the origin, whatever the target's datatype is. */
static void with_fences(struct window *w)
{
    const int counts[] = {0, 1, 31, 32, 33, 256, 257, REGION};
    fence(w, MPI_MODE_NOPRECEDE);
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int k = 0; k < counts[i]; k++)
            out[k] = w->rank * 100000 + k;
        MPI_Put(out, counts[i], MPI_INT, w->right, 0, counts[i], MPI_INT, w->win);
        moved(w, "MPI_Put", w->right_world, 4 * counts[i], 0);
        fence(w, 0);
        for (int k = 0; k < counts[i]; k++)
            EXPECT(w->memory[k] == w->left * 100000 + k);
        MPI_Get(in, counts[i], MPI_INT, w->right, 0, counts[i], MPI_INT, w->win);
        moved(w, "MPI_Get", w->right_world, 0, 4 * counts[i]);
        fence(w, 0);
        for (int k = 0; k < counts[i]; k++)
            EXPECT(in[k] == w->rank * 100000 + k);
    }

    /* Every second int here, a dense block there. */
    MPI_Datatype comb;
    MPI_Type_vector(50, 1, 2, MPI_INT, &comb);
    MPI_Type_commit(&comb);
    for (int k = 0; k < 100; k++)
        out[k] = k;
    MPI_Put(out, 1, comb, w->right, 2000, 50, MPI_INT, w->win);
    moved(w, "MPI_Put", w->right_world, 200, 0);
    fence(w, 0);
    EXPECT(w->memory[2000] == 0 && w->memory[2001] == 2 && w->memory[2049] == 98);
    MPI_Get(in, 2, comb, w->right, 2000, 100, MPI_INT, w->win);
    moved(w, "MPI_Get", w->right_world, 0, 400);
    fence(w, 0);
    EXPECT(in[2] == 2 && in[98] == 98);
    MPI_Type_free(&comb);

    for (int k = 0; k < 300; k++)
        out[k] = 1, w->memory[3000 + k] = 0;
    fence(w, 0);
    MPI_Accumulate(out, 300, MPI_INT, w->right, 3000, 300, MPI_INT, MPI_SUM, w->win);
    moved(w, "MPI_Accumulate", w->right_world, 1200, 0);
    MPI_Accumulate(out, 300, MPI_INT, w->left, 3000, 300, MPI_INT, MPI_SUM, w->win);
    moved(w, "MPI_Accumulate", w->left_world, 1200, 0);
    fence(w, 0);
    EXPECT(w->memory[3000] == 2 && w->memory[3299] == 2);

    /* Nobody is there. */
    MPI_Put(out, 500, MPI_INT, MPI_PROC_NULL, 0, 500, MPI_INT, w->win);
    called(w->label, "MPI_Put");
    MPI_Get(in, 500, MPI_INT, MPI_PROC_NULL, 0, 500, MPI_INT, w->win);
    called(w->label, "MPI_Get");
    MPI_Accumulate(out, 500, MPI_INT, MPI_PROC_NULL, 0, 500, MPI_INT, MPI_SUM, w->win);
    called(w->label, "MPI_Accumulate");
    fence(w, MPI_MODE_NOSUCCEED);
}

static void with_groups(struct window *w)
{
    MPI_Group all, right, left;
    PMPI_Win_get_group(w->win, &all);
    PMPI_Group_incl(all, 1, &w->right, &right);
    PMPI_Group_incl(all, 1, &w->left, &left);
    for (int round = 0; round < 4; round++) {
        MPI_Win_post(left, 0, w->win);
        called(w->label, "MPI_Win_post");
        MPI_Win_start(right, 0, w->win);
        called(w->label, "MPI_Win_start");
        out[0] = w->rank + round;
        MPI_Put(out, 1, MPI_INT, w->right, 10, 1, MPI_INT, w->win);
        moved(w, "MPI_Put", w->right_world, 4, 0);
        MPI_Win_complete(w->win);
        called(w->label, "MPI_Win_complete");
        if (round % 2) {
            MPI_Win_wait(w->win);
            called(w->label, "MPI_Win_wait");
        } else {
            int flag = 0;
            while (!flag) {
                MPI_Win_test(w->win, &flag);
                called(w->label, "MPI_Win_test");
            }
        }
        EXPECT(w->memory[10] == w->left + round);
        meet(w);
    }
    PMPI_Group_free(&all);
    PMPI_Group_free(&right);
    PMPI_Group_free(&left);
}

static void lock(const struct window *w, int kind, int target)
{
    MPI_Win_lock(kind, target, 0, w->win);
    called(w->label, "MPI_Win_lock");
}

static void unlock(const struct window *w, int target)
{
    MPI_Win_unlock(target, w->win);
    called(w->label, "MPI_Win_unlock");
}

/* One target at a time. */
static void with_locks(struct window *w)
{
    lock(w, MPI_LOCK_EXCLUSIVE, w->rank);
    memset(w->memory, 0, 4096 * sizeof(int));
    unlock(w, w->rank);
    meet(w);
    lock(w, MPI_LOCK_EXCLUSIVE, w->right);
    for (int k = 0; k < 100; k++)
        out[k] = w->rank + k;
    MPI_Put(out, 100, MPI_INT, w->right, 0, 100, MPI_INT, w->win);
    moved(w, "MPI_Put", w->right_world, 400, 0);
    MPI_Win_flush(w->right, w->win);
    called(w->label, "MPI_Win_flush");
    MPI_Get(in, 100, MPI_INT, w->right, 0, 100, MPI_INT, w->win);
    moved(w, "MPI_Get", w->right_world, 0, 400);
    MPI_Win_flush_local(w->right, w->win);
    called(w->label, "MPI_Win_flush_local");
    EXPECT(in[0] == w->rank && in[99] == w->rank + 99);
    unlock(w, w->right);
    meet(w);

    lock(w, MPI_LOCK_SHARED, w->right);
    for (int k = 0; k < 100; k++)
        out[k] = 5;
    MPI_Get_accumulate(out, 100, MPI_INT, fetched, 100, MPI_INT, w->right, 0, 100, MPI_INT, MPI_SUM, w->win);
    moved(w, "MPI_Get_accumulate", w->right_world, 400, 400);
    MPI_Win_flush(w->right, w->win);
    called(w->label, "MPI_Win_flush");
    EXPECT(fetched[0] == w->rank && fetched[99] == w->rank + 99);
    /* The origin is ignored, its datatype too. */
    MPI_Get_accumulate(NULL, 0, MPI_INT, fetched, 100, MPI_INT, w->right, 0, 100, MPI_INT, MPI_NO_OP, w->win);
    moved(w, "MPI_Get_accumulate", w->right_world, 0, 400);
    MPI_Win_flush(w->right, w->win);
    called(w->label, "MPI_Win_flush");
    EXPECT(fetched[0] == w->rank + 5 && fetched[99] == w->rank + 104);

    int one = 1, old, expected = 0, wanted = 77;
    MPI_Fetch_and_op(&one, &old, MPI_INT, w->right, 200, MPI_SUM, w->win);
    moved(w, "MPI_Fetch_and_op", w->right_world, 4, 4);
    MPI_Win_flush(w->right, w->win);
    called(w->label, "MPI_Win_flush");
    EXPECT(old == 0);
    MPI_Fetch_and_op(NULL, &old, MPI_INT, w->right, 200, MPI_NO_OP, w->win);
    moved(w, "MPI_Fetch_and_op", w->right_world, 0, 4);
    MPI_Win_flush(w->right, w->win);
    called(w->label, "MPI_Win_flush");
    EXPECT(old == 1);
    MPI_Compare_and_swap(&wanted, &expected, &old, MPI_INT, w->right, 201, w->win);
    moved(w, "MPI_Compare_and_swap", w->right_world, 4, 4);
    unlock(w, w->right);
    EXPECT(old == 0);
    meet(w);
    lock(w, MPI_LOCK_SHARED, w->rank);
    MPI_Win_sync(w->win);
    called(w->label, "MPI_Win_sync");
    EXPECT(w->memory[200] == 1 && w->memory[201] == 77);
    unlock(w, w->rank);
    meet(w);
}

static void completed(const char *label, MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    called(label, "MPI_Wait");
}

/* Requests of one-sided calls, alone and among messages of another communicator. */
static void with_requests(struct window *w, MPI_Comm other, const char *other_label)
{
    MPI_Request requests[6];
    int peers, place;
    PMPI_Comm_rank(other, &place);
    PMPI_Comm_size(other, &peers);
    int next = (place + 1) % peers, before = (place + peers - 1) % peers;
    MPI_Win_lock_all(0, w->win);
    called(w->label, "MPI_Win_lock_all");
    for (int k = 0; k < REGION; k++)
        out[k] = w->rank;
    MPI_Rput(out, 200, MPI_INT, w->right, 5000, 200, MPI_INT, w->win, &requests[0]);
    moved(w, "MPI_Rput", w->right_world, 800, 0);
    completed(w->label, &requests[0]);
    MPI_Win_flush_all(w->win);
    called(w->label, "MPI_Win_flush_all");
    MPI_Rget(in, 200, MPI_INT, w->right, 5000, 200, MPI_INT, w->win, &requests[0]);
    moved(w, "MPI_Rget", w->right_world, 0, 800);
    completed(w->label, &requests[0]);
    EXPECT(in[0] == w->rank && in[199] == w->rank);
    MPI_Raccumulate(out, 10, MPI_INT, w->right, 5000, 10, MPI_INT, MPI_REPLACE, w->win, &requests[0]);
    moved(w, "MPI_Raccumulate", w->right_world, 40, 0);
    MPI_Rget_accumulate(out, 10, MPI_INT, fetched, 10, MPI_INT, w->right, 6000, 10, MPI_INT, MPI_REPLACE, w->win,
                        &requests[1]);
    moved(w, "MPI_Rget_accumulate", w->right_world, 40, 40);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    called(w->label, "MPI_Waitall");
    MPI_Win_flush_local_all(w->win);
    called(w->label, "MPI_Win_flush_local_all");

    MPI_Rput(out, 100, MPI_INT, w->right, 7000, 100, MPI_INT, w->win, &requests[0]);
    moved(w, "MPI_Rput", w->right_world, 400, 0);
    MPI_Irecv(in, 300, MPI_INT, before, 3, other, &requests[1]);
    MPI_Isend(out, 300, MPI_INT, next, 3, other, &requests[2]);
    sent(other_label, "MPI_Isend", world_rank_of(other, next), 1200);
    MPI_Rget(fetched, 10, MPI_INT, w->right, 6000, 10, MPI_INT, w->win, &requests[3]);
    moved(w, "MPI_Rget", w->right_world, 0, 40);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    called("*", "MPI_Waitall");
    involved(w->label, "MPI_Waitall"), involved(other_label, "MPI_Waitall");
    received(other_label, "MPI_Irecv", 1200);

    MPI_Rput(out, 10, MPI_INT, MPI_PROC_NULL, 0, 10, MPI_INT, w->win, &requests[0]);
    called(w->label, "MPI_Rput");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    called(w->label, "MPI_Wait");
    MPI_Win_unlock_all(w->win);
    called(w->label, "MPI_Win_unlock_all");
    meet(w);
}

static void shared(MPI_Comm comm, const char *label)
{
    struct window w = over(comm, label);
    MPI_Win_allocate_shared(100 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &w.memory, &w.win);
    called(label, "MPI_Win_allocate_shared");
    fence(&w, 0);
    out[0] = w.rank;
    MPI_Put(out, 1, MPI_INT, w.right, 3, 1, MPI_INT, w.win);
    moved(&w, "MPI_Put", w.right_world, 4, 0);
    fence(&w, 0);
    EXPECT(w.memory[3] == w.left);
    freed(&w);
}

static void dynamic(MPI_Comm comm, const char *label)
{
    struct window w = over(comm, label);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w.win);
    called(label, "MPI_Win_create_dynamic");
    w.memory = calloc(100, sizeof(int));
    MPI_Win_attach(w.win, w.memory, 100 * sizeof(int));
    called(label, "MPI_Win_attach");
    MPI_Aint own, *all = calloc(w.size, sizeof *all);
    PMPI_Get_address(w.memory, &own);
    PMPI_Allgather(&own, 1, MPI_AINT, all, 1, MPI_AINT, comm);
    fence(&w, 0);
    out[0] = 40 + w.rank;
    MPI_Put(out, 1, MPI_INT, w.right, all[w.right], 1, MPI_INT, w.win);
    moved(&w, "MPI_Put", w.right_world, 4, 0);
    fence(&w, 0);
    EXPECT(w.memory[0] == 40 + w.left);
    MPI_Win_detach(w.win, w.memory);
    called(label, "MPI_Win_detach");
    freed(&w);
    free(w.memory);
    free(all);
}

/* The window lives on, and is the communicator's. */
static void over_freed_communicator(void)
{
    MPI_Comm brief;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &brief);
    made(brief, "brief", "MPI_Comm_split", "WORLD");
    struct window w = allocated(brief, "brief");
    free_comm(&brief, "brief");
    w.comm = MPI_COMM_WORLD;
    /* Whoever gets its handle now is another. */
    MPI_Comm next;
    MPI_Comm_dup(MPI_COMM_WORLD, &next);
    made(next, "next", "MPI_Comm_dup", "WORLD");
    with_fences(&w);
    with_groups(&w);
    with_locks(&w);
    with_requests(&w, next, "next");
    freed(&w);
    free_comm(&next, "next");
}

/* Two windows over one communicator, and one whose handle is used again. */
static void several(MPI_Comm comm, const char *label, MPI_Comm other, const char *other_label)
{
    struct window one = created(comm, label), two = allocated(comm, label), three = created(other, other_label);
    with_fences(&two);
    with_fences(&three);
    with_locks(&one);
    freed(&one);
    struct window again = created(other, other_label);
    with_fences(&again);
    free(one.memory);
    freed(&two);
    freed(&again);
    freed(&three);
    free(again.memory);
    free(three.memory);
}

static void failures(struct window *w)
{
    PMPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
    fence(w, 0);
    EXPECT(MPI_Put(out, 1, MPI_INT, w->size + 7, 0, 1, MPI_INT, w->win) != MPI_SUCCESS);
    failed(w->label, "MPI_Put", 0);
    EXPECT(MPI_Get(out, -1, MPI_INT, w->right, 0, 1, MPI_INT, w->win) != MPI_SUCCESS);
    failed(w->label, "MPI_Get", 0);
    fence(w, 0);
}

#if MPI_VERSION >= 4
static void large_counts(MPI_Comm comm, const char *label)
{
    struct window w = over(comm, label);
    w.memory = calloc(INTS, sizeof(int));
    MPI_Win_create_c(w.memory, INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &w.win);
    called(label, "MPI_Win_create");
    fence(&w, 0);
    out[0] = w.rank;
    MPI_Put_c(out, 100, MPI_INT, w.right, 0, 100, MPI_INT, w.win);
    moved(&w, "MPI_Put", w.right_world, 400, 0);
    MPI_Accumulate_c(out, 100, MPI_INT, w.right, 200, 100, MPI_INT, MPI_SUM, w.win);
    moved(&w, "MPI_Accumulate", w.right_world, 400, 0);
    fence(&w, 0);
    MPI_Get_c(in, 100, MPI_INT, w.right, 0, 100, MPI_INT, w.win);
    moved(&w, "MPI_Get", w.right_world, 0, 400);
    fence(&w, 0);
    EXPECT(in[0] == w.rank && w.memory[0] == w.left);
    freed(&w);
    free(w.memory);

    MPI_Win_allocate_shared_c(400, 4, MPI_INFO_NULL, comm, &w.memory, &w.win);
    called(label, "MPI_Win_allocate_shared");
    freed(&w);
    MPI_Win_allocate_c(INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &w.memory, &w.win);
    called(label, "MPI_Win_allocate");
    MPI_Request requests[4];
    MPI_Win_lock_all(0, w.win);
    called(label, "MPI_Win_lock_all");
    MPI_Get_accumulate_c(out, 10, MPI_INT, in, 10, MPI_INT, w.right, 0, 10, MPI_INT, MPI_REPLACE, w.win);
    moved(&w, "MPI_Get_accumulate", w.right_world, 40, 40);
    MPI_Rput_c(out, 10, MPI_INT, w.right, 100, 10, MPI_INT, w.win, &requests[0]);
    moved(&w, "MPI_Rput", w.right_world, 40, 0);
    MPI_Rget_c(in, 10, MPI_INT, w.right, 200, 10, MPI_INT, w.win, &requests[1]);
    moved(&w, "MPI_Rget", w.right_world, 0, 40);
    MPI_Raccumulate_c(out, 10, MPI_INT, w.right, 300, 10, MPI_INT, MPI_SUM, w.win, &requests[2]);
    moved(&w, "MPI_Raccumulate", w.right_world, 40, 0);
    MPI_Rget_accumulate_c(out, 10, MPI_INT, fetched, 10, MPI_INT, w.right, 400, 10, MPI_INT, MPI_SUM, w.win,
                          &requests[3]);
    moved(&w, "MPI_Rget_accumulate", w.right_world, 40, 40);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    called(label, "MPI_Waitall");
    MPI_Win_unlock_all(w.win);
    called(label, "MPI_Win_unlock_all");
    freed(&w);
}
#endif

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    MPI_Comm reversed, part;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
    made(reversed, "reversed", "MPI_Comm_split", "WORLD");
    const char *part_label = world_rank % 2 ? "odd" : "even";
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &part);
    made(part, part_label, "MPI_Comm_split", "WORLD");

    struct window world = created(MPI_COMM_WORLD, "WORLD"), back = allocated(reversed, "reversed");
    /* Open MPI 4.1.4 cannot make a window over memory of the program in a communicator of one process. */
    struct window some = allocated(part, part_label);
    with_fences(&world);
    with_fences(&back);
    with_fences(&some);
    with_groups(&world);
    with_groups(&back);
    with_locks(&world);
    with_locks(&back);
    with_locks(&some);
    with_requests(&world, reversed, "reversed");
    with_requests(&back, MPI_COMM_WORLD, "WORLD");
    with_requests(&some, reversed, "reversed");
    failures(&back);
    shared(MPI_COMM_WORLD, "WORLD");
    shared(part, part_label);
    dynamic(reversed, "reversed");
    over_freed_communicator();
    several(reversed, "reversed", MPI_COMM_WORLD, "WORLD");
#if MPI_VERSION >= 4
    large_counts(reversed, "reversed");
#endif

    /* While counting pauses windows are followed. */
    MPI_Pcontrol(0);
    called("WORLD", "MPI_Pcontrol");
    truth_paused = 1;
    struct window paused = created(reversed, "reversed");
    with_fences(&paused);
    truth_paused = 0;
    MPI_Pcontrol(1);
    called("WORLD", "MPI_Pcontrol");
    with_fences(&paused);
    freed(&paused);
    freed(&some);
    freed(&back);
    freed(&world);
    truth_finalize();
    return 0;
}
