/* A tool between commsee and an MPI library: it stands in the place of a Fortran function's profiling name, and calls other functions of C than that. */
#include <mpi.h>

void pmpi_barrier_(MPI_Fint *comm, MPI_Fint *error)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_Comm_f2c(*comm), &flag, MPI_STATUS_IGNORE);
    *error = PMPI_Barrier(MPI_Comm_f2c(*comm));
}
