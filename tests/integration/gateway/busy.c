/* Keeps one CPU busy for argv[1] seconds without frame pointers, in recursion, through a callback of libc,
   in a PLT stub's callee, in a realigned frame and in a signal handler. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile unsigned sink;

__attribute__((noinline)) static unsigned mix(unsigned value, int depth)
{
    char text[48];
    if (depth == 0)
        return value * 2654435761u;
    value = mix(value ^ (value >> 7), depth - 1);
    snprintf(text, sizeof text, "%u", value);
    return value + (unsigned char)text[0];
}

static int compare(const void *left, const void *right)
{
    return *(const unsigned *)left < *(const unsigned *)right ? -1 : 1;
}

__attribute__((noinline)) static void sort(int count)
{
    unsigned *numbers = malloc(count * sizeof *numbers);
    for (int i = 0; i < count; i++)
        numbers[i] = mix(i, i & 15);
    qsort(numbers, count, sizeof *numbers, compare);
    sink += numbers[0];
    free(numbers);
}

__attribute__((noinline)) static unsigned realigned(int count)
{
    _Alignas(64) volatile unsigned table[64] = {0};
    for (int i = 0; i < count; i++)
        table[i & 63] += mix(i, 3);
    return table[5];
}

static void on_timer(int number)
{
    (void)number;
    for (int i = 0; i < 300; i++)
        sink += mix(i, 8);
}

int main(int count, char **arguments)
{
    double seconds = count > 1 ? atof(arguments[1]) : 1;
    struct timespec start, now;
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 2000}, {0, 2000}};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
    clock_gettime(CLOCK_MONOTONIC, &start);
    /* Whoever waits for this sees no stack of the loader. */
    puts("busy");
    fflush(stdout);
    do {
        sort(1000);
        sink += realigned(1000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) * 1e-9 < seconds);
    return 0;
}
