/* INIT(Bcast) is the function that sets a persistent collective up: that of MPI 4, or in Open MPI 4 that of an extension, which is counted as the same. */
#if MPI_VERSION >= 4
#define INIT(name) MPI_##name##_init
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define INIT(name) MPIX_##name##_init
#endif
#endif

/* In larger communicators than these the persistent collectives of MPICH 4.0.2 end in "Invalid communicator". */
#define PERSISTENT_MOST (MPI_VERSION >= 4 ? 2 : 16)
