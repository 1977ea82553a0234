/* lines: calls of known lines in functions that are inlined or not, recursive, called by pointer, from threads that come and go, from
   callbacks, calls that take turns, and calls that complete what others began. */
#include "lines.h"

#include <pthread.h>

static MPI_Comm rows, pairs;

static inline __attribute__((always_inline)) void inlined(int value)
{
    int sum;
    AT("rows", MPI_Allreduce, 4, 4, &value, &sum, 1, MPI_INT, MPI_SUM, rows);
    AT("rows", MPI_Allreduce, 4, 4, &value, &sum, 1, MPI_INT, MPI_MAX, rows);
}

static __attribute__((noinline)) void apart(int value)
{
    int sums[2], values[2] = {value, value};
    AT("rows", MPI_Allreduce, 8, 8, values, sums, 2, MPI_INT, MPI_SUM, rows);
    inlined(value);
}

static __attribute__((noinline)) int recursive(int depth)
{
    AT("pairs", MPI_Barrier, 0, 0, pairs);
    return depth ? recursive(depth - 1) + 1 : 0;
}

static __attribute__((noinline)) int last(MPI_Comm comm)
{
    return AT("pairs", MPI_Barrier, 0, 0, comm);
}

static __attribute__((noinline)) void exchange(int peer)
{
    char out[100] = {0}, in[100];
    MPI_Request requests[2];
    /* Only two of the four arrive by the call that began them. */
    for (int i = 0; i < 2; i++) {
        AT("WORLD", MPI_Irecv, 0, 10 * (i + 1), in, 100, MPI_CHAR, peer, i, MPI_COMM_WORLD, &requests[0]);
        AT("WORLD", MPI_Isend, 10 * (i + 1), 0, out, 10 * (i + 1), MPI_CHAR, peer, i, MPI_COMM_WORLD, &requests[1]);
        AT("WORLD", MPI_Waitall, 0, 0, 2, requests, MPI_STATUSES_IGNORE);
    }
    AT("WORLD", MPI_Recv_init, 0, 0, in, 100, MPI_CHAR, peer, 2, MPI_COMM_WORLD, &requests[0]);
    for (int i = 0; i < 3; i++) {
        AT("WORLD", MPI_Start, 0, 7, &requests[0]);
        AT("WORLD", MPI_Send, 7, 0, out, 7, MPI_CHAR, peer, 2, MPI_COMM_WORLD);
        AT("WORLD", MPI_Wait, 0, 0, &requests[0], MPI_STATUS_IGNORE);
    }
    AT("WORLD", MPI_Request_free, 0, 0, &requests[0]);
    AT("WORLD", MPI_Sendrecv, 5, 5, out, 5, MPI_CHAR, peer, 3, in, 100, MPI_CHAR, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

struct handed {
    MPI_Request *requests;
    int count;
};

static void *complete(void *argument)
{
    struct handed *handed = argument;
    AT("WORLD", MPI_Waitall, 0, 0, handed->count, handed->requests, MPI_STATUSES_IGNORE);
    return NULL;
}

/* Lines that take turns, with messages of sizes that take turns, are told apart, whoever completes what they began. */
static __attribute__((noinline)) void mixed(int peer)
{
    enum { MOST = 70000, KINDS = 6 };
    static const int sizes[KINDS] = {0, 40, 400, 5000, 41, MOST};
    char *in = calloc(3, MOST), *out = calloc(1, MOST);
    for (int i = 0; i < 8 * KINDS; i++) {
        int one = sizes[i % KINDS], two = sizes[(i + 1) % KINDS], three = sizes[i / KINDS % KINDS], done = 0, some;
        int places[6];
        MPI_Request requests[6];
        AT("WORLD", MPI_Irecv, 0, one, in, MOST, MPI_CHAR, peer, 10, MPI_COMM_WORLD, &requests[0]);
        AT("WORLD", MPI_Irecv, 0, two, in + MOST, MOST, MPI_CHAR, peer, 11, MPI_COMM_WORLD, &requests[1]);
        AT("WORLD", MPI_Irecv, 0, three, in + 2 * MOST, MOST, MPI_CHAR, peer, 12, MPI_COMM_WORLD, &requests[2]);
        AT("WORLD", MPI_Isend, one, 0, out, one, MPI_CHAR, peer, 10, MPI_COMM_WORLD, &requests[3]);
        AT("WORLD", MPI_Isend, two, 0, out, two, MPI_CHAR, peer, 11, MPI_COMM_WORLD, &requests[4]);
        AT("WORLD", MPI_Isend, three, 0, out, three, MPI_CHAR, peer, 12, MPI_COMM_WORLD, &requests[5]);
        switch (i / 2 % 4) {
        case 0:
            AT("WORLD", MPI_Waitall, 0, 0, 6, requests, MPI_STATUSES_IGNORE);
            break;
        case 1:
            for (; done < 6; done++)
                AT("WORLD", MPI_Waitany, 0, 0, 6, requests, &some, MPI_STATUS_IGNORE);
            break;
        case 2:
            for (; done < 6; done += some)
                AT("WORLD", MPI_Waitsome, 0, 0, 6, requests, &some, places, MPI_STATUSES_IGNORE);
            break;
        default: {
            pthread_t other;
            struct handed handed = {requests, 6};
            pthread_create(&other, NULL, complete, &handed);
            pthread_join(other, NULL);
        }
        }
        if (i % 5 == 0) {
            char turn[64] = {0}, turned[64];
            AT("WORLD", MPI_Sendrecv, 3, 3, turn, 3, MPI_CHAR, peer, 13, turned, 64, MPI_CHAR, peer, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            AT("WORLD", MPI_Sendrecv, 60, 60, turn, 60, MPI_CHAR, peer, 13, turned, 64, MPI_CHAR, peer, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    free(in);
    free(out);
}

/* A callback calls in the midst of a call, which is charged to its own line. */
static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *is_copied)
{
    (void)key, (void)extra, (void)in, (void)out;
    AT("pairs", MPI_Barrier, 0, 0, comm);
    *is_copied = 0;
    return MPI_SUCCESS;
}

static void *thread(void *unused)
{
    char out = 0, in;
    AT("SELF", MPI_Sendrecv, 1, 1, &out, 1, MPI_CHAR, 0, 0, &in, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return unused;
}

static void make(int rank)
{
    AT("WORLD", MPI_Comm_split, 0, 0, MPI_COMM_WORLD, rank / 2, rank, &rows);
    AT("rows", MPI_Comm_set_name, 0, 0, rows, "rows");
    AT("rows", MPI_Comm_dup, 0, 0, rows, &pairs);
    AT("pairs", MPI_Comm_set_name, 0, 0, pairs, "pairs");
}

int main(int argc, char **argv)
{
    int level, key;
    AT("WORLD", MPI_Init_thread, 0, 0, &argc, &argv, MPI_THREAD_MULTIPLE, &level);
    lines_begin();
    make(lines_rank);
    for (int i = 0; i < 5; i++) {
        inlined(i);
        apart(i);
    }
    recursive(4);
    last(pairs);
    void (*by_pointer[])(int) = {exchange, apart};
    by_pointer[0](lines_rank ^ 1);
    by_pointer[argc > 0](1);
    mixed(lines_rank ^ 1);
    for (int i = 0; i < 2; i++) {
        pthread_t other;
        pthread_create(&other, NULL, thread, NULL);
        pthread_join(other, NULL);
        thread(NULL);
    }
    PMPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    PMPI_Comm_set_attr(pairs, key, &key);
    MPI_Comm copied;
    AT("pairs", MPI_Comm_dup, 0, 0, pairs, &copied);
    PMPI_Comm_delete_attr(pairs, key);
    AT("copied", MPI_Comm_set_name, 0, 0, copied, "copied");
    AT("copied", MPI_Comm_free, 0, 0, &copied);
    AT("WORLD", MPI_Pcontrol, 0, 0, 3, "a phase");
    AT("WORLD", MPI_Barrier, 0, 0, MPI_COMM_WORLD);
    AT("WORLD", MPI_Pcontrol, 0, 0, -1);
    AT("WORLD", MPI_Finalize, 0, 0, );
    return 0;
}
