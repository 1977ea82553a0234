! MPI by one of its three interfaces for Fortran, between the other modules and the declarations.
#if INTERFACE == 3
    use mpi_f08
#elif INTERFACE == 2
    use mpi
#endif
    implicit none
#if INTERFACE == 1
    include 'mpif.h'
#endif
