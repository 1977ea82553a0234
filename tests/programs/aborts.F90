! Rank 1 ends the job, through one of Fortran's three interfaces; the others wait.
program aborts
#if INTERFACE == 3
    use mpi_f08
#elif INTERFACE == 2
    use mpi
#endif
    implicit none
#if INTERFACE == 1
    include 'mpif.h'
#endif
    integer :: rank, ierror
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (rank == 1) call MPI_Abort(MPI_COMM_WORLD, 7, ierror) ! aborts
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Finalize(ierror)
end program
