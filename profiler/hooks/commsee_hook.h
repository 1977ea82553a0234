/* commsee_hook.h: how a hook module tells commsee what happened below MPI.
 *
 * A module is a shared object that is preloaded beside libcommsee.so and knows one layer: UCX, NCCL, a GPU. It finds these functions
 * by dlsym(RTLD_DEFAULT, …), so that it loads and steps aside where libcommsee.so is not. docs/reference/hooks.md explains them.
 *
 * All functions may be called by any thread at any time, also inside of MPI calls, and neither call MPI nor end the program. Numbers
 * that they give mean something in this process only. Strings are copied; null is the same as "". */
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

/* The MPI call that a thread is in. */
typedef struct commsee_hook_call {
    uint32_t comm;      /* this process's number of the communicator; 0 is none */
    uint16_t operation; /* number of the operation; COMMSEE_HOOK_NO_OPERATION outside of MPI */
    uint8_t flags;      /* COMMSEE_HOOK_TRACED */
    uint8_t reserved;
    uint64_t sequence;  /* of the call; ascends in each thread */
    uint32_t thread;    /* number of the thread in its process */
    uint32_t reserved_too;
} commsee_hook_call;

#define COMMSEE_HOOK_NO_OPERATION 0xffffu
/* Events are wanted, too: commsee_hook_event. */
#define COMMSEE_HOOK_TRACED 1u

/* How a layer moved data. All are names as the layer itself has them; what it has none for stays null. */
typedef struct commsee_hook_way {
    const char *layer;     /* such as "ucp" */
    const char *function;  /* such as "ucp_tag_send_nbx" */
    const char *protocol;  /* such as "eager" */
    const char *transport; /* such as "tcp" */
    const char *device;    /* such as "eth0" */
    const char *kind;      /* of the device: "network", "memory", "gpu", "self" */
    const char *scope;     /* the layer's own group of processes */
    uint32_t flags;        /* COMMSEE_HOOK_ARRIVES */
} commsee_hook_way;

/* Data that came from the peer. Without it, data that this process moved, to the peer or from it. */
#define COMMSEE_HOOK_ARRIVES 1u

/* Announces a module by the name that stands in COMMSEE_HOOKS, best in its constructor: in MPI_Init the user is told which modules are
 * missing. Returns its number, 0 to 7, or one of the negative reasons. */
int32_t commsee_hook_open(uint32_t version, const char *module);

/* A word of this thread that belongs to the module, 0 at first and kept as long as the process: threads that end leave theirs to
 * others that start. Null before the end of MPI_Init and from the begin of MPI_Finalize on: then nothing is counted any more. */
uint64_t *commsee_hook_word(int32_t module);

/* The MPI call that this thread is in, or none. Returns 1; or 0, and fills in nothing, where what begins now shall not be counted:
 * when commsee_hook_word gives null, and between MPI_Pcontrol(0) and (1). What began before may still be counted there. */
int32_t commsee_hook_here(commsee_hook_call *call);

/* The number of a way, above 0; the same for the same names. 0: there is no memory. */
uint32_t commsee_hook_way_number(int32_t module, const commsee_hook_way *way);

/* Processes are known to a layer by identities of its own (64 bits that no two processes of a job share): a process tells its own,
 * any number of them, and gets a number above 0 for those of others. World ranks are found when all processes meet. */
void commsee_hook_self(int32_t module, uint64_t identity);
uint32_t commsee_hook_peer(int32_t module, uint64_t identity);

/* Not timed: done when the call returned. */
#define COMMSEE_HOOK_AT_ONCE UINT64_MAX

/* Counts one operation of a layer, caused by an MPI call: by the bucket of size_bytes, with so many bytes, and with the ticks from its
 * begin to its completion, or COMMSEE_HOOK_AT_ONCE. Way and peer may be 0: not known. */
void commsee_hook_count(const commsee_hook_call *call, uint32_t way, uint32_t peer, uint64_t size_bytes, uint64_t bytes, uint64_t ticks);

/* The clock of sequence numbers, ticks and events. */
uint64_t commsee_hook_ticks(void);

/* Puts an operation on the timeline, if the call is traced. */
void commsee_hook_event(const commsee_hook_call *call, uint32_t way, uint32_t peer, uint64_t bytes, uint64_t begin_ticks, uint64_t end_ticks);

/* A fact that every report shall show: a version, what the module cannot see. Each is kept once. */
void commsee_hook_note(int32_t module, const char *text);

#ifdef __cplusplus
}
#endif

#endif
