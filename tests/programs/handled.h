/* For programs with an error handler of their own, which only counts: what a call returned, and how many errors were handled by then. */
#ifndef HANDLED_H
#define HANDLED_H
#include <mpi.h>
#include <stdio.h>

static int handled;

static void count_errors(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static void say(const char *what, int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    printf("%s: class %d, handled %d\n", what, class, handled);
    fflush(stdout);
}

#endif
