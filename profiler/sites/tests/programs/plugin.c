/* A plugin that calls what it is given. Built several times over, so that code lies at the same place in each. */
#include <stddef.h>

void plugin_call(void (*call)(void *, void *), void *body, void *argument)
{
    volatile char room[NUMBER * 0 + 24];
    room[0] = NUMBER;
    call(body, argument);
    room[1] = room[0];
}
