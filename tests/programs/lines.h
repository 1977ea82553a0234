/* Each call that a program makes through AT is logged with the function and the line that it stands on: the ground truth of call sites. */
#ifndef LINES_H
#define LINES_H

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int lines_rank = -1;
static char lines_early[512];

/* Launchers may cut lines of a standard output where they like, so the log is a file, if LINES_LOG names one. */
static inline int lines_file(void)
{
    static int file = 0;
    if (file == 0)
        file = getenv("LINES_LOG") ? open(getenv("LINES_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0666) : 1;
    return file;
}

/* One write per line, so that those of several ranks and threads do not mix. Before MPI_Init nobody knows the rank. */
static inline void lines_log(const char *label, const char *op, const char *function, int line, long sent, long received)
{
    char text[512];
    if (lines_rank < 0) {
        snprintf(lines_early, sizeof lines_early, "%s %s %s %d %ld %ld", label, op, function, line, sent, received);
        return;
    }
    int length = snprintf(text, sizeof text, "@ %d %s %s %s %d %ld %ld\n", lines_rank, label, op, function, line, sent, received);
    if (write(lines_file(), text, (size_t)length) != length)
        _exit(98);
}

static inline void lines_begin(void)
{
    char text[600];
    PMPI_Comm_rank(MPI_COMM_WORLD, &lines_rank);
    int length = snprintf(text, sizeof text, "@ %d %s\n", lines_rank, lines_early);
    if (write(lines_file(), text, (size_t)length) != length)
        _exit(98);
}

#define AT(label, op, sent, received, ...) (lines_log(label, #op, __func__, __LINE__, sent, received), op(__VA_ARGS__))
#endif
