/* Delete functions of attributes that use the communicator that is being freed, and make others of it: so many that the profiler's
 * tables grow meanwhile. */
#include "truth.h"

enum { ROUNDS = 6, KEPT = 60 };

static char outer_label[LABEL_LENGTH];
static MPI_Comm kept[ROUNDS * KEPT];
static char kept_labels[ROUNDS * KEPT][LABEL_LENGTH];
static int made_so_far, freed_within;

static void use(MPI_Comm comm, const char *label)
{
    MPI_Barrier(comm);
    called(label, "MPI_Barrier");
}

static int delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)key, (void)value, (void)state;
    use(comm, outer_label);
    for (int i = 0; i < KEPT; i++) {
        int at = made_so_far++;
        strcpy(kept_labels[at], label_of("kept %d", at + freed_within));
        MPI_Comm_dup(comm, &kept[at]);
        made(kept[at], kept_labels[at], "MPI_Comm_dup", outer_label);
    }
    use(comm, outer_label);
    use(kept[made_so_far - 1], kept_labels[made_so_far - 1]);
    /* A further free within. Its label is not used again. */
    made_so_far--, freed_within++;
    free_comm(&kept[made_so_far], kept_labels[made_so_far]);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key;
    truth_init(&argc, &argv);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &key, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm outer, plain;
        strcpy(outer_label, label_of("outer %d", round));
        MPI_Comm_dup(MPI_COMM_WORLD, &outer);
        made(outer, outer_label, "MPI_Comm_dup", "WORLD");
        if (round % 2)
            use(outer, outer_label);
        PMPI_Comm_set_attr(outer, key, NULL);
        free_comm(&outer, outer_label);
        /* Most likely under the handle that has just been freed. */
        const char *label = label_of("plain %d", round);
        MPI_Comm_dup(MPI_COMM_WORLD, &plain);
        made(plain, label, "MPI_Comm_dup", "WORLD");
        use(plain, label);
        free_comm(&plain, label);
    }
    while (made_so_far-- > 0) {
        use(kept[made_so_far], kept_labels[made_so_far]);
        free_comm(&kept[made_so_far], kept_labels[made_so_far]);
    }
    truth_finalize();
    return 0;
}
