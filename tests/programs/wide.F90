! A program whose INTEGERs are 8 bytes wide (-fdefault-integer-8), and which goes through a library that translates them for MPI's.
#include "fortran_truth.h"

program wide
    use truth
    implicit none
    include 'mpif.h'
    integer, parameter :: UNTOUCHED = -huge(1)
    integer :: rank, ranks, error, peer, half, total, i
    integer :: out(64), in(64), requests(2*64), statuses(MPI_STATUS_SIZE, 2*64), counts(64), places(64), gathered(64)
    character(16) :: label
    call holds(kind(rank) == 8, "wide integers")
    error = UNTOUCHED
    call MPI_Init(error)
    call holds(error == MPI_SUCCESS, "the code of MPI_Init")
    call truth_begin("MPI_Init"//c_null_char)
    rank = UNTOUCHED
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)

    ! Everyone to everyone; none is a request if every second is taken for one.
    requests = UNTOUCHED
    out = 1000 + rank
    in = UNTOUCHED
    do peer = 0, ranks - 1
        call MPI_Irecv(in(peer + 1), peer + 1, MPI_INTEGER8, peer, 5, MPI_COMM_WORLD, requests(2*peer + 1), error)
        call MPI_Isend(out, 1, MPI_INTEGER8, peer, 5, MPI_COMM_WORLD, requests(2*peer + 2), error)
        call received("WORLD", "MPI_Irecv", 8)
        call sent("WORLD", "MPI_Isend", peer, 8)
    end do
    statuses = UNTOUCHED
    call MPI_Waitall(2*ranks, requests, statuses, error)
    call called("WORLD", "MPI_Waitall")
    do peer = 0, ranks - 1
        call holds(in(peer + 1) == 1000 + peer, "what was received")
        call holds(statuses(MPI_SOURCE, 2*peer + 1) == peer, "from whom it was received")
        call holds(all(requests(2*peer + 1:2*peer + 2) == MPI_REQUEST_NULL), "requests that have completed are null")
    end do

    counts(1:ranks) = [(i, i=1, ranks)]
    places(1:ranks) = [(3*i, i=0, ranks - 1)]
    gathered = UNTOUCHED
    call MPI_Allgatherv(out, rank + 1, MPI_INTEGER8, gathered, counts, places, MPI_INTEGER8, MPI_COMM_WORLD, error)
    call carried("WORLD", "MPI_Allgatherv", 0, 8*(rank + 1), 8*sum(counts(1:ranks)))
    do peer = 0, ranks - 1
        call holds(gathered(places(peer + 1) + 1) == 1000 + peer .and. gathered(places(peer + 1) + counts(peer + 1)) == 1000 + peer, "all of it")
    end do

    write (label, '(a,i0)') "half ", mod(rank, 2)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, error)
    call called("WORLD", "MPI_Comm_split")
    call MPI_Comm_set_name(half, label, error)
    call truth_named(int(half, c_int), trim(label)//c_null_char, "MPI_Comm_split"//c_null_char, "WORLD"//c_null_char, truth_next())
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER8, MPI_SUM, half, error)
    call holds(total == sum([(i, i=mod(rank, 2), ranks - 1, 2)]), "the sum")
    call carried(trim(label), "MPI_Allreduce", 8, 8, 8)
    call MPI_Comm_free(half, error)
    call holds(half == MPI_COMM_NULL, "null after MPI_Comm_free")
    call truth_freed(trim(label)//c_null_char)
    call truth_end()
    error = UNTOUCHED
    call MPI_Finalize(error)
    call holds(error == MPI_SUCCESS, "the code of MPI_Finalize")
end program
