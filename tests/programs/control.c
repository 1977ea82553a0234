/* MPI_Pcontrol(0) stops counting and MPI_Pcontrol(1) resumes it; communicators and requests are followed all the time. */
#include "truth.h"

static void exchange(MPI_Comm comm, const char *label)
{
    int peer = world_rank ^ 1, rank, one = 1, sum;
    char out[100] = {0}, in[100];
    PMPI_Comm_rank(comm, &rank);
    MPI_Sendrecv(out, 100, MPI_BYTE, peer, 1, in, 100, MPI_BYTE, peer, 1, comm, MPI_STATUS_IGNORE);
    carried(label, "MPI_Sendrecv", 100, 100, 100);
    edge(label, "MPI_Sendrecv", peer, 100);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    carried(label, "MPI_Allreduce", 4, 4, 4);
}

/* The call that stops is counted, as is the one that resumes. */
static void set(int level)
{
    if (level == 1)
        truth_paused = 0;
    MPI_Pcontrol(level);
    called("WORLD", "MPI_Pcontrol");
    if (level == 0)
        truth_paused = 1;
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(world_size % 2 == 0);
    int peer = world_rank ^ 1;
    MPI_Comm first, hidden, last;
    MPI_Request requests[2], pending;
    char out[500] = {0}, in[500], more[500];
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    made(first, "first", "MPI_Comm_dup", "WORLD");
    exchange(first, "first");
    MPI_Irecv(more, 500, MPI_BYTE, peer, 7, first, &pending);
    received("first", "MPI_Irecv", 300);

    set(0);
    exchange(first, "first");
    MPI_Comm_dup(MPI_COMM_WORLD, &hidden);
    made(hidden, "hidden", "MPI_Comm_dup", "WORLD");
    exchange(hidden, "hidden");
    MPI_Irecv(in, 500, MPI_BYTE, peer, 2, hidden, &requests[0]);
    MPI_Isend(out, 400, MPI_BYTE, peer, 2, hidden, &requests[1]);
    MPI_Pcontrol(0);
    set(1);

    /* Begun in silence: what completes them counts, they themselves do not. */
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    called("hidden", "MPI_Wait");
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    called("hidden", "MPI_Wait");
    exchange(hidden, "hidden");
    /* Begun aloud, before the silence. */
    MPI_Send(out, 300, MPI_BYTE, peer, 7, first);
    sent("first", "MPI_Send", peer, 300);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    called("first", "MPI_Wait");
    MPI_Comm_dup(hidden, &last);
    made(last, "last", "MPI_Comm_dup", "hidden");
    exchange(last, "last");
    set(1);
    exchange(last, "last");
    truth_finalize();
    return 0;
}
