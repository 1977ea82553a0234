/* Every call that makes a communicator: who its members are, what it is called, what it was made from. */
#include "truth.h"

static MPI_Group group_of(MPI_Comm comm, int count, const int *ranks)
{
    MPI_Group all, group;
    PMPI_Comm_group(comm, &all);
    PMPI_Group_incl(all, count, ranks, &group);
    PMPI_Group_free(&all);
    return group;
}

/* A call over the communicator, so that it has a row of its own. */
static void use(MPI_Comm comm, const char *label)
{
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Barrier(comm);
    called(label, "MPI_Barrier");
}

static void duplicates(void)
{
    MPI_Comm plain, informed, again, own, left;
    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    made(plain, "plain", "MPI_Comm_dup", "WORLD");
    MPI_Comm_dup_with_info(plain, MPI_INFO_NULL, &informed);
    made(informed, "informed", "MPI_Comm_dup_with_info", "plain");
    MPI_Comm_dup(plain, &again);
    made(again, "again", "MPI_Comm_dup", "plain");
    use(again, "again");
    free_comm(&plain, "plain");
    /* The child of a communicator that is gone. */
    MPI_Comm_dup(again, &left);
    made(left, "left", "MPI_Comm_dup", "again");
    use(left, "left");
    MPI_Comm_disconnect(&again);
    called("again", "MPI_Comm_disconnect");
    truth_find("again")->freed = 1;
    use(informed, "informed");
    const char *label = label_of("own %d", world_rank);
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    made(own, label, "MPI_Comm_dup", "SELF");
    use(own, label);
    use(MPI_COMM_SELF, "SELF");
    free_comm(&own, label);
    /* Whatever a name holds, it is text. */
    MPI_Comm odd;
    label = "it's \"odd\"; DROP -- \xc3\xbc \\ %s ,";
    MPI_Comm_dup(MPI_COMM_WORLD, &odd);
    made(odd, label, "MPI_Comm_dup", "WORLD");
    free_comm(&odd, label);
    MPI_Comm_set_name(left, "for a moment");
    called("left", "MPI_Comm_set_name");
    MPI_Comm_set_name(left, "left");
    called("left", "MPI_Comm_set_name");
}

static MPI_Comm second;

/* Several in flight over two parents, `each` over each, completed in an order that differs from rank to rank. Crossed:
 * begun in such an order as well; with more than one each that hangs under Open MPI 4.1.4, which needs no profiler. */
static void pending_duplicates(int each, int crossed)
{
    const char *const parents[] = {"WORLD", "second"};
    MPI_Comm parent[2] = {MPI_COMM_WORLD, second}, comms[8];
    MPI_Request requests[8];
    int ordinals[8], seen[2] = {0}, all = 2 * each;
    for (int i = 0; i < all; i++) {
        int which = (i + (crossed ? world_rank : 0)) % 2;
        int at = which * each + seen[which]++;
        MPI_Comm_idup(parent[which], &comms[at], &requests[at]);
        called(parents[which], "MPI_Comm_idup");
        ordinals[at] = next_ordinal();
    }
    if (world_rank % 2) {
        for (int i = all - 1; i >= 0; i--) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            called(parents[i / each], "MPI_Wait");
        }
    } else {
        for (int pending[] = {each, each}; pending[0] + pending[1];) {
            int index;
            MPI_Waitany(all, requests, &index, MPI_STATUS_IGNORE);
            if (pending[0] && pending[1]) {
                called("*", "MPI_Waitany");
                involved("WORLD", "MPI_Waitany");
                involved("second", "MPI_Waitany");
            } else {
                called(parents[pending[1] > 0], "MPI_Waitany");
            }
            pending[index / each]--;
        }
    }
    for (int i = 0; i < all; i++) {
        const char *label = label_of("pending %d of %d", i, all);
        made_as(comms[i], label, "MPI_Comm_idup", parents[i / each], ordinals[i]);
        use(comms[i], label);
        free_comm(&comms[i], label);
    }
}

static void given_later(MPI_Comm *comm, MPI_Request *request, const char *parent)
{
    int ordinal = next_ordinal();
    MPI_Wait(request, MPI_STATUS_IGNORE);
    called(parent, "MPI_Wait");
    given(*comm, "nameless idup", "MPI_Comm_idup", parent, ordinal);
}

static void late_duplicates(void)
{
    /* One that is begun before others are made and is completed after them. */
    MPI_Comm late, between;
    MPI_Request request;
    MPI_Comm_idup(second, &late, &request);
    called("second", "MPI_Comm_idup");
    int ordinal = next_ordinal(), flag = 0;
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &between);
    made(between, "between", "MPI_Comm_split", "WORLD");
    while (!flag) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        called("second", "MPI_Test");
    }
    made_as(late, "late", "MPI_Comm_idup", "second", ordinal);
    use(late, "late");
    /* A name is not passed on to a duplicate. */
    MPI_Comm nameless;
    MPI_Comm_idup(late, &nameless, &request);
    called("late", "MPI_Comm_idup");
    given_later(&nameless, &request, "late");
    MPI_Comm_dup(late, &nameless);
    called("late", "MPI_Comm_dup");
    given(nameless, "nameless dup", "MPI_Comm_dup", "late", next_ordinal());
#if MPI_VERSION >= 4
    MPI_Comm told;
    MPI_Comm_idup_with_info(second, MPI_INFO_NULL, &told, &request);
    called("second", "MPI_Comm_idup_with_info");
    ordinal = next_ordinal();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    called("second", "MPI_Wait");
    made_as(told, "told", "MPI_Comm_idup_with_info", "second", ordinal);
    use(told, "told");
#endif
}

static void splits(void)
{
    MPI_Comm comm, part, node;
    /* Backwards, and the last process stays out. */
    int out = world_rank == world_size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, out ? MPI_UNDEFINED : 0, -world_rank, &comm);
    made(comm, "backwards", "MPI_Comm_split", "WORLD");
    EXPECT(out == (comm == MPI_COMM_NULL));
    use(comm, "backwards");
    if (!out) {
        const char *label = label_of("third %d", world_rank % 3);
        MPI_Comm_split(comm, world_rank % 3, world_rank, &part);
        made(part, label, "MPI_Comm_split", "backwards");
        use(part, label);
    }
    /* The same call again: a communicator of its own. */
    const char *half = label_of("half %d", world_rank % 2);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &part);
    made(part, half, "MPI_Comm_split", "WORLD");
    use(part, half);
    half = label_of("half again %d", world_rank % 2);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &part);
    made(part, half, "MPI_Comm_split", "WORLD");
    use(part, half);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    const char *of_node = label_of("node of %d", world_rank_of(node, 0));
    made(node, of_node, "MPI_Comm_split_type", "WORLD");
    use(node, of_node);
    MPI_Comm_split_type(MPI_COMM_WORLD, world_rank ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0, MPI_INFO_NULL, &node);
    of_node = label_of("node of %d without 0", node == MPI_COMM_NULL ? 0 : world_rank_of(node, 0));
    made(node, of_node, "MPI_Comm_split_type", "WORLD");
    use(node, of_node);
}

static void groups(void)
{
    MPI_Comm comm;
    /* Everyone calls, two groups are told, the first process is in neither where there are enough. */
    int first = world_size > 2, mine[16], count = 0;
    for (int rank = world_size - 1; rank >= first; rank--)
        if (rank % 2 == world_rank % 2)
            mine[count++] = rank;
    if (first && world_rank == 0)
        count = 0;
    MPI_Group group = group_of(MPI_COMM_WORLD, count, mine);
    const char *label = label_of("created %d", world_rank % 2);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    made(comm, label, "MPI_Comm_create", "WORLD");
    use(comm, label);
    PMPI_Group_free(&group);

    /* Only members call; both groups at the same time and with the same tag. */
    count = 0;
    for (int rank = 0; rank < world_size; rank++)
        if (rank % 2 == world_rank % 2)
            mine[count++] = rank;
    group = group_of(MPI_COMM_WORLD, count, mine);
    for (int turn = 0; turn < 2; turn++) {
        label = label_of("together %d.%d", world_rank % 2, turn);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comm);
        made(comm, label, "MPI_Comm_create_group", "WORLD");
        use(comm, label);
    }
    PMPI_Group_free(&group);

    /* Overlapping: each process with its neighbour below, then above, told apart by the tag. */
    for (int low = 0; low + 1 < world_size; low++) {
        if (world_rank != low && world_rank != low + 1)
            continue;
        int pair[] = {low + 1, low};
        group = group_of(MPI_COMM_WORLD, 2, pair);
        label = label_of("pair %d", low);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 100 + low, &comm);
        made(comm, label, "MPI_Comm_create_group", "WORLD");
        use(comm, label);
        PMPI_Group_free(&group);
    }
}

static void topologies(void)
{
    MPI_Comm grid, row, graph;
    /* Two columns; with an odd number of processes one is left over. */
    int dims[] = {world_size / 2, 2}, periods[] = {1, 0}, keep[] = {0, 1};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    made(grid, "grid", "MPI_Cart_create", "WORLD");
    if (grid != MPI_COMM_NULL) {
        int coordinates[2], rank;
        PMPI_Comm_rank(grid, &rank);
        PMPI_Cart_coords(grid, rank, 2, coordinates);
        const char *label = label_of("row %d", coordinates[0]);
        MPI_Cart_sub(grid, keep, &row);
        made(row, label, "MPI_Cart_sub", "grid");
        use(row, label);
        use(grid, "grid");
    }
    int fewer[] = {world_size - 1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, fewer, periods, 0, &grid);
    made(grid, "leftover", "MPI_Cart_create", "WORLD");
    EXPECT((grid == MPI_COMM_NULL) == (world_rank == world_size - 1));
    use(grid, "leftover");

    /* Two processes that know each other; the others are left over. */
    int index[] = {1, 2}, edges[] = {1, 0};
    MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &graph);
    made(graph, "graph", "MPI_Graph_create", "WORLD");
    EXPECT((graph == MPI_COMM_NULL) == (world_rank > 1));
    use(graph, "graph");

    int left = (world_rank + world_size - 1) % world_size, right = (world_rank + 1) % world_size, one = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &graph);
    made(graph, "adjacent", "MPI_Dist_graph_create_adjacent", "WORLD");
    use(graph, "adjacent");
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &world_rank, &one, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    made(graph, "distributed", "MPI_Dist_graph_create", "WORLD");
    use(graph, "distributed");
}

static void between_groups(void)
{
    MPI_Comm side, bridge, another, both, all;
    int upper = world_rank >= (world_size + 1) / 2;
    const char *label = label_of("side %d", upper);
    /* Backwards, so that the leaders are not who is lowest. */
    MPI_Comm_split(MPI_COMM_WORLD, upper, -world_rank, &side);
    made(side, label, "MPI_Comm_split", "WORLD");
    int leaders[] = {(world_size + 1) / 2 - 1, world_size - 1};
    for (int turn = 0; turn < 2; turn++) {
        MPI_Comm *comm = turn ? &another : &bridge;
        const char *name = turn ? "second bridge" : "bridge";
        MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, leaders[1 - upper], 11, comm);
        made(*comm, name, "MPI_Intercomm_create", label);
        use(*comm, name);
    }
    MPI_Comm_dup(bridge, &both);
    made(both, "bridge's double", "MPI_Comm_dup", "bridge");
    use(both, "bridge's double");
    free_comm(&both, "bridge's double");
    free_comm(&another, "second bridge");
    MPI_Intercomm_merge(bridge, upper, &all);
    made(all, "merged", "MPI_Intercomm_merge", "bridge");
    use(all, "merged");
    MPI_Intercomm_merge(bridge, !upper, &all);
    made(all, "merged the other way", "MPI_Intercomm_merge", "bridge");
    use(all, "merged the other way");
    /* The even ranks of both sides, and the odd ones where both sides have some. */
    if (world_size >= 4) {
        int rank;
        PMPI_Comm_rank(bridge, &rank);
        label = label_of("part of bridge %d", rank % 2);
        MPI_Comm_split(bridge, rank % 2, 0, &another);
        made(another, label, "MPI_Comm_split", "bridge");
        use(another, label);
    }
    /* Pairs of lone processes, all at the same time with one tag. */
    if (world_size % 2 == 0) {
        label = label_of("couple %d", world_rank / 2);
        MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, world_rank ^ 1, 11, &another);
        made(another, label, "MPI_Intercomm_create", "SELF");
        use(another, label);
    }
}

/* Without any communicator to start from (MPI-4). */
static void from_groups(void)
{
#if MPI_VERSION >= 4
    MPI_Session session;
    MPI_Group group, half;
    MPI_Comm comm;
    PMPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    PMPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    for (int turn = 0; turn < 2; turn++) {
        const char *label = label_of("from group %d", turn);
        MPI_Comm_create_from_group(group, "one tag", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        made(comm, label, "MPI_Comm_create_from_group", "-");
        use(comm, label);
        free_comm(&comm, label);
    }
    /* Two disjoint groups at the same time. */
    int mine[16], count = 0;
    for (int rank = world_size - 1; rank >= 0; rank--)
        if (rank % 2 == world_rank % 2)
            mine[count++] = rank;
    PMPI_Group_incl(group, count, mine, &half);
    const char *label = label_of("from half %d", world_rank % 2);
    MPI_Comm_create_from_group(half, "another tag", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    made(comm, label, "MPI_Comm_create_from_group", "-");
    use(comm, label);
    free_comm(&comm, label);
    PMPI_Group_free(&half);
    PMPI_Group_free(&group);
    PMPI_Session_finalize(&session);
#endif
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(world_size >= 2 && world_size <= 16);
    duplicates();
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    made(second, "second", "MPI_Comm_dup", "WORLD");
    pending_duplicates(3, 0);
    pending_duplicates(1, 1);
    late_duplicates();
    splits();
    groups();
    topologies();
    between_groups();
    from_groups();
    truth_finalize();
    return 0;
}
