/* Sends that are complete at once, for which a library may have one handle, started in C and in Fortran and completed together in either. */
#include "truth.h"

typedef MPI_Fint F;
void mpi_isend_(void *buffer, F *count, F *type, F *to, F *tag, F *comm, F *request, F *error);
void mpi_wait_(F *request, F *status, F *error);
void mpi_waitall_(F *count, F *requests, F *statuses, F *error);

enum { ROUNDS = 5, BYTES = 10, SENDS = 6 };

static MPI_Comm comms[2];
static const char *const labels[] = {"one", "other"};
static F f[SENDS], error;
static MPI_Request c[SENDS];
static char out[BYTES];

static void begin(int at, int which)
{
    F bytes = BYTES, type = MPI_Type_c2f(MPI_CHAR), to = MPI_PROC_NULL, zero = 0, comm = MPI_Comm_c2f(comms[which]);
    if (at % 2) {
        mpi_isend_(out, &bytes, &type, &to, &zero, &comm, &f[at], &error);
        c[at] = MPI_Request_f2c(f[at]);
    } else {
        MPI_Isend(out, BYTES, MPI_CHAR, MPI_PROC_NULL, 0, comms[which], &c[at]);
        f[at] = MPI_Request_c2f(c[at]);
    }
    carried(labels[which], "MPI_Isend", BYTES, 0, 0);
}

static void completed(int which, const char *op, int count)
{
    called(labels[which], op);
    for (int i = 0; i < count; i++) completed_request(labels[which], op, "MPI_Isend", BYTES, -1, 0);
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    for (int which = 0; which < 2; which++) {
        MPI_Comm_dup(MPI_COMM_SELF, &comms[which]);
        made(comms[which], labels[which], "MPI_Comm_dup", "SELF");
    }
    for (int round = 0; round < ROUNDS; round++) {
        /* Of two, each language has one that no other shares its handle with. */
        for (F sends = 2; sends <= SENDS; sends += SENDS - 2) {
            for (int i = 0; i < sends; i++) begin(i, 0);
            MPI_Waitall(sends, c, MPI_STATUSES_IGNORE);
            completed(0, "MPI_Waitall", sends);
            for (int i = 0; i < sends; i++) begin(i, 0);
            mpi_waitall_(&sends, f, MPI_F_STATUSES_IGNORE, &error);
            completed(0, "MPI_Waitall", sends);
        }
        /* What is left of these would be taken for what follows. */
        for (int i = 0; i < 2; i++) {
            begin(i, 1);
            i ? (void)MPI_Wait(&c[i], MPI_STATUS_IGNORE) : mpi_wait_(&f[i], MPI_F_STATUS_IGNORE, &error);
            completed(1, "MPI_Wait", 1);
        }
    }
    for (int which = 0; which < 2; which++) free_comm(&comms[which], labels[which]);
    truth_finalize();
    return 0;
}
