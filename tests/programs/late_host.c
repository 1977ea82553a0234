/* Opens the library that is its argument after MPI_Init, and has it work. */
#include "truth.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    EXPECT(library);
    void (*work)(void);
    *(void **)&work = dlsym(library, "late_work");
    EXPECT(work);
    work();
    carried("SELF", "MPI_Sendrecv", 400, 400, 400);
    edge("SELF", "MPI_Sendrecv", world_rank, 400);
    carried("WORLD", "MPI_Allgather", 16, 16, 16 * world_size);
    truth_finalize();
    return 0;
}
