/* The program around `asks.c`: whether MPI is loaded with the program or by it, and where, says the argument. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int ask(const char *who);

int main(int argc, char **argv)
{
    /* asking PLUGIN LIBRARY SCOPE: asks, loads an MPI library into a scope, asks again, loads a plugin that asks by itself. */
    int bad = ask("program");
    if (argc < 4)
        return bad;
    int scope = strcmp(argv[3], "global") ? RTLD_LOCAL : RTLD_GLOBAL;
    if (!dlopen(argv[2], RTLD_NOW | scope)) {
        puts(dlerror());
        return 1;
    }
    ask("program, with MPI loaded");
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        puts(dlerror());
        return 1;
    }
    int (*again)(const char *) = (int (*)(const char *))dlsym(plugin, "ask");
    again("plugin");
    return 0;
}
