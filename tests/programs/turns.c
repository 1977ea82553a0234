/* turns ORDERS: calls that take turns, as in a halo exchange: communicators, neighbors and sizes in an order that is kept for some rounds,
 * but for a call out of turn now and then. Then comes another order, for which communicators may have been freed and made again, or a phase
 * begun. All ranks draw the same numbers. MPI_Send has 16 call sites, and rank 0 says how often it was called from each. */
#include "drawn.h"

enum { COMMS = 3, MOST_CALLS = 45, MOST_BYTES = 70000, SITES = 16 };
enum how { SEND, ISEND, SEND_TO_NONE, SENDRECV, ALLREDUCE, HOWS };

struct call {
    enum how how;
    int comm, shift, bytes, site;
};

static int sends[SITES];
static char out[MOST_BYTES], in[MOST_BYTES];

static struct call any_call(void)
{
    static const int sizes[] = {0, 3, 64, 65, 300, 5000, MOST_BYTES};
    struct call call;
    call.how = (enum how)draw(HOWS);
    call.comm = (int)draw(COMMS);
    call.shift = 1 + (int)draw(3);
    call.bytes = sizes[draw(7)];
    call.site = (int)draw(SITES);
    return call;
}

/* Its calls differ by their tags, so that the compiler makes no fewer of them. */
static void send_from(int site, int bytes, int to, MPI_Comm comm)
{
    sends[site]++;
    switch (site) {
#define FROM(number)                                                                                                   \
    case number:                                                                                                       \
        MPI_Send(out, bytes, MPI_BYTE, to, 10 + number, comm);                                                         \
        break;
        FROM(0) FROM(1) FROM(2) FROM(3) FROM(4) FROM(5) FROM(6) FROM(7)
        FROM(8) FROM(9) FROM(10) FROM(11) FROM(12) FROM(13) FROM(14) FROM(15)
    }
}

static void make(struct call call)
{
    MPI_Comm comm = comms[call.comm];
    const char *label = labels[call.comm];
    int bytes = call.bytes, to = (world_rank + call.shift) % world_size, from = (world_rank + 3 * world_size - call.shift) % world_size;
    MPI_Request requests[2];
    switch (call.how) {
    case SEND:
    case ISEND:
        MPI_Irecv(in, MOST_BYTES, MPI_BYTE, from, MPI_ANY_TAG, comm, &requests[0]);
        received(label, "MPI_Irecv", bytes);
        if (call.how == SEND) {
            send_from(call.site, bytes, to, comm);
            sent(label, "MPI_Send", to, bytes);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            called(label, "MPI_Wait");
        } else {
            MPI_Isend(out, bytes, MPI_BYTE, to, 5, comm, &requests[1]);
            sent(label, "MPI_Isend", to, bytes);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            called(label, "MPI_Waitall");
        }
        break;
    case SEND_TO_NONE:
        send_from(call.site, bytes, MPI_PROC_NULL, comm);
        called(label, "MPI_Send");
        break;
    case SENDRECV:
        MPI_Sendrecv(out, bytes, MPI_BYTE, to, 6, in, MOST_BYTES, MPI_BYTE, from, 6, comm, MPI_STATUS_IGNORE);
        carried(label, "MPI_Sendrecv", bytes, bytes, bytes);
        edge(label, "MPI_Sendrecv", to, bytes);
        break;
    default:
        MPI_Allreduce(out, in, bytes, MPI_BYTE, MPI_BOR, comm);
        carried(label, "MPI_Allreduce", bytes, bytes, bytes);
    }
}

int main(int argc, char **argv)
{
    struct call order[MOST_CALLS];
    truth_init(&argc, &argv);
    EXPECT(argc == 2);
    for (int i = 0; i < COMMS; i++)
        give(i);
    for (int left = atoi(argv[1]); left > 0; left--) {
        int calls = 1 + (int)draw(draw(3) ? 8 : MOST_CALLS), is_simple = (int)draw(2), every = 5 + (int)draw(200);
        for (int i = 0; i < calls; i++) {
            order[i] = any_call();
            if (is_simple) /* of one operation over one communicator */
                order[i].how = order[0].how, order[i].comm = order[0].comm;
        }
        for (int round = 3 + (int)draw(6); round > 0; round--)
            for (int i = 0; i < calls; i++) {
                make(order[i]);
                if (!draw(every))
                    make(any_call());
            }
        if (!draw(3)) {
            int which = (int)draw(COMMS);
            free_comm(&comms[which], labels[which]);
            give(which);
        }
        if (!draw(4))
            begin_phase();
    }
    for (int site = 0; world_rank == 0 && site < SITES; site++)
        printf("%d sends\n", sends[site]);
    truth_finalize();
    return 0;
}
