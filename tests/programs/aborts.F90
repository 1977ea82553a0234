! Rank 1 ends the job, through one of Fortran's three interfaces; the others wait.
program aborts
#include "fortran_mpi.h"
    integer :: rank, ierror
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (rank == 1) call MPI_Abort(MPI_COMM_WORLD, 7, ierror) ! aborts
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Finalize(ierror)
end program
