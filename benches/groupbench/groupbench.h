/* groupbench for C and C++: messages between groups of ranks in steps, which a library of your choice moves.
 *
 * The program initializes MPI itself. Link with -lgroupbench, and compile with the mpicc that groupbench was built for.
 *
 *     groupbench *way;
 *     groupbench_create(MPI_COMM_WORLD, 4, "shared/twosided", &way);
 *     groupbench_add(way, 0, 0, given, 4, result, 1 << 20);      // step 0: 1 MiB from rank 0 to rank 4
 *     groupbench_prepare(way);
 *     memcpy(groupbench_at(way, given), data, 1 << 20);          // on rank 0
 *     groupbench_start(way, 0);
 *     groupbench_wait(way, 0);
 *     groupbench_free(&way);
 *
 * Ranks are those of the communicator. Functions that are collective are called by all of its ranks, in one order and with the same arguments;
 * they then fail on all ranks or on none. Errors of MPI itself end the job. One thread at a time uses a composition.
 */
#ifndef GROUPBENCH_H
#define GROUPBENCH_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What every function but groupbench_at and groupbench_error returns. */
enum {
    GROUPBENCH_OK = 0,
    /* An argument is wrong, or the function does not fit the state: nothing was done. */
    GROUPBENCH_ARGUMENT = 1,
    /* The library cannot move these messages. */
    GROUPBENCH_UNAVAILABLE = 2,
    /* There is no memory for the messages. */
    GROUPBENCH_MEMORY = 3,
    /* A mistake in groupbench. */
    GROUPBENCH_INTERNAL = 4
};

/* Steps of messages. */
typedef struct groupbench groupbench;

/* Memory of a rank: what it has to give, pieces on their way to another rank, and what arrives for good. A step sends from any of them,
 * and never writes to what is given. */
typedef enum { GROUPBENCH_GIVEN = 0, GROUPBENCH_RELAY = 1, GROUPBENCH_RESULT = 2 } groupbench_area;

typedef struct {
    groupbench_area area;
    uint64_t offset;
} groupbench_place;

/* Seconds of the slowest rank, over the executions that count. */
typedef struct {
    double min_s;
    double median_s;
    /* Bounds of the median at 95 %; not a number under six executions. */
    double ci_lo_s;
    double ci_hi_s;
    double mean_s;
    double p95_s;
    double max_s;
    uint64_t executions;
} groupbench_times;

/* What the last call of this thread that failed was about; empty if there was none. Valid until the next call. */
const char *groupbench_error(void);

/* Collective. Groups are `group_size` ranks each, in the order of ranks. `library` is a name as `groupbench run --library` takes it:
 * "twosided", "shared/twosided" (within groups / between them), "shared/twosided/put" (the third within groups, for what crossed before). */
int groupbench_create(MPI_Comm comm, int group_size, const char *library, groupbench **composition);

/* Adds a message to a step, which are numbered from 0. All ranks add all messages, in one order; before groupbench_prepare. */
int groupbench_add(groupbench *composition, int step, int source, groupbench_place from, int destination, groupbench_place to, uint64_t bytes);

/* Collective: makes memory for the messages, and prepares every step. Nothing can be added afterwards. */
int groupbench_prepare(groupbench *composition);

/* This rank's memory from a place on; NULL if no message of this rank reaches it. It lives as long as the composition. A rank writes what it gives
 * before it starts a step that sends it, and reads what arrives after it waited for the step. */
void *groupbench_at(groupbench *composition, groupbench_place place);

/* Collective, but no barrier: posts what this rank sends and receives in a step. Several steps may be under way. */
int groupbench_start(groupbench *composition, int step);

/* Completes this rank's part of a started step. */
int groupbench_wait(groupbench *composition, int step);

/* Collective, while no step is under way: how long all steps take, one after the other on each rank, without barriers between them. Executes them in memory of
 * their own until the interval of the median is within 2.5 % of it, at most 1000 times or for 2 s. */
int groupbench_measure(groupbench *composition, groupbench_times *times);

/* Collective, before MPI_Finalize and while no step is under way; sets the pointer to NULL. */
int groupbench_free(groupbench **composition);

#ifdef __cplusplus
}
#endif

#endif
