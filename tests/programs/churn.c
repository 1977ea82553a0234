/* churn CYCLES ALIVE [own]: communicators made and freed, most of them under the same handle; then many alive at once. With `own` each rank
 * makes the first ones by itself, and waits for nobody. */
#include "truth.h"

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    EXPECT(argc == 3 || argc == 4);
    int is_own = argc == 4;
    const char *parent = is_own ? "SELF" : "WORLD";
    for (int cycle = 0; cycle < atoi(argv[1]); cycle++) {
        MPI_Comm comm;
        const char *label = is_own ? label_of("own %d of %d", cycle, world_rank) : label_of("%d", cycle);
        MPI_Comm_dup(is_own ? MPI_COMM_SELF : MPI_COMM_WORLD, &comm);
        called(parent, "MPI_Comm_dup");
        given(comm, label, "MPI_Comm_dup", parent, next_ordinal());
        if (cycle % 100 == 0) {
            MPI_Barrier(comm);
            called(label, "MPI_Barrier");
        }
        free_comm(&comm, label);
    }
    enum { MOST = 2000 };
    static MPI_Comm comms[MOST];
    int alive = atoi(argv[2]);
    EXPECT(alive <= MOST);
    for (int i = 0; i < alive; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        called("WORLD", "MPI_Comm_dup");
        given(comms[i], label_of("alive %d", i), "MPI_Comm_dup", "WORLD", next_ordinal());
    }
    for (int i = alive - 1; i >= 0; i--) {
        int one = 1, sum;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
        carried(label_of("alive %d", i), "MPI_Allreduce", 4, 4, 4);
    }
    for (int i = 0; i < alive; i += 2)
        free_comm(&comms[i], label_of("alive %d", i));
    truth_finalize();
    return 0;
}
