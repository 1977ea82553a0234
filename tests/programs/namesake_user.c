/* Calls functions of `namesakes.c` while MPI runs. */
#define _GNU_SOURCE
#include "truth.h"
#include <dlfcn.h>

static int call(const char *name, int one, int other)
{
    int (*function)(int, int);
    *(void **)&function = dlsym(RTLD_DEFAULT, name);
    EXPECT(function);
    return function(one, other);
}

static void use(void)
{
    int (*function)(const char *);
    *(void **)&function = dlsym(RTLD_DEFAULT, "mpi_test_");
    EXPECT(function("x") == 'x');
    EXPECT(call("mpi_get", 7, 5) == 705);
    int (*irecv)(int, int, int, int);
    *(void **)&irecv = dlsym(RTLD_DEFAULT, "mpi_irecv");
    EXPECT(irecv(1, 2, 3, 4) == 1234);
    EXPECT(call("mpi_init", 41, 0) == 42);
    EXPECT(call("mpi_pcontrol_", 0, 0) == 2);
}

int main(int argc, char **argv)
{
    use();
    truth_init(&argc, &argv);
    use();
    MPI_Barrier(MPI_COMM_WORLD);
    called("WORLD", "MPI_Barrier");
    truth_finalize();
    use();
    return 0;
}
