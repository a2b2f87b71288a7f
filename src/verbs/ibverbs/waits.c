/* SPDX-License-Identifier: Apache-2.0 */
/*
 * poll() and epoll of programs that wait for completion events beside other things.
 *
 * The functions of libc are exported from here, found before libc's because the library is preloaded.  A wait for
 * descriptors of which one is a completion channel's goes to src/live/wait.c, where the wire is waited for as well;
 * every other goes on untouched, and so does one that does not sleep.  An epoll set is known by a channel that was
 * added to it; a set that was closed since costs the next one of that number nothing but a look at the wire.
 */
#undef _FORTIFY_SOURCE /* its inline functions have these names */

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <time.h>

#include "live/live.h"

#define SETS 4096
#define LONG_S 1000000 /* counted in picoseconds, more would not fit */

/* POSIX lets dlsym() answer functions; ISO C has no cast for it. */
#define NEXT(name) (*(void **)&real = next(#name))

static int member[SETS]; /* atomic: of the epoll set with this number, a channel's descriptor + 1; 0: none */

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL) errno = ENOSYS;
    return found;
}

static int real_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    static live_ppoll *real;

    if (real == NULL) NEXT(ppoll);
    return real == NULL ? -1 : real(fds, count, limit, mask);
}

__attribute__((constructor)) static void wait_by_libc(void)
{
    live_wait_with(real_ppoll);
}

static int real_epoll(int set, struct epoll_event *events, int most, int timeout_ms, const sigset_t *mask)
{
    static int (*real)(int, struct epoll_event *, int, int, const sigset_t *);

    if (real == NULL) NEXT(epoll_pwait);
    return real == NULL ? -1 : real(set, events, most, timeout_ms, mask);
}

/* A channel's descriptor of those that are waited for; -1: none. */
static int channel_among(const struct pollfd *fds, nfds_t count)
{
    for (nfds_t i = 0; i < count && count <= LIVE_WAIT_FDS; i++)
        if (fds[i].events & POLLIN && live_channel_has(fds[i].fd)) return fds[i].fd;
    return -1;
}

static struct timespec of_ms(int ms)
{
    return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
}

/* The milliseconds that are left until a time. */
static int left_ms(const struct timespec *until)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    long long ms = (until->tv_sec - now.tv_sec) * 1000LL + (until->tv_nsec - now.tv_nsec + 999999) / 1000000;
    return ms > 0 ? (int)ms : 0;
}

/* The set itself is polled: it is ready when one of its descriptors is, unless another thread was quicker. */
static int wait_epoll(int set, struct epoll_event *events, int most, int timeout_ms, const sigset_t *mask)
{
    int channel = set >= 0 && set < SETS ? __atomic_load_n(&member[set], __ATOMIC_RELAXED) - 1 : -1;
    struct timespec until, limit;

    if (timeout_ms == 0 || !live_channel_has(channel)) return real_epoll(set, events, most, timeout_ms, mask);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000L;
    for (;;) {
        struct pollfd fd = {.fd = set, .events = POLLIN};
        limit = of_ms(timeout_ms < 0 ? 0 : left_ms(&until));
        int ready = live_wait_poll(channel, &fd, 1, timeout_ms < 0 ? NULL : &limit, mask);
        if (ready < 0) return -1;
        int got = real_epoll(set, events, most, 0, NULL);
        if (got != 0 || ready == 0) return got;
    }
}

#pragma GCC visibility push(default)

/* Under names of their own: the headers tell the compiler that poll() reads nothing of what it is given. */
int wait_poll(struct pollfd *fds, nfds_t count, int timeout_ms) __asm__("poll");
int wait_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    static int (*real)(struct pollfd *, nfds_t, int);
    int channel = timeout_ms == 0 ? -1 : channel_among(fds, count);

    if (channel >= 0) {
        struct timespec limit = of_ms(timeout_ms < 0 ? 0 : timeout_ms);
        return live_wait_poll(channel, fds, (unsigned)count, timeout_ms < 0 ? NULL : &limit, NULL);
    }
    if (real == NULL) NEXT(poll);
    return real == NULL ? -1 : real(fds, count, timeout_ms);
}

int wait_ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) __asm__("ppoll");
int wait_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    bool sleeps = limit == NULL || (limit->tv_sec | limit->tv_nsec) != 0;
    int channel = sleeps && (limit == NULL || limit->tv_sec < LONG_S) ? channel_among(fds, count) : -1;

    if (channel < 0) return real_ppoll(fds, count, limit, mask);
    return live_wait_poll(channel, fds, (unsigned)count, limit, mask);
}

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
    static int (*real)(int, int, int, struct epoll_event *);

    if (real == NULL) NEXT(epoll_ctl);
    int error = real == NULL ? -1 : real(set, operation, fd, event);
    if (error == 0 && operation == EPOLL_CTL_ADD && set < SETS && live_channel_has(fd))
        __atomic_store_n(&member[set], fd + 1, __ATOMIC_RELAXED);
    return error;
}

int epoll_wait(int set, struct epoll_event *events, int most, int timeout_ms)
{
    return wait_epoll(set, events, most, timeout_ms, NULL);
}

int epoll_pwait(int set, struct epoll_event *events, int most, int timeout_ms, const sigset_t *mask)
{
    return wait_epoll(set, events, most, timeout_ms, mask);
}

/* What a program built with _FORTIFY_SOURCE calls: the size of the array is known, and checked by libc. */
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t bytes);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t bytes)
{
    static int (*real)(struct pollfd *, nfds_t, int, size_t);

    if (bytes / sizeof *fds >= count) return wait_poll(fds, count, timeout_ms);
    if (real == NULL) NEXT(__poll_chk);
    return real == NULL ? -1 : real(fds, count, timeout_ms, bytes);
}

int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask, size_t bytes);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask, size_t bytes)
{
    static int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

    if (bytes / sizeof *fds >= count) return wait_ppoll(fds, count, limit, mask);
    if (real == NULL) NEXT(__ppoll_chk);
    return real == NULL ? -1 : real(fds, count, limit, mask, bytes);
}
#pragma GCC visibility pop
