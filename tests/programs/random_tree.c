/* random_tree SEED STEPS: makes, uses and frees communicators at random. All processes draw the same plan from the
 * seed and follow it in one order, so nothing can deadlock; only the order in which pending duplicates are completed is
 * each process's own. */
#include "truth.h"

#include <stdint.h>

enum { MOST_RANKS = 8, MOST_ALIVE = 20, MOST_PENDING = 3, MOST_NODES = 4000 };

static uint64_t plan_state, own_state;

/* xorshift64* (Vigna 2016): the same numbers everywhere. */
static uint64_t draw_from(uint64_t *state)
{
    *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1DULL >> 33;
}

/* Known to all: every process must draw alike, whether it takes part in the step or not. */
static int plan(int below)
{
    return (int)(draw_from(&plan_state) % (uint64_t)below);
}

static int own(int below)
{
    return (int)(draw_from(&own_state) % (uint64_t)below);
}

/* A communicator of the plan. Every process knows all of them, and holds the handles of those it is a member of. */
struct node {
    char label[LABEL_LENGTH];
    const char *creator;
    int parent;                   /* the node it was made from */
    int members[2][MOST_RANKS];   /* world ranks; the second group is empty but for an intercommunicator */
    int count[2];
    int columns;                  /* of a grid, else 0 */
    int alive, pending, ordinal;  /* pending: a duplicate that is not complete */
    MPI_Comm handle;
    MPI_Request request;
};

static struct node nodes[MOST_NODES];
static int node_count, step;
enum { RINGS = 4 };
static char buffer[2][1 << 17], inbox[RINGS][1 << 17];

static int rank_in(const struct node *node, int group)
{
    for (int rank = 0; rank < node->count[group]; rank++)
        if (node->members[group][rank] == world_rank)
            return rank;
    return -1;
}

static int is_inter(const struct node *node)
{
    return node->count[1] > 0;
}

static int takes_part(const struct node *node)
{
    return rank_in(node, 0) >= 0 || rank_in(node, 1) >= 0;
}

/* A node that is alive; `kind` 0: any, 1: intracommunicator, 2: intercommunicator. -1 if there is none. */
static int choose(int kind)
{
    int found[MOST_NODES], count = 0;
    for (int i = 0; i < node_count; i++)
        if (nodes[i].alive && !nodes[i].pending && (kind == 0 || is_inter(&nodes[i]) == (kind == 2)))
            found[count++] = i;
    return count ? found[plan(count)] : -1;
}

static int alive(void)
{
    int count = 0;
    for (int i = 0; i < node_count; i++)
        count += nodes[i].alive;
    return count;
}

static struct node *add(const char *creator, int parent)
{
    EXPECT(node_count < MOST_NODES);
    struct node *node = &nodes[node_count++];
    *node = (struct node){.creator = creator, .parent = parent, .alive = 1, .handle = MPI_COMM_NULL};
    return node;
}

/* Gives the node its label, once its members are known. */
static void name(struct node *node)
{
    static int number;
    snprintf(node->label, LABEL_LENGTH, "%d: %s", number++, node->creator + strlen("MPI_"));
}

/* What this process got from a creating call over `parent`: one of the nodes made since, or nothing. */
static void settle(const struct node *parent, const char *creator, int first, MPI_Comm handle)
{
    for (int i = first; i < node_count; i++)
        if (takes_part(&nodes[i])) {
            EXPECT(handle != MPI_COMM_NULL);
            nodes[i].handle = handle;
            made(handle, nodes[i].label, creator, parent->label);
            return;
        }
    EXPECT(handle == MPI_COMM_NULL);
    made(MPI_COMM_NULL, "", creator, parent->label);
}

static void copy_members(struct node *to, const struct node *from)
{
    memcpy(to->members, from->members, sizeof to->members);
    memcpy(to->count, from->count, sizeof to->count);
}

static void duplicate(int at)
{
    int first = node_count;
    struct node *node = add("MPI_Comm_dup", at), *parent = &nodes[at];
    copy_members(node, parent);
    node->columns = parent->columns;
    name(node);
    if (!takes_part(parent))
        return;
    MPI_Comm handle;
    MPI_Comm_dup(parent->handle, &handle);
    settle(parent, "MPI_Comm_dup", first, handle);
}

static void begin_duplicate(int at)
{
    struct node *node = add("MPI_Comm_idup", at), *parent = &nodes[at];
    copy_members(node, parent);
    name(node);
    node->pending = 1;
    node->request = MPI_REQUEST_NULL;
    if (!takes_part(parent))
        return;
    MPI_Comm_idup(parent->handle, &node->handle, &node->request);
    called(parent->label, "MPI_Comm_idup");
    node->ordinal = next_ordinal();
}

/* Charged to one communicator, or to several. */
static void charge(const char *op, const char *const *labels, int count)
{
    int distinct = 0;
    const char *seen[64];
    for (int i = 0; i < count; i++) {
        int known = 0;
        for (int j = 0; j < distinct; j++)
            known |= !strcmp(seen[j], labels[i]);
        if (!known)
            seen[distinct++] = labels[i];
    }
    called(distinct == 0 ? "-" : distinct == 1 ? seen[0] : "*", op);
    if (distinct > 1)
        for (int i = 0; i < distinct; i++)
            involved(seen[i], op);
}

/* Completes all pending duplicates, each process in its own order and manner. */
static void complete_duplicates(void)
{
    int mine[MOST_PENDING], count = 0;
    for (int i = 0; i < node_count; i++)
        if (nodes[i].pending && takes_part(&nodes[i]))
            mine[count++] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = own(i + 1), kept = mine[i];
        mine[i] = mine[j], mine[j] = kept;
    }
    MPI_Request requests[MOST_PENDING];
    const char *labels[MOST_PENDING];
    for (int i = 0; i < count; i++) {
        requests[i] = nodes[mine[i]].request;
        labels[i] = nodes[nodes[mine[i]].parent].label;
    }
    switch (own(3)) {
    case 0:
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        charge("MPI_Waitall", labels, count);
        break;
    case 1:
        for (int i = 0; i < count; i++) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            called(labels[i], "MPI_Wait");
        }
        break;
    default:
        for (int flag = 0; !flag;) {
            MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
            charge("MPI_Testall", labels, count);
        }
    }
    for (int i = 0; i < count; i++) {
        struct node *node = &nodes[mine[i]];
        made_as(node->handle, node->label, "MPI_Comm_idup", nodes[node->parent].label, node->ordinal);
    }
    for (int i = 0; i < node_count; i++)
        nodes[i].pending = 0;
}

static int pending(void)
{
    int count = 0;
    for (int i = 0; i < node_count; i++)
        count += nodes[i].pending;
    return count;
}

/* Colors 0 and 1 and MPI_UNDEFINED (2), random keys. With `halves` the first half is 0 and the second 1. */
static void split(int at, int halves)
{
    struct node *parent = &nodes[at];
    int size = parent->count[0], colors[MOST_RANKS], keys[MOST_RANKS], first = node_count;
    for (int rank = 0; rank < size; rank++) {
        colors[rank] = halves ? rank >= size / 2 : plan(3);
        keys[rank] = halves ? 0 : plan(4);
    }
    for (int color = 0; color < 2; color++) {
        struct node made = {.count = {0}};
        for (int key = 0; key < 4; key++)
            for (int rank = 0; rank < size; rank++)
                if (colors[rank] == color && keys[rank] == key)
                    made.members[0][made.count[0]++] = parent->members[0][rank];
        if (made.count[0]) {
            struct node *node = add("MPI_Comm_split", at);
            copy_members(node, &made);
            name(node);
        }
    }
    int rank = rank_in(parent, 0);
    if (rank < 0)
        return;
    MPI_Comm handle;
    MPI_Comm_split(parent->handle, colors[rank] == 2 ? MPI_UNDEFINED : colors[rank], keys[rank], &handle);
    settle(parent, "MPI_Comm_split", first, handle);
}

/* Some of the parent's ranks, rotated; at least one. */
static int subset(const struct node *parent, int *ranks)
{
    int size = parent->count[0], start = plan(size), count = 0, chosen = plan(size);
    for (int i = 0; i < size; i++) {
        int rank = (start + i) % size, in = plan(2);
        if (in || rank == chosen)
            ranks[count++] = rank;
    }
    return count;
}

static void from_group(int at, int by_members_only)
{
    const char *creator = by_members_only ? "MPI_Comm_create_group" : "MPI_Comm_create";
    struct node *parent = &nodes[at];
    int ranks[MOST_RANKS], count = subset(parent, ranks), first = node_count, tag = plan(2);
    struct node *node = add(creator, at);
    node->count[0] = count;
    for (int i = 0; i < count; i++)
        node->members[0][i] = parent->members[0][ranks[i]];
    name(node);
    if (!takes_part(by_members_only ? node : parent))
        return;
    MPI_Group all, group;
    MPI_Comm handle;
    PMPI_Comm_group(parent->handle, &all);
    PMPI_Group_incl(all, count, ranks, &group);
    if (by_members_only)
        MPI_Comm_create_group(parent->handle, group, tag, &handle);
    else
        MPI_Comm_create(parent->handle, group, &handle);
    PMPI_Group_free(&group);
    PMPI_Group_free(&all);
    settle(parent, creator, first, handle);
}

static void grid(int at)
{
    struct node *parent = &nodes[at];
    int columns = 1 + plan(2), rows = parent->count[0] / columns, first = node_count;
    int dims[] = {rows, columns}, periods[] = {plan(2), plan(2)};
    if (!rows)
        return;
    struct node *node = add("MPI_Cart_create", at);
    node->columns = columns;
    node->count[0] = rows * columns;
    memcpy(node->members[0], parent->members[0], sizeof node->members[0]);
    name(node);
    if (!takes_part(parent))
        return;
    MPI_Comm handle;
    MPI_Cart_create(parent->handle, 2, dims, periods, 0, &handle);
    settle(parent, "MPI_Cart_create", first, handle);
}

static void rows_of_grid(int at)
{
    struct node *parent = &nodes[at];
    int columns = parent->columns, first = node_count, keep[] = {0, 1};
    if (!columns || !strcmp(parent->creator, "MPI_Comm_dup"))
        return;
    for (int row = 0; row < parent->count[0] / columns; row++) {
        struct node *node = add("MPI_Cart_sub", at);
        node->count[0] = columns;
        memcpy(node->members[0], parent->members[0] + row * columns, columns * sizeof(int));
        name(node);
    }
    if (!takes_part(parent))
        return;
    MPI_Comm handle;
    MPI_Cart_sub(parent->handle, keep, &handle);
    settle(parent, "MPI_Cart_sub", first, handle);
}

/* Splits a communicator into halves and joins these by an intercommunicator. */
static void bridge(int at)
{
    if (nodes[at].count[0] < 2)
        return;
    split(at, 1);
    struct node *halves = &nodes[node_count - 2], *parent = &nodes[at];
    int first = node_count, tag = plan(3);
    struct node *node = add("MPI_Intercomm_create", -1);
    for (int side = 0; side < 2; side++) {
        node->count[side] = halves[side].count[0];
        memcpy(node->members[side], halves[side].members[0], sizeof node->members[side]);
    }
    name(node);
    int side = rank_in(node, 1) >= 0;
    if (!takes_part(node))
        return;
    MPI_Comm handle;
    MPI_Intercomm_create(halves[side].handle, 0, parent->handle, side ? 0 : parent->count[0] / 2, tag, &handle);
    settle(&halves[side], "MPI_Intercomm_create", first, handle);
}

static void merge(int at)
{
    struct node *parent = &nodes[at];
    int high = plan(2), first = node_count;
    struct node *node = add("MPI_Intercomm_merge", at);
    for (int turn = 0; turn < 2; turn++) {
        int group = turn ^ high;
        memcpy(node->members[0] + node->count[0], parent->members[group], parent->count[group] * sizeof(int));
        node->count[0] += parent->count[group];
    }
    name(node);
    if (!takes_part(parent))
        return;
    MPI_Comm handle;
    int side = rank_in(parent, 1) >= 0;
    MPI_Intercomm_merge(parent->handle, side ^ high, &handle);
    settle(parent, "MPI_Intercomm_merge", first, handle);
}

static void give_up(int at)
{
    struct node *node = &nodes[at];
    if (at == 0)
        return;
    if (pending())
        complete_duplicates();
    node->alive = 0;
    if (takes_part(node))
        free_comm(&node->handle, node->label);
}

static int size_of_message(void)
{
    const int sizes[] = {0, 8, 128, 136, 1024, 1032, 8000, 70000};
    return sizes[plan(8)];
}

static void collective(int at)
{
    struct node *node = &nodes[at];
    int kind = plan(is_inter(node) ? 2 : 5), bytes = size_of_message(), root = plan(node->count[0]);
    if (!takes_part(node))
        return;
    int rank = rank_in(node, 0), size = node->count[0], at_root = rank == root;
    switch (kind) {
    case 0:
        MPI_Barrier(node->handle);
        called(node->label, "MPI_Barrier");
        break;
    case 1:
        MPI_Allreduce(buffer[0], buffer[1], bytes / 8, MPI_DOUBLE, MPI_MAX, node->handle);
        carried(node->label, "MPI_Allreduce", bytes, bytes, bytes);
        break;
    case 2:
        MPI_Bcast(buffer[0], bytes, MPI_BYTE, root, node->handle);
        carried(node->label, "MPI_Bcast", bytes, at_root ? bytes : 0, at_root ? 0 : bytes);
        break;
    case 3:
        MPI_Reduce(buffer[0], buffer[1], bytes / 8, MPI_DOUBLE, MPI_SUM, root, node->handle);
        carried(node->label, "MPI_Reduce", bytes, bytes, at_root ? bytes : 0);
        break;
    default:
        MPI_Gather(buffer[0], 80, MPI_BYTE, buffer[1], 80, MPI_BYTE, root, node->handle);
        carried(node->label, "MPI_Gather", 80, 80, at_root ? 80 * size : 0);
    }
}

static void ring(int at)
{
    struct node *node = &nodes[at];
    int bytes = size_of_message(), rank = rank_in(node, 0), size = node->count[0];
    if (rank < 0)
        return;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Sendrecv(buffer[0], bytes, MPI_BYTE, right, 1, buffer[1], sizeof buffer[1], MPI_BYTE, left, 1, node->handle,
                 MPI_STATUS_IGNORE);
    carried(node->label, "MPI_Sendrecv", bytes, bytes, bytes);
    edge(node->label, "MPI_Sendrecv", node->members[0][right], bytes);
}

/* Messages around rings of several communicators, all in flight at once. */
static void many_rings(void)
{
    MPI_Request requests[2 * RINGS];
    const char *labels[2 * RINGS];
    int count = 0, manner = plan(3);
    for (int i = 0; i < RINGS; i++) {
        struct node *node = &nodes[choose(1)];
        int bytes = size_of_message(), rank = rank_in(node, 0), size = node->count[0];
        if (rank < 0)
            continue;
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        MPI_Irecv(inbox[i], sizeof inbox[i], MPI_BYTE, left, i, node->handle, &requests[count]);
        received(node->label, "MPI_Irecv", bytes);
        labels[count++] = node->label;
        MPI_Isend(buffer[0], bytes, MPI_BYTE, right, i, node->handle, &requests[count]);
        sent(node->label, "MPI_Isend", node->members[0][right], bytes);
        labels[count++] = node->label;
    }
    if (manner == 0) {
        for (int i = 0; i < count; i++) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            called(labels[i], "MPI_Wait");
        }
    } else if (manner == 1) {
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        charge("MPI_Waitall", labels, count);
    } else {
        /* Completed requests stay in their places as MPI_REQUEST_NULL. Where requests share a handle their order in
         * the list is all that tells them apart. */
        for (int left = count; left; left--) {
            const char *active[2 * RINGS];
            int index, found = 0;
            for (int i = 0; i < count; i++)
                if (requests[i] != MPI_REQUEST_NULL)
                    active[found++] = labels[i];
            MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
            charge("MPI_Waitany", active, found);
        }
    }
}

static void take_step(void)
{
    int kind = plan(22), inter = choose(2), intra = choose(1), any = choose(0);
    if (alive() > MOST_ALIVE)
        kind = 10;
    /* What MPI libraries handle worst is a creation while duplicates are pending: they are completed first. */
    int creates = kind <= 9 && kind != 1;
    if (pending() && creates)
        complete_duplicates();
    switch (kind) {
    case 0: duplicate(any); break;
    case 1:
        if (pending() < MOST_PENDING)
            begin_duplicate(intra);
        break;
    case 2: case 3: split(intra, 0); break;
    case 4: from_group(intra, 0); break;
    case 5: from_group(intra, 1); break;
    case 6: grid(intra); break;
    case 7: rows_of_grid(intra); break;
    case 8: bridge(intra); break;
    case 9:
        if (inter >= 0)
            merge(inter);
        break;
    case 10: case 11: case 12: give_up(any); break;
    case 13:
        if (pending())
            complete_duplicates();
        break;
    case 14: case 15: case 16: collective(any); break;
    case 17: case 18: ring(intra); break;
    default: many_rings();
    }
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(argc == 3 && world_size <= MOST_RANKS);
    plan_state = strtoull(argv[1], NULL, 10) * 2654435761u + 88172645463325252ULL;
    own_state = plan_state + 977 * (world_rank + 1);
    struct node *world = add("MPI_COMM_WORLD", -1);
    strcpy(world->label, "WORLD");
    world->handle = MPI_COMM_WORLD;
    world->count[0] = world_size;
    for (int rank = 0; rank < world_size; rank++)
        world->members[0][rank] = rank;
    for (step = 0; step < atoi(argv[2]); step++)
        take_step();
    if (pending())
        complete_duplicates();
    truth_finalize();
    return 0;
}
