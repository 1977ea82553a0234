/* Calls within calls: those that the MPI library makes itself, by their MPI_ names, are not the program's; those of the program's callbacks are, also
 * where a callback ends by a jump into the call, which then returns to the library. */
#include "truth.h"

#include <unistd.h>

static MPI_Comm other;

/* The jump needs optimization. */
__attribute__((optimize("O2"))) static int jumps(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    return MPI_Barrier(other);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int key;
    truth_init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    made(other, "other", "MPI_Comm_dup", "WORLD");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    made(comm, "freed", "MPI_Comm_dup", "WORLD");
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, jumps, &key, NULL);
    PMPI_Comm_set_attr(comm, key, NULL);
    /* The time of a call within another counts twice, and is to be less than this. */
    usleep(300000);
    free_comm(&comm, "freed");
    called("other", "MPI_Barrier");
#ifdef MPIX_COMM_TYPE_NEIGHBORHOOD
    /* MPICH finds out by files which processes share a folder. */
    MPI_Info info;
    PMPI_Info_create(&info);
    PMPI_Info_set(info, "nbhd_common_dirname", ".");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, 0, info, &comm);
    int first = world_rank;
    if (comm != MPI_COMM_NULL)
        PMPI_Bcast(&first, 1, MPI_INT, 0, comm);
    made(comm, label_of("sharing with %d", first), "MPI_Comm_split_type", "WORLD");
#endif
    truth_finalize();
    return 0;
}
