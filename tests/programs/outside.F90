! As outside.c, in Fortran.
program outside
#include "fortran_mpi.h"
    integer :: error, level
    character(10) :: when
    call get_command_argument(1, when)
    if (when == "before") then
        do level = 0, 3
            call MPI_Pcontrol(level)
        end do
        print *, "went on"
        flush (6)
    end if
    call MPI_Init(error)
    call MPI_Finalize(error)
    if (when == "after") then
        do level = 0, 3
            call MPI_Pcontrol(level)
        end do
        print *, "went on"
        flush (6)
    end if
end program
