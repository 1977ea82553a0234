/* Has the functions of translating.h, under both names, and forwards them to the MPI library that it is compiled for, which nobody else sees. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

struct thing {
    MPI_Comm comm;
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Request request;
};

typedef struct {
    long source, tag, error, more[4];
} Status;

struct thing translated_world, translated_int, translated_sum;

static void *library(void)
{
    static void *opened;
    if (!opened)
        opened = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    return opened ? opened : (abort(), NULL);
}

#define REAL(name) ((__typeof__(&P##name))dlsym(library(), "P" #name))
#define TRANSLATED(name, parameters, ...)                          \
    __attribute__((visibility("default"))) int T##name parameters \
    {                                                              \
        __VA_ARGS__                                                \
    }                                                              \
    __asm__(".globl " #name "\n.set " #name ", T" #name "\n.globl P" #name "\n.set P" #name ", T" #name "\n");

TRANSLATED(MPI_Init, (int *argc, char ***argv), {
    int code = REAL(MPI_Init)(argc, argv);
#ifdef OPEN_MPI
    translated_world.comm = (MPI_Comm)dlsym(library(), "ompi_mpi_comm_world");
    translated_int.datatype = (MPI_Datatype)dlsym(library(), "ompi_mpi_int");
    translated_sum.op = (MPI_Op)dlsym(library(), "ompi_mpi_op_sum");
#else
    translated_world.comm = MPI_COMM_WORLD;
    translated_int.datatype = MPI_INT;
    translated_sum.op = MPI_SUM;
#endif
    return code;
})
TRANSLATED(MPI_Finalize, (void), { return REAL(MPI_Finalize)(); })
TRANSLATED(MPI_Get_library_version, (char *version, int *length), { return REAL(MPI_Get_library_version)(version, length); })
TRANSLATED(MPI_Comm_rank, (struct thing * comm, int *rank), { return REAL(MPI_Comm_rank)(comm->comm, rank); })
TRANSLATED(MPI_Comm_size, (struct thing * comm, int *size), { return REAL(MPI_Comm_size)(comm->comm, size); })
TRANSLATED(MPI_Allreduce, (const void *send, void *recv, int count, struct thing *datatype, struct thing *op, struct thing *comm),
           { return REAL(MPI_Allreduce)(send, recv, count, datatype->datatype, op->op, comm->comm); })
TRANSLATED(MPI_Isend,
           (const void *buffer, int count, struct thing *datatype, int to, int tag, struct thing *comm, struct thing **request), {
               *request = calloc(1, sizeof **request);
               return REAL(MPI_Isend)(buffer, count, datatype->datatype, to, tag, comm->comm, &(*request)->request);
           })
TRANSLATED(MPI_Irecv, (void *buffer, int count, struct thing *datatype, int from, int tag, struct thing *comm, struct thing **request),
           {
               *request = calloc(1, sizeof **request);
               return REAL(MPI_Irecv)(buffer, count, datatype->datatype, from, tag, comm->comm, &(*request)->request);
           })
TRANSLATED(MPI_Waitall, (int count, struct thing **requests, Status *statuses), {
    int code = 0;
    for (int i = 0; i < count; i++) {
        MPI_Status status;
        int one = REAL(MPI_Wait)(&requests[i]->request, &status);
        code = one ? one : code;
        memset(&statuses[i], 0, sizeof statuses[i]);
        statuses[i].source = status.MPI_SOURCE;
        statuses[i].tag = status.MPI_TAG;
        free(requests[i]);
        requests[i] = NULL;
    }
    return code;
})
