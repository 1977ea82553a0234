/* The made-up libraries that tests/layers.rs watches, each in the object of its module. */
#include <stdint.h>

void ring_begin(int rank, int size) __attribute__((weak));
uint32_t ring_init(char letter, uint64_t identity, int ranks, int rank, int root, uint32_t parent, const char *label)
    __attribute__((weak));
void ring_free(uint32_t communicator) __attribute__((weak));
void ring_reduce(uint32_t communicator, uint64_t bytes) __attribute__((weak));
void ring_post(uint32_t communicator, uint64_t bytes) __attribute__((weak));
void ring_lost(uint32_t communicator, uint64_t bytes, void (*leave)(void)) __attribute__((weak));
void dma_copy(uint64_t bytes) __attribute__((weak));
