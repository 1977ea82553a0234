/* What the programs with one planted fault each share. They are run with the word "planted", and with the word "healthy" do the same work
 * without the fault. Work is sleep: ranks that outnumber the cores then take nothing from each other. */
#include <mpi.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_planted, rank, size;

static void begin(int *argc, char ***argv)
{
    is_planted = *argc > 1 && !strcmp((*argv)[1], "planted");
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static void work_ms(int ms)
{
    usleep(1000 * ms);
}

static int end(void)
{
    MPI_Finalize();
    return 0;
}
