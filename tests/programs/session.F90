! A session and nothing else, through mpi_f08.
program main
    use mpi_f08
    implicit none
    type(MPI_Session) :: session
    type(MPI_Group) :: group
    type(MPI_Comm) :: comm
    type(MPI_Request) :: request
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session)
    call MPI_Group_from_session_pset(session, "mpi://WORLD", group)
    call MPI_Comm_create_from_group(group, "fortran", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm)
    call MPI_Group_free(group)
    call MPI_Barrier(comm)
    call MPI_Ibarrier(comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Comm_free(comm)
    call MPI_Session_finalize(session)
end program
