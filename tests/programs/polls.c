/* polls N: a thread asks N times for requests that the profiler does not know, while another thread has called MPI as well. */
#include "generalized.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int query(void *state, MPI_Status *status)
{
    (void)state;
    return grequest_status(status, 0);
}

static void *other(void *unused)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char **argv)
{
    int provided, flag, index, done, indices[4];
    MPI_Request all[4];
    MPI_Status statuses[4];
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; i++)
        MPI_Grequest_start(query, grequest_free, grequest_cancel, NULL, &all[i]);
    for (long i = atol(argv[1]); i > 0; i--) {
        MPI_Test(&all[0], &flag, MPI_STATUS_IGNORE);
        MPI_Testany(4, all, &index, &flag, MPI_STATUS_IGNORE);
        MPI_Testall(4, all, &flag, MPI_STATUSES_IGNORE);
        MPI_Testsome(4, all, &done, indices, statuses);
        MPI_Request_get_status(all[1], &flag, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 4; i++)
        MPI_Grequest_complete(all[i]);
    MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
