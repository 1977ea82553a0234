/* host PLUGIN [closes]: a program that knows nothing of MPI and loads a plugin that does, with its symbols kept to itself, as
 * interpreters load their extensions; with a second argument it unloads the plugin when that is done. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3)
        return 64;
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 65;
    }
    int (*run)(int, char **) = (int (*)(int, char **))dlsym(plugin, "run");
    int status = run ? run(argc, argv) : 66;
    if (argc == 3)
        dlclose(plugin);
    return status;
}
