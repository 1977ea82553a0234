/* Messages that are too long for their receives, completed by each call, with and without statuses: what the library says. Then receives of matched ones.
 * argv[1]: return, handler or fatal; fortran: as return, and waits for all in Fortran. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3, SHORT = 10, LONG = 20, WAYS = 8 };

void mpi_waitall_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *statuses, MPI_Fint *error);

static MPI_Comm comm;
static MPI_Request sends[MOST], receives[MOST];
static MPI_Status statuses[MOST];
static char out[LONG], in[MOST][LONG];
static int told, failed_waitall, failed_mrecv, by_fortran;

static void handler(MPI_Comm *from, int *code, ...)
{
    (void)from;
    MPI_Error_class(*code, &told);
}

static void begin(int is_persistent, int count)
{
    for (int i = 0; i < count; i++) {
        int length = i == 0 ? SHORT : LONG;
        MPI_Isend(out, LONG, MPI_BYTE, 0, i, comm, &sends[i]);
        if (is_persistent) {
            MPI_Recv_init(in[i], length, MPI_BYTE, 0, i, comm, &receives[i]);
            MPI_Start(&receives[i]);
        } else {
            MPI_Irecv(in[i], length, MPI_BYTE, 0, i, comm, &receives[i]);
        }
    }
}

/* Where it fails Open MPI does not say in Fortran which requests are gone: the first, and those that are not persistent. */
static int wait_in_fortran(int is_persistent, int count, int ignores)
{
    MPI_Fint requests[MOST], all[MOST * 8], error, number = count;
    for (int i = 0; i < count; i++) requests[i] = MPI_Request_c2f(receives[i]);
    mpi_waitall_(&number, requests, ignores ? MPI_F_STATUSES_IGNORE : all, &error);
    for (int i = 0; i < count; i++)
        receives[i] = error != MPI_SUCCESS && (i == 0 || !is_persistent) ? MPI_REQUEST_NULL : MPI_Request_f2c(requests[i]);
    return error;
}

static int complete(int way, int is_persistent, int count, int ignores)
{
    int code = MPI_SUCCESS, flag = 0, index, some = 0, indices[MOST];
    MPI_Status *one = ignores ? MPI_STATUS_IGNORE : statuses, *all = ignores ? MPI_STATUSES_IGNORE : statuses;
    switch (way) {
    case 0: return MPI_Wait(receives, one);
    case 1:
        while (!flag && code == MPI_SUCCESS) code = MPI_Test(receives, &flag, one);
        return code;
    case 2:
        code = by_fortran ? wait_in_fortran(is_persistent, count, ignores) : MPI_Waitall(count, receives, all);
        failed_waitall += code != MPI_SUCCESS;
        return code;
    case 3:
        while (!flag && code == MPI_SUCCESS) code = MPI_Testall(count, receives, &flag, all);
        return code;
    case 4: return MPI_Waitany(count, receives, &index, one);
    case 5:
        while (!flag && code == MPI_SUCCESS) code = MPI_Testany(count, receives, &index, &flag, one);
        return code;
    case 6: return MPI_Waitsome(count, receives, &some, indices, all);
    default:
        while (some < 1 && code == MPI_SUCCESS) code = MPI_Testsome(count, receives, &some, indices, all);
        return code;
    }
}

static void end(int is_persistent, int count, int are_left)
{
    for (int i = 0; i < count; i++) {
        /* Some calls complete one, or a few. */
        if (receives[i] != MPI_REQUEST_NULL && (are_left || !is_persistent)) MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
        if (receives[i] != MPI_REQUEST_NULL) MPI_Request_free(&receives[i]);
        MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
    }
}

static void receive_matched(void)
{
    for (int i = 0; i < 3; i++) {
        MPI_Message message;
        int class = 0;
        MPI_Isend(out, LONG, MPI_BYTE, 0, 0, comm, &sends[0]);
        MPI_Mprobe(0, 0, comm, &message, statuses);
        int code = MPI_Mrecv(in[0], SHORT, MPI_BYTE, &message, statuses);
        if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
        failed_mrecv += code != MPI_SUCCESS;
        printf("MPI_Mrecv: %d, message %s\n", class, message == MPI_MESSAGE_NULL ? "null" : "kept");
        MPI_Wait(&sends[0], MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[WAYS] = {"MPI_Wait",    "MPI_Test",    "MPI_Waitall",  "MPI_Testall",
                                            "MPI_Waitany", "MPI_Testany", "MPI_Waitsome", "MPI_Testsome"};
    const char *how = argc > 1 ? argv[1] : "return";
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(handler, &own);
    if (strcmp(how, "fatal") == 0) {
        begin(1, 1);
        MPI_Waitall(1, receives, MPI_STATUSES_IGNORE);
        printf("goes on\n");
        MPI_Finalize();
        return 0;
    }
    by_fortran = strcmp(how, "fortran") == 0;
    MPI_Comm_set_errhandler(comm, strcmp(how, "handler") == 0 ? own : MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int round = 0; round < 4; round++)
        for (int count = 1; count <= MOST; count++)
            for (int way = count > 1 ? 2 : 0; way < WAYS; way++) {
                int is_persistent = round % 2, ignores = round / 2, class = 0;
                begin(is_persistent, count);
                told = 0;
                int code = complete(way, is_persistent, count, ignores);
                if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
                printf("%s of %d%s%s: %d, handler %d", names[way], count, is_persistent ? ", persistent" : "",
                       ignores ? ", statuses ignored" : "", class, told);
                for (int i = 0; i < count; i++) printf(" %s", receives[i] == MPI_REQUEST_NULL ? "null" : "kept");
                printf("\n");
                end(is_persistent, count, way > 3);
            }
    receive_matched();
    printf("%d %d\n", failed_waitall, failed_mrecv);
    MPI_Finalize();
    return 0;
}
