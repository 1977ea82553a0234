/* Calls that the program makes from within MPI: an attribute that keeps an inner communicator, as libraries do, is
 * copied and deleted along with its outer one. */
#include "truth.h"
#include <unistd.h>

static MPI_Comm inner[8];
static const char *const labels[] = {"inner 0", "inner 1", "inner 2", "inner 3"};
static int made_inner;

static int copy(MPI_Comm comm, int key, void *state, void *value, void *result, int *flag)
{
    (void)comm, (void)key, (void)state;
    int from = (int)(long)value, to = made_inner++;
    MPI_Comm_dup(inner[from], &inner[to]);
    made(inner[to], labels[to], "MPI_Comm_dup", labels[from]);
    *(void **)result = (void *)(long)to;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)state;
    int which = (int)(long)value;
    free_comm(&inner[which], labels[which]);
    return MPI_SUCCESS;
}

static int refuses;

static int copy_or_refuse(MPI_Comm comm, int key, void *state, void *value, void *result, int *flag)
{
    (void)comm, (void)key, (void)state, (void)value, (void)result;
    MPI_Barrier(MPI_COMM_WORLD);
    called("WORLD", "MPI_Barrier");
    *flag = 0;
    return refuses ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* The same call, which succeeds, fails, and succeeds again. Where it fails, the others wait for rank 0 in the call that is made in it. */
static void refused(void)
{
    MPI_Comm comm, copy;
    int key;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    made(comm, "refused", "MPI_Comm_dup", "WORLD");
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    PMPI_Comm_create_keyval(copy_or_refuse, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    PMPI_Comm_set_attr(comm, key, NULL);
    for (int i = 0; i < 9; i++) {
        const char *label = label_of("copy %d", i);
        refuses = i % 3 == 2;
        if (refuses && world_rank == 0)
            usleep(400000);
        if (MPI_Comm_dup(comm, &copy) != MPI_SUCCESS) {
            EXPECT(refuses);
            failed("refused", "MPI_Comm_dup", 0);
        } else {
            EXPECT(!refuses);
            made(copy, label, "MPI_Comm_dup", "refused");
            free_comm(&copy, label);
        }
    }
    free_comm(&comm, "refused");
}

enum { MANY = 1200 };
static MPI_Comm many[MANY];
static int crowds;

/* More operations on more communicators than a thread remembers. */
static void use_many(void)
{
    for (int i = 0; i < MANY; i++) {
        MPI_Request requests[2];
        int give = i, take;
        MPI_Irecv(&take, 1, MPI_INT, 0, 0, many[i], &requests[0]);
        MPI_Isend(&give, 1, MPI_INT, 0, 0, many[i], &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT(take == give);
        MPI_Ibarrier(many[i], &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

/* Nothing of what is called within the duplication counts. */
static int copy_and_use_many(MPI_Comm comm, int key, void *state, void *value, void *result, int *flag)
{
    (void)comm, (void)key, (void)state, (void)value, (void)result;
    if (crowds) {
        MPI_Pcontrol(0);
        use_many();
        MPI_Pcontrol(1);
        for (int i = 0; i < 2; i++)
            called("WORLD", "MPI_Pcontrol");
    }
    *flag = 0;
    return MPI_SUCCESS;
}

static void crowded(void)
{
    MPI_Comm comm, copies[8];
    int key;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    made(comm, "crowded", "MPI_Comm_dup", "WORLD");
    for (int i = 0; i < MANY; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &many[i]);
        made(many[i], label_of("many %d on %d", i, world_rank), "MPI_Comm_dup", "SELF");
    }
    PMPI_Comm_create_keyval(copy_and_use_many, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    PMPI_Comm_set_attr(comm, key, NULL);
    MPI_Pcontrol(0);
    use_many();
    MPI_Pcontrol(1);
    for (int i = 0; i < 2; i++)
        called("WORLD", "MPI_Pcontrol");
    for (int i = 0; i < 8; i++) {
        crowds = i > 3;
        MPI_Comm_dup(comm, &copies[i]);
        made(copies[i], label_of("in a crowd %d", i), "MPI_Comm_dup", "crowded");
    }
    for (int i = 0; i < 8; i++)
        free_comm(&copies[i], label_of("in a crowd %d", i));
    for (int i = 0; i < MANY; i++)
        free_comm(&many[i], label_of("many %d on %d", i, world_rank));
    free_comm(&comm, "crowded");
}

enum { COPIES, FREES, FAILS_TO_FREE, GATES };
static MPI_Comm gates[GATES];
static int keeps;

static const char *gate(int which)
{
    return label_of("gate %d", which);
}

static void pass(int which)
{
    MPI_Barrier(gates[which]);
    called(gate(which), "MPI_Barrier");
}

static int copy_slowly(MPI_Comm comm, int key, void *state, void *value, void *result, int *flag)
{
    (void)comm, (void)key, (void)state, (void)value, (void)result;
    pass(COPIES);
    *flag = 0;
    return MPI_SUCCESS;
}

static int delete_slowly(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)state;
    pass((int)(long)value);
    return keeps ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void be_late(void)
{
    if (world_rank == 0)
        usleep(20000);
}

static void fails_to_free(MPI_Comm *comm, const char *label)
{
    keeps = 1;
    /* MPICH asks the handler of another communicator. */
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    EXPECT(MPI_Comm_free(comm) != MPI_SUCCESS);
    failed(label, "MPI_Comm_free", 0);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    keeps = 0;
}

/* The others wait for rank 0 in a call that is made while a communicator is duplicated, while one is freed, or is to be freed and is not. */
static void slowly(void)
{
    int copying, deleting;
    MPI_Comm parent, comm;
    PMPI_Comm_create_keyval(copy_slowly, MPI_COMM_NULL_DELETE_FN, &copying, NULL);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_slowly, &deleting, NULL);
    for (int i = 0; i < GATES; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &gates[i]);
        made(gates[i], gate(i), "MPI_Comm_dup", "WORLD");
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    made(parent, "slowly 0", "MPI_Comm_dup", "WORLD");
    PMPI_Comm_set_attr(parent, copying, NULL);
    for (int i = 0; i < 6; i++) {
        const char *label = label_of("slow copy %d", i);
        be_late();
        MPI_Comm_dup(parent, &comm);
        made(comm, label, "MPI_Comm_dup", "slowly 0");
        free_comm(&comm, label);
    }
    free_comm(&parent, "slowly 0");
    for (int i = 0; i < 12; i++) {
        int which = i % 2 ? FAILS_TO_FREE : FREES;
        const char *label = label_of("slowly %d, %d", which, i);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        made(comm, label, "MPI_Comm_dup", "WORLD");
        PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        PMPI_Comm_set_attr(comm, deleting, (void *)(long)which);
        be_late();
        if (which == FAILS_TO_FREE)
            fails_to_free(&comm, label);
        free_comm(&comm, label);
    }
    for (int i = 0; i < GATES; i++)
        free_comm(&gates[i], gate(i));
}

/* MPI calls this at the begin of MPI_Finalize: communication is still possible. */
static int farewell(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    return MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    int key, last;
    MPI_Comm outer, copied, next[3];
    PMPI_Comm_create_keyval(copy, delete, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &outer);
    made(outer, "outer", "MPI_Comm_dup", "WORLD");
    MPI_Comm_dup(MPI_COMM_WORLD, &inner[made_inner]);
    made(inner[made_inner], labels[made_inner], "MPI_Comm_dup", "WORLD");
    PMPI_Comm_set_attr(outer, key, (void *)(long)made_inner++);
    MPI_Comm_dup(outer, &copied);
    made(copied, "copied", "MPI_Comm_dup", "outer");
    MPI_Barrier(inner[1]);
    called("inner 1", "MPI_Barrier");
    free_comm(&outer, "outer");
    EXPECT(inner[0] == MPI_COMM_NULL);
    /* Most likely under the handles of those that are gone. */
    for (int i = 0; i < 3; i++) {
        const char *label = label_of("next %d", i);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &next[i]);
        made(next[i], label, "MPI_Comm_split", "WORLD");
        MPI_Barrier(next[i]);
        called(label, "MPI_Barrier");
    }
    free_comm(&copied, "copied");
    refused();
    crowded();
    slowly();
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, farewell, &last, NULL);
    PMPI_Comm_set_attr(MPI_COMM_SELF, last, NULL);
    truth_finalize();
    return 0;
}
