/* What the bindings lack: constants that are casts, and functions of MPI 4. */
#include <mpi.h>

void *const groupbench_in_place = MPI_IN_PLACE;

#if MPI_VERSION >= 4
const int groupbench_has_partitioned = 1;

int groupbench_psend_init(const void *buffer, int partitions, long long count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
    return MPI_Psend_init(buffer, partitions, (MPI_Count)count, type, rank, tag, comm, MPI_INFO_NULL, request);
}

int groupbench_precv_init(void *buffer, int partitions, long long count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
    return MPI_Precv_init(buffer, partitions, (MPI_Count)count, type, rank, tag, comm, MPI_INFO_NULL, request);
}

int groupbench_pready(int partition, MPI_Request request)
{
    return MPI_Pready(partition, request);
}
#else
const int groupbench_has_partitioned = 0;

int groupbench_psend_init(const void *buffer, int partitions, long long count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
    (void)buffer, (void)partitions, (void)count, (void)type, (void)rank, (void)tag, (void)comm, (void)request;
    return MPI_ERR_OTHER;
}

int groupbench_precv_init(void *buffer, int partitions, long long count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
    return groupbench_psend_init(buffer, partitions, count, type, rank, tag, comm, request);
}

int groupbench_pready(int partition, MPI_Request request)
{
    (void)partition, (void)request;
    return MPI_ERR_OTHER;
}
#endif
