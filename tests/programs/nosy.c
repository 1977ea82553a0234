/* nosy.so: stands in front of functions of the C library, as tools and runtimes do, and keeps a record. What another process calls that
 * shares the memory would be in it. The record is written to $TRUTH_DIR/nosy-PID. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static long own;
static volatile int strangers;

static void look(void)
{
    if (own && syscall(SYS_getpid) != own)
        strangers++;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
    look();
    return REAL(sigaction)(number, new, old);
}

int sigprocmask(int how, const sigset_t *new, sigset_t *old)
{
    look();
    return REAL(sigprocmask)(how, new, old);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    look();
    return REAL(open)(path, flags, mode);
}

int close(int descriptor)
{
    look();
    return REAL(close)(descriptor);
}

pid_t setsid(void)
{
    look();
    return REAL(setsid)();
}

int execve(const char *path, char *const arguments[], char *const environment[])
{
    look();
    return REAL(execve)(path, arguments, environment);
}

void _exit(int status)
{
    look();
    for (;;)
        syscall(SYS_exit_group, status);
}

__attribute__((constructor)) static void begin(void)
{
    own = syscall(SYS_getpid);
}

__attribute__((destructor)) static void end(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/nosy-%ld", getenv("TRUTH_DIR") ? getenv("TRUTH_DIR") : ".", own);
    FILE *record = fopen(path, "w");
    if (!record)
        return;
    fprintf(record, "%d", strangers);
    fclose(record);
}
