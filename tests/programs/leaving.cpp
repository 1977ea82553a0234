// What only C++ can do for left.c.
struct Left {};

extern "C" void throw_left(void)
{
    throw Left();
}

// Whether the work was left by the above.
extern "C" int is_left(void (*work)(void))
{
    try {
        work();
    } catch (const Left &) {
        return 1;
    }
    return 0;
}
