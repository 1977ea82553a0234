/* What a swept program does beside the calls that are swept, for C and for Fortran: through PMPI functions, which are not
 * counted. Handles are Fortran's. */
#include <mpi.h>

#ifdef MPI_ABI
/* The standard ABI knows handles as int, but no Fortran. */
typedef int MPI_Fint;
#define PMPI_Comm_c2f PMPI_Comm_toint
#define PMPI_Comm_f2c PMPI_Comm_fromint
#define PMPI_Group_c2f PMPI_Group_toint
#define PMPI_Group_f2c PMPI_Group_fromint
#endif

static MPI_Request meeting;
static int met[64];
static char attached[4096];

/* A message to this process itself that a call of the program will take. */
void sender(MPI_Fint comm)
{
    PMPI_Isend(met, 3, MPI_INT, 0, 5, PMPI_Comm_f2c(comm), &meeting);
}

/* A receive of this process itself for what a call of the program will send. */
void receiver(MPI_Fint comm)
{
    static int is_attached;
    if (!is_attached++)
        PMPI_Buffer_attach(attached, sizeof attached);
    PMPI_Irecv(met, 64, MPI_INT, 0, 5, PMPI_Comm_f2c(comm), &meeting);
}

void settle(void)
{
    PMPI_Wait(&meeting, MPI_STATUS_IGNORE);
}

/* One process of MPI_COMM_WORLD. */
MPI_Fint group_of(MPI_Fint rank)
{
    MPI_Group world, group;
    int ranks[] = {rank};
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_incl(world, 1, ranks, &group);
    return PMPI_Group_c2f(group);
}
