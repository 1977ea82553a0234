/* Prints the facts about the ABI that mpi.h declares, one `name value` a line, and the address of each symbol that is
 * named on the command line. With -DCONSTANTS_ONLY it needs no MPI library to be linked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define INTEGER(name) printf(#name " %lld\n", (long long)(name))
#define HANDLE(name) printf(#name " %llu\n", (unsigned long long)(uintptr_t)(name))

int main(int argc, char **argv) {
    printf("handle_bytes %zu\n", sizeof(MPI_Comm));
    HANDLE(MPI_COMM_WORLD), HANDLE(MPI_COMM_SELF), HANDLE(MPI_COMM_NULL), HANDLE(MPI_REQUEST_NULL);
    HANDLE(MPI_ERRORS_RETURN), HANDLE(MPI_INFO_NULL), HANDLE(MPI_DATATYPE_NULL), HANDLE(MPI_BYTE), HANDLE(MPI_NO_OP), HANDLE(MPI_IN_PLACE), HANDLE(MPI_STATUS_IGNORE), HANDLE(MPI_STATUSES_IGNORE);
    INTEGER(MPI_PROC_NULL), INTEGER(MPI_ROOT), INTEGER(MPI_UNDEFINED), INTEGER(MPI_SUCCESS), INTEGER(MPI_ERR_IN_STATUS);
    INTEGER(MPI_THREAD_SINGLE), INTEGER(MPI_THREAD_FUNNELED), INTEGER(MPI_THREAD_SERIALIZED), INTEGER(MPI_THREAD_MULTIPLE);
    INTEGER(MPI_CART), INTEGER(MPI_GRAPH), INTEGER(MPI_DIST_GRAPH);
    INTEGER(MPI_COMBINER_NAMED), INTEGER(MPI_COMBINER_DUP), INTEGER(MPI_COMBINER_CONTIGUOUS), INTEGER(MPI_COMBINER_VECTOR);
    INTEGER(MPI_COMBINER_HVECTOR), INTEGER(MPI_COMBINER_INDEXED), INTEGER(MPI_COMBINER_HINDEXED);
    INTEGER(MPI_COMBINER_INDEXED_BLOCK), INTEGER(MPI_COMBINER_HINDEXED_BLOCK), INTEGER(MPI_COMBINER_STRUCT);
    INTEGER(MPI_COMBINER_SUBARRAY), INTEGER(MPI_COMBINER_DARRAY), INTEGER(MPI_COMBINER_RESIZED);
    INTEGER(MPI_COMBINER_F90_REAL), INTEGER(MPI_COMBINER_F90_COMPLEX), INTEGER(MPI_COMBINER_F90_INTEGER);
    printf("status_bytes %zu\nstatus_error %zu\n", sizeof(MPI_Status), offsetof(MPI_Status, MPI_ERROR));
    HANDLE(MPI_INT), HANDLE(MPI_DOUBLE), HANDLE(MPI_CHAR), HANDLE(MPI_FLOAT_INT), HANDLE(MPI_UINT64_T), HANDLE(MPI_C_BOOL);
    for (int i = 1; i < argc; i++) printf("%s %llu\n", argv[i], (unsigned long long)(uintptr_t)dlsym(RTLD_DEFAULT, argv[i]));
    return 0;
}
