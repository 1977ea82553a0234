/* stands HOW: four ranks that stand at known places when the job ends, or while it goes on. Whoever runs it looks where they stand,
   and makes the file go in $STANDS_DIR when all are there: then rank 3 ends the job as HOW says. */
#include <mpi.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, flag;
static MPI_Comm pipes;

static void wait_for_go(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/go", getenv("STANDS_DIR"));
    while (access(path, F_OK))
        usleep(10000);
}

static void compute(void)
{
    for (;;)
        pause();
}

/* A callback that calls MPI itself: behind that its thread stands in the call around it again. */
static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *is_copied)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    *is_copied = 0;
    wait_for_go();
    raise(SIGSEGV);
    return MPI_SUCCESS;
}

static void *receive(void *unused)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, pipes, MPI_STATUS_IGNORE);
    return unused;
}

static void *probe(void *unused)
{
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char **argv)
{
    int level, value = 0;
    if (argc != 2)
        return 64;
    const char *how = argv[1];
    MPI_Init_thread(&argc, &argv, strcmp(how, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* Its handle may be given to the next one. */
    MPI_Comm_dup(MPI_COMM_WORLD, &pipes);
    MPI_Comm_free(&pipes);
    MPI_Comm_dup(MPI_COMM_WORLD, &pipes);
    MPI_Comm_set_name(pipes, "pipes");
    MPI_Barrier(pipes);
    MPI_Win window = MPI_WIN_NULL;
    if (!strcmp(how, "fences"))
        MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, pipes, &window);

    if (!strcmp(how, "threads")) {
        /* One thread has ended already. Rank 1 has a thread in a call and one in the program. */
        pthread_t ended, other;
        pthread_create(&ended, NULL, probe, NULL);
        pthread_join(ended, NULL);
        pthread_create(&other, NULL, receive, NULL);
        if (rank == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        wait_for_go();
        raise(SIGKILL);
    }
    if (rank == 0) {
        if (!strcmp(how, "finalizes"))
            MPI_Finalize();
        if (!strcmp(how, "fences"))
            MPI_Win_fence(0, window);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (rank == 1) {
        receive(NULL);
    } else if (rank == 2) {
        if (!strcmp(how, "pauses"))
            MPI_Pcontrol(0);
        if (!strcmp(how, "pauses"))
            MPI_Recv(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (strcmp(how, "goes-on"))
            compute();
        wait_for_go();
    } else {
        MPI_Request requests[2];
        MPI_Comm own;
        int key;
        if (!strcmp(how, "segfaults-in-callback")) {
            MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
            MPI_Comm_set_attr(MPI_COMM_SELF, key, &value);
            MPI_Comm_dup(MPI_COMM_SELF, &own);
        }
        wait_for_go();
        if (!strcmp(how, "goes-on")) {
            MPI_Send(&value, 1, MPI_INT, 1, 7, pipes);
        } else if (!strcmp(how, "hangs")) {
            MPI_Irecv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(&flag, 1, MPI_INT, 0, 9, pipes, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* until somebody ends it */
        } else if (!strcmp(how, "aborts")) {
            MPI_Abort(MPI_COMM_WORLD, 7);
            compute(); /* MPICH 5 may return from it, and end the process later */
        } else if (!strcmp(how, "exits")) {
            _exit(4);
        } else if (!strcmp(how, "segfaults")) {
            MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            raise(SIGSEGV);
        } else {
            raise(SIGKILL);
        }
    }
    if (rank) /* rank 0 is there */
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&pipes);
    MPI_Finalize();
    return 0;
}
