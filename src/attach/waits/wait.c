/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait for descriptors or signals: poll, select, epoll_wait, pause and their kin.
 *
 * They ask the kernel without waiting, and give the turn back.  A call with a timeout ends at the exact time.  A call
 * that is not to wait costs what a clock read costs; when such calls find nothing twice in a row the program waits by
 * asking, and a moment passes as after a poll of a completion queue that was empty (docs/virtual-time.md).
 *
 * Which descriptors can keep somebody waiting is asked of the kernel, and remembered of those that can: a number that
 * was closed behind our back (fclose) and is now a file is asked about without need, and found ready.
 *
 * Reading and writing is transfer.c's.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <termios.h>

#include "attach/waits/waits.h"

#define KERNEL_SIGSET 8
#define ASKED_MOST 16u /* calls that found something, until others have a turn */
#define REMEMBERED 4096
static bool known_waitable[REMEMBERED];
static PER_THREAD uint32_t nothing_in_row;

static const struct timespec no_time;

/* --- descriptors --- */

bool wait_is_waitable(int fd)
{
    struct termios terminal;
    struct stat about;

    if (fd < 0) return false;
    if (fd < REMEMBERED && known_waitable[fd]) return true;
    if (RAW(SYS_newfstatat, fd, "", &about, AT_EMPTY_PATH, 0, 0) < 0) return false;
    switch (about.st_mode & S_IFMT) {
    case S_IFSOCK:
    case S_IFIFO:
    case 0: /* eventfd, epoll, timerfd, signalfd, pidfd */
        break;
    case S_IFCHR:
        if (RAW(SYS_ioctl, fd, TCGETS, &terminal, 0, 0, 0) < 0) return false;
        break;
    default:
        return false;
    }
    if (fd < REMEMBERED) known_waitable[fd] = true;
    return true;
}

bool wait_would_block(int fd)
{
    long flags = RAW(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);

    return flags >= 0 && !(flags & O_NONBLOCK);
}

void wait_found(void)
{
    nothing_in_row = 0;
}

void wait_found_nothing(void)
{
    turn_charge(attached.head->cost.clock);
    if (++nothing_in_row < 2 || turn_enter() < 0) return;
    turn_poll_empty();
    turn_leave();
}

/* --- waiting --- */

/* A call that is not to wait has found something.  A program that does nothing else (a socket that can always be
 * written to, in a set that is asked about others) waits for them: time passes, and others have their turns. */
static void asked_and_found(void)
{
    static PER_THREAD uint32_t asked;

    turn_charge(attached.head->cost.clock);
    if (++asked % ASKED_MOST == 0) wait_sync();
}

/* What a look found: a result or -errno; 0: nothing yet. */
typedef long (*look_function)(void *wanted);
static long look_never(void *argument), look_signal(void *argument);

static long wait_look(look_function look, void *wanted, uint64_t until)
{
    const char *what = look == look_never || look == look_signal ? "a signal" : "a descriptor";
    bool asks = until <= turn_now();
    enum wait_end end = WAIT_AGAIN;
    long found;

    if (threads_cancelled()) pthread_testcancel();
    if (!asks) wait_sync();
    while ((found = look(wanted)) == 0) {
        if (end == WAIT_LATE || end == WAIT_GONE) break;
        if (end == WAIT_INTERRUPTED) return -EINTR;
        if (asks) {
            wait_found_nothing();
            return nothing_in_row < 2 ? 0 : look(wanted);
        }
        end = wait_turn_event(until, what);
        if (threads_cancelled()) pthread_testcancel();
    }
    if (found != 0) wait_found();
    if (found > 0 && asks) asked_and_found();
    return found;
}

/* The same with another mask of signals; those that are pending interrupt it. */
static long wait_masked(look_function look, void *wanted, uint64_t until, const sigset_t *mask)
{
    uint32_t handled = signals_handled();
    sigset_t before;
    long found;

    if (mask == NULL) return wait_look(look, wanted, until);
    pthread_sigmask(SIG_SETMASK, mask, &before);
    found = signals_handled() != handled ? -EINTR : wait_look(look, wanted, until);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return found;
}

static uint64_t after_ms(int ms)
{
    struct timespec span = {ms / 1000, (long)(ms % 1000) * 1000000};

    return clock_after(ms < 0 ? NULL : &span);
}

/* --- poll --- */

struct poll_wanted {
    struct pollfd *fds;
    nfds_t count;
};

static long look_poll(void *argument)
{
    struct poll_wanted *wanted = argument;
    struct timespec none = no_time;

    return RAW_LOOK(SYS_ppoll, wanted->fds, wanted->count, &none, NULL, KERNEL_SIGSET, 0);
}

int wait_ready(int fd, short events, uint64_t until)
{
    struct pollfd wanted = {fd, events, 0};
    struct poll_wanted all = {&wanted, 1};
    long found = wait_look(look_poll, &all, until);

    if (!attached.is_virtual) return -EIO;
    return found > 0 ? 0 : found < 0 ? (int)found : -ETIMEDOUT;
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int ms)
{
    struct poll_wanted wanted = {fds, count};

    if (!managed()) return REAL(poll)(fds, count, ms);
    return (int)as_libc(wait_look(look_poll, &wanted, after_ms(ms)));
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    struct poll_wanted wanted = {fds, count};

    if (!managed()) return REAL(ppoll)(fds, count, timeout, mask);
    return (int)as_libc(wait_masked(look_poll, &wanted, clock_after(timeout), mask));
}

/* As programs call them that are built with checks of their buffers. */
extern EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t room);
int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t room)
{
    if (room / sizeof *fds < count) abort();
    return poll(fds, count, ms);
}

extern EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                              size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t room)
{
    if (room / sizeof *fds < count) abort();
    return ppoll(fds, count, timeout, mask);
}

/* --- select --- */

struct select_wanted {
    int count;
    size_t bytes;    /* of a set */
    fd_set *user[3]; /* NULL: not asked for */
    uint8_t asked[3][REMEMBERED / 8], found[3][REMEMBERED / 8];
};

static long look_select(void *argument)
{
    struct select_wanted *wanted = argument;
    struct timespec none = no_time;
    long found;

    memcpy(wanted->found, wanted->asked, sizeof wanted->found);
    found = RAW_LOOK(SYS_pselect6, wanted->count, wanted->user[0] ? wanted->found[0] : NULL,
                     wanted->user[1] ? wanted->found[1] : NULL, wanted->user[2] ? wanted->found[2] : NULL, &none, NULL);
    return found;
}

static int select_until(int count, fd_set *sets[3], uint64_t until, const sigset_t *mask)
{
    struct select_wanted wanted = {.count = count, .user = {sets[0], sets[1], sets[2]}};
    long found;

    if (count < 0 || count > REMEMBERED) {
        errno = EINVAL;
        return -1;
    }
    wanted.bytes = ((size_t)count + 63) / 64 * 8;
    for (int i = 0; i < 3; i++)
        if (sets[i] != NULL) memcpy(wanted.asked[i], sets[i], wanted.bytes);
    found = wait_masked(look_select, &wanted, until, mask);
    for (int i = 0; i < 3 && found >= 0; i++)
        if (sets[i] != NULL) memcpy(sets[i], wanted.found[i], wanted.bytes);
    return (int)as_libc(found);
}

EXPORT int select(int count, fd_set *restrict reads, fd_set *restrict writes, fd_set *restrict others,
                  struct timeval *restrict timeout)
{
    fd_set *sets[3] = {reads, writes, others};
    struct timespec span;
    uint64_t until, now, left;
    int found;

    if (!managed()) return REAL(select)(count, reads, writes, others, timeout);
    if (timeout == NULL) return select_until(count, sets, UINT64_MAX, NULL);
    span = (struct timespec){timeout->tv_sec, timeout->tv_usec * 1000};
    until = clock_after(&span);
    found = select_until(count, sets, until, NULL);
    now = turn_now();
    left = until > now ? (until - now) / 1000000 : 0;
    *timeout = (struct timeval){(time_t)(left / 1000000), (suseconds_t)(left % 1000000)};
    return found;
}

EXPORT int pselect(int count, fd_set *restrict reads, fd_set *restrict writes, fd_set *restrict others,
                   const struct timespec *restrict timeout, const sigset_t *restrict mask)
{
    fd_set *sets[3] = {reads, writes, others};

    if (!managed()) return REAL(pselect)(count, reads, writes, others, timeout, mask);
    return select_until(count, sets, clock_after(timeout), mask);
}

/* --- epoll --- */

struct epoll_wanted {
    int fd, most;
    struct epoll_event *events;
};

static long look_epoll(void *argument)
{
    struct epoll_wanted *wanted = argument;

    return RAW_LOOK(SYS_epoll_pwait, wanted->fd, wanted->events, wanted->most, 0, NULL, KERNEL_SIGSET);
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int most, int ms, const sigset_t *mask)
{
    struct epoll_wanted wanted = {fd, most, events};

    if (!managed()) return REAL(epoll_pwait)(fd, events, most, ms, mask);
    return (int)as_libc(wait_masked(look_epoll, &wanted, after_ms(ms), mask));
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int ms)
{
    return managed() ? epoll_pwait(fd, events, most, ms, NULL) : REAL(epoll_wait)(fd, events, most, ms);
}

EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *timeout,
                        const sigset_t *mask)
{
    struct epoll_wanted wanted = {fd, most, events};

    if (!managed()) return REAL(epoll_pwait2)(fd, events, most, timeout, mask);
    return (int)as_libc(wait_masked(look_epoll, &wanted, clock_after(timeout), mask));
}

/* --- sleeps and signals --- */

/* What others do may be a signal, or the end of this thread: a sleep looks up as every wait does. */
int clock_sleep(uint64_t until)
{
    enum wait_end end = WAIT_AGAIN;

    wait_sync();
    while (self->now < until && end != WAIT_GONE) {
        if (threads_cancelled()) pthread_testcancel();
        if (end == WAIT_INTERRUPTED) return EINTR;
        end = wait_turn(until, "time");
    }
    return 0;
}

static long look_never(void *argument)
{
    (void)argument;
    return 0;
}

EXPORT int pause(void)
{
    if (!managed()) return REAL(pause)();
    return (int)as_libc(wait_look(look_never, NULL, UINT64_MAX));
}

EXPORT int sigsuspend(const sigset_t *mask)
{
    if (!managed()) return REAL(sigsuspend)(mask);
    return (int)as_libc(wait_masked(look_never, NULL, UINT64_MAX, mask));
}

struct signal_wanted {
    const sigset_t *set;
    siginfo_t *info;
};

static long look_signal(void *argument)
{
    struct signal_wanted *wanted = argument;
    struct timespec none = no_time;
    long found = RAW(SYS_rt_sigtimedwait, wanted->set, wanted->info, &none, KERNEL_SIGSET, 0, 0);

    return found == -EAGAIN ? 0 : found;
}

static int signal_until(const sigset_t *set, siginfo_t *info, uint64_t until)
{
    struct signal_wanted wanted = {set, info};
    long found = wait_look(look_signal, &wanted, until);

    return (int)as_libc(found == 0 ? -EAGAIN : found);
}

EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict timeout)
{
    if (!managed()) return REAL(sigtimedwait)(set, info, timeout);
    return signal_until(set, info, clock_after(timeout));
}

EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    return managed() ? signal_until(set, info, UINT64_MAX) : REAL(sigwaitinfo)(set, info);
}

EXPORT int sigwait(const sigset_t *restrict set, int *restrict ret)
{
    int found, before = errno, error;

    if (!managed()) return REAL(sigwait)(set, ret);
    do
        found = signal_until(set, NULL, UINT64_MAX);
    while (found < 0 && errno == EINTR);
    error = errno;
    errno = before;
    if (found < 0) return error;
    *ret = found;
    return 0;
}
