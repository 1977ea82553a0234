/* Makes communicators, and then confines itself.
 *
 * "reading": it may not read other processes any more, as programs may not that sandbox themselves or change their user: what MPI libraries
 * copy large messages by. Its own are small.
 * "memory": it limits its address space to what it needs, as programs do that would rather fail than fill a machine, and takes memory. */
#define _GNU_SOURCE
#include "truth.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void forbid_reading(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void limit_memory(void)
{
    struct rlimit limit = {4l << 30, 4l << 30};
    EXPECT(!setrlimit(RLIMIT_AS, &limit));
    for (int i = 0; i < 64; i++) {
        char *memory = malloc(4 << 20);
        EXPECT(memory != NULL);
        memory[0] = 1;
    }
}

static void make(int first, int behind)
{
    for (int i = first; i < behind; i++) {
        MPI_Comm comm;
        int one = 1, sum;
        const char *label = label_of("made %d", i);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        made(comm, label, "MPI_Comm_dup", "WORLD");
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        carried(label, "MPI_Allreduce", 4, 4, 4);
    }
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    int is_memory = argc > 1 && !strcmp(argv[1], "memory");
    make(0, 500);
    if (is_memory)
        limit_memory();
    else
        forbid_reading();
    if (is_memory)
        make(500, 1500);
    truth_finalize();
    return 0;
}
