/* transpose [STEPS [N]]: the communication of a three-dimensional FFT of N x N x N complex numbers, divided into pencils as fftMPI
 * does: each step turns the data by MPI_Alltoallv within the rows of a grid of ranks, and back within its columns. The grid is as
 * uneven as the number of ranks allows, so that rows are longer than columns. What comes back is compared with what was sent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each member of a communicator sends to each other one: the whole in equal parts, with the remainder to the first ones. */
static void parts(MPI_Comm comm, int all, int *counts, int *starts)
{
    int size, start = 0;
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++) {
        counts[i] = all / size + (i < all % size);
        starts[i] = start;
        start += counts[i];
    }
}

/* Sends the parts to the members; returns how much came. */
static int turn(MPI_Comm comm, const double *out, double *in, const int *sends, const int *starts, int *receives, int *places)
{
    int size, start = 0;
    MPI_Comm_size(comm, &size);
    MPI_Alltoall(sends, 1, MPI_INT, receives, 1, MPI_INT, comm);
    for (int i = 0; i < size; i++) {
        places[i] = start;
        start += receives[i];
    }
    MPI_Alltoallv(out, sends, starts, MPI_DOUBLE, in, receives, places, MPI_DOUBLE, comm);
    return start;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 100, n = argc > 2 ? atoi(argv[2]) : 64;
    int rank, size, columns = 1, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 2; i * i <= size; i++)
        if (size % i == 0)
            columns = i;
    MPI_Comm row, column;
    MPI_Comm_split(MPI_COMM_WORLD, rank % columns, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank / columns, rank, &column);
    MPI_Comm_set_name(row, "row");
    MPI_Comm_set_name(column, "column");

    int all = 2 * (int)((long)n * n * n / size), room = all + 2 * size;
    double *pencil = malloc(sizeof(double) * room), *turned = malloc(2 * sizeof(double) * room);
    int *counts = malloc(sizeof(int) * size * 4), *starts = counts + size, *receives = starts + size, *places = receives + size;
    for (int i = 0; i < all; i++)
        pencil[i] = rank + i * 1e-6;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        MPI_Comm both[] = {row, column};
        for (int i = 0; i < 2; i++) {
            parts(both[i], all, counts, starts);
            int came = turn(both[i], pencil, turned, counts, starts, receives, places);
            /* Back again: what came from each goes to it. */
            int *again = malloc(sizeof(int) * size * 2);
            double *back = malloc(sizeof(double) * room);
            int returned = turn(both[i], turned, back, receives, places, again, again + size);
            wrong += came < 0 || returned != all || memcmp(back, pencil, sizeof(double) * all) != 0;
            free(back);
            free(again);
        }
    }
    double seconds = MPI_Wtime() - begin;
    int all_wrong;
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d steps on %d x %d ranks: %.3f s, %s\n", steps, size / columns, columns, seconds, all_wrong ? "wrong" : "right");
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    free(counts);
    free(turned);
    free(pencil);
    MPI_Finalize();
    return all_wrong != 0;
}
