! What one call costs from Fortran. usage: percall CASE[,CASE…] ITERATIONS REPETITIONS   prints lines as percall.c does
program percall
    use, intrinsic :: iso_fortran_env, only: int64
    implicit none
    include 'mpif.h'
    character(len=256) :: names, word
    integer :: iterations, repetitions, r, error, comma
    integer(int64) :: before, after, per_second
    double precision, allocatable :: ns(:)
    external :: timed_loop_send, timed_loop_allreduce, timed_loop_exchange, call_once, say_result
    integer :: comm

    call get_command_argument(1, names)
    call get_command_argument(2, word)
    read (word, *) iterations
    call get_command_argument(3, word)
    read (word, *) repetitions
    allocate (ns(repetitions))
    call MPI_Init(error)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, error)
    do r = 1, 128
        call call_once(comm)
    end do
    call system_clock(count_rate=per_second)
    do while (len_trim(names) > 0)
        comma = index(trim(names)//',', ',')
        word = names(:comma - 1)
        names = names(comma + 1:)
        do r = 1, repetitions
            call system_clock(before)
            select case (word)
            case ('send_proc_null')
                call timed_loop_send(iterations)
            case ('allreduce_self')
                call timed_loop_allreduce(iterations, MPI_COMM_SELF)
            case ('allreduce_dup')
                call timed_loop_allreduce(iterations, comm)
            case ('isend_irecv_waitall_self')
                call timed_loop_exchange(iterations)
            case default
                stop 2
            end select
            call system_clock(after)
            ns(r) = dble(after - before) * 1d9 / per_second / iterations
        end do
        call say_result(trim(word), minval(ns))
    end do
    call MPI_Finalize(error)
end program

! As in percall.c, for callgrind.
subroutine say_result(name, ns)
    implicit none
    character(len=*) :: name
    double precision :: ns
    print '(a, ",", f0.2, ",0")', name, ns
end subroutine

! Before the time is taken: functions are found, communicators met.
subroutine call_once(comm)
    implicit none
    include 'mpif.h'
    integer :: comm, one, two, error
    external :: exchange
    one = 1
    call MPI_Send(one, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
    call MPI_Allreduce(one, two, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, error)
    call MPI_Allreduce(one, two, 1, MPI_INTEGER, MPI_SUM, comm, error)
    call exchange(1)
end subroutine

! Loops of their own, for callgrind, as in percall.c.
subroutine timed_loop_send(iterations)
    implicit none
    include 'mpif.h'
    integer :: iterations, i, one, error
    one = 1
    do i = 1, iterations
        call MPI_Send(one, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
    end do
end subroutine

subroutine timed_loop_allreduce(iterations, comm)
    implicit none
    include 'mpif.h'
    integer :: iterations, comm, i, one, two, error
    one = 1
    do i = 1, iterations
        call MPI_Allreduce(one, two, 1, MPI_INTEGER, MPI_SUM, comm, error)
    end do
end subroutine

subroutine timed_loop_exchange(iterations)
    implicit none
    integer :: iterations
    external :: exchange
    call exchange(iterations)
end subroutine

subroutine exchange(iterations)
    implicit none
    include 'mpif.h'
    integer :: iterations, i, one, two, requests(2), error
    one = 1
    do i = 1, iterations
        call MPI_Isend(one, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, requests(1), error)
        call MPI_Irecv(two, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, requests(2), error)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    end do
end subroutine
