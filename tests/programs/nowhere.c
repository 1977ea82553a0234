/* Calls without a place for what they tell, on communicators and windows with error handlers of the program's own, which only count. Prints what
 * each returned: MPICH since 4.2 returns MPI_SUCCESS then. Everything else that is called is right. */
#include "handled.h"

static void count_errors_of_windows(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
    handled++;
}

#define SAY(call) say(#call, call)

static MPI_Comm comm;
static int in[8], out[8];

static void start_requests(void)
{
    SAY(MPI_Isend(out, 1, MPI_INT, 0, 0, comm, NULL));
    SAY(MPI_Issend(out, 1, MPI_INT, 0, 0, comm, NULL));
    SAY(MPI_Irecv(in, 1, MPI_INT, 0, 0, comm, NULL));
    SAY(MPI_Send_init(out, 1, MPI_INT, 0, 0, comm, NULL));
    SAY(MPI_Recv_init(in, 1, MPI_INT, 0, 0, comm, NULL));
    SAY(MPI_Ibarrier(comm, NULL));
    SAY(MPI_Ibcast(out, 1, MPI_INT, 0, comm, NULL));
    SAY(MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, comm, NULL));
}

static void make_communicators(MPI_Group group)
{
    int dimensions[1] = {1}, periods[1] = {0};
    SAY(MPI_Comm_dup(comm, NULL));
    SAY(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, NULL));
    SAY(MPI_Comm_split(comm, 0, 0, NULL));
    SAY(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, NULL));
    SAY(MPI_Comm_create(comm, group, NULL));
    SAY(MPI_Comm_create_group(comm, group, 0, NULL));
    SAY(MPI_Cart_create(comm, 1, dimensions, periods, 0, NULL));
}

/* Of requests that are pending, which stay so. */
static void complete_requests(void)
{
    MPI_Request requests[2], request;
    MPI_Status statuses[2];
    int indices[2], flag, index, count;
    for (int i = 0; i < 2; i++)
        MPI_Irecv(in + i, 1, MPI_INT, 0, 7, comm, &requests[i]);
    request = requests[0];
    SAY(MPI_Test(&request, NULL, &statuses[0]));
    SAY(MPI_Testall(2, requests, NULL, statuses));
    SAY(MPI_Testany(2, requests, NULL, &flag, statuses));
    SAY(MPI_Testany(2, requests, &index, NULL, statuses));
    SAY(MPI_Testsome(2, requests, NULL, indices, statuses));
    SAY(MPI_Waitany(2, requests, NULL, statuses));
    SAY(MPI_Waitsome(2, requests, NULL, indices, statuses));
    for (int i = 0; i < 2; i++)
        MPI_Send(out, 1, MPI_INT, 0, 7, comm);
    MPI_Waitsome(2, requests, &count, indices, statuses);
    MPI_Waitall(2, requests, statuses);
    printf("%d %d\n", requests[0] == MPI_REQUEST_NULL, requests[1] == MPI_REQUEST_NULL);
}

/* Places that a call which fails need not fill, and of more requests than one looks at again for each call. */
static void complete_some_of_many(void)
{
    enum { MANY = 16 };
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY];
    int indices[MANY], count = 1 << 28, index = 1 << 28;
    for (int i = 0; i < MANY; i++) {
        indices[i] = 1 << 28;
        MPI_Irecv(in, 0, MPI_INT, 0, 8, comm, &requests[i]);
    }
    if (MPI_STATUS_IGNORE != NULL) {
        SAY(MPI_Waitany(MANY, requests, &index, NULL));
        SAY(MPI_Waitsome(MANY, requests, &count, indices, NULL));
        SAY(MPI_Testsome(MANY, requests, &count, indices, NULL));
        SAY(MPI_Wait(&requests[0], NULL));
        SAY(MPI_Waitall(MANY, requests, NULL));
    }
    for (int i = 0; i < MANY; i++)
        MPI_Send(out, 0, MPI_INT, 0, 8, comm);
    MPI_Waitall(MANY, requests, statuses);
    SAY(MPI_Comm_set_name(comm, NULL));
}

static void probe_and_receive(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int flag;
    SAY(MPI_Iprobe(0, 0, comm, NULL, &status));
    SAY(MPI_Improbe(0, 0, comm, NULL, &message, &status));
    SAY(MPI_Improbe(0, 0, comm, &flag, NULL, &status));
    /* Where MPI_STATUS_IGNORE is no null pointer. */
    if (MPI_STATUS_IGNORE != NULL) {
        SAY(MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, NULL));
        SAY(MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 0, in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, NULL));
    }
}

static void use_windows(void)
{
    MPI_Errhandler counting;
    MPI_Win win;
    SAY(MPI_Win_create(out, sizeof out, 1, MPI_INFO_NULL, comm, NULL));
    SAY(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, NULL));
    MPI_Win_create(out, sizeof out, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_create_errhandler(count_errors_of_windows, &counting);
    MPI_Win_set_errhandler(win, counting);
    MPI_Win_lock_all(0, win);
    SAY(MPI_Rput(in, 1, MPI_INT, 0, 0, 1, MPI_INT, win, NULL));
    SAY(MPI_Rget(in, 1, MPI_INT, 0, 0, 1, MPI_INT, win, NULL));
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Errhandler_free(&counting);
}

int main(int argc, char **argv)
{
    MPI_Errhandler counting;
    MPI_Group group;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Comm_create_errhandler(count_errors, &counting);
    MPI_Comm_set_errhandler(comm, counting);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, counting);
    start_requests();
    make_communicators(group);
    probe_and_receive();
    complete_requests();
    complete_some_of_many();
    use_windows();
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
