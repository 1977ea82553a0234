/* Makes the system fail for commsee alone: preloaded behind it, these functions look at who calls, and what others call is
 * passed on as it is. The environment says what fails:
 *   BROKEN_FUNCTION  its name here; "memory" is all that gives memory
 *   BROKEN_ERROR     the errno, or 0: less is read or written than was asked for
 *   BROKEN_CALL      which of commsee's calls of it, from 1
 *   BROKEN_TIMES     how many calls from that one on
 *   BROKEN_RANK      on which rank; unset: on all
 *   BROKEN_DIES      the call does not fail: the process is killed in it
 *   BROKEN_PLANT     a file: open does not fail, but finds a symbolic link to that file in the place of its own
 *   BROKEN_COUNTS    a folder that gets a file per process: how often commsee called each function */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FUNCTIONS(_)                                                                                                   \
    _(open) _(posix_fallocate) _(mmap) _(munmap) _(write) _(pwrite) _(read) _(pread) _(fsync) _(rename) _(renameat2)    \
    _(linkat) _(unlink) _(close) _(fstat) _(stat) _(lstat) _(lseek) _(ftruncate) _(fcntl) _(getrandom)                  \
    _(process_vm_readv) _(getcwd) _(gethostname) _(statx) _(inheritable) _(memory)
#define AS_INDEX(name) OF_##name,
#define AS_NAME(name) #name,
enum function { FUNCTIONS(AS_INDEX) FUNCTION_COUNT };
static const char *const names[] = {FUNCTIONS(AS_NAME)};

static long calls[FUNCTION_COUNT];
static uintptr_t begin, end; /* commsee's code */
static long broken = -1, first, times, error;

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    if (!strstr(info->dlpi_name, "libcommsee"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            end = begin + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void prepare(void)
{
    long rank = number("OMPI_COMM_WORLD_RANK", number("PMI_RANK", -1));
    const char *function = getenv("BROKEN_FUNCTION");
    for (int i = 0; function && rank >= 0 && i < FUNCTION_COUNT; i++)
        if (!strcmp(function, names[i]) && number("BROKEN_RANK", rank) == rank)
            broken = i;
    first = number("BROKEN_CALL", 1), times = number("BROKEN_TIMES", 1), error = number("BROKEN_ERROR", EIO);
    if (rank >= 0)
        dl_iterate_phdr(find, NULL);
}

__attribute__((destructor)) static void tell(void)
{
    char path[4096];
    const char *folder = getenv("BROKEN_COUNTS");
    if (!folder || !end)
        return;
    snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < FUNCTION_COUNT; i++)
        fprintf(file, "%s %ld\n", names[i], calls[i]);
    if (file)
        fclose(file);
}

/* Whether this call is to fail. */
static int fails(enum function function, void *caller)
{
    if ((uintptr_t)caller < begin || (uintptr_t)caller >= end)
        return 0;
    long call = __atomic_add_fetch(&calls[function], 1, __ATOMIC_RELAXED);
    int is_broken = function == (enum function)broken && call >= first && call < first + times;
    if (is_broken && getenv("BROKEN_DIES"))
        raise(SIGKILL);
    return is_broken;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAILS(name) fails(OF_##name, __builtin_return_address(0))
#define FAIL_WITH(result) return errno = (int)error, (result)

static int mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, int) : 0;
}

static int planted(const char *path)
{
    const char *target = getenv("BROKEN_PLANT");
    /* Only in the test's own folder, in which the shards' is: root may replace any file of the system. */
    const char *shards = getenv("COMMSEE_DIR");
    const char *end = shards ? strrchr(shards, '/') : NULL;
    if (!target || !end || end == shards || strncmp(path, shards, end - shards + 1))
        return 0;
    REAL(unlink)(path);
    return symlink(target, path) == 0;
}

/* Descriptors that a child would inherit. */
static void count_inheritable(int flags, void *caller)
{
    if ((uintptr_t)caller >= begin && (uintptr_t)caller < end && !(flags & O_CLOEXEC))
        calls[OF_inheritable]++;
}

/* By the names that the C library has for them inside: looking for the real ones needs memory. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t number, size_t bytes);
void *__libc_realloc(void *place, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static int has_no_memory(void *caller)
{
    if (!fails(OF_memory, caller))
        return 0;
    errno = ENOMEM;
    return 1;
}
#define HAS_NO_MEMORY has_no_memory(__builtin_return_address(0))

void *malloc(size_t bytes)
{
    return HAS_NO_MEMORY ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    return HAS_NO_MEMORY ? NULL : __libc_calloc(number, bytes);
}

void *realloc(void *place, size_t bytes)
{
    return HAS_NO_MEMORY ? NULL : __libc_realloc(place, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return HAS_NO_MEMORY ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **place, size_t alignment, size_t bytes)
{
    void *given = HAS_NO_MEMORY ? NULL : __libc_memalign(alignment, bytes);
    if (!given)
        return ENOMEM;
    *place = given;
    return 0;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        int mode = mode_of(flags, arguments);                                                                          \
        va_end(arguments);                                                                                             \
        if (FAILS(open) && !planted(path))                                                                             \
            FAIL_WITH(-1);                                                                                             \
        count_inheritable(flags, __builtin_return_address(0));                                                                                             \
        return REAL(name)(path, flags, mode);                                                                          \
    }
OPEN(open)
OPEN(open64)

#define FCNTL(name)                                                                                                    \
    int name(int fd, int command, ...)                                                                                 \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, command);                                                                                  \
        void *argument = va_arg(arguments, void *);                                                                    \
        va_end(arguments);                                                                                             \
        if (FAILS(fcntl))                                                                                              \
            FAIL_WITH(-1);                                                                                             \
        return REAL(name)(fd, command, argument);                                                                      \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* A function that fails with errno and a result. */
#define SIMPLE(type, name, of, result, parameters, arguments)                                                          \
    type name parameters                                                                                               \
    {                                                                                                                  \
        if (FAILS(of))                                                                                                 \
            FAIL_WITH(result);                                                                                         \
        return REAL(name) arguments;                                                                                   \
    }
/* A function that moves bytes: it may move fewer. */
#define MOVING(name, of, parameters, arguments, fewer)                                                                 \
    ssize_t name parameters                                                                                            \
    {                                                                                                                  \
        int failing = FAILS(of);                                                                                       \
        if (failing && error)                                                                                          \
            FAIL_WITH(-1);                                                                                             \
        return failing && bytes > 1 ? REAL(name) fewer : REAL(name) arguments;                                         \
    }
SIMPLE(void *, mmap, mmap, MAP_FAILED, (void *at, size_t bytes, int access, int flags, int fd, off_t offset),
       (at, bytes, access, flags, fd, offset))
SIMPLE(void *, mmap64, mmap, MAP_FAILED, (void *at, size_t bytes, int access, int flags, int fd, off64_t offset),
       (at, bytes, access, flags, fd, offset))
SIMPLE(int, munmap, munmap, -1, (void *at, size_t bytes), (at, bytes))
SIMPLE(int, fsync, fsync, -1, (int fd), (fd))
SIMPLE(int, rename, rename, -1, (const char *from, const char *to), (from, to))
SIMPLE(int, renameat2, renameat2, -1, (int a, const char *from, int b, const char *to, unsigned flags),
       (a, from, b, to, flags))
SIMPLE(int, linkat, linkat, -1, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
SIMPLE(int, unlink, unlink, -1, (const char *path), (path))
SIMPLE(int, fstat, fstat, -1, (int fd, struct stat *status), (fd, status))
SIMPLE(int, fstat64, fstat, -1, (int fd, struct stat64 *status), (fd, status))
SIMPLE(int, stat, stat, -1, (const char *path, struct stat *status), (path, status))
SIMPLE(int, stat64, stat, -1, (const char *path, struct stat64 *status), (path, status))
SIMPLE(int, lstat, lstat, -1, (const char *path, struct stat *status), (path, status))
SIMPLE(int, lstat64, lstat, -1, (const char *path, struct stat64 *status), (path, status))
SIMPLE(int, statx, statx, -1, (int at, const char *path, int flags, unsigned mask, struct statx *status),
       (at, path, flags, mask, status))
SIMPLE(off_t, lseek, lseek, -1, (int fd, off_t offset, int from), (fd, offset, from))
SIMPLE(off64_t, lseek64, lseek, -1, (int fd, off64_t offset, int from), (fd, offset, from))
SIMPLE(int, ftruncate, ftruncate, -1, (int fd, off_t bytes), (fd, bytes))
SIMPLE(int, ftruncate64, ftruncate, -1, (int fd, off64_t bytes), (fd, bytes))
SIMPLE(char *, getcwd, getcwd, NULL, (char *place, size_t bytes), (place, bytes))
SIMPLE(int, gethostname, gethostname, -1, (char *place, size_t bytes), (place, bytes))
SIMPLE(ssize_t, process_vm_readv, process_vm_readv, -1,
       (pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from, unsigned long m, unsigned long f),
       (pid, to, n, from, m, f))
MOVING(write, write, (int fd, const void *from, size_t bytes), (fd, from, bytes), (fd, from, bytes / 2))
MOVING(pwrite, pwrite, (int fd, const void *from, size_t bytes, off_t at), (fd, from, bytes, at), (fd, from, bytes / 2, at))
MOVING(pwrite64, pwrite, (int fd, const void *from, size_t bytes, off64_t at), (fd, from, bytes, at),
       (fd, from, bytes / 2, at))
MOVING(read, read, (int fd, void *to, size_t bytes), (fd, to, bytes), (fd, to, bytes / 2))
MOVING(pread, pread, (int fd, void *to, size_t bytes, off_t at), (fd, to, bytes, at), (fd, to, bytes / 2, at))
MOVING(pread64, pread, (int fd, void *to, size_t bytes, off64_t at), (fd, to, bytes, at), (fd, to, bytes / 2, at))

/* By its number, which old C libraries have no function for. */
long syscall(long number, ...)
{
    long words[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_renameat2 && FAILS(renameat2))
        FAIL_WITH(-1);
    if (number == SYS_getrandom && FAILS(getrandom)) {
        if (error)
            FAIL_WITH(-1);
        words[1] /= 2;
    }
    return REAL(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
MOVING(getrandom, getrandom, (void *to, size_t bytes, unsigned flags), (to, bytes, flags), (to, bytes / 2, flags))

/* It returns the error instead of setting errno. */
#define ALLOCATE(name, type)                                                                                           \
    int name(int fd, type offset, type bytes)                                                                          \
    {                                                                                                                  \
        return FAILS(posix_fallocate) ? (int)error : REAL(name)(fd, offset, bytes);                                    \
    }
ALLOCATE(posix_fallocate, off_t)
ALLOCATE(posix_fallocate64, off64_t)

/* The descriptor is gone even if it says otherwise (Linux, close(2)). */
int close(int fd)
{
    int result = REAL(close)(fd);
    if (FAILS(close))
        FAIL_WITH(-1);
    return result;
}
