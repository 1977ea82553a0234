/* host PLUGIN: a program that knows nothing of MPI and loads a plugin that does, with its symbols kept to itself, as
 * interpreters load their extensions. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 2)
        return 64;
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 65;
    }
    int (*run)(int, char **) = (int (*)(int, char **))dlsym(plugin, "run");
    return run ? run(argc, argv) : 66;
}
