/* Prints the size that the library gives for each datatype whose handle stands on the command line; nothing for those that it does not
 * have. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 1; i < argc; i++) {
        int bytes;
        if (MPI_Type_size((MPI_Datatype)(intptr_t)strtoull(argv[i], NULL, 10), &bytes) == MPI_SUCCESS)
            printf("%s %d\n", argv[i], bytes);
    }
    MPI_Finalize();
    return 0;
}
