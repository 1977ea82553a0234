/* Calls that tell that a request is complete without completing it. Its bytes count once, whether it is told again, completed, or freed. Each pair of
 * ranks works on its own. Needs an even number of ranks. With the word "threads", requests go from one thread to another. */
#include "generalized.h"
#include "truth.h"

enum { MOST = 20000 };
static MPI_Comm comm;
static const char *label = "A";
static int peer;
static char out[MOST], in[2][MOST];

/* Since MPI 4.1: a library may have them whose mpi.h this program was not compiled with. */
#if MPI_VERSION < 5
int MPI_Request_get_status_any(int, const MPI_Request[], int *, int *, MPI_Status *) __attribute__((weak));
int MPI_Request_get_status_all(int, const MPI_Request[], int *, MPI_Status[]) __attribute__((weak));
int MPI_Request_get_status_some(int, const MPI_Request[], int *, int[], MPI_Status[]) __attribute__((weak));
#define HAS_ALL_FORMS (MPI_Request_get_status_any && MPI_Request_get_status_all && MPI_Request_get_status_some)
#else
#define HAS_ALL_FORMS 1
#endif

/* By which call it is told. */
enum how { ONE, ANY, ALL, SOME, HOWS };
static enum how how;
static int ignore;

static int has(enum how by)
{
    return by == ONE || HAS_ALL_FORMS;
}

/* Waits until the peer is here as well; unseen by the profiler. */
static void meet(void)
{
    char token = 0;
    PMPI_Sendrecv_replace(&token, 1, MPI_CHAR, peer, 77, peer, 77, comm, MPI_STATUS_IGNORE);
}

static void give(int tag, int bytes)
{
    PMPI_Send(out, bytes, MPI_BYTE, peer, tag, comm);
}

/* Whether the request is told to be complete, and then as one that brought so many bytes (-1: nobody knows). */
static int told(const char *on, MPI_Request request, int bytes)
{
    MPI_Request list[] = {MPI_REQUEST_NULL, request, MPI_REQUEST_NULL};
    MPI_Status statuses[3], *status = &statuses[1];
    int flag = 0, index = MPI_UNDEFINED, some = 0, indices[3] = {0}, count;
    switch (how) {
    case ONE:
        MPI_Request_get_status(request, &flag, ignore ? MPI_STATUS_IGNORE : status);
        called(on, "MPI_Request_get_status");
        break;
    case ANY:
        MPI_Request_get_status_any(3, list, &index, &flag, ignore ? MPI_STATUS_IGNORE : status);
        called(on, "MPI_Request_get_status_any");
        EXPECT(!flag || bytes < 0 || index == (strcmp(on, "-") ? 1 : MPI_UNDEFINED));
        break;
    case ALL:
        MPI_Request_get_status_all(3, list, &flag, ignore ? MPI_STATUSES_IGNORE : statuses);
        called(on, "MPI_Request_get_status_all");
        break;
    default:
        MPI_Request_get_status_some(3, list, &some, indices, ignore ? MPI_STATUSES_IGNORE : statuses);
        called(on, "MPI_Request_get_status_some");
        EXPECT(some == 0 || bytes < 0 || (strcmp(on, "-") ? some == 1 && indices[0] == 1 : some == MPI_UNDEFINED));
        flag = some != 0;
        status = &statuses[0];
    }
    EXPECT(list[1] == request);
    if (flag && !ignore && bytes >= 0) {
        PMPI_Get_count(status, MPI_BYTE, &count);
        EXPECT(count == bytes);
    }
    return flag;
}

/* In vain before the peer gives what it asks for; then until it is there, and once more. */
static void tell(MPI_Request request, int bytes, int is_size_known)
{
    int known = is_size_known ? bytes : -1;
    EXPECT(!told(label, request, known));
    meet();
    give(1, bytes);
    while (!told(label, request, known))
        ;
    EXPECT(told(label, request, known));
}

static void discard(const char *on, MPI_Request *request)
{
    MPI_Request_free(request);
    called(on, "MPI_Request_free");
    EXPECT(*request == MPI_REQUEST_NULL);
}

/* Completes a request of so many bytes by one of the calls that do. `from`: of whom its message is known to be, or -1. */
static void complete(int by, const char *on, MPI_Request *request, const char *started, int bytes, int from)
{
    static const char *const ops[] = {"MPI_Wait", "MPI_Test", "MPI_Waitall", "MPI_Testall", "MPI_Waitany", "MPI_Testsome"};
    MPI_Request list[] = {MPI_REQUEST_NULL, *request};
    MPI_Status statuses[2];
    int flag = 1, index = 1, some = 1, indices[2];
    switch (by) {
    case 0: MPI_Wait(&list[1], ignore ? MPI_STATUS_IGNORE : statuses); break;
    case 1: MPI_Test(&list[1], &flag, ignore ? MPI_STATUS_IGNORE : statuses); break;
    case 2: MPI_Waitall(2, list, ignore ? MPI_STATUSES_IGNORE : statuses); break;
    case 3: MPI_Testall(2, list, &flag, ignore ? MPI_STATUSES_IGNORE : statuses); break;
    case 4: MPI_Waitany(2, list, &index, ignore ? MPI_STATUS_IGNORE : statuses); break;
    default: MPI_Testsome(2, list, &some, indices, ignore ? MPI_STATUSES_IGNORE : statuses);
    }
    EXPECT(flag && index == 1 && some == 1);
    *request = list[1];
    called(on, ops[by]);
    completed_request(on, ops[by], started, bytes, bytes ? from : -1, bytes);
}
enum { COMPLETIONS = 6 };

static void receives(void)
{
    static const int sizes[] = {0, 100, 129, MOST};
    MPI_Request request;
    for (int by = -1; by < COMPLETIONS; by++)
        for (int i = 0; i < 4; i++) {
            MPI_Irecv(in[0], MOST, MPI_BYTE, peer, 1, comm, &request);
            received(label, "MPI_Irecv", sizes[i]);
            tell(request, sizes[i], 1);
            if (by < 0)
                discard(label, &request);
            else
                complete(by, label, &request, "MPI_Irecv", sizes[i], peer);
        }
}

static void matched(void)
{
    MPI_Message message;
    MPI_Request request;
    for (int by = -1; by < 1; by++) {
        give(2, 300);
        MPI_Mprobe(peer, 2, comm, &message, MPI_STATUS_IGNORE);
        called(label, "MPI_Mprobe");
        MPI_Imrecv(in[0], MOST, MPI_BYTE, &message, &request);
        received(label, "MPI_Imrecv", 300);
        while (!told(label, request, 300))
            ;
        by < 0 ? discard(label, &request) : complete(by, label, &request, "MPI_Imrecv", 300, peer);
    }
}

/* What is left to be told of a persistent or partitioned request of so many bytes that was told to be complete. Newer MPICHs tell once what it brought, and
 * nothing after that; MPICH 4.0 leaves the status of partitioned ones as it is until they are completed. */
static int told_again(MPI_Request request, int bytes)
{
    MPI_Status status = {.MPI_SOURCE = -77};
    int flag, count;
    PMPI_Request_get_status(request, &flag, &status);
    EXPECT(flag);
    if (status.MPI_SOURCE == -77)
        return bytes;
    PMPI_Get_count(&status, MPI_BYTE, &count);
    return count;
}

static void persistent(void)
{
    static const int sizes[] = {70, 700, 0, 7000};
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++) {
        MPI_Recv_init(in[i], MOST, MPI_BYTE, peer, 1, comm, &requests[i]);
        called(label, "MPI_Recv_init");
    }
    EXPECT(told("-", requests[0], -1));
    for (int round = 0; round < 4; round++) {
        MPI_Start(&requests[0]);
        tell(requests[0], sizes[round], 0);
        received(label, "MPI_Start", sizes[round]);
        if (round < 3)
            complete(round, label, &requests[0], "MPI_Start", told_again(requests[0], sizes[round]), peer);
    }
    for (int round = 0; round < 2; round++) {
        MPI_Startall(1, &requests[1]);
        called(label, "MPI_Startall");
        tell(requests[1], sizes[round], 0);
        added(label, "MPI_Startall", 0, sizes[round]);
        if (round < 1)
            complete(round, label, &requests[1], "MPI_Startall", told_again(requests[1], sizes[round]), -1);
    }
    discard(label, &requests[0]);
    discard(label, &requests[1]);
}

static void untold(void)
{
    MPI_Request request;
    MPI_Irecv(in[0], MOST, MPI_BYTE, peer, 3, comm, &request);
    called(label, "MPI_Irecv");
    EXPECT(!told(label, request, 0));
    discard(label, &request);
    meet();
    give(3, 40);
    MPI_Irecv(in[0], MOST, MPI_BYTE, peer, 4, comm, &request);
    called(label, "MPI_Irecv");
    MPI_Cancel(&request);
    called(label, "MPI_Cancel");
    while (!told(label, request, -1))
        ;
    discard(label, &request);
}

static int brought_nine(void *state, MPI_Status *status)
{
    (void)state;
    return grequest_status(status, 9);
}

static void generalized(void)
{
    MPI_Request request;
    PMPI_Grequest_start(brought_nine, grequest_free, grequest_cancel, NULL, &request);
    if (how == ONE)
        EXPECT(!told("-", request, 9));
    PMPI_Grequest_complete(request);
    if (how == ONE)
        EXPECT(told("-", request, 9));
    MPI_Request_free(&request);
    called("-", "MPI_Request_free");
}

static void read_from_a_file(void)
{
    char path[4096];
    MPI_File file;
    MPI_Request request;
    snprintf(path, sizeof path, "%s/revealed-%d", getenv("TRUTH_DIR"), world_rank);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    called("SELF", "MPI_File_open");
    MPI_File_write_at(file, 0, out, 500, MPI_BYTE, MPI_STATUS_IGNORE);
    carried("SELF", "MPI_File_write_at", 500, 500, 0);
    for (int by = -1; by < 1; by++) {
        MPI_File_iread_at(file, 0, in[0], 500, MPI_BYTE, &request);
        carried("SELF", "MPI_File_iread_at", 500, 0, 500);
        /* MPICH does not say so of a read before it is completed. */
        int is_told = 0;
        for (int i = 0; i < 1000 && !is_told; i++)
            is_told = told("SELF", request, 500);
        by < 0 && is_told ? discard("SELF", &request) : complete(0, "SELF", &request, "MPI_File_iread_at", 500, -1);
    }
    MPI_File_close(&file);
    called("SELF", "MPI_File_close");
}

#ifdef OPEN_MPI
#define FREES_PARTS 1
#else
#define FREES_PARTS 0
#endif

#if MPI_VERSION >= 4
static void in_parts(void)
{
    MPI_Request requests[2];
    MPI_Psend_init(out, 2, 50, MPI_BYTE, peer, 6, comm, MPI_INFO_NULL, &requests[0]);
    carried(label, "MPI_Psend_init", 50, 0, 0);
    MPI_Precv_init(in[0], 2, 50, MPI_BYTE, peer, 6, comm, MPI_INFO_NULL, &requests[1]);
    carried(label, "MPI_Precv_init", 50, 0, 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++)
            MPI_Start(&requests[i]);
        called(label, "MPI_Start");
        received(label, "MPI_Start", 100);
        MPI_Pready_range(0, 1, requests[0]);
        carried(label, "MPI_Pready_range", 50, 100, 0);
        for (int i = 0; i < 2; i++)
            edge(label, "MPI_Pready_range", peer, 50);
        while (!told(label, requests[1], -1))
            ;
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        called(label, "MPI_Wait");
        completed_request(label, "MPI_Wait", "MPI_Start", 0, -1, 0);
        /* MPICH 4.0 does not tell what they brought before they are completed. */
        if (round < 2 || !FREES_PARTS)
            complete(round % 2, label, &requests[1], "MPI_Start", told_again(requests[1], 100), peer);
        meet();
    }
    discard(label, &requests[0]);
    discard(label, &requests[1]);
}
#endif

#if MPI_VERSION >= 4 && defined(OPEN_MPI)
/* MPICH leaves their status unfilled. */
static void exchanges(void)
{
    MPI_Request request;
    MPI_Status status;
    for (int by = 0; by < 2; by++) {
        int count;
        MPI_Isendrecv(out, 600, MPI_BYTE, peer, 5, in[0], MOST, MPI_BYTE, peer, 5, comm, &request);
        for (int flag = 0; !flag;) {
            MPI_Request_get_status(request, &flag, &status);
            called(label, "MPI_Request_get_status");
        }
        PMPI_Get_count(&status, MPI_BYTE, &count);
        carried(label, "MPI_Isendrecv", 600, 600, count);
        edge(label, "MPI_Isendrecv", peer, 600);
        complete(by, label, &request, "MPI_Isendrecv", count, -1);
        meet();
    }
}
#endif

static MPI_Request shared;
static int size_bytes;

static void *tell_there(void *unused)
{
    while (!told(label, shared, size_bytes))
        ;
    return unused;
}

static void *discard_there(void *unused)
{
    discard(label, &shared);
    return unused;
}

static void *complete_there(void *unused)
{
    /* Over other communicators than the world nobody is asked then. */
    complete(0, label, &shared, "MPI_Irecv", size_bytes, -1);
    return unused;
}

static void elsewhere(void *(*work)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}

static void among_threads(void)
{
    static void *(*const ends[])(void *) = {discard_there, complete_there};
    for (int turn = 0; turn < 8; turn++) {
        size_bytes = 100 * turn + 50;
        MPI_Irecv(in[0], MOST, MPI_BYTE, peer, 1, comm, &shared);
        received(label, "MPI_Irecv", size_bytes);
        meet();
        give(1, size_bytes);
        turn & 1 ? tell_there(NULL) : elsewhere(tell_there);
        turn & 2 ? (void)ends[turn >> 2](NULL) : elsewhere(ends[turn >> 2]);
    }
}

int main(int argc, char **argv)
{
    int is_threaded = argc > 1 && !strcmp(argv[1], "threads");
    is_threaded ? truth_init_threaded(&argc, &argv) : truth_init(&argc, &argv);
    EXPECT(world_size % 2 == 0);
    peer = world_rank ^ 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    made(comm, label, "MPI_Comm_dup", "WORLD");
    for (how = ONE; how < HOWS; how++)
        for (ignore = 0; ignore < 2 && has(how); ignore++) {
            if (is_threaded) {
                among_threads();
                continue;
            }
            receives();
            matched();
            persistent();
            untold();
            generalized();
            read_from_a_file();
#if MPI_VERSION >= 4
            /* MPICH's MPI_Request_get_status_all does not know them. */
            if (how == ONE)
                in_parts();
#endif
        }
#if MPI_VERSION >= 4 && defined(OPEN_MPI)
    if (!is_threaded)
        exchanges();
#endif
    truth_finalize();
    return 0;
}
