/* Preloaded behind the profiler: counts the messages that each rank receives through PMPI_Recv over other communicators than
 * MPI_COMM_WORLD, the bytes of the largest, and the parts of messages that each rank sends by a blocking call, and writes all three
 * to $RECEIVED_DIR/RANK. Not those by which ranks
 * only meet, or ask for more; what arrives in several messages behind the one that tells its size counts as one.
 * With $RECEIVED_FAILS=RANK.N the n-th message of this rank is said to have failed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG_DATA = 3, TAG_MEETING = 6, TAG_NEXT = 7 };
static int rank = -1, latest_tag;
static long messages, largest, blocking_parts;

int PMPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int (*real)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *) = dlsym(RTLD_NEXT, "PMPI_Recv");
    int failing = -1, number = 0;
    if (getenv("RECEIVED_FAILS"))
        sscanf(getenv("RECEIVED_FAILS"), "%d.%d", &failing, &number);
    if (rank < 0)
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* Over the world the program receives. */
    int is_counted = comm != MPI_COMM_WORLD && tag != TAG_MEETING && tag != TAG_NEXT;
    if (is_counted) {
        messages += tag != TAG_DATA || latest_tag != TAG_DATA;
        latest_tag = tag;
        if (count > largest)
            largest = count;
    }
    int code = real(buffer, count, type, source, tag, comm, status);
    return failing == rank && messages == number && is_counted ? MPI_ERR_OTHER : code;
}

int PMPI_Send(const void *buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm)
{
    int (*real)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = dlsym(RTLD_NEXT, "PMPI_Send");
    if (rank < 0)
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    blocking_parts += comm != MPI_COMM_WORLD && tag == TAG_DATA;
    return real(buffer, count, type, destination, tag, comm);
}

__attribute__((destructor)) static void tell(void)
{
    char path[4096];
    if (rank < 0 || !getenv("RECEIVED_DIR"))
        return;
    snprintf(path, sizeof path, "%s/%d", getenv("RECEIVED_DIR"), rank);
    FILE *file = fopen(path, "w");
    fprintf(file, "%ld %ld %ld\n", messages, largest, blocking_parts);
    fclose(file);
}
