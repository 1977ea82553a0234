/* alternating STEPS: calls that are hardly ever like the one before: another communicator out of many, another operation, datatype, size,
 * root, partner or phase, and handles that come again for other communicators. All ranks draw the same numbers. */
#include "drawn.h"

enum { COMMS = MOST_COMMS, MOST = 3000, POLLED = 4 };

static double out[MOST * 3], in[MOST * 3];

/* Receives from the rank before, sends to the one behind, and polls until all have come. */
static void poll(MPI_Comm comm, const char *label, int shift, int bytes)
{
    MPI_Request requests[POLLED + 1];
    int to = (world_rank + shift) % world_size, from = (world_rank + world_size - shift) % world_size, index, flag;
    int first = (int)draw(2); /* a null request stands in front of them or behind them */
    requests[first ? 0 : POLLED] = MPI_REQUEST_NULL;
    for (int i = 0; i < POLLED; i++)
        MPI_Irecv((char *)in + i * bytes, bytes, MPI_BYTE, from, i, comm, &requests[first + i]);
    for (int i = 0; i < 3; i++) { /* whatever has come by now */
        MPI_Testany(1 + POLLED, requests, &index, &flag, MPI_STATUS_IGNORE);
        EXPECT(!flag);
        called(label, "MPI_Testany");
    }
    PMPI_Barrier(comm);
    for (int i = 0; i < POLLED; i++) {
        MPI_Request sending;
        MPI_Isend(out, bytes, MPI_BYTE, to, i, comm, &sending);
        sent(label, "MPI_Isend", to, bytes);
        MPI_Wait(&sending, MPI_STATUS_IGNORE);
        called(label, "MPI_Wait");
    }
    for (int done = 0; done < POLLED; done += flag) {
        MPI_Testany(1 + POLLED, requests, &index, &flag, MPI_STATUS_IGNORE);
        called(label, "MPI_Testany");
        if (flag)
            received(label, "MPI_Irecv", bytes);
    }
}

/* Sends and receives of two communicators at once, in an order that is drawn. */
static void both(int one, int other, int shift, int bytes)
{
    MPI_Request requests[8];
    int to = (world_rank + shift) % world_size, from = (world_rank + world_size - shift) % world_size, count = 0;
    for (int i = 0; i < 4; i++) {
        int which = i % 2 ? one : other;
        MPI_Irecv((char *)in + i * bytes, bytes, MPI_BYTE, from, 9, comms[which], &requests[count++]);
        MPI_Isend(out, bytes, MPI_BYTE, to, 9, comms[which], &requests[count++]);
        received(labels[which], "MPI_Irecv", bytes);
        sent(labels[which], "MPI_Isend", to, bytes);
    }
    for (int i = count - 1; i > 0; i--) {
        int place = draw(i + 1);
        MPI_Request kept = requests[i];
        requests[i] = requests[place], requests[place] = kept;
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    called("*", "MPI_Waitall");
    involved(labels[one], "MPI_Waitall");
    involved(labels[other], "MPI_Waitall");
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 33, 300, MOST};
    MPI_Datatype triple, types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    truth_init(&argc, &argv);
    EXPECT(argc == 2);
    for (int i = 0; i < COMMS; i++)
        give(i);
    for (int step = atoi(argv[1]); step > 0; step--) {
        int which = draw(4) ? (int)draw(COMMS) : (int)draw(3), count = counts[draw(5)], root = (int)draw(world_size);
        int shift = 1 + (int)draw(3), size, bytes;
        MPI_Datatype type = types[draw(3)];
        MPI_Comm comm = comms[which];
        const char *label = labels[which];
        PMPI_Type_size(type, &size);
        bytes = count * size;
        switch (draw(9)) {
        case 0:
            MPI_Allreduce(out, in, count, type == MPI_CHAR ? MPI_BYTE : type, type == MPI_CHAR ? MPI_BOR : MPI_SUM, comm);
            carried(label, "MPI_Allreduce", bytes, bytes, bytes);
            break;
        case 1:
            MPI_Bcast(out, count, type, root, comm);
            carried(label, "MPI_Bcast", bytes, root == world_rank ? bytes : 0, root == world_rank ? 0 : bytes);
            break;
        case 2:
            MPI_Barrier(comm);
            called(label, "MPI_Barrier");
            break;
        case 3: /* a datatype whose handle comes again for another one */
            PMPI_Type_contiguous(1 + (int)draw(3), type, &triple);
            PMPI_Type_commit(&triple);
            PMPI_Type_size(triple, &size);
            MPI_Bcast(out, count, triple, root, comm);
            bytes = count * size;
            carried(label, "MPI_Bcast", bytes, root == world_rank ? bytes : 0, root == world_rank ? 0 : bytes);
            PMPI_Type_free(&triple);
            break;
        case 4: {
            int to = (world_rank + shift) % world_size, from = (world_rank + 3 * world_size - shift) % world_size;
            MPI_Sendrecv(out, count, type, to, 3, in, count, type, from, 3, comm, MPI_STATUS_IGNORE);
            carried(label, "MPI_Sendrecv", bytes, bytes, bytes);
            edge(label, "MPI_Sendrecv", to, bytes);
            break;
        }
        case 5:
            if (shift % world_size)
                poll(comm, label, shift % world_size, bytes % 1000 + 1);
            break;
        case 6:
            both(which, (which + 1) % COMMS, shift % world_size, bytes % 1000 + 1);
            break;
        case 7:
            free_comm(&comms[which], label);
            give(which);
            break;
        default:
            begin_phase();
        }
    }
    truth_finalize();
    return 0;
}
