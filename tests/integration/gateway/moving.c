/* Runs code that it makes itself: first from memory made executable by mprotect, then, after mremap has moved
   that memory, from its new place. Argument 1: seconds before each step. Never ends. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* push rbp; mov rbp, rsp; mov ecx, edi; 1: dec ecx; jnz 1b; pop rbp; ret */
static const unsigned char CODE[] = {0x55, 0x48, 0x89, 0xe5, 0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
enum { BYTES = 1 << 16 };
static volatile unsigned sink;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

__attribute__((noipa)) static void run(void (*code)(int), double seconds)
{
    double end = now() + seconds;
    while (now() < end) {
        code(1000000);
        sink++;
    }
}

__attribute__((noipa)) static void precompiled(int count)
{
    while (count--)
        sink++;
}

int main(int count, char **arguments)
{
    double seconds = count > 1 ? atof(arguments[1]) : 1;
    int plain = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *made = mmap(0, BYTES, plain, flags, -1, 0), *place = mmap(0, BYTES, PROT_NONE, flags, -1, 0);
    memcpy(made, CODE, sizeof CODE);
    run(precompiled, seconds);
    if (mprotect(made, BYTES, PROT_READ | PROT_EXEC))
        return 1;
    run((void (*)(int))made, seconds);
    if (mremap(made, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place)
        return 1;
    for (;;)
        run((void (*)(int))place, seconds);
}
