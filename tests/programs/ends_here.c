/* Stands behind commsee: a process ends where the MPI library would begin to finalize. */
#include <stdio.h>
#include <unistd.h>

int MPI_Finalize(void)
{
    dprintf(1, "commsee has finalized\n");
    _exit(0);
}
