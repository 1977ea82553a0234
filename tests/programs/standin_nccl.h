/* What the stand-in for NCCL is told by tests. */
#ifndef STANDIN_NCCL_H
#define STANDIN_NCCL_H

#define NCCL
#include "nccl.h"

/* What the next split, shrunk or grown communicator is. */
extern int standin_ranks, standin_rank;
/* Nonblocking ones come to nothing. */
extern int standin_fails;
/* Those of nonblocking ones are there at once, and say that they are complete; only the communicator that they are made of says that it goes on. */
extern int standin_is_early;
/* How often it was asked what it does not know yet. */
extern int standin_warnings;

#endif
