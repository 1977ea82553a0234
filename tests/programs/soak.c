/* soak MILLIONS: many calls over few communicators, then many communicators that come and go. Prints how much the memory of this
 * process has grown from a tenth of the calls to all, and over the communicators, in KiB. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CYCLES = 20000 };

/* Memory in use (proc(5)), the shard's included. */
static long used_kib(void)
{
    char line[200];
    long used = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmRSS: %ld", &used);
    fclose(file);
    return used;
}

/* Eight calls. */
static void calls(MPI_Comm comm)
{
    static char in[64], out[64];
    MPI_Request requests[2];
    MPI_Irecv(in, sizeof in, MPI_BYTE, 0, 1, comm, &requests[0]);
    MPI_Isend(out, sizeof out, MPI_BYTE, 0, 1, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Irecv(in, sizeof in, MPI_BYTE, MPI_ANY_SOURCE, 2, comm, &requests[0]);
    MPI_Send(out, 40, MPI_BYTE, 0, 2, comm);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Send(out, 1, MPI_BYTE, MPI_PROC_NULL, 1, comm);
    MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    long rounds = argc == 2 ? atol(argv[1]) * 1000000 / 8 : 0, tenth = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    for (long round = 0; round < rounds; round++) {
        if (round == rounds / 10)
            tenth = used_kib();
        calls(round % 3 ? comm : MPI_COMM_SELF);
    }
    long all = used_kib(), before = 0;
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        if (cycle == CYCLES / 10)
            before = used_kib();
        MPI_Comm brief;
        MPI_Comm_dup(MPI_COMM_SELF, &brief);
        if (cycle % 4 == 0)
            calls(brief);
        MPI_Comm_free(&brief);
    }
    printf("calls %ld communicators %ld\n", all - tenth, used_kib() - before);
    MPI_Finalize();
    return 0;
}
