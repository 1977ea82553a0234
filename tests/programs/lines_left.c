/* lines_left: calls within calls, both of which the program leaves by a jump. Each is charged to its own line. */
#include "lines.h"

#include <setjmp.h>

static jmp_buf out;
static MPI_Comm own, strict;

static void leave(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(out, 1);
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *copied, int *is_copied)
{
    char nothing = 0;
    (void)comm, (void)key, (void)extra, (void)in, (void)copied;
    *is_copied = 0;
    /* There is no such rank. */
    return AT("strict", MPI_Send, 0, 0, &nothing, 1, MPI_CHAR, 9999, 0, strict);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Comm copied;
    int key;
    AT("WORLD", MPI_Init, 0, 0, &argc, &argv);
    lines_begin();
    AT("SELF", MPI_Comm_dup, 0, 0, MPI_COMM_SELF, &strict);
    AT("strict", MPI_Comm_set_name, 0, 0, strict, "strict");
    AT("SELF", MPI_Comm_dup, 0, 0, MPI_COMM_SELF, &own);
    AT("own", MPI_Comm_set_name, 0, 0, own, "own");
    PMPI_Comm_create_errhandler(leave, &handler);
    PMPI_Comm_set_errhandler(strict, handler);
    PMPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    PMPI_Comm_set_attr(own, key, &key);
    for (volatile int i = 0; i < 3; i++) {
        if (!setjmp(out))
            AT("own", MPI_Comm_dup, 0, 0, own, &copied);
        AT("WORLD", MPI_Barrier, 0, 0, MPI_COMM_WORLD);
    }
    PMPI_Comm_delete_attr(own, key);
    AT("WORLD", MPI_Finalize, 0, 0, );
    return 0;
}
