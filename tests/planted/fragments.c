/* Values that are added up one by one, and in one call. */
#include "planted.h"

#define VALUES 64

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    double sums[VALUES], parts[VALUES] = {0};
    int calls = is_planted ? VALUES : 1;
    for (int step = 0; step < 50; step++) {
        work_ms(2);
        for (int i = 0; i < calls; i++)
            MPI_Allreduce(parts + i, sums + i, VALUES / calls, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return end();
}
