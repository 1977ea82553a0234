/* layered: what two hook modules have to tell, with and without MPI calls around it, calls of a layer that are left by a jump and by the
 * end of a thread, and messages that are collected in MPI_Finalize. $LAYERED_SNAPSHOT: and before it, for a snapshot. $LAYERED_DIES: it ends badly. */
#define _GNU_SOURCE
#include "truth.h"
#include "meet.h"
#include "ring.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

static jmp_buf back;
static uint32_t all;

static void jump(void)
{
    longjmp(back, 1);
}

static void end_thread(void)
{
    pthread_exit(NULL);
}

static void *lost(void *unused)
{
    (void)unused;
    ring_lost(all, 50, end_thread);
    return NULL;
}

/* From further up the stack than what was left. */
static void *copying(void *unused)
{
    (void)unused;
    dma_copy(70);
    return NULL;
}

static void in_thread(void *(*work)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}

__attribute__((noinline)) static void left_by_jump(void)
{
    /* The stack is longer where it is left than where the next copy is made. */
    char room[512];
    __asm__ volatile("" : : "r"(room) : "memory");
    if (setjmp(back) == 0)
        ring_lost(all, 10, jump);
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    int rank, size, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    if (!ring_begin) {
        MPI_Finalize();
        return 0;
    }
    ring_begin(rank, size);
    all = ring_init('i', 100, size, rank, 0, 0, "all of them");
    uint32_t part = ring_init('s', 200 + (uint64_t)(rank % 2), (size + 1 - rank % 2) / 2, rank / 2, rank % 2, all, NULL);
    for (int round = 0; round < 3; round++) {
        ring_reduce(all, 1000);
        ring_reduce(part, 64);
        MPI_Barrier(half);
    }
    left_by_jump();
    dma_copy(31);
    in_thread(lost);
    in_thread(copying);
    ring_post(all, 4096);
    if (getenv("LAYERED_SNAPSHOT")) {
        MPI_Pcontrol(2);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ring_post(all, 4096);
    ring_free(part);
    MPI_Comm_free(&half);
    if (getenv("LAYERED_DIES")) {
        meet(rank, size);
        abort();
    }
    MPI_Finalize();
    return 0;
}
