/* The ground truth for Fortran programs, which state it through these functions. Texts end with a zero byte; handles are
 * Fortran's. */
#include "truth.h"

void truth_begin_f(const char *op)
{
    truth_begin(op);
}

void truth_carried(const char *label, const char *op, int size, int sent, int received)
{
    carried(label, op, size, sent, received);
}

void truth_edge(const char *label, const char *op, int destination, int bytes)
{
    edge(label, op, destination, bytes);
}

void truth_failed(const char *label, const char *op)
{
    failed(label, op, 0);
}

void truth_involved(const char *label, const char *op)
{
    involved(label, op);
}

/* What follows on files is on this one. */
void truth_on_file(const char *name)
{
    truth_file = strdup(name);
}

void truth_pause(int paused)
{
    truth_paused = paused;
}

int truth_next(void)
{
    return next_ordinal();
}

/* The program names it itself. */
void truth_named(MPI_Fint comm, const char *label, const char *creator, const char *parent, int ordinal)
{
    given(PMPI_Comm_f2c(comm), label, strdup(creator), parent, ordinal);
    truth_comms->named = 1;
    called(label, "MPI_Comm_set_name");
}

void truth_freed(const char *label)
{
    truth_find(label)->freed = 1;
    called(label, "MPI_Comm_free");
}

void truth_end(void)
{
    called("WORLD", "MPI_Finalize");
    truth_write();
}

/* What C does over a communicator that Fortran made. */
void c_side(MPI_Fint comm, const char *label, int peer, int peer_world)
{
    MPI_Comm c = PMPI_Comm_f2c(comm);
    MPI_Request requests[2];
    int in, out = 1;
    MPI_Irecv(&in, 1, MPI_INT, peer, 77, c, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, peer, 77, c, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    received(label, "MPI_Irecv", 4);
    sent(label, "MPI_Isend", peer_world, 4);
    called(label, "MPI_Waitall");
    MPI_Barrier(c);
    called(label, "MPI_Barrier");
}

/* A communicator that goes with another one: C frees it while Fortran frees that one. */
static MPI_Comm inner;

static int drop(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    free_comm(&inner, "inner");
    return MPI_SUCCESS;
}

void attach_inner(MPI_Fint comm, const char *label)
{
    MPI_Comm outer = PMPI_Comm_f2c(comm);
    int key;
    MPI_Comm_dup(outer, &inner);
    made(inner, "inner", "MPI_Comm_dup", label);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &key, NULL);
    PMPI_Comm_set_attr(outer, key, NULL);
}
