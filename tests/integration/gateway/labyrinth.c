/* Walks down a labyrinth: at each depth chance says through which of two functions, so that almost no two samples
 * of it have the same stack. */

static unsigned long long state = 88172645463325252ULL;
volatile unsigned long long sink;

static unsigned long long chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static __attribute__((noinline)) void right(unsigned long long way, int depth);

static __attribute__((noinline)) void left(unsigned long long way, int depth)
{
    if (depth == 0) {
        for (int round = 0; round < 2000; round++)
            sink += chance();
        return;
    }
    if (way & 1)
        left(way >> 1, depth - 1);
    else
        right(way >> 1, depth - 1);
    sink += depth;
}

static __attribute__((noinline)) void right(unsigned long long way, int depth)
{
    if (depth == 0) {
        for (int round = 0; round < 2000; round++)
            sink -= chance();
        return;
    }
    if (way & 1)
        right(way >> 1, depth - 1);
    else
        left(way >> 1, depth - 1);
    sink -= depth;
}

int main(void)
{
    for (;;)
        left(chance(), 60);
}
