/* What generalized requests have in common: a status of so many bytes, from nobody, and nothing to free or to cancel. */
#include <mpi.h>

static int grequest_status(MPI_Status *status, int bytes)
{
    PMPI_Status_set_elements(status, MPI_BYTE, bytes);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int grequest_free(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int grequest_cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}
