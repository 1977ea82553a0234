/* Arrays of sends and receives to oneself, with nulls and requests that are not started in between, completed by calls drawn at random:
 * over all of an array or a part, one after the other, polled, and with new requests in the places of those that have completed.
 * Libraries give one handle to all sends that are complete at once, so that handles stand in an array many times. At last a call fails.
 *
 * usage: drains [SEED [threaded]]   with a second word other threads may call as well */
#include "truth.h"

enum { COMMS = 3, MOST = 48, ROUNDS = 400, BYTES = 1000 };
enum form { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, FORMS };
static const char *const ops[] = {"MPI_Wait",    "MPI_Test",    "MPI_Waitall",  "MPI_Testall",
                                  "MPI_Waitany", "MPI_Testany", "MPI_Waitsome", "MPI_Testsome"};
static MPI_Comm comms[COMMS];
static char labels[COMMS][LABEL_LENGTH];
static char out[BYTES], in[MOST][BYTES];
static unsigned long drawn;
static int is_threaded;

/* What stands in the array. */
static MPI_Request requests[MOST], inactive;
static enum { NONE, IDLE, SEND, RECEIVE } kinds[MOST];
static int which[MOST], bytes[MOST], length;

static int draw(int below)
{
    drawn = drawn * 6364136223846793005UL + 1442695040888963407UL;
    return (int)((drawn >> 33) % below);
}

/* The rank that a message came from, which is told on other communicators than MPI_COMM_WORLD only where no other thread may free them. */
static int sender(void) { return is_threaded ? -1 : world_rank; }

/* All of one bucket: who has a handle for itself, and who shares one, is told by nothing but its operation. */
static int size(void) { return 200 + draw(800); }

static void begin(int place, int comm, int kind, int of_bytes, int tag)
{
    kinds[place] = kind, which[place] = comm, bytes[place] = of_bytes;
    if (kind == RECEIVE) {
        MPI_Irecv(in[place], BYTES, MPI_CHAR, 0, tag, comms[comm], &requests[place]);
        received(labels[comm], "MPI_Irecv", of_bytes);
    } else {
        MPI_Isend(out, of_bytes, MPI_CHAR, 0, tag, comms[comm], &requests[place]);
        sent(labels[comm], "MPI_Isend", world_rank, of_bytes);
    }
}

/* A receive and its send, in two places. */
static void begin_both(int receive, int send, int comm)
{
    static int tag;
    int of_bytes = size();
    tag = (tag + 1) % 30000;
    begin(receive, comm, RECEIVE, of_bytes, tag);
    begin(send, comm, SEND, of_bytes, tag);
}

/* Whom a call over this part of the array belongs to, and who takes part in it. */
static const char *charge(const char *op, int from, int count)
{
    int active[COMMS] = {0}, several = 0;
    for (int i = from; i < from + count; i++)
        if (kinds[i] >= SEND) active[which[i]] = 1;
    for (int c = 0; c < COMMS; c++) several += active[c];
    const char *label = several > 1 ? "*" : several == 0 ? "-" : active[0] ? labels[0] : active[1] ? labels[1] : labels[2];
    for (int c = 0; c < COMMS; c++)
        if (several > 1 && active[c]) involved(labels[c], op);
    called(label, op);
    return label;
}

static void done(const char *label, const char *op, int place, int is_only)
{
    int is_receive = kinds[place] == RECEIVE;
    EXPECT(kinds[place] >= SEND && requests[place] == MPI_REQUEST_NULL);
    completed_request(label, op, is_receive ? "MPI_Irecv" : "MPI_Isend", bytes[place],
                      is_receive && is_only ? sender() : -1, is_receive ? bytes[place] : 0);
    kinds[place] = NONE;
}

/* One call over a part of the array. Returns how many it completed. */
static int complete(enum form form, int from, int count)
{
    MPI_Status statuses[MOST];
    int is_ignored = draw(2), flag = 1, few = 1, places[MOST], active = 0;
    MPI_Request *part = requests + from;
    MPI_Status *all = is_ignored ? MPI_STATUSES_IGNORE : statuses, *one = is_ignored ? MPI_STATUS_IGNORE : statuses;
    if (form <= TEST) count = 1;
    for (int i = 0; i < count; i++) places[i] = i, active += kinds[from + i] >= SEND;
    const char *label = charge(ops[form], from, count);
    switch (form) {
    case WAIT: MPI_Wait(part, one); break;
    case TEST: MPI_Test(part, &flag, one); break;
    case WAITALL: MPI_Waitall(count, part, all); few = count; break;
    case TESTALL: MPI_Testall(count, part, &flag, all); few = count; break;
    case WAITANY: MPI_Waitany(count, part, places, one); break;
    case TESTANY: MPI_Testany(count, part, places, &flag, one); break;
    case WAITSOME: MPI_Waitsome(count, part, &few, places, all); break;
    case TESTSOME: MPI_Testsome(count, part, &few, places, all); break;
    default: break;
    }
    if (!flag || !active || few == MPI_UNDEFINED || places[0] == MPI_UNDEFINED)
        return 0;
    int completed = 0, first = 1;
    for (int i = 0; i < few; i++) completed += kinds[from + places[i]] >= SEND;
    for (int i = 0; i < few; i++)
        if (kinds[from + places[i]] >= SEND) done(label, ops[form], from + places[i], completed == 1), first = 0;
    EXPECT(!first || few == 0);
    return completed;
}

/* Puts pairs into an array, receives first, and some places with nothing. With requests of two communicators under one handle nobody
 * can tell which of them a call has completed that does not complete all. */
static void fill(int is_mixed)
{
    int places[MOST], pairs, one = draw(COMMS);
    length = 2 + draw(MOST - 1);
    pairs = length / 2 - draw(length / 4 + 1);
    for (int i = 0; i < length; i++) {
        places[i] = i, kinds[i] = draw(3) ? NONE : IDLE;
        requests[i] = kinds[i] == IDLE ? inactive : MPI_REQUEST_NULL;
    }
    if (draw(2))
        for (int i = 0; i < length; i++) {
            int other = draw(length), kept = places[i];
            places[i] = places[other], places[other] = kept;
        }
    for (int i = 0; i < pairs; i++)
        begin_both(places[i], places[pairs + i], is_mixed ? draw(COMMS) : one);
}

static int left(void)
{
    int active = 0;
    for (int i = 0; i < length; i++) active += kinds[i] >= SEND;
    return active;
}

/* A call fails after others have completed a part of the array: it completes the request that failed, and none of those again. */
static void fail(void)
{
    enum { SENDS = 9 };
    MPI_Request behind[SENDS];
    MPI_Comm comm = comms[0];
    const char *label = labels[0];
    int index, left = SENDS;
    for (int i = 0; i < SENDS; i++) {
        MPI_Irecv(in[i], BYTES, MPI_CHAR, 0, i, comm, &behind[i]);
        received(label, "MPI_Irecv", 300);
    }
    MPI_Irecv(in[SENDS], 300, MPI_CHAR, 0, 30002, comm, &requests[0]);
    for (int i = 0; i < SENDS; i++) begin(1 + i, 0, SEND, 300, i);
    for (int i = 0; i < 3; i++, left--) {
        MPI_Waitany(1 + SENDS, requests, &index, MPI_STATUS_IGNORE);
        called(label, "MPI_Waitany");
        done(label, "MPI_Waitany", index, 1);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPICH asks this one */
    if (MPI_Send(out, 400, MPI_CHAR, 0, 30002, comm))
        failed(label, "MPI_Send", 0);
    else
        sent(label, "MPI_Send", world_rank, 400);
    while (left || requests[0] != MPI_REQUEST_NULL) {
        MPI_Status status;
        int bytes = 0, code = MPI_Waitany(1 + SENDS, requests, &index, &status);
        if (code)
            failed(label, "MPI_Waitany", 0);
        else
            called(label, "MPI_Waitany");
        if (!code && index > 0) {
            done(label, "MPI_Waitany", index, 1);
            left--;
            continue;
        }
        /* Open MPI does not tell that the message was too long. */
        EXPECT(requests[0] == MPI_REQUEST_NULL);
        if (!code) PMPI_Get_count(&status, MPI_CHAR, &bytes);
        received(label, "MPI_Irecv", bytes);
        completed_request(label, "MPI_Waitany", "MPI_Irecv", bytes, bytes ? sender() : -1, bytes);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Waitall(SENDS, behind, MPI_STATUSES_IGNORE);
    called(label, "MPI_Waitall");
    for (int i = 0; i < SENDS; i++) completed_request(label, "MPI_Waitall", "MPI_Irecv", 300, -1, 300);
}

int main(int argc, char **argv)
{
    is_threaded = argc > 2;
    if (is_threaded)
        truth_init_threaded(&argc, &argv);
    else
        truth_init(&argc, &argv);
    drawn = 17 + 1000 * world_rank + (argc > 1 ? strtoul(argv[1], NULL, 10) : 0);
    for (int c = 0; c < COMMS; c++) {
        snprintf(labels[c], LABEL_LENGTH, "%d of %d", c, world_rank);
        MPI_Comm_dup(MPI_COMM_SELF, &comms[c]);
        made(comms[c], labels[c], "MPI_Comm_dup", "SELF");
    }
    MPI_Recv_init(in[0], BYTES, MPI_CHAR, 0, 30001, comms[0], &inactive);
    called(labels[0], "MPI_Recv_init");
    for (int round = 0; round < ROUNDS; round++) {
        int is_mixed = draw(4) == 0, more = draw(3) ? 0 : draw(20);
        enum form form = draw(FORMS);
        fill(is_mixed);
        while (left()) {
            if (is_mixed) {
                complete(draw(2) ? WAITALL : TESTALL, 0, length);
                continue;
            }
            if (draw(4) == 0) form = draw(FORMS);
            int from = draw(3) ? 0 : draw(length), count = draw(2) ? length - from : draw(length - from + 1);
            /* A blocking call waits for what will come: all is started. */
            if (form <= TEST && kinds[from] < SEND) continue;
            if (count == 0) continue;
            if (complete(form, from, count) == 1 && more > 0) {
                int free[2], found = 0, comm = -1;
                for (int i = 0; i < length && found < 2; i++)
                    if (kinds[i] == NONE) free[found++] = i;
                for (int i = 0; i < length; i++)
                    if (kinds[i] >= SEND) comm = which[i];
                if (found == 2 && comm >= 0) begin_both(free[0], free[1], comm), more--;
            }
        }
    }
    fail();
    MPI_Request_free(&inactive);
    called(labels[0], "MPI_Request_free");
    for (int c = 0; c < COMMS; c++) free_comm(&comms[c], labels[c]);
    truth_finalize();
}
