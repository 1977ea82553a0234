! Fortran in a library that is opened while MPI runs. The very first call into MPI's Fortran passes a sentinel.
subroutine late_work() bind(c)
    use mpi
    implicit none
    integer :: out(100), in(100), all(64), error
    out = 1
    call MPI_Sendrecv(out, 100, MPI_INTEGER, 0, 1, in, 100, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, error)
    all = 1
    ! What stands for the send side is not to be looked at.
    call MPI_Allgather(MPI_IN_PLACE, 1, MPI_DATATYPE_NULL, all, 4, MPI_INTEGER, MPI_COMM_WORLD, error)
end subroutine
