/* The least that a profiler could do: a library to preload that reads the time-stamp counter before and after each call of
 * the cases and adds the difference up. What a case costs more with it is the floor of the case. */
#include <mpi.h>
#include "timing.h"

/* For each thread: to share a cache line would cost more than all the rest. Not static, or nobody would need the sum. */
__thread uint64_t floor_sum __attribute__((tls_model("initial-exec")));

#define WRAPPER(name, parameters, arguments) \
    int MPI_##name parameters                \
    {                                        \
        uint64_t begin = TICKS();            \
        int result = PMPI_##name arguments;  \
        floor_sum += TICKS() - begin;        \
        return result;                       \
    }

WRAPPER(Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))
WRAPPER(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s), (b, n, t, from, tag, c, s))
WRAPPER(Iprobe, (int from, int tag, MPI_Comm c, int *flag, MPI_Status *s), (from, tag, c, flag, s))
WRAPPER(Test, (MPI_Request *r, int *flag, MPI_Status *s), (r, flag, s))
WRAPPER(Testany, (int n, MPI_Request *r, int *index, int *flag, MPI_Status *s), (n, r, index, flag, s))
WRAPPER(Sendrecv,
        (const void *b, int n, MPI_Datatype t, int to, int tag, void *b2, int n2, MPI_Datatype t2, int from, int tag2,
         MPI_Comm c, MPI_Status *s),
        (b, n, t, to, tag, b2, n2, t2, from, tag2, c, s))
WRAPPER(Allreduce, (const void *b, void *b2, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, b2, n, t, o, c))
WRAPPER(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
WRAPPER(Barrier, (MPI_Comm c), (c))
WRAPPER(Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r),
        (b, n, t, to, tag, c, r))
WRAPPER(Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r), (b, n, t, from, tag, c, r))
WRAPPER(Wait, (MPI_Request *r, MPI_Status *s), (r, s))
WRAPPER(Waitany, (int n, MPI_Request *r, int *index, MPI_Status *s), (n, r, index, s))
WRAPPER(Waitall, (int n, MPI_Request *r, MPI_Status *s), (n, r, s))
WRAPPER(Start, (MPI_Request *r), (r))
WRAPPER(Startall, (int n, MPI_Request *r), (n, r))
WRAPPER(Mprobe, (int from, int tag, MPI_Comm c, MPI_Message *m, MPI_Status *s), (from, tag, c, m, s))
WRAPPER(Improbe, (int from, int tag, MPI_Comm c, int *flag, MPI_Message *m, MPI_Status *s), (from, tag, c, flag, m, s))
WRAPPER(Mrecv, (void *b, int n, MPI_Datatype t, MPI_Message *m, MPI_Status *s), (b, n, t, m, s))
WRAPPER(Neighbor_allgather, (const void *b, int n, MPI_Datatype t, void *b2, int n2, MPI_Datatype t2, MPI_Comm c),
        (b, n, t, b2, n2, t2, c))
WRAPPER(Put, (const void *b, int n, MPI_Datatype t, int to, MPI_Aint at, int n2, MPI_Datatype t2, MPI_Win w),
        (b, n, t, to, at, n2, t2, w))
WRAPPER(Win_flush, (int to, MPI_Win w), (to, w))
WRAPPER(Comm_dup, (MPI_Comm c, MPI_Comm *made), (c, made))
WRAPPER(Comm_free, (MPI_Comm *c), (c))

#ifdef OPEN_MPI /* MPICH's Fortran calls MPI_Send, Open MPI's does not */
typedef MPI_Fint F;
/* Weak: programs in C have no such functions. */
void pmpi_send_(void *b, F *n, F *t, F *to, F *tag, F *c, F *error) __attribute__((weak));
void pmpi_allreduce_(void *b, void *b2, F *n, F *t, F *o, F *c, F *error) __attribute__((weak));
void pmpi_isend_(void *b, F *n, F *t, F *to, F *tag, F *c, F *r, F *error) __attribute__((weak));
void pmpi_irecv_(void *b, F *n, F *t, F *from, F *tag, F *c, F *r, F *error) __attribute__((weak));
void pmpi_waitall_(F *n, F *r, F *s, F *error) __attribute__((weak));

void mpi_send_(void *b, F *n, F *t, F *to, F *tag, F *c, F *error)
{
    uint64_t begin = TICKS();
    pmpi_send_(b, n, t, to, tag, c, error);
    floor_sum += TICKS() - begin;
}

void mpi_allreduce_(void *b, void *b2, F *n, F *t, F *o, F *c, F *error)
{
    uint64_t begin = TICKS();
    pmpi_allreduce_(b, b2, n, t, o, c, error);
    floor_sum += TICKS() - begin;
}

void mpi_isend_(void *b, F *n, F *t, F *to, F *tag, F *c, F *r, F *error)
{
    uint64_t begin = TICKS();
    pmpi_isend_(b, n, t, to, tag, c, r, error);
    floor_sum += TICKS() - begin;
}

void mpi_irecv_(void *b, F *n, F *t, F *from, F *tag, F *c, F *r, F *error)
{
    uint64_t begin = TICKS();
    pmpi_irecv_(b, n, t, from, tag, c, r, error);
    floor_sum += TICKS() - begin;
}

void mpi_waitall_(F *n, F *r, F *s, F *error)
{
    uint64_t begin = TICKS();
    pmpi_waitall_(n, r, s, error);
    floor_sum += TICKS() - begin;
}
#endif
