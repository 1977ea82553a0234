/* Another tool that wraps functions of MPI by the profiling interface, and says at its end how often. Lines of several ranks do not mix. */
#include <mpi.h>
#include <stdio.h>

static int barriers, allreduces, isends, waits, fortran_barriers;

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    allreduces++;
    return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Isend(const void *from, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
    isends++;
    return PMPI_Isend(from, count, type, rank, tag, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    waits++;
    return PMPI_Wait(request, status);
}

/* Only there where the program has brought the Fortran layer. */
__attribute__((weak)) void pmpi_barrier_(MPI_Fint *comm, MPI_Fint *error);

void mpi_barrier_(MPI_Fint *comm, MPI_Fint *error)
{
    fortran_barriers++;
    pmpi_barrier_(comm, error);
}

__attribute__((destructor)) static void tell(void)
{
    int is_there = 0;
    PMPI_Initialized(&is_there);
    if (!is_there)
        return;
    dprintf(1, "the shim saw %d %d %d %d %d\n", barriers, allreduces, isends, waits, fortran_barriers);
}
