/* Spins with a secret on its stack, in its arguments, and in a file that it has open and mapped. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

volatile unsigned long count;

__attribute__((noinline)) static void spin(const char *secret, const char *mapped)
{
    volatile char local[4096];
    size_t length = strlen(secret);
    for (size_t place = 0; place < sizeof local; place++)
        local[place] = secret[place % length];
    puts("ready");
    fflush(stdout);
    for (;;)
        count += local[count % sizeof local] + mapped[count % 4096];
}

int main(int argc, char **argv)
{
    int file = argc == 3 ? open(argv[2], O_RDONLY) : -1;
    const char *mapped = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED)
        return 1;
    spin(argv[1], mapped);
    return (int)count;
}
