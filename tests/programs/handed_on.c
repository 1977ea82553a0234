/* handed_on [ROUNDS]: a hook module in the program itself, whose layer begins its work in one thread, within a call (that of a
 * reduction's function), and completes it in another. ROUNDS barriers before that fill the timeline. */
#define _GNU_SOURCE
#include "truth.h"
#include <dlfcn.h>

#include "../../profiler/hooks/commsee_hook.h"

#define CORE(name) ((typeof(&commsee_hook_##name))dlsym(RTLD_DEFAULT, "commsee_hook_" #name))

static int32_t module = COMMSEE_HOOK_NOT_WANTED;
static uint32_t route;
static commsee_hook_call cause = {.size = sizeof cause};
static uint64_t begin;

__attribute__((constructor)) static void announce(void)
{
    commsee_hook_route names = {.size = sizeof names, .layer = "handed-on", .function = "move"};
    module = CORE(open)(COMMSEE_HOOK_VERSION, "Handed-On");
    route = CORE(route_number)(module, &names);
}

static void reduce(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
    EXPECT(CORE(here)(&cause));
    begin = CORE(now_ns)();
}

static void *complete(void *nothing)
{
    uint64_t end = CORE(now_ns)();
    CORE(count)(&cause, route, 0, 8, 8, end - begin);
    CORE(event)(&cause, route, 0, 8, begin, end);
    return nothing;
}

static void *call(void *nothing)
{
    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_SELF);
    return nothing;
}

static void in_thread(void *(*work)(void *))
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, work, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    for (int round = argc > 1 ? atoi(argv[1]) : 0; round > 0; round--)
        MPI_Barrier(MPI_COMM_SELF);
    MPI_Op op;
    MPI_Op_create(reduce, 1, &op);
    double one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    in_thread(complete);
    in_thread(call);
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
