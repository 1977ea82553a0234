/* What all ranks draw alike: numbers, duplicates of MPI_COMM_WORLD that are freed and made again, and phases. */
#ifndef DRAWN_H
#define DRAWN_H

#include "truth.h"

enum { MOST_COMMS = 300 };

static MPI_Comm comms[MOST_COMMS];
static char labels[MOST_COMMS][LABEL_LENGTH];
static int born[MOST_COMMS];
static unsigned long long drawn = 1;

/* Knuth's MMIX generator. */
static unsigned draw(unsigned below)
{
    drawn = drawn * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(drawn >> 33) % below;
}

static void give(int which)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[which]);
    called("WORLD", "MPI_Comm_dup");
    snprintf(labels[which], LABEL_LENGTH, "%d, number %d", which, born[which]++);
    given(comms[which], labels[which], "MPI_Comm_dup", "WORLD", next_ordinal());
}

/* Another phase, or none. */
static void begin_phase(void)
{
    static const char *const phases[] = {"", "solve", "exchange"};
    const char *phase = phases[draw(3)];
    MPI_Pcontrol(*phase ? 3 : -1, phase);
    if (*phase)
        truth_phase = phase;
    called("WORLD", "MPI_Pcontrol");
    truth_phase = phase;
}

#endif
