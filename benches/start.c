/* What a process needs until MPI_Init has returned.
 * usage: start FILE   writes `load_ns init_ns resident_kib proportional_kib private_kib` to FILE, after MPI */
#include <mpi.h>
#include <unistd.h>
#include "timing.h"

int main(int argc, char **argv)
{
    if (argc == 2) {
        /* Once more, to know when loading began. */
        char begin[32];
        snprintf(begin, sizeof begin, "%.0f", now_ns());
        execl("/proc/self/exe", argv[0], argv[1], begin, (char *)NULL);
        return 1;
    }
    if (argc != 3) return fprintf(stderr, "usage: start FILE\n"), 2;
    double load_ns = now_ns() - atof(argv[2]), begin = now_ns();
    MPI_Init(&argc, &argv);
    double init_ns = now_ns() - begin;
    long resident_kib = self_kib("smaps_rollup", "Rss:"), proportional_kib = self_kib("smaps_rollup", "Pss:");
    long private_kib = self_kib("smaps_rollup", "Private_Dirty:");
    MPI_Finalize();
    FILE *result = fopen(argv[1], "w");
    if (!result) return 1;
    fprintf(result, "%.0f %.0f %ld %ld %ld\n", load_ns, init_ns, resident_kib, proportional_kib, private_kib);
    return fclose(result) != 0;
}
