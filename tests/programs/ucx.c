/* Messages of many sizes and kinds between neighbours in a ring, over two communicators, with their contents looked at. Sizes go up
 * to the first argument in bytes. */
#include "truth.h"

static char *out, *in;
static int to, from;

static void fill(int bytes, int seed)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (char)(seed + world_rank + i);
    memset(in, 0, (size_t)bytes);
}

static void look(int bytes, int seed)
{
    for (int i = 0; i < bytes; i++)
        EXPECT(in[i] == (char)(seed + from + i));
}

static void exchange(MPI_Comm comm, int bytes, int seed)
{
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    int arrived;

    fill(bytes, seed);
    MPI_Sendrecv(out, bytes, MPI_CHAR, to, 1, in, bytes, MPI_CHAR, from, 1, comm, MPI_STATUS_IGNORE);
    look(bytes, seed);
    /* Posted before it arrives, with more room than it needs. */
    fill(bytes, seed + 1);
    MPI_Irecv(in, bytes + 100, MPI_CHAR, from, 2, comm, &requests[0]);
    MPI_Barrier(comm);
    MPI_Isend(out, bytes, MPI_CHAR, to, 2, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    look(bytes, seed + 1);
    /* Arrived before it is posted. */
    fill(bytes, seed + 2);
    MPI_Isend(out, bytes, MPI_CHAR, to, 3, comm, &requests[0]);
    MPI_Mprobe(from, 3, comm, &message, &status);
    MPI_Get_count(&status, MPI_CHAR, &arrived);
    EXPECT(arrived == bytes);
    MPI_Mrecv(in, bytes, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    look(bytes, seed + 2);
    /* The same, with more room. */
    fill(bytes, seed + 2);
    MPI_Isend(out, bytes, MPI_CHAR, to, 6, comm, &requests[0]);
    MPI_Barrier(comm);
    MPI_Recv(in, bytes + 100, MPI_CHAR, from, 6, comm, &status);
    MPI_Get_count(&status, MPI_CHAR, &arrived);
    EXPECT(arrived == bytes);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    look(bytes, seed + 2);
    fill(bytes, seed + 3);
    MPI_Issend(out, bytes, MPI_CHAR, to, 4, comm, &requests[0]);
    MPI_Recv(in, bytes, MPI_CHAR, from, 4, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    look(bytes, seed + 3);
}

/* Every other byte: a datatype that the library packs piece by piece. */
static void exchange_pieces(MPI_Comm comm, int bytes)
{
    MPI_Datatype pieces;
    MPI_Request request;

    MPI_Type_vector(bytes, 1, 2, MPI_CHAR, &pieces);
    MPI_Type_commit(&pieces);
    fill(2 * bytes, 5);
    MPI_Isend(out, 1, pieces, to, 5, comm, &request);
    MPI_Recv(in, 1, pieces, from, 5, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; i++)
        EXPECT(in[2 * i] == (char)(5 + from + 2 * i) && in[2 * i + 1] == 0);
    MPI_Type_free(&pieces);
}

int main(int argc, char **argv)
{
    MPI_Comm copy;
    int largest = argc > 1 ? atoi(argv[1]) : 1 << 20;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    out = malloc((size_t)largest * 2 + 100), in = malloc((size_t)largest * 2 + 100);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    exchange(MPI_COMM_WORLD, 0, 0);
    for (int bytes = 8, seed = 0; bytes <= largest; bytes *= 8, seed += 7) {
        exchange(MPI_COMM_WORLD, bytes, seed);
        exchange(copy, bytes - 3, seed);
    }
    exchange(MPI_COMM_WORLD, largest, 3);
    exchange_pieces(copy, 1000);
    exchange_pieces(copy, largest / 2);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
