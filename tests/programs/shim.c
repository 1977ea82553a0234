/* The same tool, with MPI_Init and MPI_Finalize. */
#include "shim_calls.c"

int MPI_Init(int *argc, char ***argv)
{
    dprintf(1, "the shim begins\n");
    return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    dprintf(1, "the shim begins\n");
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Finalize(void)
{
    dprintf(1, "the shim ends\n");
    return PMPI_Finalize();
}
