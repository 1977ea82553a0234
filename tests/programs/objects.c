/* objects: memory of a GPU that there is not, allocated on different lines, and copies between them, for any ranks; tests/profiled/objects.rs has the rows.
 * `many`: more allocations than are known. */
#include "truth.h"
#include "standin_cupti.h"

enum { FIELD = 8 << 20, HALO = 64 << 10, SHARED = 1 << 20, MANY = 20000 };
static const uint32_t HOST = 0xffffffff;
static uint64_t field[3], halo, shared;

static int deleted(MPI_Comm freed, int key, void *value, void *extra)
{
    (void)freed, (void)key, (void)value, (void)extra;
    standin_move(DTOD, DEVICE, DEVICE, field[0], field[2] + FIELD - 1, 1000);
    return MPI_SUCCESS;
}

static void in_a_call(void)
{
    int key;
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Comm_set_attr(other, key, NULL);
    MPI_Comm_free(&other);
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv)
{
    char pageable[100];
    uint64_t here = (uint64_t)(uintptr_t)pageable;
    EXPECT(standin_start());
    for (int at = 0; at < 3; at++)
        field[at] = standin_allocate(DEVICE, FIELD);
    MPI_Init(&argc, &argv);
    halo = standin_allocate(PINNED, HALO);
    shared = standin_allocate(MANAGED, SHARED);
    for (int round = 0; round < 5; round++)
        standin_move(HTOD, PINNED, DEVICE, halo, field[0] + 4096, HALO);
    standin_move(HTOD, PAGEABLE, DEVICE, here, field[1], 100);
    standin_move_2d(DTOH, DEVICE, PINNED, field[2], halo + 64, 640);
    standin_move_2d(DTOH, DEVICE, PAGEABLE, field[2], here, 64);
    in_a_call();
    /* Behind the last byte, and freed. */
    standin_move(HTOD, PAGEABLE, DEVICE, here, field[2] + FIELD, 10);
    uint64_t gone = standin_allocate(DEVICE, 512);
    standin_free(DEVICE, gone);
    standin_move(HTOD, PAGEABLE, DEVICE, here, gone, 20);
    uint64_t again = standin_allocate(DEVICE, 512);
    EXPECT(again == gone);
    standin_move(DTOD, DEVICE, DEVICE, field[1], again, 512);
    standin_managed(1, 65536, shared, HOST, 0);
    standin_managed(2, 4096, shared + 8192, 0, HOST);
    standin_managed(8, 8192, shared, 0, 1);
    standin_managed(3, 0x401000, shared, HOST, HOST);
    standin_managed(4, 3, shared + 100, 1, 0);
    /* Memory that is thrashed. */
    standin_managed(5, 65536, shared, 3, 0);
    if (argc > 1)
        for (int at = 0; at < MANY; at++)
            standin_allocate(PINNED, 16);
    MPI_Finalize();
    return 0;
}
