! What Fortran does differently from C, through one of its three interfaces: handles are INTEGERs that the library sets to
! null, indices count from 1, logicals are logicals, constants are addresses, the error code may be left out.
#if INTERFACE == 3
#define COMM_T type(MPI_Comm)
#define REQUEST_T type(MPI_Request)
#define MESSAGE_T type(MPI_Message)
#define DATATYPE_T type(MPI_Datatype)
#define STATUS_T type(MPI_Status)
#define ONE_STATUS(name) name
#define STATUSES(name, n) name(n)
#define HANDLE(x) x%MPI_VAL
#define TAG_OF(s) s%MPI_TAG
#else
#define COMM_T integer
#define REQUEST_T integer
#define MESSAGE_T integer
#define DATATYPE_T integer
#define STATUS_T integer
#define ONE_STATUS(name) name(MPI_STATUS_SIZE)
#define STATUSES(name, n) name(MPI_STATUS_SIZE, n)
#define HANDLE(x) x
#define TAG_OF(s) s(MPI_TAG)
#endif

#include "fortran_truth.h"

module work
    use truth
#include "fortran_mpi.h"
    integer :: rank, ranks, error
contains
    ! Named in Fortran: the library gets a text without a zero byte, filled up with blanks.
    subroutine named(comm, label, creator, parent, ordinal)
        COMM_T, intent(in) :: comm
        character(*), intent(in) :: label, creator, parent
        integer, intent(in) :: ordinal
        character(30) :: text
        text = label
        call MPI_Comm_set_name(comm, text, error)
        call truth_named(HANDLE(comm), label//c_null_char, creator//c_null_char, parent//c_null_char, ordinal)
    end subroutine

    ! MPICH 4.0.2 counts from 0 in mpi_f08, and returns MPI_UNDEFINED + 1 in mpif.h.
    logical function is_third(index)
        integer, intent(in) :: index
#if INTERFACE == 3
        is_third = index == 3 .or. index == 2
#else
        is_third = index == 3
#endif
    end function

    subroutine point_to_point(comm, label, me, peer, peer_world)
        COMM_T, intent(in) :: comm
        character(*), intent(in) :: label
        integer, intent(in) :: me, peer, peer_world
        integer :: out(100), in(1000), index, count, indices(4), i
        logical :: flag
        REQUEST_T :: request, requests(4)
        MESSAGE_T :: message
        STATUS_T :: ONE_STATUS(status)
        STATUS_T :: STATUSES(statuses, 4)
        out = me
        if (mod(me, 2) == 0) then
            call MPI_Send(out, 10, MPI_INTEGER, peer, 1, comm, error)
            call sent(label, "MPI_Send", peer_world, 40)
            call MPI_Recv(in, 1000, MPI_INTEGER, peer, 1, comm, status, error)
            call holds(TAG_OF(status) == 1, "tag of a status")
        else
            call MPI_Recv(in, 1000, MPI_INTEGER, peer, 1, comm, MPI_STATUS_IGNORE, error)
            call MPI_Send(out, 10, MPI_INTEGER, peer, 1, comm, error)
            call sent(label, "MPI_Send", peer_world, 40)
        end if
        call received(label, "MPI_Recv", 40)
        call holds(in(10) == peer, "data of MPI_Recv")

        call MPI_Sendrecv(out, 100, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, in, 1, MPI_INTEGER, MPI_PROC_NULL, 1, &
            comm, MPI_STATUS_IGNORE, error)
        call called(label, "MPI_Sendrecv")

        ! MPI_Wait makes the handle null.
        call MPI_Irecv(in, 1000, MPI_INTEGER, peer, 2, comm, request, error)
        call MPI_Send(out, 50, MPI_INTEGER, peer, 2, comm, error)
        call sent(label, "MPI_Send", peer_world, 200)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call called(label, "MPI_Wait")
        call received(label, "MPI_Irecv", 200)
        call holds(request == MPI_REQUEST_NULL, "null after MPI_Wait")
        call holds(in(50) == peer, "data of MPI_Irecv")
        call MPI_Wait(request, status, error)
        call called("-", "MPI_Wait")

        ! Nothing comes from nobody.
        call MPI_Irecv(in, 1000, MPI_INTEGER, MPI_PROC_NULL, 3, comm, request, error)
        call received(label, "MPI_Irecv", 0)
        call MPI_Wait(request, status, error)
        call called(label, "MPI_Wait")
        call holds(request == MPI_REQUEST_NULL, "null after MPI_Wait for nobody")

        call MPI_Irecv(in, 1000, MPI_INTEGER, peer, 3, comm, requests(1), error)
        call MPI_Isend(out, 60, MPI_INTEGER, peer, 3, comm, requests(2), error)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
        call sent(label, "MPI_Isend", peer_world, 240)
        call received(label, "MPI_Irecv", 240)
        call called(label, "MPI_Waitall")
        call holds(requests(1) == MPI_REQUEST_NULL .and. requests(2) == MPI_REQUEST_NULL, "null after MPI_Waitall")

        call MPI_Irecv(in, 1000, MPI_INTEGER, peer, 4, comm, requests(1), error)
        call MPI_Isend(out, 70, MPI_INTEGER, peer, 4, comm, requests(2), error)
        call MPI_Waitall(2, requests, statuses, error)
        call sent(label, "MPI_Isend", peer_world, 280)
        call received(label, "MPI_Irecv", 280)
        call called(label, "MPI_Waitall")

        ! Indices count from 1.
        requests(1) = MPI_REQUEST_NULL
        requests(2) = MPI_REQUEST_NULL
        call MPI_Irecv(in, 1000, MPI_INTEGER, peer, 5, comm, requests(3), error)
        call MPI_Send(out, 80, MPI_INTEGER, peer, 5, comm, error)
        call sent(label, "MPI_Send", peer_world, 320)
        call MPI_Waitany(3, requests, index, MPI_STATUS_IGNORE, error)
        call called(label, "MPI_Waitany")
        call received(label, "MPI_Irecv", 320)
        call holds(is_third(index) .and. requests(3) == MPI_REQUEST_NULL, "index of MPI_Waitany")
        call MPI_Waitany(3, requests, index, MPI_STATUS_IGNORE, error)
        call called("-", "MPI_Waitany")
        call holds(index < 0, "no index of MPI_Waitany")

        call MPI_Irecv(in, 1000, MPI_INTEGER, peer, 6, comm, requests(2), error)
        call MPI_Send(out, 90, MPI_INTEGER, peer, 6, comm, error)
        call sent(label, "MPI_Send", peer_world, 360)
        flag = .false.
        do while (.not. flag)
            call MPI_Testany(3, requests, index, flag, status, error)
            call called(label, "MPI_Testany")
        end do
        call received(label, "MPI_Irecv", 360)
        call holds(is_third(index + 1) .and. requests(2) == MPI_REQUEST_NULL, "index of MPI_Testany")

        do i = 1, 3
            call MPI_Irecv(in, 1000, MPI_INTEGER, peer, 10 + i, comm, requests(i), error)
        end do
        do i = 1, 3
            call MPI_Send(out, 10*i, MPI_INTEGER, peer, 10 + i, comm, error)
            call sent(label, "MPI_Send", peer_world, 40*i)
            call received(label, "MPI_Irecv", 40*i)
        end do
        count = 0
        do while (count < 3)
            if (mod(count, 2) == 0) then
                call MPI_Waitsome(3, requests, index, indices, MPI_STATUSES_IGNORE, error)
                call called(label, "MPI_Waitsome")
            else
                call MPI_Testsome(3, requests, index, indices, statuses, error)
                call called(label, "MPI_Testsome")
            end if
            do i = 1, index
                call holds(indices(i) >= 0 .and. indices(i) <= 3, "index of MPI_Waitsome")
            end do
            count = count + index
        end do
        do i = 1, 3
            call holds(requests(i) == MPI_REQUEST_NULL, "null after MPI_Waitsome")
        end do

        flag = .false.
        call MPI_Irecv(in, 1000, MPI_INTEGER, peer, 7, comm, request, error)
        call MPI_Send(out, 33, MPI_INTEGER, peer, 7, comm, error)
        call sent(label, "MPI_Send", peer_world, 132)
        do while (.not. flag)
            call MPI_Request_get_status(request, flag, status, error)
            call called(label, "MPI_Request_get_status")
        end do
        call holds(request /= MPI_REQUEST_NULL, "kept by MPI_Request_get_status")
        flag = .false.
        call MPI_Test(request, flag, MPI_STATUS_IGNORE, error)
        call called(label, "MPI_Test")
        call holds(flag .and. request == MPI_REQUEST_NULL, "null after MPI_Test")
        call received(label, "MPI_Irecv", 132)

        ! Told to be complete, and freed.
        do i = 1, 2
            call MPI_Send(out, 11 * i, MPI_INTEGER, peer, 7, comm, error)
            call sent(label, "MPI_Send", peer_world, 44 * i)
            call MPI_Mprobe(peer, 7, comm, message, MPI_STATUS_IGNORE, error)
            call called(label, "MPI_Mprobe")
            call MPI_Imrecv(in, 1000, MPI_INTEGER, message, request, error)
            flag = .false.
            do while (.not. flag)
                if (i == 1) then
                    call MPI_Request_get_status(request, flag, status, error)
                else
                    call MPI_Request_get_status(request, flag, MPI_STATUS_IGNORE, error)
                end if
                call called(label, "MPI_Request_get_status")
            end do
            call MPI_Request_free(request, error)
            call called(label, "MPI_Request_free")
            call received(label, "MPI_Imrecv", 44 * i)
        end do

        ! Matched messages.
        call MPI_Isend(out, 25, MPI_INTEGER, peer, 8, comm, request, error)
        call sent(label, "MPI_Isend", peer_world, 100)
        call MPI_Mprobe(peer, 8, comm, message, status, error)
        call called(label, "MPI_Mprobe")
        call MPI_Mrecv(in, 1000, MPI_INTEGER, message, MPI_STATUS_IGNORE, error)
        call received(label, "MPI_Mrecv", 100)
        call holds(message == MPI_MESSAGE_NULL, "null after MPI_Mrecv")
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call called(label, "MPI_Wait")

        ! Persistent requests.
        call MPI_Send_init(out, 20, MPI_INTEGER, peer, 9, comm, requests(1), error)
        call carried(label, "MPI_Send_init", 80, 0, 0)
        call MPI_Recv_init(in, 1000, MPI_INTEGER, peer, 9, comm, requests(2), error)
        call called(label, "MPI_Recv_init")
        do i = 1, 2
            call MPI_Start(requests(1), error)
            call sent(label, "MPI_Start", peer_world, 80)
            call MPI_Start(requests(2), error)
            call received(label, "MPI_Start", 80)
            call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
            call called(label, "MPI_Waitall")
        end do
        call MPI_Request_free(requests(1), error)
        call MPI_Request_free(requests(2), error)
        call called(label, "MPI_Request_free")
        call called(label, "MPI_Request_free")
        call holds(requests(2) == MPI_REQUEST_NULL, "null after MPI_Request_free")
    end subroutine

    subroutine collectives(comm, label, me, size)
        COMM_T, intent(in) :: comm
        character(*), intent(in) :: label
        integer, intent(in) :: me, size
        integer :: values(64), all(64*8), counts(8), places(8), i
        REQUEST_T :: request
        DATATYPE_T :: types(8)
        values = 1
        call MPI_Allreduce(MPI_IN_PLACE, values, 16, MPI_INTEGER, MPI_SUM, comm, error)
        call carried(label, "MPI_Allreduce", 64, 64, 64)
        call holds(values(16) == size .and. values(17) == 1, "MPI_Allreduce in place")
        all = me
        ! In place: send count and type are ignored, here they would tell other bytes.
        call MPI_Allgather(MPI_IN_PLACE, 7, MPI_DOUBLE_PRECISION, all, 3, MPI_INTEGER, comm, error)
        call carried(label, "MPI_Allgather", 12, 12, 12*size)
        call MPI_Allgather(values, 2, MPI_INTEGER, all, 2, MPI_INTEGER, comm, error)
        call carried(label, "MPI_Allgather", 8, 8, 8*size)
        call MPI_Bcast(values, 40, MPI_INTEGER, 0, comm, error)
        call carried(label, "MPI_Bcast", 160, merge(160, 0, me == 0), merge(0, 160, me == 0))
        counts = 2
        places = [(2*i, i = 0, 7)]
        call MPI_Alltoallv(values, counts, places, MPI_INTEGER, all, counts, places, MPI_INTEGER, comm, error)
        call carried(label, "MPI_Alltoallv", 0, 8*size, 8*size)
        types = MPI_INTEGER
        places = [(8*i, i = 0, 7)]
        call MPI_Alltoallw(values, counts, places, types, all, counts, places, types, comm, error)
        call carried(label, "MPI_Alltoallw", 0, 8*size, 8*size)
        call MPI_Ibarrier(comm, request, error)
        call called(label, "MPI_Ibarrier")
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call called(label, "MPI_Wait")
#if INTERFACE == 3
        ! The error code may be left out.
        call MPI_Barrier(comm)
        call MPI_Iallreduce(MPI_IN_PLACE, values, 1, MPI_INTEGER, MPI_MAX, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
#else
        call MPI_Barrier(comm, error)
        call MPI_Iallreduce(MPI_IN_PLACE, values, 1, MPI_INTEGER, MPI_MAX, comm, request, error)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
#endif
        call called(label, "MPI_Barrier")
        call carried(label, "MPI_Iallreduce", 4, 4, 4)
        call called(label, "MPI_Wait")
    end subroutine

    ! Addresses instead of a buffer.
    subroutine bottom(comm, label, peer, peer_world)
        COMM_T, intent(in) :: comm
        character(*), intent(in) :: label
        integer, intent(in) :: peer, peer_world
        integer, volatile :: out(4), in(4)
        integer(MPI_ADDRESS_KIND) :: there(1)
        DATATYPE_T :: giving, taking
        out = rank
        in = -1
        call MPI_Get_address(out, there(1), error)
        call MPI_Type_create_hindexed(1, [4], there, MPI_INTEGER, giving, error)
        call MPI_Type_commit(giving, error)
        call MPI_Get_address(in, there(1), error)
        call MPI_Type_create_hindexed(1, [4], there, MPI_INTEGER, taking, error)
        call MPI_Type_commit(taking, error)
        call MPI_Sendrecv(MPI_BOTTOM, 1, giving, peer, 30, MPI_BOTTOM, 1, taking, peer, 30, comm, &
            MPI_STATUS_IGNORE, error)
        call carried(label, "MPI_Sendrecv", 16, 16, 16)
        call truth_edge(label//c_null_char, "MPI_Sendrecv"//c_null_char, peer_world, 16)
        call MPI_Get_address(in, there(1), error)
        call holds(in(4) == peer_world, "data at MPI_BOTTOM")
        call MPI_Type_free(giving, error)
        call MPI_Type_free(taking, error)
        call holds(giving == MPI_DATATYPE_NULL, "null after MPI_Type_free")
    end subroutine

#if INTERFACE == 3 && defined(MPICH)
    ! What Open MPI 4 does not have: counts of 8 bytes, and parts of arrays that are not contiguous.
    subroutine wide(comm, label, peer, peer_world)
        COMM_T, intent(in) :: comm
        character(*), intent(in) :: label
        integer, intent(in) :: peer, peer_world
        integer :: out(40), in(40), i
        integer(MPI_COUNT_KIND) :: ten
        REQUEST_T :: request
        ten = 10
        out = [(i, i = 1, 40)]
        call MPI_Irecv(in, ten, MPI_INTEGER, peer, 31, comm, request, error)
        call MPI_Send(out(1:40:4), ten, MPI_INTEGER, peer, 31, comm, error)
        call sent(label, "MPI_Send", peer_world, 40)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call called(label, "MPI_Wait")
        call received(label, "MPI_Irecv", 40)
        call holds(in(10) == 37, "every fourth one")
        call MPI_Allreduce(MPI_IN_PLACE, out, ten, MPI_INTEGER, MPI_MAX, comm, error)
        call carried(label, "MPI_Allreduce", 40, 40, 40)
    end subroutine
#endif

    subroutine errors(comm, label)
        COMM_T, intent(in) :: comm
        character(*), intent(in) :: label
        integer :: value
        call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, error)
        value = 0
        call MPI_Send(value, 1, MPI_INTEGER, 1000, 1, comm, error)
        call holds(error /= MPI_SUCCESS, "an error is returned")
        call truth_failed(label//c_null_char, "MPI_Send"//c_null_char)
    end subroutine
end module

program main
    use work
    implicit none
    COMM_T :: reversed, pair, copy, later, grid, sub
    REQUEST_T :: request, requests(2)
    integer :: provided, ordinal, partner, out, in
    character(16) :: label
#if INTERFACE == 2
    call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
    call truth_begin("MPI_Init_thread"//c_null_char)
#else
    provided = 0
    call MPI_Init(error)
    call truth_begin("MPI_Init"//c_null_char)
#endif
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    partner = ieor(rank, 1)
    call point_to_point(MPI_COMM_WORLD, "WORLD", rank, partner, partner)
    call collectives(MPI_COMM_WORLD, "WORLD", rank, ranks)
    call bottom(MPI_COMM_WORLD, "WORLD", partner, partner)
#if INTERFACE == 3 && defined(MPICH)
    call wide(MPI_COMM_WORLD, "WORLD", partner, partner)
#endif

    call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, reversed, error)
    call called("WORLD", "MPI_Comm_split")
    call named(reversed, "reversed", "MPI_Comm_split", "WORLD", truth_next())
    call point_to_point(reversed, "reversed", ranks - 1 - rank, ranks - 1 - partner, partner)
    call collectives(reversed, "reversed", ranks - 1 - rank, ranks)
    call c_side(HANDLE(reversed), "reversed"//c_null_char, ranks - 1 - partner, partner)

    write (label, '(a,i0)') "pair ", rank/2
    call MPI_Comm_split(MPI_COMM_WORLD, rank/2, rank, pair, error)
    call called("WORLD", "MPI_Comm_split")
    call named(pair, trim(label), "MPI_Comm_split", "WORLD", truth_next())
    call errors(pair, trim(label))
    call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, rank, sub, error)
    call called("WORLD", "MPI_Comm_split")
    call holds(sub == MPI_COMM_NULL, "no communicator")

    call MPI_Comm_dup(reversed, copy, error)
    call called("reversed", "MPI_Comm_dup")
    call named(copy, "copy", "MPI_Comm_dup", "reversed", truth_next())
    ordinal = truth_next()
    call MPI_Comm_idup(reversed, later, request, error)
    call called("reversed", "MPI_Comm_idup")
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call called("reversed", "MPI_Wait")
    call named(later, "later", "MPI_Comm_idup", "reversed", ordinal)
    call collectives(later, "later", ranks - 1 - rank, ranks)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., grid, error)
    call called("WORLD", "MPI_Cart_create")
    call named(grid, "grid", "MPI_Cart_create", "WORLD", truth_next())

    ! Requests of two communicators in one call.
    out = rank
    call MPI_Irecv(in, 1, MPI_INTEGER, ranks - 1 - partner, 20, copy, requests(1), error)
    call received("copy", "MPI_Irecv", 4)
    call MPI_Isend(out, 1, MPI_INTEGER, ranks - 1 - partner, 20, copy, requests(2), error)
    call sent("copy", "MPI_Isend", partner, 4)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call called("copy", "MPI_Waitall")
    call MPI_Irecv(in, 1, MPI_INTEGER, ranks - 1 - partner, 21, copy, requests(1), error)
    call received("copy", "MPI_Irecv", 4)
    call MPI_Isend(out, 1, MPI_INTEGER, ranks - 1 - partner, 21, copy, request, error)
    call sent("copy", "MPI_Isend", partner, 4)
    call MPI_Ibarrier(later, requests(2), error)
    call called("later", "MPI_Ibarrier")
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call called("*", "MPI_Waitall")
    call truth_involved("copy"//c_null_char, "MPI_Waitall"//c_null_char)
    call truth_involved("later"//c_null_char, "MPI_Waitall"//c_null_char)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call called("copy", "MPI_Wait")

    call MPI_Pcontrol(0)
    call truth_pause(1)
    call MPI_Barrier(copy, error)
    call truth_pause(0)
    call MPI_Pcontrol(1)
    call called("WORLD", "MPI_Pcontrol")
    call called("WORLD", "MPI_Pcontrol")
    call attach_inner(HANDLE(copy), "copy"//c_null_char)
    call MPI_Comm_free(copy, error)
    call truth_freed("copy"//c_null_char)
    call holds(copy == MPI_COMM_NULL, "null after MPI_Comm_free")
    call truth_end()
    call MPI_Finalize(error)
end program
