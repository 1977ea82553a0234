/* copies: copies of a GPU that there is not, in MPI calls and outside of them, for two ranks; tests/profiled/gpu.rs has the rows. `other`: another tool watches the
 * GPU. `unset`: the driver finds no library. `alone`: without MPI. `one`: rank 1 alone copies, before MPI_Init. */
#include "truth.h"
#include "standin_cupti.h"
#include <glob.h>
#include <sys/wait.h>
#include <unistd.h>

static int deleted(MPI_Comm freed, int key, void *value, void *extra)
{
    (void)freed, (void)key, (void)value, (void)extra;
    standin_copy(DTOH, DEVICE, PAGEABLE, 1000, 5000, 0);
    standin_launch(3);
    standin_batch(2);
    return MPI_SUCCESS;
}

static void *in_thread(void *nothing)
{
    for (int round = 0; round < 5000; round++)
        standin_copy(HTOD, PINNED, DEVICE, 64, 10, 0);
    return nothing;
}

/* The first messages of the program arrive, whatever their tags. */
static int one(int argc, char **argv)
{
    const char *rank_text = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    int rank = rank_text ? atoi(rank_text) : -1, got = -1;
    EXPECT(rank >= 0);
    if (rank == 1) {
        standin_copy(HTOD, PAGEABLE, DEVICE, 999, 1000, 0);
        /* The rank does not stand where those do that compare clocks in MPI_Init. */
        char pattern[4096];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s/commsee-*.traced", getenv("COMMSEE_DIR"));
        EXPECT(glob(pattern, 0, NULL, &found) == GLOB_NOMATCH);
    }
    MPI_Init(&argc, &argv);
    for (int tag = 0; tag < 8; tag++) {
        int sent = 100 * rank + tag;
        MPI_Sendrecv(&sent, 1, MPI_INT, 1 - rank, tag, &got, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(got == 100 * (1 - rank) + tag);
    }
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    const char *path = standin_start();
    const char *what = argc > 1 ? argv[1] : "";
    EXPECT(strcmp(what, "other") == 0 || (strcmp(what, "unset") == 0 ? path == NULL : path && strstr(path, "libcommsee_gpu.so")));
    /* Calls that copy nothing are forgotten in the end. */
    for (int round = 0; round < 300000; round++)
        standin_nothing();
    if (strcmp(what, "one") == 0)
        return one(argc, argv);
    standin_copy(HTOD, PAGEABLE, DEVICE, 999, 1000, 0);
    if (strcmp(what, "alone") == 0) {
        for (int round = 0; round < 3; round++)
            standin_copy(DTOH, DEVICE, PINNED, 4000, 1000, 0);
        return 0;
    }
    MPI_Init(&argc, &argv);
    for (int round = 0; round < 3; round++)
        standin_copy(HTOD, PAGEABLE, DEVICE, 4000, 2000, 0);
    standin_copy(HTOD, PINNED, DEVICE, 4000, 1000, 0);
    standin_copy(DTOD, DEVICE, MANAGED, 1 << 20, 300, 0);
    standin_copy(PTOP, DEVICE, DEVICE, 1 << 20, 700, 0);
    standin_copy(HTOD, PAGEABLE, DEVICE, 4000, 2000, 1);
    standin_nothing();
    MPI_Pcontrol(0);
    standin_copy(HTOD, PAGEABLE, DEVICE, 4000, 2000, 0);
    MPI_Pcontrol(1);

    int key;
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Comm_set_attr(other, key, NULL);
    MPI_Comm_free(&other);
    MPI_Comm_free_keyval(&key);

    /* Many buffers, from two threads. */
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    in_thread(NULL);
    pthread_join(thread, NULL);
    standin_dropped = 3;

    pid_t child = fork();
    if (child == 0) {
        standin_copy(HTOD, PAGEABLE, DEVICE, 4000, 2000, 0);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT(status == 0);
    /* It has not ended when the profile is made. */
    standin_copy(DTOH, DEVICE, PINNED, 2 << 20, 0, 0);
    MPI_Finalize();
    standin_copy(HTOD, PAGEABLE, DEVICE, 4000, 2000, 0);
    return 0;
}
