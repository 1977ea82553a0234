/* writes: three times 100000 bytes to a file that takes all, each by `write`. */
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char bytes[100000];
    MPI_Init(&argc, &argv);
    int file = open("/dev/null", O_WRONLY);
    for (int round = 0; round < 3; round++)
        if (write(file, bytes, sizeof bytes) != sizeof bytes)
            MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return 0;
}
