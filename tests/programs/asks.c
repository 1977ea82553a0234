/* Asks which functions of MPI are there, as programs do that run under several versions of MPI: by weak references and by `dlsym`. Needs
 * no mpi.h and no MPI library to be compiled. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#define NAMES(each) \
    each(MPI_Send) each(MPI_Init) each(MPI_Type_free) each(MPI_Send_c) each(MPI_Allreduce_c) each(MPI_Isendrecv) \
    each(MPI_Comm_idup_with_info) each(MPI_Session_init) each(MPI_Session_finalize) each(MPI_Psend_init) \
    each(MPI_Request_get_status_any) each(MPI_Status_set_error) each(mpi_send_) each(mpi_send__) each(MPI_SEND) \
    each(MPI_Bcast_init) each(MPIX_Bcast_init) each(mpix_bcast_init_) each(MPIX_BCAST_INIT) each(mpix_bcast_init_f08_) \
    each(mpi_isendrecv_) each(mpi_send_f08_) each(mpi_send_f08ts_) each(mpi_send_f08ts_large_) each(mpi_type_free_)

#define DECLARE(name) extern int name() __attribute__((weak));
NAMES(DECLARE)

int ask(const char *who)
{
    /* The address in a table is one relocation, that of a call another. */
#define REFER(name) name,
    static int (*const addresses[])() = {NAMES(REFER)};
#define WORD(name) #name,
    static const char *const names[] = {NAMES(WORD)};
    int bad = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        dlerror();
        int found = dlsym(RTLD_DEFAULT, names[i]) != NULL;
        printf("%s: %s: reference %d, dlsym %d\n", who, names[i], addresses[i] != NULL, found);
    }
#define CHECK(name) bad += (name != NULL) != (addresses[at++] != NULL);
    int at = 0;
    NAMES(CHECK)
    printf("%s: references that differ: %d\n", who, bad);
    fflush(stdout);
    return bad;
}
