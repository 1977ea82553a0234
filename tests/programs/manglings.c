/* The ways in which Fortran compilers write the name of an external procedure. A library may lack some of them: newer MPICHs have those of
 * one compiler. */
#include "truth.h"

#define FORMS(X) X(mpi_barrier_, mpi_allreduce_) X(mpi_barrier, mpi_allreduce) X(mpi_barrier__, mpi_allreduce__) X(MPI_BARRIER, MPI_ALLREDUCE)
#define DECLARE(barrier, allreduce)                                                                                    \
    void barrier(MPI_Fint *comm, MPI_Fint *error);                                                                     \
    void allreduce(void *from, void *to, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op, MPI_Fint *comm, MPI_Fint *error);
FORMS(DECLARE)
#pragma weak mpi_barrier
#pragma weak mpi_barrier__
#pragma weak MPI_BARRIER
#pragma weak mpi_allreduce
#pragma weak mpi_allreduce__
#pragma weak MPI_ALLREDUCE

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    MPI_Fint comm = PMPI_Comm_c2f(MPI_COMM_WORLD), type = PMPI_Type_c2f(MPI_INT), op = PMPI_Op_c2f(MPI_SUM);
    MPI_Fint count = 3, error = -1;
    int in[3] = {1, 2, 3}, out[3];
#define CALL(barrier, allreduce)                                                                                       \
    if (barrier) {                                                                                                     \
        barrier(&comm, &error);                                                                                        \
        EXPECT(error == MPI_SUCCESS);                                                                                  \
        called("WORLD", "MPI_Barrier");                                                                                \
        allreduce(in, out, &count, &type, &op, &comm, &error);                                                         \
        EXPECT(error == MPI_SUCCESS && out[2] == 3 * world_size);                                                      \
        carried("WORLD", "MPI_Allreduce", 12, 12, 12);                                                                 \
    }
    FORMS(CALL)
    truth_finalize();
    return 0;
}
