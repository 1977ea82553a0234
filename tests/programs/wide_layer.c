/* A library between a Fortran program whose INTEGERs are 8 bytes wide and an MPI library whose INTEGERs are 4, as Intel MPI has one
 * (libmpi_ilp64.so): it translates what it is given, and calls the functions of 4-byte INTEGERs by their profiling names. Only what
 * wide.F90 calls. */
#include <mpi.h>
#include <stdlib.h>

typedef long long wide;

/* Each argument as the MPI library wants it. */
#define IN(name) MPI_Fint name##_4 = (MPI_Fint)*name
#define OUT(name) MPI_Fint name##_4 = 0
#define BACK(name) *name = name##_4

static MPI_Fint *narrow(const wide *from, wide count)
{
    MPI_Fint *to = calloc((size_t)count + 1, sizeof *to);
    for (wide i = 0; i < count; i++)
        to[i] = (MPI_Fint)from[i];
    return to;
}

static void widen(MPI_Fint *from, wide *to, wide count)
{
    for (wide i = 0; i < count; i++)
        to[i] = from[i];
    free(from);
}

void pmpi_init_(MPI_Fint *), pmpi_finalize_(MPI_Fint *), pmpi_get_version_(MPI_Fint *, MPI_Fint *, MPI_Fint *);
void pmpi_comm_rank_(MPI_Fint *, MPI_Fint *, MPI_Fint *), pmpi_comm_size_(MPI_Fint *, MPI_Fint *, MPI_Fint *);
void pmpi_comm_split_(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *), pmpi_comm_free_(MPI_Fint *, MPI_Fint *);
void pmpi_comm_set_name_(MPI_Fint *, char *, MPI_Fint *, size_t);
void pmpi_isend_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void pmpi_irecv_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void pmpi_waitall_(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void pmpi_allgatherv_(void *, MPI_Fint *, MPI_Fint *, void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void pmpi_allreduce_(void *, void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);

void mpi_get_version_(wide *version, wide *subversion, wide *error)
{
    OUT(version), subversion_4, error_4;
    pmpi_get_version_(&version_4, &subversion_4, &error_4);
    BACK(version), BACK(subversion), BACK(error);
}

void mpi_init_(wide *error)
{
    OUT(error);
    pmpi_init_(&error_4);
    BACK(error);
}

void mpi_finalize_(wide *error)
{
    OUT(error);
    pmpi_finalize_(&error_4);
    BACK(error);
}

void mpi_comm_rank_(wide *comm, wide *rank, wide *error)
{
    IN(comm), rank_4, error_4;
    pmpi_comm_rank_(&comm_4, &rank_4, &error_4);
    BACK(rank), BACK(error);
}

void mpi_comm_size_(wide *comm, wide *size, wide *error)
{
    IN(comm), size_4, error_4;
    pmpi_comm_size_(&comm_4, &size_4, &error_4);
    BACK(size), BACK(error);
}

void mpi_comm_split_(wide *comm, wide *color, wide *key, wide *made, wide *error)
{
    IN(comm);
    IN(color);
    IN(key), made_4, error_4;
    pmpi_comm_split_(&comm_4, &color_4, &key_4, &made_4, &error_4);
    BACK(made), BACK(error);
}

void mpi_comm_free_(wide *comm, wide *error)
{
    IN(comm), error_4;
    pmpi_comm_free_(&comm_4, &error_4);
    BACK(comm), BACK(error);
}

void mpi_comm_set_name_(wide *comm, char *name, wide *error, size_t length)
{
    IN(comm), error_4;
    pmpi_comm_set_name_(&comm_4, name, &error_4, length);
    BACK(error);
}

#define MESSAGE(name)                                                                                                  \
    void mpi_##name##_(void *buffer, wide *count, wide *type, wide *rank, wide *tag, wide *comm, wide *request,        \
                       wide *error)                                                                                    \
    {                                                                                                                  \
        IN(count);                                                                                                     \
        IN(type);                                                                                                      \
        IN(rank);                                                                                                      \
        IN(tag);                                                                                                       \
        IN(comm), request_4, error_4;                                                                                  \
        pmpi_##name##_(buffer, &count_4, &type_4, &rank_4, &tag_4, &comm_4, &request_4, &error_4);                     \
        BACK(request), BACK(error);                                                                                    \
    }

MESSAGE(isend)
MESSAGE(irecv)

void mpi_waitall_(wide *count, wide *requests, wide *statuses, wide *error)
{
    enum { INTEGERS = sizeof(MPI_Status) / sizeof(MPI_Fint) };
    IN(count), error_4;
    MPI_Fint *requests_4 = narrow(requests, *count), *statuses_4 = narrow(statuses, *count * INTEGERS);
    pmpi_waitall_(&count_4, requests_4, statuses_4, &error_4);
    widen(requests_4, requests, *count);
    widen(statuses_4, statuses, *count * INTEGERS);
    BACK(error);
}

void mpi_allgatherv_(void *from, wide *count, wide *type, void *to, wide *counts, wide *places, wide *to_type, wide *comm, wide *error)
{
    IN(count);
    IN(type);
    IN(to_type);
    IN(comm), error_4;
    int size;
    PMPI_Comm_size(PMPI_Comm_f2c(comm_4), &size);
    MPI_Fint *counts_4 = narrow(counts, size), *places_4 = narrow(places, size);
    pmpi_allgatherv_(from, &count_4, &type_4, to, counts_4, places_4, &to_type_4, &comm_4, &error_4);
    free(counts_4);
    free(places_4);
    BACK(error);
}

void mpi_allreduce_(void *from, void *to, wide *count, wide *type, wide *op, wide *comm, wide *error)
{
    IN(count);
    IN(type);
    IN(op);
    IN(comm), error_4;
    pmpi_allreduce_(from, to, &count_4, &type_4, &op_4, &comm_4, &error_4);
    BACK(error);
}
