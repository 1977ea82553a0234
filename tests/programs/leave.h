/* Leaves a call by a jump out of a handler of a signal, at an instruction of the profiler's. */
#include "steps.h"
#include <setjmp.h>

static sigjmp_buf back;
/* How many instructions there were so far, and at which one it jumps. */
static volatile int steps, target;

#ifdef __x86_64__
static void jump(ucontext_t *at)
{
    (void)at;
    if (++steps == target) {
        is_stepping = 0;
        siglongjmp(back, 1);
    }
}
#endif

static inline void begin_leaving(void)
{
#ifdef __x86_64__
    begin_steps(jump);
#endif
}

/* Whether the call was left, which it is at the instruction that `target` says, if it takes so many. */
static inline int leave(void (*call)(void))
{
    steps = 0;
    if (sigsetjmp(back, 1)) return 1;
    step(call);
    return 0;
}
