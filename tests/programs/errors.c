/* Calls that fail, under MPI_ERRORS_RETURN: rank 0 prints the class of every return code (the codes themselves differ
 * from run to run in MPICH), which must be the same without the profiler. For two ranks. With an argument MPI_Waitall is always
 * given statuses. */
#include "truth.h"

static char text[1 << 14], out[128], in[128];
static int length, handled, ignores = 1;

static void say(const char *what, int code)
{
    int class = 0;
    if (code)
        PMPI_Error_class(code, &class);
    length += snprintf(text + length, sizeof text - length, "rank %d: %s: class %d, handled %d\n", world_rank, what, class,
                       handled);
}

static void count_errors(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

/* What fails in itself. The communicator is charged if it is one. */
static void wrong_arguments(MPI_Comm comm, const char *label)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Status status;
    int flag;
    say("send to rank 99", MPI_Send(out, 4, MPI_BYTE, 99, 1, comm));
    failed(label, "MPI_Send", 4);
    say("send with tag -5", MPI_Send(out, 4, MPI_BYTE, 0, -5, comm));
    failed(label, "MPI_Send", 4);
    say("send of -1", MPI_Send(out, -1, MPI_BYTE, 0, 1, comm));
    failed(label, "MPI_Send", 0);
    say("send of no type", MPI_Send(out, 1, MPI_DATATYPE_NULL, 0, 1, comm));
    failed(label, "MPI_Send", 0);
    say("isend to rank 99", MPI_Isend(out, 4, MPI_BYTE, 99, 1, comm, &request));
    failed(label, "MPI_Isend", 4);
    say("receive from rank 99", MPI_Recv(in, 4, MPI_BYTE, 99, 1, comm, &status));
    failed(label, "MPI_Recv", 0);
    say("irecv from rank 99", MPI_Irecv(in, 4, MPI_BYTE, 99, 1, comm, &request));
    failed(label, "MPI_Irecv", 0);
    say("send_init to rank 99", MPI_Send_init(out, 4, MPI_BYTE, 99, 1, comm, &request));
    failed(label, "MPI_Send_init", 4);
    say("probe of rank 99", MPI_Iprobe(99, 1, comm, &flag, &status));
    failed(label, "MPI_Iprobe", 0);
    say("broadcast from rank 99", MPI_Bcast(out, 4, MPI_BYTE, 99, comm));
    failed(label, "MPI_Bcast", 4);
    say("communicator of no group", MPI_Comm_create(comm, MPI_GROUP_NULL, &made));
    failed(label, "MPI_Comm_create", 0);
}

static void null_handles(void)
{
    MPI_Comm null = MPI_COMM_NULL, made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    say("send on no communicator", MPI_Send(out, 4, MPI_BYTE, 0, 1, null));
    failed("-", "MPI_Send", 4);
    say("barrier of no communicator", MPI_Barrier(null));
    failed("-", "MPI_Barrier", 0);
    say("duplicate of no communicator", MPI_Comm_dup(null, &made));
    failed("-", "MPI_Comm_dup", 0);
    say("free of no communicator", MPI_Comm_free(&null));
    failed("-", "MPI_Comm_free", 0);
    say("start of no request", MPI_Start(&request));
    failed("-", "MPI_Start", 0);
    say("name for no communicator", MPI_Comm_set_name(null, "nobody"));
    failed("-", "MPI_Comm_set_name", 0);
}

/* A failing MPI_Waitall may leave requests behind. */
static void complete_rest(MPI_Request *requests, const char *label)
{
    for (int i = 0; i < 3; i++)
        if (requests[i] == MPI_REQUEST_NULL) {
            say("completed", 0);
        } else {
            say("pending", MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            called(label, "MPI_Wait");
        }
}

/* Rank 1 sends more than rank 0 has room for. */
static void truncation(MPI_Comm comm, const char *label)
{
    MPI_Request requests[3];
    MPI_Status statuses[3], status;
    for (int form = 0; form < 5; form++) {
        if (world_rank == 1) {
            const int sizes[] = {20, 100, 30};
            for (int i = 0; i < 3; i++) {
                MPI_Send(out, sizes[i], MPI_BYTE, 0, i, comm);
                sent(label, "MPI_Send", 0, sizes[i]);
            }
            PMPI_Barrier(comm);
            continue;
        }
        if (form < 3) {
            for (int i = 0; i < 3; i++)
                if (form || i != 1) {
                    MPI_Irecv(in, i == 1 ? 10 : 50, MPI_BYTE, 1, i, comm, &requests[i]);
                    carried(label, "MPI_Irecv", 0, 0, i == 0 ? 20 : i == 1 ? 0 : 30);
                }
        }
        PMPI_Barrier(comm); /* everything has arrived by now */
        switch (form) {
        case 0:
            say("truncated receive", MPI_Recv(in, 10, MPI_BYTE, 1, 1, comm, &status));
            failed(label, "MPI_Recv", 0);
            say("first", MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            say("third", MPI_Wait(&requests[2], &status));
            called(label, "MPI_Wait");
            called(label, "MPI_Wait");
            break;
        case 1:
            for (int i = 0; i < 3; i++) {
                say("wait", MPI_Wait(&requests[i], i ? &status : MPI_STATUS_IGNORE));
                i == 1 ? failed(label, "MPI_Wait", 0) : called(label, "MPI_Wait");
            }
            break;
        case 2:
            say("wait for all", MPI_Waitall(3, requests, statuses));
            failed(label, "MPI_Waitall", 0);
            for (int i = 0; i < 3; i++)
                say(requests[i] == MPI_REQUEST_NULL ? "completed" : "pending", statuses[i].MPI_ERROR);
            complete_rest(requests, label);
            break;
        case 3:
            /* Without statuses: the profiler's own must not change what is returned. */
            for (int i = 0; i < 3; i++) {
                MPI_Irecv(in, i == 1 ? 10 : 50, MPI_BYTE, 1, i, comm, &requests[i]);
                carried(label, "MPI_Irecv", 0, 0, i == 0 ? 20 : i == 1 ? 0 : 30);
            }
            say("wait for all without statuses", MPI_Waitall(3, requests, ignores ? MPI_STATUSES_IGNORE : statuses));
            failed(label, "MPI_Waitall", 0);
            complete_rest(requests, label);
            break;
        default:
            say("truncated without status", MPI_Recv(in, 10, MPI_BYTE, 1, 1, comm, MPI_STATUS_IGNORE));
            failed(label, "MPI_Recv", 0);
            say("in place of the first", MPI_Sendrecv(out, 5, MPI_BYTE, MPI_PROC_NULL, 0, in, 10, MPI_BYTE, 1, 0, comm,
                                                      MPI_STATUS_IGNORE));
            failed(label, "MPI_Sendrecv", 0);
            say("third", MPI_Recv(in, 50, MPI_BYTE, 1, 2, comm, &status));
            received(label, "MPI_Recv", 30);
        }
    }
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(world_size == 2);
    ignores = argc < 2;
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm own, after;
    MPI_Errhandler counting;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    made(own, "own", "MPI_Comm_dup", "WORLD");
    PMPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)count_errors, &counting);
    PMPI_Comm_set_errhandler(own, counting);
    wrong_arguments(MPI_COMM_WORLD, "WORLD");
    wrong_arguments(own, "own");
    null_handles();
    truncation(MPI_COMM_WORLD, "WORLD");
    truncation(own, "own");
    /* A creation that failed does not put the names of later ones into disorder. */
    MPI_Comm_dup(own, &after);
    made(after, "after", "MPI_Comm_dup", "own");
    static char all[2][sizeof text];
    PMPI_Gather(text, sizeof text, MPI_CHAR, all, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("%s%s", all[0], all[1]);
    truth_finalize();
    return 0;
}
