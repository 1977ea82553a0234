/* A second count, which shares nothing with the profiler: preloaded alone into the same program with the same input, it
 * adds up calls and bytes per function and writes them, one line each, to $TRUTH_DIR/RANK when MPI is finalized.
 * Bytes received by MPI_Irecv are left to the profiler: to know them takes a request table. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS(X)                                                                                                   \
    X(Allgather) X(Allgatherv) X(Allreduce) X(Alltoall) X(Alltoallv) X(Barrier) X(Bcast) X(Cart_create) X(Comm_create) \
    X(Comm_dup) X(Comm_free) X(Comm_split) X(Gather) X(Gatherv) X(Irecv) X(Isend) X(Recv) X(Reduce) X(Reduce_scatter)  \
    X(Request_free) X(Rsend) X(Scan) X(Scatter) X(Scatterv) X(Send) X(Sendrecv) X(Ssend) X(Wait) X(Waitall) X(Waitany)

#define NUMBER(name) NR_##name,
enum number { FUNCTIONS(NUMBER) COUNT };
#define NAME(name) "MPI_" #name,
static const char *const names[] = {FUNCTIONS(NAME)};
static long long calls[COUNT], sent[COUNT], received[COUNT];

static void add(enum number function, long long gives, long long takes)
{
    calls[function]++, sent[function] += gives, received[function] += takes;
}

static long long bytes(long long count, MPI_Datatype type)
{
    int size;
    PMPI_Type_size(type, &size);
    return count * size;
}

static long long sum(const int *counts, MPI_Comm comm)
{
    int size;
    long long all = 0;
    PMPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++)
        all += counts[i];
    return all;
}

static long long ranks(MPI_Comm comm)
{
    int size;
    PMPI_Comm_size(comm, &size);
    return size;
}

static int is_rank(MPI_Comm comm, int root)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank == root;
}

static long long arrived(const MPI_Status *status)
{
    int count;
    PMPI_Get_count(status, MPI_BYTE, &count);
    return count;
}

#define SENDS(name)                                                                                                    \
    int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)                   \
    {                                                                                                                  \
        add(NR_##name, to == MPI_PROC_NULL ? 0 : bytes(count, type), 0);                                               \
        return PMPI_##name(buffer, count, type, to, tag, comm);                                                        \
    }
SENDS(Send)
SENDS(Ssend)
SENDS(Rsend)

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    add(NR_Isend, to == MPI_PROC_NULL ? 0 : bytes(count, type), 0);
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    add(NR_Irecv, 0, 0);
    return PMPI_Irecv(buffer, count, type, from, tag, comm, request);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    int code = PMPI_Recv(buffer, count, type, from, tag, comm, &own);
    add(NR_Recv, 0, arrived(&own));
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    return code;
}

int MPI_Sendrecv(const void *out, int count, MPI_Datatype type, int to, int tag, void *in, int room, MPI_Datatype as,
                 int from, int mark, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    int code = PMPI_Sendrecv(out, count, type, to, tag, in, room, as, from, mark, comm, &own);
    add(NR_Sendrecv, to == MPI_PROC_NULL ? 0 : bytes(count, type), arrived(&own));
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    return code;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    add(NR_Wait, 0, 0);
    return PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    add(NR_Waitall, 0, 0);
    return PMPI_Waitall(count, requests, statuses);
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status)
{
    add(NR_Waitany, 0, 0);
    return PMPI_Waitany(count, requests, index, status);
}

int MPI_Request_free(MPI_Request *request)
{
    add(NR_Request_free, 0, 0);
    return PMPI_Request_free(request);
}

int MPI_Barrier(MPI_Comm comm)
{
    add(NR_Barrier, 0, 0);
    return PMPI_Barrier(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    long long all = bytes(count, type);
    add(NR_Bcast, is_rank(comm, root) ? all : 0, is_rank(comm, root) ? 0 : all);
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Reduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    add(NR_Reduce, bytes(count, type), is_rank(comm, root) ? bytes(count, type) : 0);
    return PMPI_Reduce(out, in, count, type, op, root, comm);
}

int MPI_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    add(NR_Allreduce, bytes(count, type), bytes(count, type));
    return PMPI_Allreduce(out, in, count, type, op, comm);
}

int MPI_Scan(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    add(NR_Scan, bytes(count, type), bytes(count, type));
    return PMPI_Scan(out, in, count, type, op, comm);
}

int MPI_Reduce_scatter(const void *out, void *in, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    add(NR_Reduce_scatter, bytes(sum(counts, comm), type), bytes(counts[rank], type));
    return PMPI_Reduce_scatter(out, in, counts, type, op, comm);
}

int MPI_Gather(const void *out, int count, MPI_Datatype type, void *in, int room, MPI_Datatype as, int root,
               MPI_Comm comm)
{
    int here = is_rank(comm, root);
    add(NR_Gather, out == MPI_IN_PLACE ? bytes(room, as) : bytes(count, type), here ? ranks(comm) * bytes(room, as) : 0);
    return PMPI_Gather(out, count, type, in, room, as, root, comm);
}

int MPI_Gatherv(const void *out, int count, MPI_Datatype type, void *in, const int *rooms, const int *places,
                MPI_Datatype as, int root, MPI_Comm comm)
{
    int here = is_rank(comm, root);
    add(NR_Gatherv, out == MPI_IN_PLACE ? bytes(rooms[root], as) : bytes(count, type),
        here ? bytes(sum(rooms, comm), as) : 0);
    return PMPI_Gatherv(out, count, type, in, rooms, places, as, root, comm);
}

int MPI_Scatter(const void *out, int count, MPI_Datatype type, void *in, int room, MPI_Datatype as, int root,
                MPI_Comm comm)
{
    int here = is_rank(comm, root);
    add(NR_Scatter, here ? ranks(comm) * bytes(count, type) : 0, in == MPI_IN_PLACE ? bytes(count, type) : bytes(room, as));
    return PMPI_Scatter(out, count, type, in, room, as, root, comm);
}

int MPI_Scatterv(const void *out, const int *counts, const int *places, MPI_Datatype type, void *in, int room,
                 MPI_Datatype as, int root, MPI_Comm comm)
{
    int here = is_rank(comm, root);
    add(NR_Scatterv, here ? bytes(sum(counts, comm), type) : 0,
        in == MPI_IN_PLACE ? bytes(counts[root], type) : bytes(room, as));
    return PMPI_Scatterv(out, counts, places, type, in, room, as, root, comm);
}

int MPI_Allgather(const void *out, int count, MPI_Datatype type, void *in, int room, MPI_Datatype as, MPI_Comm comm)
{
    add(NR_Allgather, out == MPI_IN_PLACE ? bytes(room, as) : bytes(count, type), ranks(comm) * bytes(room, as));
    return PMPI_Allgather(out, count, type, in, room, as, comm);
}

int MPI_Allgatherv(const void *out, int count, MPI_Datatype type, void *in, const int *rooms, const int *places,
                   MPI_Datatype as, MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    add(NR_Allgatherv, out == MPI_IN_PLACE ? bytes(rooms[rank], as) : bytes(count, type), bytes(sum(rooms, comm), as));
    return PMPI_Allgatherv(out, count, type, in, rooms, places, as, comm);
}

int MPI_Alltoall(const void *out, int count, MPI_Datatype type, void *in, int room, MPI_Datatype as, MPI_Comm comm)
{
    add(NR_Alltoall, ranks(comm) * (out == MPI_IN_PLACE ? bytes(room, as) : bytes(count, type)),
        ranks(comm) * bytes(room, as));
    return PMPI_Alltoall(out, count, type, in, room, as, comm);
}

int MPI_Alltoallv(const void *out, const int *counts, const int *from, MPI_Datatype type, void *in, const int *rooms,
                  const int *places, MPI_Datatype as, MPI_Comm comm)
{
    add(NR_Alltoallv, out == MPI_IN_PLACE ? bytes(sum(rooms, comm), as) : bytes(sum(counts, comm), type),
        bytes(sum(rooms, comm), as));
    return PMPI_Alltoallv(out, counts, from, type, in, rooms, places, as, comm);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    add(NR_Comm_dup, 0, 0);
    return PMPI_Comm_dup(comm, made);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    add(NR_Comm_split, 0, 0);
    return PMPI_Comm_split(comm, color, key, made);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made)
{
    add(NR_Comm_create, 0, 0);
    return PMPI_Comm_create(comm, group, made);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    add(NR_Comm_free, 0, 0);
    return PMPI_Comm_free(comm);
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int *sizes, const int *periods, int reorder, MPI_Comm *made)
{
    add(NR_Cart_create, 0, 0);
    return PMPI_Cart_create(comm, dimensions, sizes, periods, reorder, made);
}

int MPI_Finalize(void)
{
    const char *folder = getenv("TRUTH_DIR");
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", folder ? folder : ".", rank);
    FILE *file = fopen(path, "w");
    if (file) {
        for (int i = 0; i < COUNT; i++)
            if (calls[i])
                fprintf(file, "%s\t%lld\t%lld\t%lld\n", names[i], calls[i], sent[i], received[i]);
        fclose(file);
    }
    return PMPI_Finalize();
}
