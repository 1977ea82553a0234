/* Open MPI 5 says to be of MPI 3.1, and has most of MPI 4: sessions, partitioned communication, persistent collectives, but no functions
 * for large counts. Included before all else, this has programs use what it has. */
#include <mpi.h>
#undef MPI_VERSION
#define MPI_VERSION 4
