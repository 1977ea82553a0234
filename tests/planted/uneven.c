/* An exchange in which one rank has nearly all data. */
#include "planted.h"

#define MEAN (64 * 1024)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int *sent = calloc(4 * size, sizeof *sent), *at = sent + size, *received = at + size, *to = received + size;
    char *out = malloc(size * size * MEAN), *in = malloc(size * size * MEAN);
    memset(out, 1, size * size * MEAN);
    for (int other = 0; other < size; other++) {
        sent[other] = !is_planted ? MEAN : rank == 1 ? (size - 1) * MEAN : MEAN / size;
        received[other] = !is_planted ? MEAN : other == 1 ? (size - 1) * MEAN : MEAN / size;
        at[other] = other ? at[other - 1] + sent[other - 1] : 0;
        to[other] = other ? to[other - 1] + received[other - 1] : 0;
    }
    for (int step = 0; step < 40; step++)
        MPI_Alltoallv(out, sent, at, MPI_BYTE, in, received, to, MPI_BYTE, MPI_COMM_WORLD);
    free(sent), free(out), free(in);
    return end();
}
