/* The ground truth: a program under test states here what it does, in the profiler's terms, and the log of all
 * processes is compared with the profile row by row. The log itself speaks PMPI only, which no profiler sees.
 *
 * Communicators go by labels. "WORLD", "SELF", "*" (completion over several communicators) and "-" (over none) are
 * given; every other label is introduced by `made` and is unique in the whole run.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))
#define LABEL_LENGTH 48

/* Stops the job when what must hold does not: the fault is the program's (or the profiler changed a result). */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            PMPI_Abort(MPI_COMM_WORLD, 99);                                                                            \
        }                                                                                                              \
    } while (0)

enum truth_kind { TRUTH_CALL, TRUTH_EDGE, TRUTH_INVOLVED, TRUTH_USE, TRUTH_SIZE, TRUTH_DONE, TRUTH_FILE };
#define TEXT_LENGTH 256

struct truth_row {
    enum truth_kind kind;
    char label[LABEL_LENGTH];
    const char *op;
    char text[TEXT_LENGTH]; /* a call's phase, a use's datatype, a file's name */
    long long key; /* a call's message size in bytes, an edge's destination, whether a datatype is contiguous */
    long long calls, failed, sent, received;
    struct truth_row *next;
};

struct truth_comm {
    char label[LABEL_LENGTH], parent[LABEL_LENGTH];
    const char *creator;
    int ordinal, rank, size, named, freed;
    MPI_Comm handle;
    struct truth_comm *next;
};

enum { TRUTH_SLOTS = 1 << 14 };
static struct truth_row *truth_rows[TRUTH_SLOTS];
static struct truth_comm *truth_comms;
static const char *truth_phase = ""; /* the phase that calls are stated in */
static __thread const char *truth_file; /* the file that calls of MPI_File_* are stated on; a program states it of all or none */
static int truth_ordinal, truth_paused, world_rank, world_size;
static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;

static void truth_add_with(enum truth_kind kind, const char *label, const char *op, const char *text, long long key,
                           long long calls, long long failed, long long sent, long long received)
{
    if (truth_paused)
        return;
    unsigned long hash = 5381 + kind;
    for (const char *c = label; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    for (const char *c = op; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    for (const char *c = text; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    hash = (hash * 33 + (unsigned long)key) % TRUTH_SLOTS;
    pthread_mutex_lock(&truth_lock);
    struct truth_row *row = truth_rows[hash];
    while (row && (row->kind != kind || row->key != key || strcmp(row->label, label) || strcmp(row->op, op) ||
                   strcmp(row->text, text)))
        row = row->next;
    if (!row) {
        row = calloc(1, sizeof *row);
        EXPECT(strlen(label) < LABEL_LENGTH && strlen(text) < TEXT_LENGTH);
        strcpy(row->label, label);
        strcpy(row->text, text);
        row->kind = kind, row->op = strdup(op), row->key = key;
        row->next = truth_rows[hash], truth_rows[hash] = row;
    }
    row->calls += calls, row->failed += failed, row->sent += sent, row->received += received;
    pthread_mutex_unlock(&truth_lock);
}

static void truth_add(enum truth_kind kind, const char *label, const char *op, long long key, long long calls,
                      long long failed, long long sent, long long received)
{
    const char *text = kind == TRUTH_CALL ? truth_phase : "";
    if (kind == TRUTH_CALL && truth_file && !strncmp(op, "MPI_File_", 9)) {
        const char *end = strrchr(truth_file, '/');
        truth_add_with(TRUTH_FILE, label, op, end ? end + 1 : truth_file, key, calls, failed, sent, received);
    }
    truth_add_with(kind, label, op, text, key, calls, failed, sent, received);
}

/* One call: the message size that decides its bucket (0: the first bucket), the bytes it sent and received. */
static UNUSED void carried(const char *label, const char *op, long long size, long long sent, long long received)
{
    truth_add(TRUTH_CALL, label, op, size, 1, 0, sent, received);
}

/* One call without bytes. */
static UNUSED void called(const char *label, const char *op)
{
    carried(label, op, 0, 0, 0);
}

/* Bytes that are added to calls counted elsewhere: of MPI_Startall. */
static UNUSED void added(const char *label, const char *op, long long sent, long long received)
{
    truth_add(TRUTH_CALL, label, op, 0, 0, 0, sent, received);
}

/* A call that counts in the first bucket by rule, once more by its own bytes. A program that states one states all of them. */
static UNUSED void own_size(const char *label, const char *op, long long size, long long sent, long long received)
{
    truth_add(TRUTH_SIZE, label, op, size, 1, 0, sent, received);
}

/* Bytes that are added to such calls. */
static UNUSED void own_size_added(const char *label, const char *op, long long size, long long sent, long long received)
{
    truth_add(TRUTH_SIZE, label, op, size, 0, 0, sent, received);
}

/* The same of a form of this function, if it is one in which each rank may have another size: v or w. */
static UNUSED void own_size_of(const char *label, const char *op, const char *function, long long size, long long sent,
                               long long received)
{
    if (strchr("vw", function[strlen(function) - 1]))
        own_size(label, op, size, sent, received);
}

/* A request of this operation (null: nobody can tell) and size that a call completed, with what arrived from a rank of MPI_COMM_WORLD
 * (-1: the call completed several, or nothing arrived). A program that states one states all of them. */
static UNUSED void completed_request(const char *label, const char *op, const char *started, long long size, int peer,
                                     long long bytes)
{
    char text[TEXT_LENGTH];
    snprintf(text, sizeof text, "%s %d", started ? started : "-", peer);
    truth_add_with(TRUTH_DONE, label, op, text, started ? size : 0, 1, 0, bytes, 0);
}

/* One call that returned an error. */
static UNUSED void failed(const char *label, const char *op, long long size)
{
    truth_add(TRUTH_CALL, label, op, size, 1, 1, 0, 0);
}

/* One message in the matrix, to a rank of MPI_COMM_WORLD. */
static UNUSED void edge(const char *label, const char *op, int destination, long long bytes)
{
    truth_add(TRUTH_EDGE, label, op, destination, 1, 0, bytes, 0);
}

/* A sending call: the call and its message. */
static UNUSED void sent(const char *label, const char *op, int destination, long long bytes)
{
    carried(label, op, bytes, bytes, 0);
    edge(label, op, destination, bytes);
}

/* A receiving call whose message has arrived. */
static UNUSED void received(const char *label, const char *op, long long bytes)
{
    carried(label, op, bytes, 0, bytes);
}

/* One communicator of a completion call that belongs to "*". */
static UNUSED void involved(const char *label, const char *op)
{
    truth_add(TRUTH_INVOLVED, label, op, 0, 1, 0, 0, 0);
}

/* One datatype argument of a call; only looked at where the run records datatypes. */
static UNUSED void described(const char *label, const char *op, const char *datatype, int contiguous, long long bytes)
{
    truth_add_with(TRUTH_USE, label, op, datatype, contiguous, 1, 0, bytes, 0);
}

/* The place of a communicator among those this process was given: at the call for MPI_Comm_idup, else when it returns. */
static UNUSED int next_ordinal(void)
{
    pthread_mutex_lock(&truth_lock);
    int ordinal = ++truth_ordinal;
    pthread_mutex_unlock(&truth_lock);
    return ordinal;
}

/* For `made_as`, where threads race for the places: the profile's name for the label is taken as it is. */
enum { ANY_ORDINAL = 1 << 30 };

static struct truth_comm *truth_given(MPI_Comm comm, const char *label, const char *creator, const char *parent,
                                      int ordinal)
{
    struct truth_comm *entry = calloc(1, sizeof *entry);
    EXPECT(comm != MPI_COMM_NULL && strlen(label) < LABEL_LENGTH && strlen(parent) < LABEL_LENGTH);
    strcpy(entry->label, label);
    strcpy(entry->parent, parent);
    entry->creator = creator, entry->ordinal = ordinal, entry->handle = comm;
    int inter, remote = 0;
    PMPI_Comm_rank(comm, &entry->rank);
    PMPI_Comm_size(comm, &entry->size);
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &remote);
    entry->size += remote;
    pthread_mutex_lock(&truth_lock);
    entry->next = truth_comms, truth_comms = entry;
    pthread_mutex_unlock(&truth_lock);
    return entry;
}

/* A communicator this process was given, which keeps whatever name it has. */
static UNUSED void given(MPI_Comm comm, const char *label, const char *creator, const char *parent, int ordinal)
{
    truth_given(comm, label, creator, parent, ordinal);
}

/* As `given`, and named by MPI_Comm_set_name, which is a counted call. */
static UNUSED void made_as(MPI_Comm comm, const char *label, const char *creator, const char *parent, int ordinal)
{
    truth_given(comm, label, creator, parent, ordinal)->named = 1;
    MPI_Comm_set_name(comm, label);
    called(label, "MPI_Comm_set_name");
}

/* A communicator that the call `creator` over `parent` gave this process; MPI_COMM_NULL is counted as a call only. */
static UNUSED void made(MPI_Comm comm, const char *label, const char *creator, const char *parent)
{
    if (strcmp(parent, "-"))
        called(parent, creator);
    else
        called("-", creator);
    if (comm != MPI_COMM_NULL)
        made_as(comm, label, creator, parent, next_ordinal());
}

static struct truth_comm *truth_find(const char *label)
{
    struct truth_comm *entry = truth_comms;
    while (entry && strcmp(entry->label, label))
        entry = entry->next;
    EXPECT(entry);
    return entry;
}

/* Frees a communicator that has a label. */
static UNUSED void free_comm(MPI_Comm *comm, const char *label)
{
    pthread_mutex_lock(&truth_lock);
    truth_find(label)->freed = 1;
    pthread_mutex_unlock(&truth_lock);
    MPI_Comm_free(comm);
    called(label, "MPI_Comm_free");
}

/* World rank of a rank of a communicator; of an intercommunicator, of a rank of the remote group. */
static UNUSED int world_rank_of(MPI_Comm comm, int rank)
{
    MPI_Group world, group;
    int inter, found;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_group(comm, &group);
    else
        PMPI_Comm_group(comm, &group);
    PMPI_Group_translate_ranks(group, 1, &rank, world, &found);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return found;
}

/* Formats a label into one of a few buffers, for use within one statement. */
static UNUSED const char *label_of(const char *format, ...)
{
    static __thread char texts[8][LABEL_LENGTH];
    static __thread int turn;
    char *text = texts[turn++ % 8];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, LABEL_LENGTH, format, arguments);
    va_end(arguments);
    return text;
}

static UNUSED void truth_begin(const char *op)
{
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    called("WORLD", op);
}

static UNUSED void truth_init(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    truth_begin("MPI_Init");
}

/* The same of a program that may call from several threads at once. */
static UNUSED void truth_init_threaded(int *argc, char ***argv)
{
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    EXPECT(provided == MPI_THREAD_MULTIPLE);
    truth_begin("MPI_Init_thread");
}

/* Writes the log of this process; nothing may be stated afterwards. */
static UNUSED void truth_write(void)
{
    const char *folder = getenv("TRUTH_DIR");
    if (!folder)
        return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", folder, world_rank);
    FILE *file = fopen(path, "w");
    EXPECT(file);
    for (int slot = 0; slot < TRUTH_SLOTS; slot++)
        for (struct truth_row *row = truth_rows[slot]; row; row = row->next)
            switch (row->kind) {
            case TRUTH_CALL:
                fprintf(file, "call\t%s\t%s\t%lld\t%lld\t%lld\t%lld\t%lld\t%s\n", row->label, row->op, row->key,
                        row->calls, row->failed, row->sent, row->received, row->text);
                break;
            case TRUTH_EDGE:
                fprintf(file, "edge\t%s\t%s\t%lld\t%lld\t%lld\n", row->label, row->op, row->key, row->calls, row->sent);
                break;
            case TRUTH_INVOLVED:
                fprintf(file, "involved\t%s\t%s\t%lld\n", row->label, row->op, row->calls);
                break;
            case TRUTH_SIZE:
                fprintf(file, "size\t%s\t%s\t%lld\t%lld\t%lld\t%lld\n", row->label, row->op, row->key, row->calls,
                        row->sent, row->received);
                break;
            case TRUTH_DONE:
                fprintf(file, "done\t%s\t%s\t%s\t%lld\t%lld\t%lld\n", row->label, row->op, row->text, row->key,
                        row->calls, row->sent);
                break;
            case TRUTH_FILE:
                fprintf(file, "file\t%s\t%s\t%s\t%lld\t%lld\t%lld\t%lld\t%lld\n", row->label, row->op, row->text, row->key,
                        row->calls, row->failed, row->sent, row->received);
                break;
            case TRUTH_USE:
                fprintf(file, "use\t%s\t%s\t%s\t%lld\t%lld\t%lld\n", row->label, row->op, row->text, row->key,
                        row->calls, row->sent);
                break;
            }
    for (struct truth_comm *entry = truth_comms; entry; entry = entry->next)
        fprintf(file, "comm\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", entry->label, entry->creator, entry->parent,
                entry->ordinal, entry->rank, entry->size, entry->named, entry->freed);
    EXPECT(fclose(file) == 0);
}

static UNUSED void truth_finalize(void)
{
    called("WORLD", "MPI_Finalize");
    truth_write();
    MPI_Finalize();
}

#endif
