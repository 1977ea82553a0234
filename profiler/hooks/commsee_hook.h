/* commsee_hook.h: how a hook module tells commsee what happened below or beside MPI.
 *
 * A module is a shared object that is preloaded beside libcommsee.so and knows one layer: UCX, NCCL, a GPU. It finds these functions
 * by dlsym(RTLD_DEFAULT, …), so that it loads and steps aside where libcommsee.so is not. docs/reference/hooks.md explains them.
 *
 * All functions may be called by any thread at any time, also inside of MPI calls, and neither call MPI nor end the program. Numbers
 * that they give mean something in this process only. Strings are copied; null is the same as "". Times are nanoseconds.
 *
 * Each struct begins with its size, which the module sets (sizeof): fields that are added later stand behind those that a module knows,
 * and the core reads and writes no further than the module's struct goes. */
#ifndef COMMSEE_HOOK_H
#define COMMSEE_HOOK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when something here changes its meaning. */
#define COMMSEE_HOOK_VERSION 1u
/* How many modules a process may have. */
#define COMMSEE_HOOK_MODULES 8

/* Why commsee_hook_open gives no module. */
#define COMMSEE_HOOK_OTHER_VERSION (-1)
#define COMMSEE_HOOK_NOT_WANTED (-2) /* COMMSEE_HOOKS does not name it, or commsee is disabled */
#define COMMSEE_HOOK_NO_ROOM (-3)

/* Announces a module by the name that stands in COMMSEE_HOOKS, best in its constructor: in MPI_Init the user is told which modules are
 * missing. Returns its number, 0 to 7, or one of the negative reasons. */
int32_t commsee_hook_open(uint32_t version, const char *module);

/* The program uses the layer. In a process that has not called MPI_Init or MPI_Session_init so far counting begins then, and ends when it exits: for
 * layers that programs without MPI use. A layer that MPI libraries use by themselves must not say so. Returns 1 if anything is counted, else 0. */
int32_t commsee_hook_begin(int32_t module);

/* A word of this thread that belongs to the module, 0 at first and kept as long as the process: threads that end leave theirs to
 * others that start. Null before the end of MPI_Init or commsee_hook_begin, and from the begin of MPI_Finalize on: then nothing is counted any more. */
uint64_t *commsee_hook_word(int32_t module);

/* The call that a thread is in: the MPI call, and in it, or without one, the innermost call of a layer (commsee_hook_enter). */
typedef struct commsee_hook_call {
    uint32_t size;
    uint32_t comm;      /* this process's number of the MPI communicator; 0 is none */
    uint16_t operation; /* number of the MPI operation; COMMSEE_HOOK_NO_OPERATION outside of MPI */
    uint8_t flags;      /* COMMSEE_HOOK_TRACED */
    uint8_t reserved;
    uint32_t thread;    /* number of the thread in its process */
    uint64_t sequence;  /* of the MPI call; ascends in each thread */
    uint32_t context;   /* the layer communicator and the layer call that counts are stored with: commsee_hook_on changes it */
    /* The innermost layer call; zeros without one. */
    uint32_t layer_route;        /* what was given to commsee_hook_enter */
    uint32_t layer_communicator;
    uint32_t layer_module;
    uint64_t layer_sequence;
} commsee_hook_call;

#define COMMSEE_HOOK_NO_OPERATION 0xffffu
/* Events are wanted, too: commsee_hook_event. */
#define COMMSEE_HOOK_TRACED 1u

/* The call that this thread is in, or none. Returns 1; or 0, and fills in nothing, where what begins now shall not be counted:
 * when commsee_hook_word gives null, and between MPI_Pcontrol(0) and (1). What began before may still be counted there. */
int32_t commsee_hook_here(commsee_hook_call *call);

/* What moves along a route: reports add up what has one role, and never two. */
#define COMMSEE_HOOK_NO_ROLE 0u
#define COMMSEE_HOOK_MESSAGE 1u /* what the layer was asked to move: a message of UCP, a collective of NCCL */
#define COMMSEE_HOOK_WIRE 2u    /* what it moved for that, packet by packet */
#define COMMSEE_HOOK_DEVICE 3u  /* what a device did by itself: copies, kernels */

/* How a layer moves data. All are names as the layer itself has them; what it has none for stays null. */
typedef struct commsee_hook_route {
    uint32_t size;
    uint32_t flags;        /* COMMSEE_HOOK_ARRIVES */
    const char *layer;     /* such as "ucp" */
    const char *function;  /* such as "ucp_tag_send_nbx" */
    const char *protocol;  /* such as "eager" */
    const char *transport; /* such as "tcp" */
    const char *device;    /* such as "eth0" */
    const char *kind;      /* of the device: "network", "memory", "gpu", "self" */
    const char *scope;     /* the layer's own group of processes, where it is no communicator */
    uint32_t role;         /* COMMSEE_HOOK_MESSAGE, COMMSEE_HOOK_WIRE, COMMSEE_HOOK_DEVICE */
    uint32_t reserved;
    const char *memory;    /* where the data lie in this process, such as "host", "cuda0" */
} commsee_hook_route;

/* Data that came from the peer. Without it, data that this process moved, to the peer or from it. */
#define COMMSEE_HOOK_ARRIVES 1u

/* The number of a route, above 0; the same for the same names. 0: there is no memory, or there are 4096 already. */
uint32_t commsee_hook_route_number(int32_t module, const commsee_hook_route *route);

/* Processes are known to a layer by identities of its own (64 bits that no two processes of a job share): a process tells its own,
 * any number of them, and gets a number above 0 for those of others. World ranks are found when all processes meet. */
void commsee_hook_self(int32_t module, uint64_t identity);
uint32_t commsee_hook_peer(int32_t module, uint64_t identity);

/* A communicator of the layer. It is named after the world rank of its rank 0 and that process's counter, as MPI's are, with the
 * layer's name in front: nccl:i0.0. */
typedef struct commsee_hook_communicator {
    uint32_t size;
    uint32_t ranks;       /* how many it has. 0: not known; then the processes that tell it are its ranks, in their order */
    uint64_t identity[2]; /* the same in all its processes, and in no other communicator of the module */
    const char *label;    /* what the program calls it */
    uint32_t rank;        /* this process's rank in it */
    uint32_t root;        /* the world rank of its rank 0, or COMMSEE_HOOK_UNKNOWN */
    uint32_t parent;      /* the layer's communicator that it was made from, by the number given here; 0 is none */
    uint32_t parent_comm; /* the MPI communicator that it was made from, as in commsee_hook_call; 0 is none */
    char letter;          /* of what made it, such as 'i' for an init, 's' for a split */
    char reserved[7];
    const char *layer;    /* whose it is, where a module watches several libraries; null: the module's own name */
} commsee_hook_communicator;

#define COMMSEE_HOOK_UNKNOWN 0xffffffffu

/* The number of a communicator, above 0; the same for the same identity and rank, which a process may tell for several ranks of its
 * own. To be told as soon as it is there: the order is that of its counter. 0: there is no memory. */
uint32_t commsee_hook_communicator_number(int32_t module, const commsee_hook_communicator *communicator);

/* It was freed. What is counted on it by the same number afterwards still belongs to it. */
void commsee_hook_communicator_freed(int32_t module, uint32_t communicator);

/* The thread enters a call of the layer: the function by a route that has its name, its communicator (0: none), and whatever number the
 * layer gives the call. What is counted in it, by whatever module, is stored with it. Returns what the end of the call is told by. An
 * exception or a longjmp may leave the call without: it ends when the call that it was made in ends, or the stack has become shorter. */
uint32_t commsee_hook_enter(int32_t module, uint32_t route, uint32_t communicator, uint64_t sequence);
void commsee_hook_leave(uint32_t entered);

/* Charges what is counted for a call to a communicator of the layer, beside the MPI call or, outside of MPI, in its place. */
void commsee_hook_on(commsee_hook_call *call, uint32_t communicator);

/* With call sites, the memory that the program allocated at one site is an object. A module that sees allocations tells where they lie, in
 * the call that made them, as long as they live; and what moves from an address to another counts for the objects that these lie in. 0, or an
 * address in none, is no object. */
void commsee_hook_allocated(int32_t module, const commsee_hook_call *call, uint64_t address, uint64_t bytes);
void commsee_hook_freed(uint64_t address);
void commsee_hook_moves(commsee_hook_call *call, uint64_t source, uint64_t target);

/* Not timed: done when the call returned. */
#define COMMSEE_HOOK_AT_ONCE UINT64_MAX

/* Counts one operation of a layer, caused by a call: by the bucket of size_bytes, with so many bytes, and with the nanoseconds from its
 * begin to its completion, or COMMSEE_HOOK_AT_ONCE. Route and peer may be 0: not known. */
void commsee_hook_count(const commsee_hook_call *call, uint32_t route, uint32_t peer, uint64_t size_bytes, uint64_t bytes,
                        uint64_t duration_ns);

/* The clock of durations and events: CLOCK_MONOTONIC, read in fewer instructions. Only differences of two readings are exact. */
uint64_t commsee_hook_now_ns(void);

/* Puts an operation on the timeline, if the call is traced. */
void commsee_hook_event(const commsee_hook_call *call, uint32_t route, uint32_t peer, uint64_t bytes, uint64_t begin_ns, uint64_t end_ns);

/* A counter of this thread, by which what commsee_hook_count adds up can be added without a search. It stays as long as the process, and
 * belongs to what counts for the communicator, the operation and the context of the call that it was asked for, whenever that is. Only
 * the thread that asked may add to it, and only while `state` of its commsee_hook_thread is not 0. */
typedef struct commsee_hook_counter {
    uint32_t size;
    uint32_t timed;      /* 1: behind `counted` lies what COMMSEE_HOOK_EXACT_NS tells of */
    uint64_t size_low;   /* the sizes that it counts, both included */
    uint64_t size_high;
    uint64_t *counted;   /* operations and bytes: what was done at once may be added here; else commsee_hook_add */
} commsee_hook_counter;

/* Where a counter is timed, counted[2] and counted[3] are the operations that took their time, and their nanoseconds; in counted[4] lie two
 * uint32_t, the shortest duration and the longest. An operation that took less than this, and neither less than the shortest nor more
 * than the longest, may be added there, to all four. All others: commsee_hook_add. */
#define COMMSEE_HOOK_EXACT_NS (UINT64_C(1) << 27)

/* The counter of what commsee_hook_count would count with these. Returns 1; or 0, and fills in nothing, where there is none. */
int32_t commsee_hook_counter_of(const commsee_hook_call *call, uint32_t route, uint32_t peer, uint64_t size_bytes,
                                commsee_hook_counter *counter);

/* Adds one operation to such a counter. */
void commsee_hook_add(uint64_t *counted, uint64_t bytes, uint64_t duration_ns);

/* The latest MPI call of a thread on one level. */
typedef struct commsee_hook_in_flight {
    uint64_t operation; /* from bit 16 on: the operation, and what `comm` is */
    uint64_t comm;
    uint64_t begin; /* the sequence number */
    uint64_t end;   /* less than begin while the thread is in the call */
    uint64_t reserved[4];
} commsee_hook_in_flight;

/* What commsee_hook_here answers from, to be read at any time by the thread itself. Two answers are the same but for the sequence number where
 * *state is 2, *outside is the thread's own, the outer call is in flight and the inner one is not, and `operation` (from bit 16 on) and
 * `comm` of the outer call are the same, and so is *epoch. */
typedef struct commsee_hook_thread {
    uint32_t size;
    uint32_t reserved;
    const uint64_t *owner;              /* the thread's thread pointer (fs on x86-64, tpidr_el0 on AArch64); 0 once it has ended */
    const uint64_t *outside;            /* the same, but 0 while the thread may be in a call of a layer */
    const uint8_t *state;               /* 2: counting. 1: MPI_Pcontrol(0). 0: commsee_hook_word gives null */
    const uint32_t *epoch;              /* another one when *state changed, and when a communicator was made or freed */
    const commsee_hook_in_flight *call; /* the outer call, and behind it the one that was made within that */
    const uint64_t *tick_factor;        /* nanoseconds in 2^32 ticks of the processor's counter; 0: ask commsee_hook_now_ns */
} commsee_hook_thread;

/* Fills that in. Returns 0 where commsee_hook_word gives null. */
int32_t commsee_hook_thread_of(commsee_hook_thread *thread);

/* Changes *epoch of all threads, where what a module remembers beside it has changed. */
void commsee_hook_renew(void);

/* Has a function called before counting ends (in MPI_Finalize, at the end of the last session) and before a snapshot is taken: it
 * collects what is complete by now, and counts it. It runs in the thread that makes that call, under no lock, and not where the process
 * dies. Each module has one; null takes it back. */
void commsee_hook_drain(int32_t module, void (*drain)(void *argument), void *argument);

/* A fact that every report shall show: a version, what the module cannot see. Each is kept once. */
void commsee_hook_note(int32_t module, const char *text);

#ifdef __cplusplus
}
#endif

#endif
