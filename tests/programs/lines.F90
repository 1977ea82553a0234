! As lines.c, in Fortran through one of its three interfaces: module procedures, contained ones, the main program.
#if INTERFACE == 3
#define COMM_T type(MPI_Comm)
#define REQUEST_T type(MPI_Request)
#else
#define COMM_T integer
#define REQUEST_T integer
#endif
#define AT(label, op, function, sent, received) call log_line(label, op, function, __LINE__, sent, received)
! gfortran 12 gives calls with an explicit interface and no choice buffer the first line of their procedure: nobody can know better.
#if INTERFACE == 1
#define MAYBE_AT AT
#else
#define MAYBE_AT(label, op, function, sent, received) continue
#endif

module grid
#include "fortran_mpi.h"
    integer :: rank = -1
contains
    subroutine log_line(label, op, function, line, sent, received)
        character(*), intent(in) :: label, op, function
        integer, intent(in) :: line, sent, received
        write (*, '(A,I0,A,I0,A,I0,A,I0)') '@ ', rank, ' ' // label // ' ' // op // ' ' // function // ' ', line, ' ', sent, ' ', received
    end subroutine

    subroutine exchange(peer, comm)
        integer, intent(in) :: peer
        COMM_T, intent(in) :: comm
        integer :: given(3), got(3), ierror
        REQUEST_T :: request
        given = peer
        AT('WORLD', 'MPI_Irecv', 'exchange', 0, 12); call MPI_Irecv(got, 3, MPI_INTEGER, peer, 0, comm, request, ierror)
        AT('WORLD', 'MPI_Send', 'exchange', 12, 0); call MPI_Send(given, 3, MPI_INTEGER, peer, 0, comm, ierror)
        MAYBE_AT('WORLD', 'MPI_Wait', 'exchange', 0, 0); call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    end subroutine
end module

program heat
    use grid
    implicit none
    COMM_T :: rows
    integer :: ierror, step
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    AT('WORLD', 'MPI_Comm_split', 'heat', 0, 0); call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, rows, ierror)
    MAYBE_AT('rows', 'MPI_Comm_set_name', 'heat', 0, 0); call MPI_Comm_set_name(rows, 'rows', ierror)
    do step = 1, 4
        call exchange(ieor(rank, 1), MPI_COMM_WORLD)
        call add(step)
    end do
    AT('WORLD', 'MPI_Barrier', 'heat', 0, 0); call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Finalize(ierror)
contains
    subroutine add(value)
        integer, intent(in) :: value
        integer :: total
        AT('rows', 'MPI_Allreduce', 'add', 4, 4); call MPI_Allreduce(value, total, 1, MPI_INTEGER, MPI_SUM, rows, ierror)
    end subroutine
end program
