/* Rank 1 ends while most of a large message is still on its way from it: where the library sends that in pieces, it must go on with them in
 * MPI_Finalize, until rank 0 has received it. */
#include "truth.h"
#include <unistd.h>

enum { BYTES = 64 << 20 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    truth_begin("MPI_Init");
    char *message = calloc(BYTES, 1), *buffer = malloc(BYTES + MPI_BSEND_OVERHEAD);
    if (world_rank == 1) {
        MPI_Buffer_attach(buffer, BYTES + MPI_BSEND_OVERHEAD);
        memset(message, 'm', BYTES);
        MPI_Bsend(message, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        sent("WORLD", "MPI_Bsend", 0, BYTES);
    } else if (world_rank == 0) {
        usleep(300000);
        MPI_Recv(message, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        received("WORLD", "MPI_Recv", BYTES);
        EXPECT(message[0] == 'm' && message[BYTES - 1] == 'm');
    }
    truth_finalize();
    return 0;
}
