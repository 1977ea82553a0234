/* Two halves of one world that meet again, by MPI_Comm_accept and MPI_Comm_connect ("connect"), or two processes by
 * MPI_Comm_join over a socket ("join"). Needs an even number of ranks; for "join" two. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            PMPI_Abort(MPI_COMM_WORLD, 99);                                                                            \
        }                                                                                                              \
    } while (0)

static int rank, size;

/* Each process tells the one opposite its rank, and all of both sides agree on a sum. */
static void talk(MPI_Comm between)
{
    char out[300] = {0}, in[1000];
    MPI_Status status;
    int mine, side = rank % 2, value = 1, sum, received;
    PMPI_Comm_rank(between, &mine);
    if (side == 0) {
        MPI_Send(out, 200, MPI_BYTE, mine, 1, between);
        MPI_Recv(in, sizeof in, MPI_BYTE, mine, 2, between, &status);
    } else {
        MPI_Recv(in, sizeof in, MPI_BYTE, mine, 1, between, &status);
        MPI_Send(out, 300, MPI_BYTE, mine, 2, between);
    }
    PMPI_Get_count(&status, MPI_BYTE, &received);
    EXPECT(received == (side == 0 ? 300 : 200));
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, between);
    EXPECT(sum == size / 2);
}

static void meet_at_port(void)
{
    char port[MPI_MAX_PORT_NAME] = {0};
    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    PMPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank % 2 == 0)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &between);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &between);
    talk(between);
    MPI_Comm_disconnect(&between);
    if (rank == 0)
        MPI_Close_port(port);
    MPI_Comm_free(&half);
}

static void join(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "join.socket"};
    int end = socket(AF_UNIX, SOCK_STREAM, 0), listening = end;
    if (rank == 0)
        EXPECT(bind(end, (struct sockaddr *)&address, sizeof address) == 0 && listen(end, 1) == 0);
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        end = accept(listening, NULL, NULL);
    else
        EXPECT(connect(end, (struct sockaddr *)&address, sizeof address) == 0);
    EXPECT(end >= 0);
    MPI_Comm between = MPI_COMM_NULL;
    MPI_Comm_join(end, &between);
    EXPECT(between != MPI_COMM_NULL);
    talk(between);
    MPI_Comm_disconnect(&between);
    close(end);
    if (rank == 0) {
        close(listening);
        unlink(address.sun_path);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT(argc == 2 && size % 2 == 0);
    strcmp(argv[1], "join") ? meet_at_port() : join();
    MPI_Finalize();
    return 0;
}
