/* A stand-in for CUDA's driver and its CUPTI: copies that a test names, told as CUPTI tells of them. It proves nothing about CUPTI. */
#ifndef STANDIN_CUPTI_H
#define STANDIN_CUPTI_H

#include <stdint.h>

enum { HTOD = 1, DTOH = 2, DTOD = 8, PTOP = 10 };
enum { PAGEABLE = 1, PINNED = 2, DEVICE = 3, MANAGED = 5 };

/* Initializes the driver, which loads the library that CUDA_INJECTION64_PATH names: its path, or null. */
const char *standin_start(void);
/* A copy on GPU 0 that takes so long on it, by functions of the run-time and the driver; fails with a result that is not 0. Without a time it has not
 * ended. Between GPUs it is one from GPU 0 to GPU 1. */
void standin_copy(int direction, int source, int destination, uint64_t bytes, uint64_t time_ns, int result);
/* A call that copies nothing. */
void standin_nothing(void);
/* Launches a graph with so many copies of 100 bytes, or gives them as a list. */
void standin_launch(int copies);
void standin_batch(int copies);
/* Records that found no room. */
extern int standin_dropped;
/* How often the buffers were asked for. */
extern int standin_flushes;

#endif
