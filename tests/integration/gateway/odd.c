/* Programs that are hard to walk, by argument 1; they run until they are ended:
   mappings: code made at run time, in one of three thousand executable mappings
   frameless: code made at run time, in a function that needs no frame, called by one that has one
   vforks:   children by vfork that become this program, for 50 ms each
   threads:  three threads
   handler:  a signal handler on a stack of its own (sigaltstack)
   vdso:     calls into the kernel's vdso
   deep:     recursion by a hundred thousand small frames
   wide:     recursion by frames of 2 KiB
   calls:    system calls; also built as a 32-bit program */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAPPINGS = 3000, PAGE = 4096, THREADS = 3, DEPTH = 100000, WIDTH = 100 };
static volatile unsigned sink;

__attribute__((noipa)) static void work(int rounds)
{
    while (rounds--)
        sink = sink * 2654435761u + 1;
}

__attribute__((noipa)) static void spin(double seconds)
{
    struct timespec now, start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        work(10000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) * 1e-9 < seconds);
}

__attribute__((noipa)) static void call(void (*code)(int))
{
    for (;;) {
        code(1000000);
        sink++;
    }
}

#ifdef __x86_64__
/* push rbp; mov rbp, rsp; mov ecx, edi; 1: dec ecx; jnz 1b; pop rbp; ret */
static const unsigned char CODE[] = {0x55, 0x48, 0x89, 0xe5, 0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};

static void mappings(void)
{
    char *all = mmap(0, 2L * MAPPINGS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long n = 0; n < MAPPINGS; n++) {
        memcpy(all + 2 * n * PAGE, CODE, sizeof CODE);
        mprotect(all + 2 * n * PAGE, PAGE, PROT_READ | PROT_EXEC);
    }
    call((void (*)(int))(all + 2L * (MAPPINGS / 2) * PAGE));
}

/* push rbp; mov rbp, rsp; 1: call leaf; jmp 1b; leaf: mov ecx, 50; 1: dec ecx; jnz 1b; ret */
static const unsigned char CALLS[] = {0x55, 0x48, 0x89, 0xe5, 0xe8, 2, 0, 0, 0, 0xeb, 0xf9,
                                      0xb9, 50, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};

static void frameless(void)
{
    char *code = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, CALLS, sizeof CALLS);
    mprotect(code, PAGE, PROT_READ | PROT_EXEC);
    call((void (*)(int))code);
}
#else
static void mappings(void) { call(work); }
static void frameless(void) { call(work); }
#endif

static void vforks(char *self)
{
    char *arguments[] = {self, "spin", 0};
    for (;;) {
        if (!vfork()) {
            execv(self, arguments);
            _exit(1);
        }
        wait(0);
    }
}

static void *thread(void *unused)
{
    for (;;)
        spin(1);
    return unused;
}

static void on_timer(int number)
{
    (void)number;
    work(4000000);
    sink++; /* or the call becomes a jump */
}

static void handler(void)
{
    stack_t apart = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct itimerval every = {{0, 2000}, {0, 2000}};
    sigaltstack(&apart, 0);
    sigaction(SIGPROF, &action, 0);
    setitimer(ITIMER_PROF, &every, 0);
    for (;;)
        spin(1);
}

__attribute__((noipa)) static unsigned vdso(void)
{
    struct timespec now;
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink += now.tv_nsec;
    }
}

__attribute__((noipa)) static unsigned deep(unsigned depth)
{
    if (!depth) {
        for (;;)
            spin(1);
    }
    return deep(depth - 1) + sink;
}

__attribute__((noipa)) static unsigned wide(unsigned depth)
{
    volatile char room[2048];
    room[depth] = 1;
    if (!depth) {
        for (;;)
            spin(1);
    }
    return wide(depth - 1) + room[depth];
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    if (!strcmp(mode, "spin")) {
        spin(0.05);
    } else if (!strcmp(mode, "mappings")) {
        mappings();
    } else if (!strcmp(mode, "frameless")) {
        frameless();
    } else if (!strcmp(mode, "vforks")) {
        vforks(arguments[0]);
    } else if (!strcmp(mode, "threads")) {
        pthread_t made;
        for (int n = 0; n < THREADS; n++)
            pthread_create(&made, 0, thread, 0);
        pthread_join(made, 0);
    } else if (!strcmp(mode, "handler")) {
        handler();
    } else if (!strcmp(mode, "vdso")) {
        vdso();
    } else if (!strcmp(mode, "deep")) {
        sink += deep(DEPTH);
    } else if (!strcmp(mode, "wide")) {
        sink += wide(WIDTH);
    } else {
        char file[1 << 12];
        FILE *zero = fopen("/dev/zero", "r");
        setvbuf(zero, 0, _IONBF, 0);
        for (;;)
            sink += fread(file, 1, sizeof file, zero);
    }
    return 0;
}
