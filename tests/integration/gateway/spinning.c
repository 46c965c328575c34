/* Spends its time in a function with the name that it was compiled with (and a constant: a build-id does not cover names), for at most five minutes. */
#include <unistd.h>

static volatile unsigned sink;

__attribute__((noinline, noclone)) void NAME(void)
{
    for (unsigned i = 0; i < 1000000; i++)
        sink += i * SALT;
}

int main(void)
{
    alarm(300);
    for (;;)
        NAME();
}
