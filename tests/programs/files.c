/* files [HOW]: several files, whose names are of the folder FILES_DIR: over all processes, a part of them and each alone; under one name in two
 * folders; opened again, over another communicator, in vain. Which calls and bytes on which file, the program states.
 *
 * HOW "names N": N files of different names. "threads": each thread its own. "dies": SIGKILL where all is done but MPI_Finalize.
 * "snapshot": one is taken in between. */
#include "truth.h"

#include <signal.h>

enum { SPACE = 1 << 14, THREADS = 3 };

static char out[SPACE], in[SPACE];

static const char *in_folder(const char *name)
{
    static __thread char paths[4][4096];
    static __thread int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", getenv("FILES_DIR"), name);
    return truth_file = path;
}

static MPI_File opened(MPI_Comm comm, const char *label, const char *name, int mode)
{
    MPI_File file;
    EXPECT(MPI_File_open(comm, in_folder(name), mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    called(label, "MPI_File_open");
    return file;
}

static void closed(MPI_File *file, const char *label, const char *name)
{
    in_folder(name);
    EXPECT(MPI_File_close(file) == MPI_SUCCESS);
    called(label, "MPI_File_close");
}

static void wrote(const char *label, const char *op, int bytes)
{
    carried(label, op, bytes, bytes, 0);
}

static void had_read(const char *label, const char *op, int bytes)
{
    carried(label, op, bytes, 0, bytes);
}

/* Many small writes by each process, fewer by those of higher ranks; then all together. */
static void shared(void)
{
    MPI_Request requests[2];
    MPI_File file = opened(MPI_COMM_WORLD, "WORLD", "a/shared.dat", MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File other = opened(MPI_COMM_WORLD, "WORLD", "b/other.dat", MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Offset place = (MPI_Offset)world_rank * SPACE;
    in_folder("a/shared.dat");
    for (int i = 0; i < 50 - world_rank; i++) {
        MPI_File_write_at(file, place + i * 10, out, 10, MPI_BYTE, MPI_STATUS_IGNORE);
        wrote("WORLD", "MPI_File_write_at", 10);
    }
    for (int i = 0; i < 2; i++) {
        MPI_File_set_view(file, place, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        called("WORLD", "MPI_File_set_view");
        MPI_File_write_all(file, out, SPACE, MPI_BYTE, MPI_STATUS_IGNORE);
        wrote("WORLD", "MPI_File_write_all", SPACE);
    }
    in_folder("b/other.dat");
    MPI_File_write_at_all(other, place, out, 4000, MPI_BYTE, MPI_STATUS_IGNORE);
    wrote("WORLD", "MPI_File_write_at_all", 4000);
    PMPI_Barrier(MPI_COMM_WORLD);
    /* Of both files in one call. */
    MPI_File_iread_at(other, place, in, 1000, MPI_BYTE, &requests[0]);
    MPI_File_iread_at(file, 0, in + 1000, 2000, MPI_BYTE, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    called("WORLD", "MPI_Waitall");
    had_read("WORLD", "MPI_File_iread_at", 1000);
    in_folder("a/shared.dat");
    had_read("WORLD", "MPI_File_iread_at", 2000);
    MPI_File_iwrite_at(file, 0, out, 300, MPI_BYTE, &requests[0]);
    wrote("WORLD", "MPI_File_iwrite_at", 300);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    called("WORLD", "MPI_Wait");
    PMPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read_all_begin(file, in, 5000, MPI_BYTE);
    carried("WORLD", "MPI_File_read_all_begin", 5000, 0, 0);
    MPI_File_read_all_end(file, in, MPI_STATUS_IGNORE);
    had_read("WORLD", "MPI_File_read_all_end", 5000);
    closed(&other, "WORLD", "b/other.dat");
    closed(&file, "WORLD", "a/shared.dat");
}

/* The same file again, in a phase, and then over another communicator. */
static void again(void)
{
    MPI_Pcontrol(3, "again");
    truth_phase = "again";
    called("WORLD", "MPI_Pcontrol");
    MPI_File file = opened(MPI_COMM_WORLD, "WORLD", "a/shared.dat", MPI_MODE_RDONLY);
    MPI_File_read_at(file, 0, in, 777, MPI_BYTE, MPI_STATUS_IGNORE);
    had_read("WORLD", "MPI_File_read_at", 777);
    closed(&file, "WORLD", "a/shared.dat");
    MPI_Pcontrol(-3, NULL);
    called("WORLD", "MPI_Pcontrol");
    truth_phase = "";
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    made(copy, "copy", "MPI_Comm_dup", "WORLD");
    file = opened(copy, "copy", "a/shared.dat", MPI_MODE_RDWR);
    MPI_File_write_ordered(file, out, 64, MPI_BYTE, MPI_STATUS_IGNORE);
    wrote("copy", "MPI_File_write_ordered", 64);
    closed(&file, "copy", "a/shared.dat");
}

/* Two files of one name. */
static void namesakes(void)
{
    const char *names[] = {"a/same.dat", "b/same.dat"};
    MPI_File files[2];
    for (int i = 0; i < 2; i++)
        files[i] = opened(MPI_COMM_WORLD, "WORLD", names[i], MPI_MODE_CREATE | MPI_MODE_WRONLY);
    for (int i = 0; i < 2; i++) {
        in_folder(names[i]);
        MPI_File_write_at(files[i], 0, out, 100 + i, MPI_BYTE, MPI_STATUS_IGNORE);
        wrote("WORLD", "MPI_File_write_at", 100 + i);
        closed(&files[i], "WORLD", names[i]);
    }
}

static void parts(void)
{
    const char *label = world_rank % 2 ? "odd" : "even";
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &part);
    made(part, label, "MPI_Comm_split", "WORLD");
    const char *name = label_of("part-%s.dat", label);
    MPI_File file = opened(part, label, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_write_shared(file, out, 200, MPI_BYTE, MPI_STATUS_IGNORE);
    wrote(label, "MPI_File_write_shared", 200);
    closed(&file, label, name);
    name = label_of("own-%d.dat", world_rank);
    file = opened(MPI_COMM_SELF, "SELF", name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_File_write(file, out, 333, MPI_BYTE, MPI_STATUS_IGNORE);
    wrote("SELF", "MPI_File_write", 333);
    EXPECT(MPI_File_write(file, out, -1, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    failed("SELF", "MPI_File_write", 0);
    closed(&file, "SELF", name);
}

static void in_vain(void)
{
    MPI_File file;
    for (int i = 0; i < 2; i++) {
        const char *path = in_folder("missing/absent.dat");
        EXPECT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
        failed("WORLD", "MPI_File_open", 0);
    }
    EXPECT(MPI_File_delete(in_folder("missing/absent.dat"), MPI_INFO_NULL) != MPI_SUCCESS);
    failed("-", "MPI_File_delete", 0);
    PMPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        EXPECT(MPI_File_delete(in_folder("a/shared.dat"), MPI_INFO_NULL) == MPI_SUCCESS);
        called("-", "MPI_File_delete");
    }
}

#ifdef ROMIO_VERSION
#define KNOWS_PREFIXES 1
#elif !defined OPEN_MPI
#define KNOWS_PREFIXES 1
#endif

/* What ROMIO takes for the kind of the file system is no part of the name. */
static void prefixed(void)
{
#ifdef KNOWS_PREFIXES
    char path[4096];
    MPI_File file = opened(MPI_COMM_WORLD, "WORLD", "b/prefixed.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY);
    closed(&file, "WORLD", "b/prefixed.dat");
    snprintf(path, sizeof path, "ufs:%s", in_folder("b/prefixed.dat"));
    EXPECT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    called("WORLD", "MPI_File_open");
    closed(&file, "WORLD", "b/prefixed.dat");
#endif
}

/* Each by another name, and opened by all processes. */
static void names(int count)
{
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "many-%d.dat", i);
        MPI_File file = opened(MPI_COMM_SELF, "SELF", label_of("%s", name), MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE);
        closed(&file, "SELF", name);
    }
}

static MPI_Request started[THREADS];
static MPI_File held[THREADS];
/* Open MPI's files are no match for threads that open them at the same time. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char came[THREADS][500];

static void *of_thread(void *argument)
{
    int thread = (int)(long)argument;
    char name[64];
    snprintf(name, sizeof name, "thread-%d-%d.dat", world_rank, thread);
    pthread_mutex_lock(&turn);
    held[thread] = opened(MPI_COMM_SELF, "SELF", name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    for (int i = 0; i < 20 + thread; i++) {
        MPI_File_write_at(held[thread], i * 50, out, 50, MPI_BYTE, MPI_STATUS_IGNORE);
        wrote("SELF", "MPI_File_write_at", 50);
    }
    MPI_File_iread_at(held[thread], 0, came[thread], 400 + thread, MPI_BYTE, &started[thread]);
    pthread_mutex_unlock(&turn);
    return NULL;
}

/* What threads begin to read, the first one completes. */
static void threads(void)
{
    pthread_t ids[THREADS];
    for (long i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&ids[i], NULL, of_thread, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(ids[i], NULL) == 0);
    for (int i = 0; i < THREADS; i++) {
        const char *name = label_of("thread-%d-%d.dat", world_rank, i);
        MPI_Wait(&started[i], MPI_STATUS_IGNORE);
        called("SELF", "MPI_Wait");
        in_folder(name);
        had_read("SELF", "MPI_File_iread_at", 400 + i);
        closed(&held[i], "SELF", name);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "threads")) {
        int provided;
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
        truth_begin("MPI_Init_thread");
        EXPECT(provided == MPI_THREAD_MULTIPLE);
        threads();
    } else {
        truth_init(&argc, &argv);
        if (!strcmp(how, "names")) {
            names(atoi(argv[2]));
        } else {
            shared();
            again();
            namesakes();
            parts();
            if (!strcmp(how, "snapshot")) {
                MPI_Pcontrol(2);
                called("WORLD", "MPI_Pcontrol");
            }
            in_vain();
            prefixed();
        }
    }
    if (!strcmp(how, "dies")) {
        truth_write();
        PMPI_Barrier(MPI_COMM_WORLD);
        raise(SIGKILL);
    }
    truth_finalize();
    return 0;
}
