/* outside before|after: MPI_Pcontrol where MPI is not there yet, or not there any more. Some libraries end the program. */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

static void control(void)
{
    for (int level = -1; level < 3; level++)
        printf("%d: %d\n", level, MPI_Pcontrol(level, NULL));
    printf("named: %d\n", MPI_Pcontrol(3, "phase"));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (!strcmp(argv[1], "before"))
        control();
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    if (!strcmp(argv[1], "after"))
        control();
    return 0;
}
