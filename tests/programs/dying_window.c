/* A delete function of an attribute uses the window that is being freed. */
#include "truth.h"

static int use(MPI_Win win, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    MPI_Win_fence(0, win);
    called("pair", "MPI_Win_fence");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    MPI_Comm pair;
    MPI_Win win;
    int memory[4], key;
    MPI_Comm_dup(MPI_COMM_WORLD, &pair);
    made(pair, "pair", "MPI_Comm_dup", "WORLD");
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, pair, &win);
    called("pair", "MPI_Win_create");
    PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, use, &key, NULL);
    PMPI_Win_set_attr(win, key, NULL);
    MPI_Win_free(&win);
    called("pair", "MPI_Win_free");
    truth_finalize();
    return 0;
}
