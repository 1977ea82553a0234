/* Sessions. The argument says how they are used:
 *   one       everything in one session
 *   several   two at the same time
 *   again     one, and a second one when that has ended
 *   beside    between MPI_Init and MPI_Finalize
 *   before    ended before MPI_Init
 *   across    begun before MPI_Init, ended before MPI_Finalize
 */
#include "truth.h"
#include <signal.h>

#if MPI_VERSION >= 4
static MPI_Session open_session(void)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    called("-", "MPI_Session_init");
    return session;
}

static void close_session(MPI_Session *session)
{
    MPI_Session_finalize(session);
    called("-", "MPI_Session_finalize");
}

static MPI_Comm everybody(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    PMPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    PMPI_Group_rank(group, &world_rank);
    PMPI_Group_size(group, &world_size);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    made(comm, tag, "MPI_Comm_create_from_group", "-");
    PMPI_Group_free(&group);
    return comm;
}

static void work(MPI_Session session, const char *tag)
{
    MPI_Comm comm = everybody(session, tag), half;
    int value = 1, sum, next = (world_rank + 1) % world_size;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum == world_size);
    carried(tag, "MPI_Allreduce", 4, 4, 4);
    MPI_Sendrecv(&value, 1, MPI_INT, next, 1, &sum, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
    carried(tag, "MPI_Sendrecv", 4, 4, 4);
    edge(tag, "MPI_Sendrecv", next, 4);
    const char *side = label_of("%s side %d", tag, world_rank % 2);
    MPI_Comm_split(comm, world_rank % 2, 0, &half);
    made(half, side, "MPI_Comm_split", tag);
    MPI_Barrier(half);
    called(side, "MPI_Barrier");
    free_comm(&half, side);
    free_comm(&comm, tag);
}

/* MPI_Finalize runs it when it really ends MPI. */
static int last_words(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    puts("MPI has ended");
    return MPI_SUCCESS;
}

static void ask_for_last_words(void)
{
    int key;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_words, &key, NULL);
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Session first, second;
    if (!strcmp(how, "one")) {
        first = open_session();
        work(first, "first");
        close_session(&first);
        truth_write();
    } else if (!strcmp(how, "several")) {
        first = open_session();
        second = open_session();
        work(first, "first");
        close_session(&first);
        work(second, "second");
        close_session(&second);
        truth_write();
    } else if (!strcmp(how, "again")) {
        first = open_session();
        work(first, "first");
        close_session(&first);
        second = open_session();
        work(second, "second");
        close_session(&second);
        truth_write();
    } else if (!strcmp(how, "beside")) {
        truth_init(&argc, &argv);
        first = open_session();
        work(first, "first");
        close_session(&first);
        MPI_Barrier(MPI_COMM_WORLD);
        called("WORLD", "MPI_Barrier");
        truth_finalize();
    } else if (!strcmp(how, "across")) {
        first = open_session();
        work(first, "first");
        truth_init(&argc, &argv);
        ask_for_last_words();
        work(first, "second");
        close_session(&first);
        MPI_Barrier(MPI_COMM_WORLD);
        called("WORLD", "MPI_Barrier");
        if (argc > 2)
            raise(SIGKILL);
        truth_finalize();
    } else if (!strcmp(how, "before")) {
        first = open_session();
        work(first, "first");
        close_session(&first);
        truth_init(&argc, &argv);
        MPI_Barrier(MPI_COMM_WORLD);
        called("WORLD", "MPI_Barrier");
        truth_finalize();
    }
    return 0;
}
#else
int main(void)
{
    return 1;
}
#endif
