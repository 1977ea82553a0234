/* Single steps: a handler of a signal at each instruction of the profiler's. On x86-64 only; elsewhere calls are made as they are. What the
 * profiler calls, such as the MPI library, runs at its own pace. */
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#ifdef __x86_64__
enum { TRAP_FLAG = 0x100 };
static size_t low, high;
static volatile int is_stepping;
/* At an instruction of the profiler's, where it holds back no signals. */
static void (*at_step)(ucontext_t *at);
static int was_inside;

/* To where functions that the profiler calls return, and what takes the place of that: steps go on behind it. */
size_t step_return_to;
void step_on(void);
__asm__("step_on: pushq step_return_to(%rip); pushfq; orq $0x100, (%rsp); popfq; ret");

static int find_profiler(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(info->dlpi_name, "libcommsee.so")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            high = low + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static void on_step(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    size_t place = (size_t)at->uc_mcontext.gregs[REG_RIP];
    (void)number, (void)info;
    if (!is_stepping) {
        at->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        return;
    }
    int is_inside = place >= low && place < high;
    size_t *top = (size_t *)at->uc_mcontext.gregs[REG_RSP];
    if (!is_inside && was_inside && *top >= low && *top < high) {
        step_return_to = *top;
        *top = (size_t)step_on;
        at->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    }
    was_inside = is_inside;
    if (is_inside && !sigismember(&at->uc_sigmask, SIGUSR1)) at_step(at);
}

static void begin_steps(void (*handler)(ucontext_t *at))
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    dl_iterate_phdr(find_profiler, NULL);
    at_step = handler;
}

static void step(void (*call)(void))
{
    is_stepping = 1;
    was_inside = 0;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    call();
    is_stepping = 0;
}
#else
static void step(void (*call)(void)) { call(); }
#endif
