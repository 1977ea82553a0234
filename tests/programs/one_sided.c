/* Large one-sided operations with datatypes that are not in one piece, between neighbours in a ring. Every rank looks at all that it read
 * and at all that was written into its window: only its left neighbour does so, hence there is one right result. Puts and gets; with the
 * argument "accumulate" accumulates, too. */
#include "truth.h"

enum { MOST = 65536, LARGEST_BLOCK = 3 };
enum sync { FENCE, LOCK, FLUSH, SYNCS };
enum shape { DENSE, STRIDED, SPARSE, SHAPES };

/* Where element k of a datatype lies, in elements; its extent is less than ROOM. */
enum { ROOM = 4 * MOST + 16 };
static int place[SHAPES][MOST];
static long long *window, *out, *in, *wanted;
static int left, right, accumulates;
static MPI_Win win;

static long long value(int rank, int seed, int k)
{
    return 1000003LL * seed + 7919LL * rank + k;
}

static MPI_Datatype made_of(enum shape shape, int count)
{
    MPI_Datatype type;
    if (shape == DENSE) {
        for (int k = 0; k < count; k++)
            place[shape][k] = k;
        MPI_Type_contiguous(count, MPI_LONG_LONG, &type);
    } else if (shape == STRIDED) {
        for (int k = 0; k < count; k++)
            place[shape][k] = 2 * k;
        MPI_Type_vector(count, 1, 2, MPI_LONG_LONG, &type);
    } else {
        /* Blocks of 1, 2 and 3 elements, with gaps between them that grow and shrink. */
        int *lengths = malloc((size_t)count * sizeof *lengths), *starts = malloc((size_t)count * sizeof *starts);
        int blocks = 0, element = 0, next = 0;
        EXPECT(lengths && starts);
        while (element < count) {
            int length = 1 + blocks % LARGEST_BLOCK;
            if (length > count - element)
                length = count - element;
            next += 1 + blocks % 2;
            starts[blocks] = next, lengths[blocks] = length;
            for (int k = 0; k < length; k++)
                place[shape][element++] = next++;
            blocks++;
        }
        MPI_Type_indexed(blocks, lengths, starts, MPI_LONG_LONG, &type);
        free(lengths), free(starts);
    }
    MPI_Type_commit(&type);
    EXPECT(place[shape][count - 1] < ROOM);
    return type;
}

static void begin(enum sync sync)
{
    if (sync == FENCE)
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    else if (sync == LOCK)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    else
        MPI_Win_lock_all(0, win);
}

static void between(enum sync sync)
{
    if (sync == FENCE)
        MPI_Win_fence(0, win);
    else
        MPI_Win_flush(right, win);
}

static void end(enum sync sync)
{
    if (sync == FENCE)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    else if (sync == LOCK)
        MPI_Win_unlock(right, win);
    else
        MPI_Win_unlock_all(win);
}

static void fill(long long *memory, long long with)
{
    for (int k = 0; k < ROOM; k++)
        memory[k] = with;
}

/* As `fill`, of the own window, before anybody writes there. */
static void prepare(long long with)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, win);
    fill(window, with);
    MPI_Win_unlock(world_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void look(const long long *found)
{
    for (int k = 0; k < ROOM; k++)
        if (found[k] != wanted[k]) {
            fprintf(stderr, "rank %d, element %d: %lld instead of %lld\n", world_rank, k, found[k], wanted[k]);
            EXPECT(found[k] == wanted[k]);
        }
}

/* Once the left neighbour's operations are complete. */
static void look_at_window(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, win);
    look(window);
    MPI_Win_unlock(world_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The sum of three, in this order: the second one tells what was there before it. */
static void accumulate(MPI_Datatype here, MPI_Datatype there, enum shape near, enum shape far, int count, enum sync sync, int seed)
{
    prepare(5);
    begin(sync);
    MPI_Accumulate(out, 1, here, right, 0, 1, there, MPI_SUM, win);
    fill(in, -3);
    MPI_Get_accumulate(out, 1, here, in, 1, here, right, 0, 1, there, MPI_SUM, win);
    MPI_Accumulate(out, 1, here, right, 0, 1, there, MPI_SUM, win);
    end(sync);
    fill(wanted, -3);
    for (int k = 0; k < count; k++)
        wanted[place[near][k]] = 5 + value(world_rank, seed, k);
    look(in);
    fill(wanted, 5);
    for (int k = 0; k < count; k++)
        wanted[place[far][k]] = 5 + 3 * value(left, seed, k);
    look_at_window();
}

/* All operations with one datatype here, another there, and one kind of synchronization. */
static void round_of(enum shape near, enum shape far, int count, enum sync sync, int seed)
{
    MPI_Datatype here = made_of(near, count), there = made_of(far, count);

    fill(out, -1);
    for (int k = 0; k < count; k++)
        out[place[near][k]] = value(world_rank, seed, k);

    prepare(-2);
    begin(sync);
    MPI_Put(out, 1, here, right, 0, 1, there, win);
    between(sync);
    fill(in, -3);
    MPI_Get(in, 1, here, right, 0, 1, there, win);
    end(sync);
    fill(wanted, -3);
    for (int k = 0; k < count; k++)
        wanted[place[near][k]] = value(world_rank, seed, k);
    look(in);
    fill(wanted, -2);
    for (int k = 0; k < count; k++)
        wanted[place[far][k]] = value(left, seed, k);
    look_at_window();

    if (accumulates)
        accumulate(here, there, near, far, count, sync, seed);
    MPI_Type_free(&here);
    MPI_Type_free(&there);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 64, 1024, 4096, 16384, MOST};
    int seed = 0;

    MPI_Init(&argc, &argv);
    accumulates = argc > 1 && !strcmp(argv[1], "accumulate");
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    right = (world_rank + 1) % world_size;
    left = (world_rank + world_size - 1) % world_size;
    out = malloc(ROOM * sizeof *out), in = malloc(ROOM * sizeof *in), wanted = malloc(ROOM * sizeof *wanted);
    EXPECT(out && in && wanted);
    MPI_Win_allocate(ROOM * sizeof *window, sizeof *window, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        for (enum sync sync = FENCE; sync < SYNCS; sync++)
            for (enum shape near = DENSE; near < SHAPES; near++)
                for (enum shape far = DENSE; far < SHAPES; far++)
                    round_of(near, far, counts[i], sync, ++seed);
    MPI_Win_free(&win);
    free(out), free(in), free(wanted);
    MPI_Finalize();
    return 0;
}
