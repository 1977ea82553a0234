/* A domain of two dimensions whose borders have no neighbors: each rank exchanges with those in its row and in its column, over a
 * communicator each, and with MPI_PROC_NULL at a border. All sends that are complete at once, and in Open MPI receives from nobody too, have
 * one handle. Completed by every call, over both communicators at once where all complete together. Needs an even number of ranks. With
 * an argument other threads may call as well. */
#include "truth.h"

enum { ROW, COLUMN, COMMS, BEFORE = 0, AFTER = 1, SIDES, REQUESTS = COMMS * SIDES, MOST = 4096, ROUNDS = 3 };
enum form { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, FORMS };
static const char *const ops[] = {"MPI_Wait",    "MPI_Test",    "MPI_Waitall",  "MPI_Testall",
                                  "MPI_Waitany", "MPI_Testany", "MPI_Waitsome", "MPI_Testsome"};
static MPI_Comm comms[COMMS];
static const char *labels[COMMS];
static int neighbors[COMMS][SIDES];
static char out[MOST], in[REQUESTS][MOST];
static const int sizes[COMMS] = {320, 3000};

/* What a call completes: first the receives, then the sends. */
static MPI_Request requests[2 * REQUESTS];
static int which[2 * REQUESTS], from_or_to[2 * REQUESTS];

static int bytes_of(int place) { return from_or_to[place] == MPI_PROC_NULL ? 0 : sizes[which[place]]; }

static void start(void)
{
    for (int i = 0; i < 2 * REQUESTS; i++) {
        int comm = which[i] = i / SIDES % COMMS, side = i % SIDES;
        int neighbor = from_or_to[i] = neighbors[comm][side];
        if (i < REQUESTS) {
            MPI_Irecv(in[i], MOST, MPI_CHAR, neighbor, AFTER - side, comms[comm], &requests[i]);
            received(labels[comm], "MPI_Irecv", bytes_of(i));
        } else {
            memset(out, 'a' + world_rank, sizeof out);
            MPI_Isend(out, sizes[comm], MPI_CHAR, neighbor, side, comms[comm], &requests[i]);
            if (neighbor == MPI_PROC_NULL)
                called(labels[comm], "MPI_Isend");
            else
                sent(labels[comm], "MPI_Isend", world_rank_of(comms[comm], neighbor), sizes[comm]);
        }
    }
}

static void arrived(void)
{
    for (int i = 0; i < REQUESTS; i++) {
        int neighbor = from_or_to[i];
        EXPECT(neighbor == MPI_PROC_NULL || in[i][0] == 'a' + world_rank_of(comms[which[i]], neighbor));
        memset(in[i], 0, sizeof in[i]);
    }
}

/* One call over a part of the requests, all of which are under way. */
static void all(enum form form, int first, int count)
{
    int flag = 0, active[COMMS] = {0};
    for (int i = first; i < first + count; i++) active[which[i]] = 1;
    int is_mixed = active[ROW] && active[COLUMN];
    while (!flag) {
        if (form == WAITALL)
            flag = !MPI_Waitall(count, requests + first, MPI_STATUSES_IGNORE);
        else
            MPI_Testall(count, requests + first, &flag, MPI_STATUSES_IGNORE);
        called(is_mixed ? "*" : active[ROW] ? labels[ROW] : labels[COLUMN], ops[form]);
        for (int c = 0; c < COMMS; c++)
            if (is_mixed) involved(labels[c], ops[form]);
    }
}

/* One after the other, of one communicator: nobody can tell whose request has completed where two have one handle. */
static void few(enum form form, int first, int count)
{
    for (int left = count; left > 0;) {
        int completed = 1, flag = 1, places[2 * REQUESTS];
        switch (form) {
        case WAITANY: MPI_Waitany(count, requests + first, places, MPI_STATUS_IGNORE); break;
        case TESTANY: MPI_Testany(count, requests + first, places, &flag, MPI_STATUS_IGNORE); break;
        case WAITSOME: MPI_Waitsome(count, requests + first, &completed, places, MPI_STATUSES_IGNORE); break;
        default: MPI_Testsome(count, requests + first, &completed, places, MPI_STATUSES_IGNORE);
        }
        called(labels[which[first]], ops[form]);
        left -= flag ? completed : 0;
    }
}

static void one(enum form form, int place)
{
    for (int flag = 0; !flag; called(labels[which[place]], ops[form])) {
        if (form == WAIT)
            flag = !MPI_Wait(&requests[place], MPI_STATUS_IGNORE);
        else
            MPI_Test(&requests[place], &flag, MPI_STATUS_IGNORE);
    }
}

/* How the requests are taken in parts. */
static void complete(enum form form, int way)
{
    int step = way == 0 ? 2 * REQUESTS : way == 1 ? REQUESTS : SIDES;
    if (form == WAITANY || form == TESTANY || form == WAITSOME || form == TESTSOME) step = SIDES;
    if (form == WAIT || form == TEST) step = 1;
    for (int first = 0; first < 2 * REQUESTS; first += step) {
        if (step == 1)
            one(form, first);
        else if (form == WAITALL || form == TESTALL)
            all(form, first, step);
        else
            few(form, first, step);
    }
    for (int i = 0; i < 2 * REQUESTS; i++) EXPECT(requests[i] == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        truth_init_threaded(&argc, &argv);
    else
        truth_init(&argc, &argv);
    int dims[2] = {world_size / 2, 2}, periods[2] = {0, 0};
    MPI_Comm domain;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &domain);
    made(domain, "domain", "MPI_Cart_create", "WORLD");
    for (int c = 0; c < COMMS; c++) {
        int remain[2] = {c == COLUMN, c == ROW}, coordinates[2];
        PMPI_Cart_coords(domain, world_rank, 2, coordinates);
        labels[c] = label_of(c == ROW ? "row %d" : "column %d", coordinates[c == ROW ? 0 : 1]);
        MPI_Cart_sub(domain, remain, &comms[c]);
        made(comms[c], labels[c], "MPI_Cart_sub", "domain");
        PMPI_Cart_shift(comms[c], 0, 1, &neighbors[c][BEFORE], &neighbors[c][AFTER]);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (enum form form = WAIT; form < FORMS; form++)
            for (int way = 0; way < 3; way++) {
                start();
                complete(form, way);
                arrived();
            }
    /* What is freed before it has completed has brought nothing either. */
    for (int c = 0; c < COMMS; c++) {
        MPI_Irecv(in[0], MOST, MPI_CHAR, MPI_PROC_NULL, 0, comms[c], &requests[0]);
        received(labels[c], "MPI_Irecv", 0);
        MPI_Request_free(&requests[0]);
        called(labels[c], "MPI_Request_free");
    }
    for (int c = 0; c < COMMS; c++) free_comm(&comms[c], labels[c]);
    free_comm(&domain, "domain");
    truth_finalize();
}
