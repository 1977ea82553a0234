/* MPI calls for which the library has nothing to do, with everything that commsee has to do in its slow paths: errno stays what
 * it was. Where the library alone changes it, nothing can be said of commsee. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>

enum { COMMS = 400, MARK = 4242 };

static int kept, changed, unsettled;

/* Whether the function keeps errno by itself, and with the profiler before it. */
#define KEEPS(name, ...)                                                                                               \
    do {                                                                                                               \
        errno = MARK;                                                                                                  \
        P##name(__VA_ARGS__);                                                                                          \
        int alone = errno == MARK;                                                                                     \
        errno = MARK;                                                                                                  \
        name(__VA_ARGS__);                                                                                             \
        if (alone && errno != MARK && !changed++)                                                                      \
            printf("%s left errno at %d\n", #name, errno);                                                             \
        kept += alone && errno == MARK, unsettled += !alone;                                                           \
    } while (0)

int main(int argc, char **argv)
{
    static char bytes[1 << 20];
    static MPI_Comm comms[COMMS];
    MPI_Init(&argc, &argv);
    for (int i = 0; i < COMMS; i++) {
        /* Made where commsee does not see it: the first call over it makes it known. */
        PMPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        for (int size = 1; size <= 1 << 20; size *= 32) {
            KEEPS(MPI_Send, bytes, size, MPI_BYTE, MPI_PROC_NULL, 0, comms[i]);
            KEEPS(MPI_Recv, bytes, size, MPI_BYTE, MPI_PROC_NULL, 0, comms[i], MPI_STATUS_IGNORE);
            KEEPS(MPI_Ssend, bytes, size, MPI_BYTE, MPI_PROC_NULL, 0, comms[i]);
        }
        KEEPS(MPI_Comm_set_name, comms[i], "a name");
        if (i < 5)
            KEEPS(MPI_Pcontrol, 2);
        if (i < 300) {
            char name[16];
            snprintf(name, sizeof name, "phase %d", i);
            KEEPS(MPI_Pcontrol, 3, name);
        }
    }
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("most are kept: %d; changed: %d\n", kept > 100 * unsettled, changed);
    for (int i = 0; i < COMMS; i++)
        PMPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return changed > 0;
}
