/* Says that it is ready and sleeps until SIGUSR1, then keeps a new thread and a new process busy until it is killed. */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned sink;

__attribute__((noipa)) static void spin(void)
{
    for (;;)
        sink = sink * 2654435761u + 1;
}

static void *late_thread(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "late-thread");
    spin();
    sink = 0;
    return 0;
}

__attribute__((noipa)) static int late_child(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    spin();
    sink = 0;
    return 0;
}

int main(void)
{
    sigset_t awaited;
    int number;
    pthread_t thread;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGUSR1);
    sigprocmask(SIG_BLOCK, &awaited, 0);
    if (write(1, "ready\n", 6) != 6)
        return 1;
    sigwait(&awaited, &number);
    pthread_create(&thread, 0, late_thread, 0);
    if (!fork())
        return late_child();
    wait(0);
    return 0;
}
