! The ground truth for Fortran programs (fortran_truth.c), whatever the width of their INTEGERs.
module truth
    use iso_c_binding
    implicit none
    interface
        subroutine truth_begin(op) bind(c, name="truth_begin_f")
            import; character(c_char) :: op(*)
        end subroutine
        subroutine truth_carried(label, op, size, sent, received) bind(c)
            import; character(c_char) :: label(*), op(*); integer(c_int), value :: size, sent, received
        end subroutine
        subroutine truth_edge(label, op, destination, bytes) bind(c)
            import; character(c_char) :: label(*), op(*); integer(c_int), value :: destination, bytes
        end subroutine
        subroutine truth_failed(label, op) bind(c)
            import; character(c_char) :: label(*), op(*)
        end subroutine
        subroutine truth_involved(label, op) bind(c)
            import; character(c_char) :: label(*), op(*)
        end subroutine
        subroutine truth_pause(paused) bind(c)
            import; integer(c_int), value :: paused
        end subroutine
        integer(c_int) function truth_next() bind(c)
            import
        end function
        subroutine truth_named(comm, label, creator, parent, ordinal) bind(c)
            import; integer(c_int), value :: comm, ordinal; character(c_char) :: label(*), creator(*), parent(*)
        end subroutine
        subroutine truth_freed(label) bind(c)
            import; character(c_char) :: label(*)
        end subroutine
        subroutine truth_end() bind(c)
        end subroutine
        subroutine c_side(comm, label, peer, peer_world) bind(c)
            import; integer(c_int), value :: comm, peer, peer_world; character(c_char) :: label(*)
        end subroutine
        subroutine attach_inner(comm, label) bind(c)
            import; integer(c_int), value :: comm; character(c_char) :: label(*)
        end subroutine
    end interface
contains
    subroutine called(label, op)
        character(*), intent(in) :: label, op
        call carried(label, op, 0, 0, 0)
    end subroutine

    subroutine carried(label, op, size, sent, received)
        character(*), intent(in) :: label, op
        integer, intent(in) :: size, sent, received
        call truth_carried(label//c_null_char, op//c_null_char, int(size, c_int), int(sent, c_int), int(received, c_int))
    end subroutine

    subroutine sent(label, op, destination, bytes)
        character(*), intent(in) :: label, op
        integer, intent(in) :: destination, bytes
        call carried(label, op, bytes, bytes, 0)
        call truth_edge(label//c_null_char, op//c_null_char, int(destination, c_int), int(bytes, c_int))
    end subroutine

    subroutine received(label, op, bytes)
        character(*), intent(in) :: label, op
        integer, intent(in) :: bytes
        call carried(label, op, bytes, 0, bytes)
    end subroutine

    subroutine holds(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what
        if (.not. condition) then
            write (0, *) "does not hold: ", what
            call abort()
        end if
    end subroutine
end module
