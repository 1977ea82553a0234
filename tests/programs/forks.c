/* Processes that an MPI process starts: they inherit the profiler and must neither count nor clear anything away. */
#include "truth.h"

#include <sys/wait.h>
#include <unistd.h>

static void reap(pid_t child, int expected)
{
    int status;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == expected);
}

int main(int argc, char **argv)
{
    truth_init(&argc, &argv);
    int one = 1, sum;
    EXPECT(system("exit 3") == 3 << 8);
    FILE *pipe = popen("echo from a child", "r");
    char line[64];
    EXPECT(pipe && fgets(line, sizeof line, pipe) && !strcmp(line, "from a child\n"));
    pclose(pipe);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(4);
    reap(child, 4);
    child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
        _exit(6);
    }
    reap(child, 5);
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        carried("WORLD", "MPI_Allreduce", 4, 4, 4);
    }
    truth_finalize();
    /* After the end as well. */
    return system("exit 7") == 7 << 8 ? 0 : 1;
}
