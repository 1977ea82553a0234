! Persistent collectives: those of MPI 4, or in Open MPI 4 those of an extension, which are counted as the same. MPICH 4.0.2 has them for two ranks.
#if INTERFACE == 3
#define COMM_T type(MPI_Comm)
#define REQUEST_T type(MPI_Request)
#else
#define COMM_T integer
#define REQUEST_T integer
#endif
#ifdef OPENMPI
#define BARRIER_INIT MPIX_Barrier_init
#define BCAST_INIT MPIX_Bcast_init
#define ALLREDUCE_INIT MPIX_Allreduce_init
#define GATHERV_INIT MPIX_Gatherv_init
#define NEIGHBOR_ALLTOALL_INIT MPIX_Neighbor_alltoall_init
#else
#define BARRIER_INIT MPI_Barrier_init
#define BCAST_INIT MPI_Bcast_init
#define ALLREDUCE_INIT MPI_Allreduce_init
#define GATHERV_INIT MPI_Gatherv_init
#define NEIGHBOR_ALLTOALL_INIT MPI_Neighbor_alltoall_init
#endif

#include "fortran_truth.h"

module work
    use truth
#if INTERFACE == 3
    use mpi_f08
#ifdef OPENMPI
    use mpi_f08_ext
#endif
#elif INTERFACE == 2
    use mpi
#ifdef OPENMPI
    use mpi_ext
#endif
#endif
    implicit none
#if INTERFACE == 1
    include 'mpif.h'
#ifdef OPENMPI
    include 'mpif-ext.h'
#endif
#endif
    integer :: rank, ranks, error
contains
    ! Twice by a start of its own, then together with another; given up at last.
    subroutine started(label, request, size, give, take)
        character(*), intent(in) :: label
        REQUEST_T, intent(inout) :: request
        integer, intent(in) :: size, give, take
        integer :: round
        do round = 1, 2
            call MPI_Start(request, error)
            call carried(label, "MPI_Start", size, give, take)
            call MPI_Wait(request, MPI_STATUS_IGNORE, error)
            call called(label, "MPI_Wait")
        end do
        call MPI_Request_free(request, error)
        call called(label, "MPI_Request_free")
    end subroutine

    subroutine collectives(comm, label)
        COMM_T, intent(in) :: comm
        character(*), intent(in) :: label
        integer, asynchronous :: out(100), in(100)
        integer :: counts(2), places(2)
        REQUEST_T :: request
        counts = [3, 5]
        places = [0, 3]
        out = rank + 1
        call BARRIER_INIT(comm, MPI_INFO_NULL, request, error)
        call called(label, "MPI_Barrier_init")
        call started(label, request, 0, 0, 0)
        call BCAST_INIT(out, 50, MPI_INTEGER, 1, comm, MPI_INFO_NULL, request, error)
        call carried(label, "MPI_Bcast_init", 200, 0, 0)
        call started(label, request, 200, merge(200, 0, rank == 1), merge(0, 200, rank == 1))
        call holds(out(50) == 2, "data of a broadcast")
        out = rank + 1
        call ALLREDUCE_INIT(out, in, 2, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, request, error)
        call carried(label, "MPI_Allreduce_init", 8, 0, 0)
        call started(label, request, 8, 8, 8)
        call holds(in(2) == 3, "data of a reduction")
        call GATHERV_INIT(out, counts(rank + 1), MPI_INTEGER, in, counts, places, MPI_INTEGER, 0, comm, MPI_INFO_NULL, &
            request, error)
        call called(label, "MPI_Gatherv_init")
        call started(label, request, 0, 4 * counts(rank + 1), merge(32, 0, rank == 0))
        if (rank == 0) call holds(in(8) == 2, "data of a gathering")
    end subroutine

    subroutine neighbors(comm, label)
        COMM_T, intent(in) :: comm
        character(*), intent(in) :: label
        integer, asynchronous :: out(40), in(40)
        integer :: round
        REQUEST_T :: request
        call NEIGHBOR_ALLTOALL_INIT(out, 20, MPI_INTEGER, in, 20, MPI_INTEGER, comm, MPI_INFO_NULL, request, error)
        call carried(label, "MPI_Neighbor_alltoall_init", 80, 0, 0)
        do round = 1, 4
            call truth_edge(label//c_null_char, "MPI_Start"//c_null_char, int(1 - rank, c_int), int(80, c_int))
        end do
        call started(label, request, 80, 160, 160)
    end subroutine
end module

program main
    use work
    COMM_T :: ring
    call MPI_Init(error)
    call truth_begin("MPI_Init"//c_null_char)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call collectives(MPI_COMM_WORLD, "WORLD")
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [2], [.true.], .false., ring, error)
    call called("WORLD", "MPI_Cart_create")
    call MPI_Comm_set_name(ring, "ring", error)
#if INTERFACE == 3
    call truth_named(ring%MPI_VAL, "ring"//c_null_char, "MPI_Cart_create"//c_null_char, "WORLD"//c_null_char, truth_next())
#else
    call truth_named(ring, "ring"//c_null_char, "MPI_Cart_create"//c_null_char, "WORLD"//c_null_char, truth_next())
#endif
    call neighbors(ring, "ring")
    call truth_end()
    call MPI_Finalize(error)
end program
