/* gpu_tool DECOY TOOL ORDER EXPECTED: copies of a GPU that there is not, three before a tool (cupti_tool.c) begins and two after it, if it is not the first
 * of all: `!ORDER`. The program and DECOY have nothing to do with the tool's CUPTI, which is another one. EXPECTED is what the tool tells in the end. */
#define _GNU_SOURCE
#include <mpi.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *find(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "no %s: %s\n", name, dlerror());
        exit(3);
    }
    return found;
}

int main(int argc, char **argv)
{
    void *decoy = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *tool = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    find(decoy, "cuptiSubscribe");
    const char *(*start)(void) = (const char *(*)(void))find(tool, "tool_start");
    char (*begin)(const char *) = (char (*)(const char *))find(tool, "tool_begin");
    void (*copy)(uint64_t) = (void (*)(uint64_t))find(tool, "tool_copy");
    int (*flushes)(void) = (int (*)(void))find(tool, "tool_flushes"), (*end)(void) = (int (*)(void))find(tool, "tool_end");
    int is_first = argv[3][0] == '!';
    char failed = is_first ? begin(argv[3] + 1) : 0;
    start();
    MPI_Init(&argc, &argv);
    if (!is_first) {
        for (int round = 0; round < 3; round++)
            copy(4000);
        failed = begin(argv[3]);
    }
    if (failed) {
        fprintf(stderr, "gpu_tool: the tool cannot begin: %c\n", failed);
        PMPI_Abort(MPI_COMM_WORLD, 4);
    }
    copy(200);
    copy(200);
    int before = flushes();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (flushes() != before || end() != atoi(argv[4])) {
        fprintf(stderr, "gpu_tool: %d flushes more, and the tool got %d\n", flushes() - before, end());
        return 5;
    }
    return 0;
}
