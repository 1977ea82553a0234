/* Values that are written one by one, and together. */
#include "planted.h"

#include <stdio.h>

#define VALUES 1000

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    static double out[VALUES];
    MPI_File file;
    char name[4096];
    snprintf(name, sizeof name, "%s/values", getenv("TRUTH_DIR") ? getenv("TRUTH_DIR") : ".");
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    int parts = is_planted ? VALUES : 1;
    for (int i = 0; i < parts; i++)
        MPI_File_write_at(file, (rank * VALUES + i) * sizeof *out, out + i, VALUES / parts, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    return end();
}
