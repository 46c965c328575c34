/* Processes that change while they are looked at. changing MODE SECONDS [PROGRAM]
   spin:   keeps a CPU busy for that long
   exec:   keeps it busy, then becomes PROGRAM
   forks:  has children that keep it busy for that long and end, one after the other, and only waits itself
   execs:  the same, but each child becomes PROGRAM */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

__attribute__((noipa)) static void spin(double seconds)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    double start = time.tv_sec + time.tv_nsec * 1e-9, now = start;
    while (now - start < seconds) {
        for (int i = 0; i < 10000; i++)
            sink = sink * 2654435761u + 1;
        clock_gettime(CLOCK_MONOTONIC, &time);
        now = time.tv_sec + time.tv_nsec * 1e-9;
    }
}

int main(int count, char **arguments)
{
    double seconds = atof(arguments[2]);
    char *program = count > 3 ? arguments[3] : 0, *next[] = {program, "spin", arguments[2], 0};
    if (!strcmp(arguments[1], "spin")) {
        spin(seconds);
    } else if (!strcmp(arguments[1], "exec")) {
        spin(seconds);
        next[2] = "600";
        execv(program, next);
    } else {
        for (;;) {
            if (!fork()) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (program)
                    execv(program, next);
                spin(seconds);
                _exit(0);
            }
            wait(0);
        }
    }
    return 0;
}
