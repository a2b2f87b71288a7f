/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that waits in every way a program can, run on a host of a fabric by test_waits.py.
 *
 * Each part prints what it found and how much time it took by the program's own clock.  With the virtual clock that is
 * exact: the expected output is in the test, to the nanosecond.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sleep_us(long us)
{
    struct timespec span = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&span, NULL);
}

static struct timespec from_now(clockid_t clock, long us)
{
    struct timespec at;

    clock_gettime(clock, &at);
    at.tv_nsec += us * 1000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

/* What a part took, less the clock reads it made itself: whole microseconds are what is compared. */
static int64_t began;
static void begin(void)
{
    began = now_ns();
}
static long took_us(void)
{
    return (long)((now_ns() - began) / 1000);
}

/* --- threads, mutex and condition: two that alternate --- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int whose;
static char order[64];
static unsigned turns;

static void *alternate(void *argument)
{
    int me = (int)(intptr_t)argument;

    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&mutex);
        while (whose != me)
            pthread_cond_wait(&condition, &mutex);
        order[turns++] = me ? 'b' : 'a';
        sleep_us(10); /* with the lock held */
        whose = !me;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return (void *)(intptr_t)(me + 40);
}

static void test_alternate(void)
{
    pthread_t thread[2];
    void *result[2];

    begin();
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, alternate, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], &result[i]);
    printf("alternate %s %ld %ld, %ld us\n", order, (long)(intptr_t)result[0], (long)(intptr_t)result[1], took_us());
}

/* --- waits with an end --- */

static void test_timed(void)
{
    struct timespec at;
    pthread_condattr_t attributes;
    pthread_cond_t monotonic;
    sem_t semaphore;
    int error;

    begin();
    pthread_mutex_lock(&mutex);
    at = from_now(CLOCK_REALTIME, 250);
    error = pthread_cond_timedwait(&condition, &mutex, &at);
    printf("cond_timedwait %s, %ld us\n", error == ETIMEDOUT ? "timed out" : "woken", took_us());

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&monotonic, &attributes);
    begin();
    at = from_now(CLOCK_MONOTONIC, 750);
    error = pthread_cond_timedwait(&monotonic, &mutex, &at);
    printf("cond_timedwait monotonic %s, %ld us\n", error == ETIMEDOUT ? "timed out" : "woken", took_us());
    pthread_cond_destroy(&monotonic);
    pthread_mutex_unlock(&mutex);

    sem_init(&semaphore, 0, 0);
    begin();
    at = from_now(CLOCK_REALTIME, 3000);
    error = sem_timedwait(&semaphore, &at) < 0 ? errno : 0;
    printf("sem_timedwait %s, %ld us\n", error == ETIMEDOUT ? "timed out" : "woken", took_us());
    sem_destroy(&semaphore);
}

static void *hold(void *argument)
{
    pthread_mutex_lock(argument);
    sleep_us(500);
    pthread_mutex_unlock(argument);
    return NULL;
}

static void test_mutex(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    struct timespec at;
    pthread_t thread;
    int error;

    begin();
    pthread_create(&thread, NULL, hold, &lock);
    sleep_us(100);
    at = from_now(CLOCK_REALTIME, 200);
    error = pthread_mutex_timedlock(&lock, &at);
    printf("mutex_timedlock %s, %ld us\n", error == ETIMEDOUT ? "timed out" : "locked", took_us());
    error = pthread_mutex_lock(&lock);
    printf("mutex_lock %d, %ld us\n", error, took_us());
    pthread_join(thread, NULL);
    pthread_mutex_lock(&checked);
    printf("mutex twice %s\n", pthread_mutex_lock(&checked) == EDEADLK ? "EDEADLK" : "?");
}

/* --- other locks --- */

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static uint32_t word;

static void *others(void *argument)
{
    (void)argument;
    pthread_rwlock_wrlock(&rwlock);
    sleep_us(20);
    pthread_rwlock_unlock(&rwlock);
    sleep_us(30);
    sem_post(&semaphore);
    sleep_us(50);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    sleep_us(100);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void *waits_at_barrier(void *argument)
{
    pthread_barrier_wait(&barrier);
    return argument;
}

static void test_locks(void)
{
    pthread_t thread;
    struct timespec span = {0, 5000};
    long result;

    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    begin();
    pthread_create(&thread, NULL, others, NULL);
    sleep_us(1);
    pthread_rwlock_rdlock(&rwlock);
    printf("rwlock_rdlock, %ld us\n", took_us());
    pthread_rwlock_unlock(&rwlock);
    sem_wait(&semaphore);
    printf("sem_wait, %ld us\n", took_us());
    result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0);
    printf("futex %s, %ld us\n", result < 0 && errno == ETIMEDOUT ? "timed out" : "woken", took_us());
    result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    printf("futex %ld, %ld us\n", result, took_us());
    pthread_barrier_wait(&barrier);
    printf("barrier, %ld us\n", took_us());
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
    /* Whoever comes last may destroy it at once, and use its memory for another. */
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, waits_at_barrier, NULL);
    sleep_us(10);
    printf("barrier %s", pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD ? "serial" : "?");
    pthread_barrier_destroy(&barrier);
    memset(&barrier, 0, sizeof barrier);
    printf(", left %s\n", pthread_join(thread, NULL) == 0 ? "too" : "?");
}

/* --- the end of threads --- */

static thread_local int fourth;
static pthread_key_t key;
static void destructor(void *value)
{
    sleep_us(40);
    *(int *)value += 1;
}

static void *exits(void *argument)
{
    pthread_setspecific(key, argument);
    sleep_us(60);
    pthread_exit((void *)7);
}

static void cleaned(void *argument)
{
    *(int *)argument += 10;
}

static void *waits(void *argument)
{
    pthread_cleanup_push(cleaned, argument);
    for (;;)
        sleep(3600);
    pthread_cleanup_pop(0);
    return NULL;
}

static int c11(void *argument)
{
    sleep_us(5);
    return *(int *)argument;
}

static void test_ends(void)
{
    struct timespec at;
    pthread_t thread;
    void *result;
    thrd_t third;
    int count = 0, value, error;

    pthread_key_create(&key, destructor);
    begin();
    pthread_create(&thread, NULL, exits, &count);
    at = from_now(CLOCK_REALTIME, 30);
    error = pthread_timedjoin_np(thread, &result, &at);
    printf("timedjoin %s, %ld us\n", error == ETIMEDOUT ? "timed out" : "joined", took_us());
    pthread_join(thread, &result);
    printf("pthread_exit %ld, destructors %d, %ld us\n", (long)(intptr_t)result, count, took_us());
    begin();
    pthread_create(&thread, NULL, waits, &count);
    sleep_us(15);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancel %s, cleanup %d, %ld us\n", result == PTHREAD_CANCELED ? "cancelled" : "?", count, took_us());
    begin();
    fourth = 4;
    thrd_create(&third, c11, &fourth);
    thrd_join(third, &value);
    printf("thrd_join %d, %ld us\n", value, took_us());
}

/* --- descriptors --- */

static void *writes_later(void *argument)
{
    const int *fd = argument;

    sleep_us(400);
    if (write(*fd, "x", 1) != 1) abort();
    return NULL;
}

static void test_descriptors(void)
{
    struct epoll_event event = {.events = EPOLLIN}, found;
    struct pollfd wanted;
    struct timeval span = {0, 2000};
    pthread_t thread;
    fd_set reads;
    char byte;
    int ends[2], set, ready;

    if (pipe(ends) < 0) abort();
    set = epoll_create1(0);
    event.data.fd = ends[0];
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    begin();
    ready = epoll_wait(set, &found, 1, 3);
    printf("epoll_wait %d, %ld us\n", ready, took_us());
    begin();
    pthread_create(&thread, NULL, writes_later, &ends[1]);
    ready = epoll_wait(set, &found, 1, -1);
    printf("epoll_wait %d, %ld us\n", ready, took_us());
    FD_ZERO(&reads);
    FD_SET(ends[0], &reads);
    printf("select %d\n", select(ends[0] + 1, &reads, NULL, NULL, NULL));
    printf("read %zd\n", read(ends[0], &byte, 1));
    pthread_join(thread, NULL);
    begin();
    ready = select(ends[0] + 1, &reads, NULL, NULL, &span);
    printf("select %d, %ld us, %ld us left\n", ready, took_us(), (long)span.tv_usec);
    wanted = (struct pollfd){ends[0], POLLIN, 0};
    begin();
    for (ready = 0; took_us() < 1000; ready++)
        poll(&wanted, 1, 0);
    printf("poll in a row %s\n", ready > 10 && ready < 5000 ? "moves time" : "does not");
    begin();
    pthread_create(&thread, NULL, writes_later, &ends[1]);
    printf("read %zd", read(ends[0], &byte, 1));
    printf(", %ld us\n", took_us());
    pthread_join(thread, NULL);
}

/* Writes, and asks the fabric for something in the same turn: who waits is told all the same. */
static void *writes_and_asks(void *argument)
{
    int fd;

    sleep_us(400);
    if (write(*(int *)argument, "x", 1) != 1) abort();
    fd = socket(AF_INET, SOCK_STREAM, 0);
    sleep_us(5000);
    close(fd);
    return NULL;
}

static void test_told_before_a_request(void)
{
    pthread_t thread;
    int ends[2], ready;

    if (pipe(ends) < 0) abort();
    struct pollfd wanted = {ends[0], POLLIN, 0};
    begin();
    pthread_create(&thread, NULL, writes_and_asks, &ends[1]);
    ready = poll(&wanted, 1, -1);
    printf("poll %d, %ld us\n", ready, took_us());
    pthread_join(thread, NULL);
    close(ends[0]);
    close(ends[1]);
}

/* More than a pipe holds. */
static void *drains(void *argument)
{
    static char buffer[1 << 16];
    size_t total = 0;
    ssize_t got;

    while ((got = read(*(int *)argument, buffer, sizeof buffer)) > 0) {
        total += (size_t)got;
        sleep_us(1);
    }
    return (void *)total;
}

static void test_full(void)
{
    static char buffer[300000];
    struct timeval patience = {0, 20000}; /* the kernel counts it in ticks */
    pthread_t thread;
    void *total;
    int ends[2], pair[2];
    ssize_t got;

    if (pipe(ends) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) abort();
    pthread_create(&thread, NULL, drains, &ends[0]);
    got = write(ends[1], buffer, sizeof buffer);
    close(ends[1]);
    pthread_join(thread, &total);
    printf("pipe %zd %zu\n", got, (size_t)total);
    printf("close_range %d", close_range(9, 5, 0));
    printf(", %s\n", errno == EINVAL ? "EINVAL" : "?");
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    begin();
    got = recv(pair[0], buffer, 1, 0);
    printf("recv %s, %ld us\n", got < 0 && errno == EAGAIN ? "EAGAIN" : "?", took_us());
    pthread_create(&thread, NULL, drains, &pair[1]);
    got = send(pair[0], buffer, sizeof buffer, 0);
    shutdown(pair[0], SHUT_WR);
    pthread_join(thread, &total);
    printf("socket %zd %zu\n", got, (size_t)total);
}

/* --- timers --- */

static volatile sig_atomic_t alarms;
static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

static void *notified;
static void on_timer(union sigval value)
{
    notified = value.sival_ptr;
}

static void test_timers(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerspec each = {{0, 100000}, {0, 300000}}, left;
    struct itimerval period = {{0, 250}, {0, 250}};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD};
    uint64_t count;
    timer_t timer;
    int fd, result;

    sigaction(SIGALRM, &action, NULL);
    begin();
    alarm(2);
    result = (int)sleep(10);
    printf("alarm %d, sleep has %d left, %ld us\n", (int)alarms, result, took_us());
    begin();
    setitimer(ITIMER_REAL, &period, NULL);
    while (alarms < 5)
        pause();
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    printf("setitimer %d, %ld us\n", (int)alarms, took_us());

    fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    begin();
    timerfd_settime(fd, 0, &each, NULL);
    if (read(fd, &count, sizeof count) != sizeof count) abort();
    printf("timerfd %lu, %ld us\n", (unsigned long)count, took_us());
    sleep_us(250);
    timerfd_gettime(fd, &left);
    if (read(fd, &count, sizeof count) != sizeof count) abort();
    printf("timerfd %lu, %ld us\n", (unsigned long)count, took_us());
    close(fd);

    event.sigev_notify_function = on_timer;
    event.sigev_value.sival_ptr = &event;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    each = (struct itimerspec){.it_value = {0, 70000}};
    begin();
    timer_settime(timer, 0, &each, NULL);
    while (notified == NULL)
        sleep_us(10);
    printf("timer_create %s, %ld us\n", notified == &event ? "notified" : "?", took_us());
    timer_delete(timer);
}

/* --- processes --- */

static void on_child(int number)
{
    (void)number;
}

static void test_processes(char *self)
{
    char *argv[] = {self, (char[]){"child"}, NULL}, text[64] = "";
    struct sigaction action = {.sa_handler = on_child};
    int (*shell)(const char *) = system;
    FILE *(*piped)(const char *, const char *) = popen, *file;
    int ends[2], status;
    pid_t child, ended;

    fflush(stdout);
    if (pipe(ends) < 0) abort();
    begin();
    child = fork();
    if (child == 0) {
        char number[32];

        sleep_us(100);
        snprintf(number, sizeof number, "%d", (int)getpid());
        if (write(ends[1], number, strlen(number)) < 0) _exit(1);
        sleep_us(50);
        _exit(3);
    }
    if (read(ends[0], text, sizeof text) < 0) abort();
    printf("child has said its pid %s, %ld us\n", strtol(text, NULL, 10) == child ? "right" : "wrong", took_us());
    ended = waitpid(child, &status, 0);
    printf("waitpid %s %d, %ld us\n", ended == child ? "right" : "wrong", WEXITSTATUS(status), took_us());
    fflush(stdout);

    sigaction(SIGCHLD, &action, NULL);
    begin();
    status = shell("exit 5");
    printf("system %d\n", WEXITSTATUS(status));
    file = piped("echo one; echo two", "r");
    while (fgets(text, sizeof text, file))
        printf("popen %s", text);
    printf("pclose %d\n", pclose(file));
    fflush(stdout);
    if (posix_spawn(&child, self, NULL, NULL, argv, (char *[]){NULL}) != 0) abort();
    ended = wait(&status);
    printf("posix_spawn %s %d, %ld ms\n", ended == child ? "right" : "wrong", WEXITSTATUS(status), took_us() / 1000);
    child = fork();
    if (child == 0) execve(self, argv, (char *[]){NULL});
    ended = waitpid(-1, &status, 0);
    printf("execve %s %d\n", ended == child ? "right" : "wrong", WEXITSTATUS(status));
    child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    sleep_us(10);
    kill(child, SIGTERM);
    ended = waitpid(child, &status, 0);
    printf("kill %s %d\n", ended == child ? "right" : "wrong", WTERMSIG(status));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        sleep_us(2000);
        return 9;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_alternate();
    test_timed();
    test_mutex();
    test_locks();
    test_ends();
    test_descriptors();
    test_told_before_a_request();
    test_full();
    test_timers();
    test_processes(argv[0]);
    return 0;
}
