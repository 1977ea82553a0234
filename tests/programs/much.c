/* Much of what a profiler needs memory for: communicators with topologies, requests, datatypes, windows, files, matched messages,
 * attributes. What it prints depends on what MPI did alone. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            MPI_Abort(MPI_COMM_WORLD, 99);                                                                             \
        }                                                                                                              \
    } while (0)

enum { COMMS = 300, REQUESTS = 200, TYPES = 40 };

static int rank, size;
static long sum;

static void communicators(void)
{
    static MPI_Comm comms[COMMS];
    for (int i = 0; i < COMMS; i++) {
        int one = i;
        if (i % 3)
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        else
            MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[i]);
        MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, comms[i]);
        sum += one;
        if (i % 20 == 0) {
            char name[32];
            snprintf(name, sizeof name, "number %d", i);
            MPI_Comm_set_name(comms[i], name);
        }
    }
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
}

static void topologies(void)
{
    int periods[2] = {1, 1}, shape[2] = {size, 1}, in[4], all[4] = {rank, rank + 1, rank + 2, rank + 3};
    int before = (rank + size - 1) % size, after = (rank + 1) % size;
    for (int i = 0; i < 20; i++) {
        MPI_Comm grid, graph;
        MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periods, 0, &grid);
        MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, grid);
        sum += in[0] + in[3];
        MPI_Neighbor_alltoall(all, 1, MPI_INT, in, 1, MPI_INT, grid);
        sum += in[1] + in[2];
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                       0, &graph);
        MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, graph);
        EXPECT(in[0] == before);
        MPI_Comm_free(&graph);
        MPI_Comm_free(&grid);
    }
}

static void requests(void)
{
    static MPI_Request all[2 * REQUESTS];
    static MPI_Status statuses[2 * REQUESTS];
    static int indices[2 * REQUESTS], in[REQUESTS], out[REQUESTS];
    int before = (rank + size - 1) % size, after = (rank + 1) % size, done, flag;
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < REQUESTS; i++) {
            out[i] = rank * i + turn;
            MPI_Irecv(&in[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &all[i]);
            MPI_Isend(&out[i], 1, MPI_INT, after, i, MPI_COMM_WORLD, &all[REQUESTS + i]);
        }
        if (turn == 0) {
            MPI_Waitall(2 * REQUESTS, all, MPI_STATUSES_IGNORE);
        } else if (turn == 1) {
            MPI_Waitall(2 * REQUESTS, all, statuses);
            for (int i = 0; i < REQUESTS; i++) {
                MPI_Get_count(&statuses[i], MPI_INT, &done);
                EXPECT(done == 1 && statuses[i].MPI_SOURCE == before && statuses[i].MPI_TAG == i);
            }
        } else {
            for (int left = 2 * REQUESTS; left > 0; left -= done)
                MPI_Waitsome(2 * REQUESTS, all, &done, indices, MPI_STATUSES_IGNORE);
        }
        for (int i = 0; i < REQUESTS; i++) {
            EXPECT(in[i] == before * i + turn);
            sum += in[i];
        }
    }
    for (int i = 0; i < REQUESTS; i++) {
        MPI_Recv_init(&in[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &all[i]);
        MPI_Send_init(&out[i], 1, MPI_INT, after, i, MPI_COMM_WORLD, &all[REQUESTS + i]);
    }
    for (int turn = 0; turn < 3; turn++) {
        MPI_Startall(2 * REQUESTS, all);
        do
            MPI_Testall(2 * REQUESTS, all, &flag, statuses);
        while (!flag);
        MPI_Start(&all[0]);
        MPI_Start(&all[REQUESTS]);
        MPI_Wait(&all[0], MPI_STATUS_IGNORE);
        MPI_Wait(&all[REQUESTS], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 2 * REQUESTS; i++)
        MPI_Request_free(&all[i]);
    for (int i = 0; i < 50; i++) {
        MPI_Message message;
        MPI_Isend(&rank, 1, MPI_INT, after, i, MPI_COMM_WORLD, &all[0]);
        MPI_Mprobe(before, i, MPI_COMM_WORLD, &message, &statuses[0]);
        MPI_Mrecv(&in[0], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        MPI_Wait(&all[0], MPI_STATUS_IGNORE);
        EXPECT(in[0] == before);
    }
}

static void datatypes(void)
{
    int peer = (rank + 1) % size, from = (rank + size - 1) % size;
    static int out[TYPES * 4], in[TYPES * 4];
    for (int i = 1; i < TYPES; i++) {
        MPI_Datatype type;
        MPI_Type_vector(i, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int k = 0; k < TYPES * 4; k++)
            out[k] = rank + k + i, in[k] = -1;
        MPI_Sendrecv(out, 1, type, peer, 0, in, 1, type, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < 2 * i; k++)
            EXPECT(in[k] == (k % 2 ? -1 : from + k + i));
        MPI_Type_free(&type);
    }
}

static void windows_and_files(void)
{
    char path[64];
    snprintf(path, sizeof path, "much-%d.tmp", rank);
    for (int i = 0; i < 20; i++) {
        int *base, value = rank + i, read = -1;
        MPI_Win win;
        MPI_File file;
        MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        MPI_Win_free(&win);
        EXPECT(!MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
        MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_read_at(file, 0, &read, 1, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_read_at_all_begin(file, 0, &read, 1, MPI_INT);
        MPI_File_read_at_all_end(file, &read, MPI_STATUS_IGNORE);
        EXPECT(read == value);
        MPI_File_close(&file);
    }
    unlink(path);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    communicators();
    topologies();
    MPI_Pcontrol(3, "messages");
    requests();
    MPI_Pcontrol(-3);
    datatypes();
    windows_and_files();
    MPI_Pcontrol(2);
    MPI_Reduce(rank ? &sum : MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld\n", sum);
    MPI_Finalize();
    return 7;
}
