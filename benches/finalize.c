/* What a profiler does at the end: makes communicators, uses each a little, and times MPI_Finalize.
 * usage: finalize COMMUNICATORS kept|freed FOLDER   each rank writes `finalize_ns peak_kib` to FOLDER/RANK, after MPI */
#include <mpi.h>
#include "timing.h"

static void use(MPI_Comm comm)
{
    int rank, size, one = 1, two;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(&two, 1, MPI_INT, 0, comm);
    MPI_Barrier(comm);
    MPI_Sendrecv(&one, 1, MPI_INT, (rank + 1) % size, 0, &two, 1, MPI_INT, (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: finalize COMMUNICATORS kept|freed FOLDER\n"), 2;
    int count = atoi(argv[1]), freed = !strcmp(argv[2], "freed"), rank;
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;
        if (i % 2)
            MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
        else
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        use(comm);
        if (freed) MPI_Comm_free(&comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now_ns();
    MPI_Finalize();
    double took_ns = now_ns() - begin;
    snprintf(path, sizeof path, "%s/%d", argv[3], rank);
    FILE *result = fopen(path, "w");
    if (!result) return 1;
    fprintf(result, "%.0f %ld\n", took_ns, self_kib("status", "VmHWM:"));
    return fclose(result) != 0;
}
