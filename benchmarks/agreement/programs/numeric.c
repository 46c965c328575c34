/* Well-known small computations in one program: spectral norm, a sieve, qsort with a comparison, text and libm. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 300, SIEVE = 200000, WORDS = 4000 };

static inline double a(int i, int j) { return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1); }

__attribute__((noinline)) static void times(const double *v, double *out)
{
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++)
            sum += a(i, j) * v[j];
        out[i] = sum;
    }
}

__attribute__((noinline)) static double spectral_norm(void)
{
    double u[N], v[N], up = 0, down = 0;
    for (int i = 0; i < N; i++)
        u[i] = 1;
    for (int i = 0; i < 4; i++) {
        times(u, v);
        times(v, u);
    }
    for (int i = 0; i < N; i++) {
        up += u[i] * v[i];
        down += v[i] * v[i];
    }
    return sqrt(up / down);
}

static inline int is_set(const uint8_t *bits, int i) { return bits[i >> 3] >> (i & 7) & 1; }
static inline void set(uint8_t *bits, int i) { bits[i >> 3] |= 1 << (i & 7); }

__attribute__((noinline)) static int primes(void)
{
    static uint8_t composite[SIEVE / 8 + 1];
    int found = 0;
    memset(composite, 0, sizeof composite);
    for (int i = 2; i < SIEVE; i++)
        if (!is_set(composite, i)) {
            found++;
            for (int j = 2 * i; j < SIEVE; j += i)
                set(composite, j);
        }
    return found;
}

static int ascending(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

__attribute__((noinline)) static size_t words(void)
{
    static char *list[WORDS];
    size_t length = 0;
    for (int i = 0; i < WORDS; i++) {
        char text[40];
        snprintf(text, sizeof text, "%d-%x", i * 7919 % 10007, i);
        list[i] = strdup(text);
    }
    qsort(list, WORDS, sizeof *list, ascending);
    for (int i = 0; i < WORDS; i++) {
        length += strlen(list[i]);
        free(list[i]);
    }
    return length;
}

__attribute__((noinline)) static double waves(void)
{
    double sum = 0;
    for (int i = 0; i < 20000; i++)
        sum += sin(i * 0.1) * exp(-i * 0.001) + pow(i, 0.3);
    return sum;
}

__attribute__((noinline)) static int copies(void)
{
    static char from[1 << 16], to[1 << 16];
    int sum = 0;
    for (int i = 0; i < 300; i++) {
        from[i] = (char)i;
        memcpy(to, from, sizeof to - (size_t)i);
        sum += to[i] + (memchr(to, 255, sizeof to) != NULL);
    }
    return sum;
}

int main(void)
{
    volatile double sink = 0;
    alarm(900);
    for (;;)
        sink += spectral_norm() + primes() + (double)words() + waves() + copies();
}
