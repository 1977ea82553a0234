/* Requests that are started in one of the languages C and Fortran, and completed, started again or freed in the other one. */
#include "truth.h"

typedef MPI_Fint F;
void mpi_isend_(void *buffer, F *count, F *type, F *to, F *tag, F *comm, F *request, F *error);
void mpi_irecv_(void *buffer, F *count, F *type, F *from, F *tag, F *comm, F *request, F *error);
void mpi_send_init_(void *buffer, F *count, F *type, F *to, F *tag, F *comm, F *request, F *error);
void mpi_recv_init_(void *buffer, F *count, F *type, F *from, F *tag, F *comm, F *request, F *error);
void mpi_startall_(F *count, F *requests, F *error);
void mpi_wait_(F *request, F *status, F *error);
void mpi_test_(F *request, F *flag, F *status, F *error);
void mpi_waitany_(F *count, F *requests, F *index, F *status, F *error);
void mpi_waitall_(F *count, F *requests, F *statuses, F *error);
void mpi_testall_(F *count, F *requests, F *flag, F *statuses, F *error);
void mpi_request_free_(F *request, F *error);

enum { ROUNDS = 3, BYTES = 1000, MOST = 40, STATUS = 8 /* as many INTEGERs as any status has, and more */ };

static MPI_Comm comm;
static F comm_f, type_f, error, bytes = BYTES, zero;
static int rank;
static char out[MOST][BYTES], in[MOST][BYTES];
static F f[MOST], statuses_f[MOST][STATUS];
static MPI_Request c[MOST];

/* A receive and the send that it gets, by C or by Fortran, into two places. */
static void begin(int by_fortran, int at)
{
    if (by_fortran) {
        mpi_irecv_(in[at], &bytes, &type_f, &zero, &zero, &comm_f, &f[at], &error);
        mpi_isend_(out[at], &bytes, &type_f, &zero, &zero, &comm_f, &f[at + 1], &error);
    } else {
        MPI_Irecv(in[at], BYTES, MPI_CHAR, 0, 0, comm, &c[at]);
        MPI_Isend(out[at], BYTES, MPI_CHAR, 0, 0, comm, &c[at + 1]);
    }
    received("dup", "MPI_Irecv", BYTES);
    carried("dup", "MPI_Isend", BYTES, BYTES, 0);
    edge("dup", "MPI_Isend", rank, BYTES);
}

static void to_c(int from, int to)
{
    for (int i = from; i < to; i++) c[i] = MPI_Request_f2c(f[i]);
}

static void to_fortran(int from, int to)
{
    for (int i = from; i < to; i++) f[i] = MPI_Request_c2f(c[i]);
}

static void wait_in_c(int count)
{
    MPI_Waitall(count, c, MPI_STATUSES_IGNORE);
    called("dup", "MPI_Waitall");
}

static void wait_in_fortran(int count)
{
    mpi_waitall_(&count, f, count % 4 ? statuses_f[0] : MPI_F_STATUSES_IGNORE, &error);
    called("dup", "MPI_Waitall");
    for (int i = 0; i < count; i++) EXPECT(MPI_Request_f2c(f[i]) == MPI_REQUEST_NULL);
}

/* One by one, each in the other language. */
static void complete_singly(void)
{
    F flag = 0, index, two = 2;
    int done = 0;
    begin(1, 0);
    to_c(0, 2);
    MPI_Wait(&c[0], MPI_STATUS_IGNORE);
    called("dup", "MPI_Wait");
    while (!done) {
        MPI_Test(&c[1], &done, MPI_STATUS_IGNORE);
        called("dup", "MPI_Test");
    }
    begin(0, 0);
    to_fortran(0, 2);
    mpi_wait_(&f[0], statuses_f[0], &error);
    called("dup", "MPI_Wait");
    while (!flag) {
        mpi_test_(&f[1], &flag, MPI_F_STATUS_IGNORE, &error);
        called("dup", "MPI_Test");
    }
    begin(0, 0);
    to_fortran(0, 2);
    for (int i = 0; i < 2; i++) {
        mpi_waitany_(&two, f, &index, i ? statuses_f[0] : MPI_F_STATUS_IGNORE, &error);
        called("dup", "MPI_Waitany");
    }
    begin(0, 0);
    to_fortran(0, 2);
    for (flag = 0; !flag;) {
        mpi_testall_(&two, f, &flag, MPI_F_STATUSES_IGNORE, &error);
        called("dup", "MPI_Testall");
    }
}

static void started(void)
{
    called("dup", "MPI_Startall");
    added("dup", "MPI_Startall", BYTES, BYTES);
    edge("dup", "MPI_Startall", rank, BYTES);
}

static void keep(int by_fortran)
{
    F two = 2;
    if (by_fortran) {
        mpi_recv_init_(in[0], &bytes, &type_f, &zero, &zero, &comm_f, &f[0], &error);
        mpi_send_init_(out[0], &bytes, &type_f, &zero, &zero, &comm_f, &f[1], &error);
        to_c(0, 2);
    } else {
        MPI_Recv_init(in[0], BYTES, MPI_CHAR, 0, 0, comm, &c[0]);
        MPI_Send_init(out[0], BYTES, MPI_CHAR, 0, 0, comm, &c[1]);
        to_fortran(0, 2);
    }
    called("dup", "MPI_Recv_init");
    carried("dup", "MPI_Send_init", BYTES, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Startall(2, c);
        started();
        mpi_waitall_(&two, f, MPI_F_STATUSES_IGNORE, &error);
        called("dup", "MPI_Waitall");
        mpi_startall_(&two, f, &error);
        started();
        wait_in_c(2);
    }
    if (by_fortran)
        MPI_Request_free(&c[0]), MPI_Request_free(&c[1]);
    else
        mpi_request_free_(&f[0], &error), mpi_request_free_(&f[1], &error);
    called("dup", "MPI_Request_free"), called("dup", "MPI_Request_free");
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *label = "dup";
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    made(comm, label, "MPI_Comm_dup", "SELF");
    comm_f = MPI_Comm_c2f(comm), type_f = MPI_Type_c2f(MPI_CHAR);
    for (int round = 0; round < ROUNDS; round++) {
        begin(1, 0);
        to_c(0, 2);
        wait_in_c(2);
        begin(0, 0);
        to_fortran(0, 2);
        wait_in_fortran(2);
        /* Of both in one call, few and many. */
        for (int count = 4; count <= MOST; count += MOST - 4) {
            for (int i = 0; i < count; i += 2) begin(i % 4 == 0, i);
            for (int i = 0; i < count; i += 4) to_c(i, i + 2);
            wait_in_c(count);
            for (int i = 0; i < count; i += 2) begin(i % 4 == 0, i);
            for (int i = 2; i < count; i += 4) to_fortran(i, i + 2);
            wait_in_fortran(count);
        }
        begin(1, 0);
        wait_in_fortran(2);
        begin(0, 0);
        wait_in_c(2);
        complete_singly();
        keep(1);
        keep(0);
    }
    free_comm(&comm, label);
    truth_finalize();
    return 0;
}
