/* Calls Fortran's barrier, behind which a tool stands that probes (between.c). */
#include "truth.h"

#include <unistd.h>

void mpi_barrier_(MPI_Fint *comm, MPI_Fint *error);

int main(int argc, char **argv)
{
    MPI_Fint error, world;
    truth_init(&argc, &argv);
    world = MPI_Comm_c2f(MPI_COMM_WORLD);
    /* The time of a call within another counts twice, and is to be less than this. */
    usleep(300000);
    for (int i = 0; i < 3; i++) {
        mpi_barrier_(&world, &error);
        EXPECT(error == MPI_SUCCESS);
        called("WORLD", "MPI_Barrier");
        called("WORLD", "MPI_Iprobe");
    }
    truth_finalize();
    return 0;
}
