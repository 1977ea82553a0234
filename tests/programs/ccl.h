/* The made-up library of collectives that tests/ccl.rs watches, in the object of its module. */
#include <stdint.h>

void ccl_begin(int rank, int size) __attribute__((weak));
uint32_t ccl_init(char letter, uint64_t identity, int ranks, int rank) __attribute__((weak));
void ccl_call(uint32_t communicator, const char *function, const char *protocol, int peer, uint64_t size, uint64_t bytes)
    __attribute__((weak));
void ccl_kernel(uint32_t communicator, const char *function, const char *protocol, uint64_t size, uint64_t ns) __attribute__((weak));
