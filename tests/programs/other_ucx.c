/* Preloaded behind the UCX module: UCX says that it is of version $OTHER_UCX, such as 1.10. */
#include <stdio.h>
#include <stdlib.h>

void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    *major = *minor = *release = 0;
    sscanf(getenv("OTHER_UCX"), "%u.%u.%u", major, minor, release);
}
