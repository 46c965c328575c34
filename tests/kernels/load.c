/* What a guest runs while it is sampled: a deep recursion without frame pointers, one process a CPU. */
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static unsigned long spin(unsigned long seed) {
    for (int i = 0; i < 20000; i++) seed = seed * 6364136223846793005UL + 1442695040888963407UL;
    return seed;
}

__attribute__((noinline)) static unsigned long descend(int depth, unsigned long seed) {
    volatile char room[64];
    room[0] = (char)seed;
    unsigned long found = depth ? descend(depth - 1, seed + 1) : spin(seed);
    return found + (unsigned long)room[0];
}

int main(int argc, char **argv) {
    int processes = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 1; i < processes; i++)
        if (!fork()) break;
    for (;;) sink = descend(40, sink);
}
