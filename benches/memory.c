/* What many communicators need: duplicates of MPI_COMM_SELF, four operations on each.
 * usage: memory COMMUNICATORS kept|freed FILE   writes `resident_kib peak_kib finalize_ns` to FILE, after MPI */
#include <mpi.h>
#include "timing.h"

static void use(MPI_Comm comm)
{
    int one = 1, two;
    MPI_Allreduce(&one, &two, 1, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(&two, 1, MPI_INT, 0, comm);
    MPI_Barrier(comm);
    MPI_Sendrecv(&one, 1, MPI_INT, 0, 0, &two, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: memory COMMUNICATORS kept|freed FILE\n"), 2;
    int count = atoi(argv[1]), freed = !strcmp(argv[2], "freed");
    MPI_Init(&argc, &argv);
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        use(comm);
        if (freed) MPI_Comm_free(&comm);
    }
    long resident_kib = self_kib("smaps_rollup", "Rss:");
    double begin = now_ns();
    MPI_Finalize();
    double took_ns = now_ns() - begin;
    FILE *result = fopen(argv[3], "w");
    if (!result) return 1;
    fprintf(result, "%ld %ld %.0f\n", resident_kib, self_kib("status", "VmHWM:"), took_ns);
    return fclose(result) != 0;
}
