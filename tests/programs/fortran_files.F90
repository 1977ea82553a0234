! Files from Fortran: their names come filled up with blanks. FILES_DIR names the folder.
#if INTERFACE == 3
#define FILE_T type(MPI_File)
#define REQUEST_T type(MPI_Request)
#else
#define FILE_T integer
#define REQUEST_T integer
#endif

program main
    use iso_c_binding
#include "fortran_mpi.h"
    interface
        subroutine truth_begin(op) bind(c, name="truth_begin_f")
            import; character(c_char) :: op(*)
        end subroutine
        subroutine truth_carried(label, op, size, sent, received) bind(c)
            import; character(c_char) :: label(*), op(*); integer(c_int), value :: size, sent, received
        end subroutine
        subroutine truth_failed(label, op) bind(c)
            import; character(c_char) :: label(*), op(*)
        end subroutine
        subroutine truth_on_file(name) bind(c)
            import; character(c_char) :: name(*)
        end subroutine
        subroutine truth_end() bind(c)
        end subroutine
    end interface
    FILE_T :: first, second
    REQUEST_T :: request
    integer :: error, rank, ranks, out(1000)
    ! Filled behind the back of the compiler.
    integer, volatile :: in(1000)
    integer(MPI_OFFSET_KIND) :: place
    character(400) :: folder, path

    call MPI_Init(error)
    call truth_begin("MPI_Init"//c_null_char)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call get_environment_variable("FILES_DIR", folder)
    place = int(rank, MPI_OFFSET_KIND) * 4000
    out = rank
    in = 0

    path = trim(folder)//"/first.dat"
    call truth_on_file("first.dat"//c_null_char)
    call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, first, error)
    call carried("WORLD", "MPI_File_open", 0, 0, 0)
    call MPI_File_set_view(first, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, "native", MPI_INFO_NULL, error)
    call carried("WORLD", "MPI_File_set_view", 0, 0, 0)
    call MPI_File_write_at_all(first, place / 4, out, 1000, MPI_INTEGER, MPI_STATUS_IGNORE, error)
    call carried("WORLD", "MPI_File_write_at_all", 4000, 4000, 0)
    call MPI_File_iread_at(first, place / 4, in, 100, MPI_INTEGER, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call carried("WORLD", "MPI_Wait", 0, 0, 0)
    call carried("WORLD", "MPI_File_iread_at", 400, 0, 400)
    if (in(100) /= rank) call abort()

    path = trim(folder)//"/a name with blanks.dat"
    call truth_on_file("a name with blanks.dat"//c_null_char)
    call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, second, error)
    call carried("WORLD", "MPI_File_open", 0, 0, 0)
    call MPI_File_write_at(second, place, out, 10, MPI_INTEGER, MPI_STATUS_IGNORE, error)
    call carried("WORLD", "MPI_File_write_at", 40, 40, 0)
    call MPI_File_close(second, error)
    call carried("WORLD", "MPI_File_close", 0, 0, 0)

    call truth_on_file("first.dat"//c_null_char)
    call MPI_File_read_at(first, place / 4, in, 50, MPI_INTEGER, MPI_STATUS_IGNORE, error)
    call carried("WORLD", "MPI_File_read_at", 200, 0, 200)
    call MPI_File_close(first, error)
    call carried("WORLD", "MPI_File_close", 0, 0, 0)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call carried("WORLD", "MPI_Barrier", 0, 0, 0)
    if (rank == 0) then
        path = trim(folder)//"/first.dat"
        call MPI_File_delete(path, MPI_INFO_NULL, error)
        call carried("-", "MPI_File_delete", 0, 0, 0)
    end if
    call truth_on_file("absent.dat"//c_null_char)
    path = trim(folder)//"/none/absent.dat"
    call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, second, error)
    if (error == MPI_SUCCESS) call abort()
    call truth_failed("WORLD"//c_null_char, "MPI_File_open"//c_null_char)
    call truth_end()
    call MPI_Finalize(error)
contains
    subroutine carried(label, op, size, sent, received)
        character(*), intent(in) :: label, op
        integer, intent(in) :: size, sent, received
        call truth_carried(label//c_null_char, op//c_null_char, size, sent, received)
    end subroutine
end program
