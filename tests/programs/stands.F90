! Two ranks that stand at known places, in calls that they have made before, from other lines, through one of Fortran's three interfaces.
! The first call of one makes another call, which is the first as well.
program stands
#include "fortran_mpi.h"
    integer :: rank, step, ierror, given, got
#if INTERFACE == 1
    integer :: sum
    external :: add
#endif
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    given = rank
#if INTERFACE == 1
    call MPI_Op_create(add, .true., sum, ierror)
    call MPI_Allreduce(given, got, 1, MPI_INTEGER, sum, MPI_COMM_WORLD, ierror)
#endif
    do step = 1, 3
        call MPI_Allreduce(given, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
        if (rank == 0) call MPI_Recv(got, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
        if (rank == 1) call MPI_Send(given, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, ierror)
    end do
    if (rank == 0) call MPI_Recv(got, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror) ! stands
    if (rank == 1) call MPI_Allreduce(given, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror) ! stands
end program

#if INTERFACE == 1
subroutine add(in, both, length, datatype)
    implicit none
    include 'mpif.h'
    integer :: length, datatype, ierror, in(length), both(length)
    both = in + both
    call MPI_Bcast(both, length, MPI_INTEGER, 0, MPI_COMM_SELF, ierror)
end subroutine
#endif
