/* exits HOW [VICTIM]: ways for a job to end, by rank VICTIM (1) where one ends it. Everything is stated before, so that it can be compared
 * with what was left. */
#include "meet.h"
#include "truth.h"

#include <signal.h>
#include <unistd.h>

static void finalize_late(void)
{
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 64;
    const char *how = argv[1];
    int victim = argc > 2 ? atoi(argv[2]) : 1;
    if (!strcmp(how, "never-begins")) {
        printf("no MPI at all\n");
        return 5;
    }
    truth_init(&argc, &argv);
    int value = world_rank, sum, peer = (world_rank + 1) % world_size;
    MPI_Comm comm;
    MPI_Request request;
    char out[300] = {0}, in[300];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    made(comm, "own", "MPI_Comm_dup", "WORLD");
    for (int i = 0; i < 100; i++) {
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
        carried("own", "MPI_Allreduce", 4, 4, 4);
    }
    EXPECT(sum == world_size * (world_size - 1) / 2);
    MPI_Irecv(in, sizeof in, MPI_BYTE, MPI_ANY_SOURCE, 1, comm, &request);
    received("own", "MPI_Irecv", 200);
    MPI_Send(out, 200, MPI_BYTE, peer, 1, comm);
    sent("own", "MPI_Send", peer, 200);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    called("own", "MPI_Wait");
    /* Never to be met. */
    MPI_Irecv(in, sizeof in, MPI_BYTE, MPI_ANY_SOURCE, 2, comm, &request);
    called("own", "MPI_Irecv");
    if (world_rank == 0)
        printf("the sum is %d\n", sum);
    fflush(stdout);

    if (!strcmp(how, "goes-on")) {
        /* Whoever runs it looks at it now. */
        meet(world_rank, world_size);
        char go[4096];
        snprintf(go, sizeof go, "%s/go", getenv("TRUTH_DIR"));
        while (access(go, F_OK))
            usleep(10000);
    }
    int ends_well = !strcmp(how, "returns") || !strcmp(how, "goes-on") || !strcmp(how, "exits-3-after-finalize") ||
                    !strcmp(how, "finalizes-at-exit");
    if (ends_well) {
        MPI_Cancel(&request);
        called("own", "MPI_Cancel");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        called("own", "MPI_Wait");
    }
    if (!strcmp(how, "returns") || !strcmp(how, "goes-on")) {
        truth_finalize();
        return 0;
    }
    if (!strcmp(how, "exits-3-after-finalize")) {
        truth_finalize();
        exit(3);
    }
    if (!strcmp(how, "finalizes-at-exit")) {
        called("WORLD", "MPI_Finalize");
        truth_write();
        atexit(finalize_late);
        exit(0);
    }
    /* The others do not end well: all have said everything before the first one goes. */
    truth_write();
    meet(world_rank, world_size);
    if (!strcmp(how, "aborts-7")) {
        if (world_rank == victim)
            MPI_Abort(MPI_COMM_WORLD, 7);
    } else if (!strcmp(how, "is-killed")) {
        if (world_rank == victim)
            raise(SIGKILL);
    } else if (!strcmp(how, "segfaults")) {
        if (world_rank == victim)
            raise(SIGSEGV);
    } else if (!strcmp(how, "exits-4-without-finalize")) {
        _exit(4);
    } else if (!strcmp(how, "one-exits-3")) {
        if (world_rank == victim)
            exit(3);
    } else if (strcmp(how, "waits")) {
        return 65;
    }
    for (;;) /* to be ended from outside */
        pause();
}
