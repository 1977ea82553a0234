/* MPI_Pcontrol(2) takes a snapshot while counting goes on: the truth so far is written as well. With an argument the last
 * process takes none. */
#include "truth.h"

static void snapshot(int number)
{
    char folder[4096];
    MPI_Pcontrol(2);
    called("WORLD", "MPI_Pcontrol");
    /* The truth at this moment, for the test that reads the snapshot. */
    const char *whole = getenv("TRUTH_DIR");
    if (whole) {
        snprintf(folder, sizeof folder, "%s/snapshot-%d", whole, number);
        char file[4200];
        snprintf(file, sizeof file, "%s.%d", folder, world_rank);
        FILE *out = fopen(file, "w");
        EXPECT(out);
        fprintf(out, "%d\n", number * 10);
        fclose(out);
    }
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    int partial = argc > 1;
    for (int number = 1; number <= 2; number++) {
        for (int i = 0; i < 10; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            called("WORLD", "MPI_Barrier");
        }
        if (!partial || world_rank < world_size - 1)
            snapshot(number);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    called("WORLD", "MPI_Barrier");
    truth_finalize();
    return 0;
}
