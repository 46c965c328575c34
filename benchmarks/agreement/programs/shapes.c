/* Shapes of stacks and processes that a profiler may get wrong: deep recursion, threads, forked children. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 200, THREADS = 3 };

__attribute__((noinline)) static unsigned work(unsigned seed, int rounds)
{
    for (int i = 0; i < rounds; i++)
        seed = seed * 1664525u + 1013904223u;
    return seed;
}

__attribute__((noinline)) static unsigned at_the_bottom(unsigned seed) { return work(seed, 400000) ^ 1; }

__attribute__((noinline)) static unsigned descend(unsigned seed, int depth)
{
    return depth == 0 ? at_the_bottom(seed) + 1 : descend(seed + 1, depth - 1) + 1;
}

__attribute__((noinline)) static unsigned deep(unsigned seed) { return descend(seed, DEPTH) ^ 1; }

__attribute__((noinline)) static unsigned in_a_thread(unsigned seed) { return work(seed, 100000) ^ 1; }

static void *thread(void *number)
{
    char name[16];
    volatile unsigned sink = 0;
    snprintf(name, sizeof name, "worker-%ld", (long)number);
    pthread_setname_np(pthread_self(), name);
    for (;;)
        sink += in_a_thread(sink);
    return NULL;
}

__attribute__((noinline)) static unsigned in_a_child(unsigned seed) { return work(seed, 50000000) ^ 1; }

__attribute__((noinline)) static unsigned children(unsigned seed)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        seed = in_a_child(seed);
        _exit((int)(seed & 1));
    }
    if (child < 0 || waitpid(child, NULL, 0) != child)
        abort();
    return seed + 1;
}

int main(int count, char **arguments)
{
    volatile unsigned sink = 0;
    const char *shape = count > 1 ? arguments[1] : "";
    alarm(900);
    if (strcmp(shape, "deep") == 0)
        for (;;)
            sink += deep(sink);
    if (strcmp(shape, "children") == 0)
        for (;;)
            sink += children(sink);
    if (strcmp(shape, "threads") == 0) {
        for (long number = 0; number < THREADS; number++) {
            pthread_t id;
            if (pthread_create(&id, NULL, thread, (void *)number))
                abort();
        }
        pause();
    }
    return 2;
}
