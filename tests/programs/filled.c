/* filled [sessions]: a program on a file system that has room for the first counters only; with sessions only, or without. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <sys/types.h>

/* In the library's place: commsee's shard grows by it. */
int posix_fallocate(int file, off_t offset, off_t bytes)
{
    int (*next)(int, off_t, off_t) = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
    return offset == 0 ? next(file, offset, bytes) : ENOSPC;
}

static void make(MPI_Comm parent)
{
    int one = 1, sum;
    for (int i = 0; i < 1000; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(parent, &comm);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Comm_free(&comm);
    }
}

#if MPI_VERSION >= 4
static void with_session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm all;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
    make(all);
    MPI_Comm_free(&all);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}
#endif

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4
    if (argc > 1) {
        with_session();
        return 0;
    }
#endif
    MPI_Init(&argc, &argv);
    make(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
