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
/* The same between addresses, for a place of the host or the device; and one of lines with gaps, told by a description. */
void standin_move(int direction, int source, int destination, uint64_t from, uint64_t to, uint64_t bytes);
void standin_move_2d(int direction, int source, int destination, uint64_t from, uint64_t to, uint64_t bytes);
/* Memory that is not there, by functions of the run-time and the driver: what was freed last is given again for the same bytes. */
uint64_t standin_allocate(int memory, uint64_t bytes);
void standin_free(int memory, uint64_t address);
/* The driver has allocated that: starts by itself. */
void standin_told(uint64_t address, uint64_t bytes);
/* A record of managed memory: CUpti_ActivityUnifiedMemoryCounterKind, and where from and to; 0xffffffff is the host. */
void standin_managed(int kind, uint64_t value, uint64_t address, uint32_t source, uint32_t destination);
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
