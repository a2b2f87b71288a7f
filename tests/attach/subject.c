/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that knows nothing of a fabric, for test_library.c: each argument names one thing that it does.  It says on
 * stdout what it saw.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "attach/session.h"

static long long now_ns(clockid_t clock)
{
    struct timespec at;

    clock_gettime(clock, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void burn(void)
{
    for (volatile unsigned i = 0; i < 3000000; i++)
        continue;
}

/* Two reads far apart in real time, of the same clock by different ways. */
static int do_clocks(void)
{
    struct timespec at;
    struct timeval day;
    long long first = now_ns(CLOCK_MONOTONIC), second, third, fourth;

    burn();
    second = now_ns(CLOCK_MONOTONIC);
    burn();
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &at);
    third = at.tv_sec * 1000000000LL + at.tv_nsec;
    timespec_get(&at, TIME_UTC);
    gettimeofday(&day, NULL);
    fourth = (long long)day.tv_sec * 1000000 + day.tv_usec;
    printf("%lld %lld %lld %lld %lld\n", first, second - first, third - second, (long long)at.tv_sec, fourth);
    return 0;
}

/* libc's own function reads the clock through the vDSO, as libc does inside itself. */
static int do_inside(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    int (*inside)(clockid_t, struct timespec *);
    void *found = libc ? dlsym(libc, "clock_gettime") : NULL;
    struct timespec at = {0};

    if (!found) return 1;
    memcpy(&inside, &found, sizeof inside);
    if (inside == clock_gettime) return 2;
    inside(CLOCK_REALTIME, &at);
    printf("%lld %ld\n", (long long)at.tv_sec, at.tv_nsec);
    return 0;
}

static int do_sleep(void)
{
    struct timespec span = {3, 5000}, at;
    long long first = now_ns(CLOCK_MONOTONIC), second, third;

    nanosleep(&span, NULL);
    second = now_ns(CLOCK_MONOTONIC);
    usleep(10);
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += 7;
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
    third = now_ns(CLOCK_MONOTONIC);
    printf("%lld %lld\n", second - first, third - second);
    return 0;
}

/* Many reads in a row: they cost more. */
static int do_row(void)
{
    long long first = now_ns(CLOCK_MONOTONIC), last = first;

    for (unsigned i = 0; i < 1000; i++)
        last = now_ns(CLOCK_MONOTONIC);
    printf("%lld\n", last - first);
    return 0;
}

#if defined(__x86_64__)
static uint64_t stamp(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static uint64_t stamp_and_cpu(uint32_t *cpu)
{
    uint32_t low, high;

    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(*cpu));
    return (uint64_t)high << 32 | low;
}

static int do_tsc(void)
{
    uint32_t cpu = 77;
    uint64_t first = stamp(), second, third;

    burn();
    second = stamp();
    third = stamp_and_cpu(&cpu);
    printf("%llu %llu %llu %u\n", (unsigned long long)first, (unsigned long long)(second - first),
           (unsigned long long)(third - second), cpu);
    return 0;
}

static volatile sig_atomic_t faults;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    faults++;
    _exit(stamp() ? 42 : 43); /* in a handler too */
}

/* A program with a handler of its own for the same signal, and a mask that holds everything. */
static int do_tsc_and_faults(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, seen;
    volatile int *nowhere = NULL;
    uint64_t first;
    sigset_t all;

    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGSEGV, NULL, &seen);
    if (seen.sa_sigaction != on_fault) return 1;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    first = stamp();
    if (stamp() <= first || faults) return 2;
    return *nowhere;
}
#endif

/* The fabric is told of a word (test_library.c reads the line), and writes it while we wait. */
static volatile uint32_t word;

static void tell_word(void)
{
    printf("%p\n", (const void *)(uintptr_t)&word);
    fflush(stdout);
}

static int do_spin(void)
{
    long long first, second;

    tell_word();
    first = now_ns(CLOCK_MONOTONIC);
    while (word == 0)
        continue;
    second = now_ns(CLOCK_MONOTONIC);
    printf("%lld %u\n", second - first, word);
    return 0;
}

static __attribute__((noinline)) uint32_t look(volatile uint32_t *at)
{
    return *at;
}

/* The same through a function, a lock and a vector register: stores that change nothing. */
static int do_spin_calls(void)
{
    static volatile uint32_t lock;
    long long first, second;

    tell_word();
    first = now_ns(CLOCK_MONOTONIC);
    while (look(&word) == 0)
        __atomic_exchange_n(&lock, 1, __ATOMIC_SEQ_CST);
    second = now_ns(CLOCK_MONOTONIC);
    printf("%lld %u\n", second - first, word);
    return 0;
}

/* A loop that counts in memory ends by itself: nobody may take its turn. */
static int do_count(void)
{
    static volatile uint32_t counter;
    long long first, second;

    tell_word();
    first = now_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < 10; i++)
        for (counter = 0; counter < 5000000;)
            counter++;
    second = now_ns(CLOCK_MONOTONIC);
    printf("%lld %u\n", second - first, word);
    return 0;
}

static void print_bytes(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%02x", bytes[i]);
}

static int do_identity(void)
{
    uint8_t bytes[8];
    char text[64] = "";
    int fd = open("/dev/urandom", O_RDONLY);
    FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "r"), *cpu = fopen("/proc/cpuinfo", "r");
    char line[256];

    printf("%d %d %ld %d ", getpid(), gettid(), syscall(SYS_getpid), getppid());
    if (getrandom(bytes, sizeof bytes, 0) == sizeof bytes) print_bytes(bytes, sizeof bytes);
    if (getentropy(bytes, sizeof bytes) == 0) print_bytes(bytes, sizeof bytes);
    if (read(fd, bytes, sizeof bytes) == sizeof bytes) print_bytes(bytes, sizeof bytes);
    if (boot && fgets(text, sizeof text, boot)) printf(" %s", strtok_r(text, "\n", &(char *){NULL}));
    while (cpu && fgets(line, sizeof line, cpu))
        if (strncmp(line, "cpu MHz", 7) == 0) {
            printf(" %s", strchr(line, ':') + 2);
            break;
        }
    return 0;
}

static volatile sig_atomic_t rang;

static void on_bell(int number)
{
    (void)number;
    rang = now_ns(CLOCK_MONOTONIC) < 2000000000000LL; /* a virtual clock, in a handler too */
}

/* A signal from outside, in the middle of a sleep. */
static int do_signal(void)
{
    struct sigaction action = {.sa_handler = on_bell};
    struct timespec span = {5, 0}, left = {0};
    int result;

    sigaction(SIGUSR1, &action, NULL);
    tell_word();
    result = nanosleep(&span, &left);
    printf("%d %d %d %lld\n", result, result < 0 ? errno == EINTR : 0, (int)rang, (long long)left.tv_sec);
    return 0;
}

/* The fabric goes away in the middle: clocks are real again, nobody hangs. */
static int do_gone(void)
{
    struct timespec span = {3600, 0};

    nanosleep(&span, NULL);
    printf("%d\n", now_ns(CLOCK_REALTIME) > 1600000000000000000LL);
    return 0;
}

/* What the verbs library does with memory that is registered: it is seen by the fabric, and stays what it was. */
static int do_adopt(void)
{
    const struct attach_api *api = dlsym(RTLD_DEFAULT, ATTACH_API_SYMBOL);
    size_t bytes = 1 << 20;
    uint8_t *memory = calloc(bytes, 1);

    if (!api || !memory) return 1;
    for (size_t i = 0; i < bytes / 2; i++)
        memory[i] = (uint8_t)(i * 7);
    if (api->enter() < 0) return 2;
    api->adopt(memory, bytes);
    api->adopt(memory + 4096, 4096); /* again: nothing is left to do */
    api->leave();
    for (size_t i = 0; i < bytes; i++)
        if (i != 5000 && memory[i] != (i < bytes / 2 ? (uint8_t)(i * 7) : 0)) return 3;
    printf("%u ", memory[5000]); /* the fabric's */
    memory = realloc(memory, 4 * bytes);
    for (size_t i = 0; memory && i < bytes / 2; i++)
        if (i != 5000 && memory[i] != (uint8_t)(i * 7)) return 4;
    printf("%u\n", memory[5000]);
    free(memory);
    return 0;
}

static volatile sig_atomic_t told;

static void on_gone(void)
{
    told = 1;
}

/* With the real clock: a post and a request go through, clocks are the machine's, and the end is noticed. */
static int do_real(void)
{
    struct attach_api *api = dlsym(RTLD_DEFAULT, ATTACH_API_SYMBOL);
    struct attach_request request = {.op = ATTACH_OP_CM_SLOT};
    struct attach_post *post;
    int answer;

    if (!api || api->enter() < 0) return 1;
    api->on_gone = on_gone;
    post = api->post(sizeof *post);
    if (!post) return 2;
    post->kind = ATTACH_POST_SEND;
    post->object = 17;
    api->posted(post);
    answer = api->request(&request, NULL, 0);
    api->leave();
    printf("%d %d\n", answer, now_ns(CLOCK_REALTIME) > 1750000000000000000LL);
    fflush(stdout);
    while (!told)
        usleep(1000);
    return api->enter() == -EIO ? 0 : 3;
}

static int do_refuse(void)
{
    syscall(SYS_io_uring_setup, 0, NULL);
    syscall(SYS_io_uring_setup, 0, NULL);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} things[] = {
    {"clocks", do_clocks}, {"inside", do_inside},
    {"sleep", do_sleep},   {"row", do_row},
#if defined(__x86_64__)
    {"tsc", do_tsc},       {"tsc_and_faults", do_tsc_and_faults},
#endif
    {"spin", do_spin},     {"spin_calls", do_spin_calls},
    {"count", do_count},   {"identity", do_identity},
    {"signal", do_signal}, {"gone", do_gone},
    {"refuse", do_refuse}, {"adopt", do_adopt},
    {"real", do_real},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof things / sizeof *things; i++)
        if (strcmp(argv[1], things[i].name) == 0) return things[i].run();
    return 99;
}
