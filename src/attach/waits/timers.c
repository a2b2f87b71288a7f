/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of the program: alarm, setitimer, timer_create and timerfd, in its own time.
 *
 * All are entries of one list.  Each thread that gives its turn back has it again when the first of them is due
 * (turn.c), and whoever has the turn then lets it expire: a signal to the process or to a thread, a thread of its own,
 * or a count in a descriptor.  A timerfd is an eventfd underneath, which is read and waited for alike.
 *
 * Timers of CPU time stay libc's and are counted: computing takes no virtual time.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include "attach/waits/waits.h"

#define NEVER UINT64_MAX
#define PRIVATE_FD 900 /* and above: our own end of a timerfd, as far as there are such */
#define PS_PER_S 1000000000000ULL

enum timer_kind { TIMER_ALARM, TIMER_POSIX, TIMER_FD };

struct timer {
    struct timer *next;
    enum timer_kind kind;
    clockid_t clock;
    uint64_t at, period; /* ps; NEVER, 0: none */
    struct sigevent event;
    int overrun;
    int fd, own_fd; /* TIMER_FD: the program's number, and ours */
};

static struct timer alarm_timer = {.kind = TIMER_ALARM, .at = NEVER, .event.sigev_signo = SIGALRM};
static struct timer *timers = &alarm_timer; /* the alarm is always the last */
static uint64_t next_due = NEVER;

static void find_next(void)
{
    next_due = NEVER;
    for (struct timer *timer = timers; timer != NULL; timer = timer->next)
        if (timer->at < next_due) next_due = timer->at;
}

uint64_t timers_next(void)
{
    return next_due;
}

static uint64_t span_ps(const struct timespec *span)
{
    return clock_after(span) - turn_now();
}

static struct timespec as_span(uint64_t ps)
{
    return (struct timespec){(time_t)(ps / PS_PER_S), (long)(ps % PS_PER_S / 1000)};
}

static bool is_virtual_clock(clockid_t clock)
{
    return clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID && clock >= 0;
}

/* --- expiry --- */

static void notify_thread(void *argument)
{
    struct sigevent *event = argument;
    void (*notify)(union sigval) = event->sigev_notify_function;
    union sigval value = event->sigev_value;

    free(event);
    notify(value);
}

static void start_thread(const struct sigevent *event)
{
    struct sigevent *copy = malloc(sizeof *copy);

    if (copy == NULL) return;
    *copy = *event;
    if (!threads_run(notify_thread, copy)) free(copy);
}

static void send_signal(const struct timer *timer)
{
    pid_t pid = (pid_t)RAW(SYS_getpid, 0, 0, 0, 0, 0, 0);
    const struct sigevent *event = &timer->event;
    siginfo_t info;

    memset(&info, 0, sizeof info);
    info.si_signo = event->sigev_signo;
    info.si_code = timer->kind == TIMER_ALARM ? SI_KERNEL : SI_TIMER;
    if (timer->kind == TIMER_POSIX) {
        info.si_overrun = timer->overrun;
        info.si_value = event->sigev_value;
    }
    /* Whoever blocks it, or is meant and waits for its turn, gets it when it has that. */
    turn_touched(ATTACH_TOUCHED_PROCESS);
    if (event->sigev_notify == SIGEV_THREAD_ID)
        RAW(SYS_rt_tgsigqueueinfo, pid, event->_sigev_un._tid, event->sigev_signo, &info, 0, 0);
    else
        RAW(SYS_rt_sigqueueinfo, pid, event->sigev_signo, &info, 0, 0, 0);
}

static void expire(struct timer *timer, uint64_t now)
{
    uint64_t times = 1;

    if (timer->period > 0) {
        times += (now - timer->at) / timer->period;
        timer->at += times * timer->period;
    } else {
        timer->at = NEVER;
    }
    find_next();
    timer->overrun = (int)(times - 1);
    if (timer->kind == TIMER_FD) {
        RAW(SYS_write, timer->own_fd, &times, sizeof times, 0, 0, 0);
        turn_touched(ATTACH_TOUCHED_PROCESS | ATTACH_TOUCHED_HOST);
    } else if (timer->kind == TIMER_ALARM || timer->event.sigev_notify == SIGEV_SIGNAL ||
               timer->event.sigev_notify == SIGEV_THREAD_ID) {
        send_signal(timer);
    } else if (timer->event.sigev_notify == SIGEV_THREAD) {
        start_thread(&timer->event);
    }
}

/* A handler may change the list: it is looked through again after each. */
void timers_run(void)
{
    while (next_due <= turn_now()) {
        struct timer *timer = timers, *first = NULL;

        for (; timer != NULL; timer = timer->next)
            if (timer->at <= turn_now() && (first == NULL || timer->at < first->at)) first = timer;
        if (first == NULL) {
            find_next();
            return;
        }
        expire(first, turn_now());
    }
}

/* --- set and read --- */

static void read_timer(const struct timer *timer, struct itimerspec *ret)
{
    uint64_t now = turn_now();

    ret->it_interval = as_span(timer->period);
    ret->it_value = as_span(timer->at == NEVER ? 0 : timer->at > now ? timer->at - now : 1000);
}

static void set_timer(struct timer *timer, const struct itimerspec *value, bool absolute)
{
    timer->period = span_ps(&value->it_interval);
    if (value->it_value.tv_sec == 0 && value->it_value.tv_nsec == 0)
        timer->at = NEVER;
    else
        timer->at = absolute ? clock_until(timer->clock, &value->it_value) : clock_after(&value->it_value);
    timer->overrun = 0;
    find_next();
}

static bool is_span(const struct timespec *span)
{
    return span->tv_sec >= 0 && span->tv_nsec >= 0 && span->tv_nsec < 1000000000;
}

/* What is due by now happens before it is changed. */
static int change_timer(struct timer *timer, int absolute, const struct itimerspec *value, struct itimerspec *ret)
{
    if (value == NULL || !is_span(&value->it_value) || !is_span(&value->it_interval)) return (int)as_libc(-EINVAL);
    if (turn_enter() < 0) return (int)as_libc(-EINVAL);
    timers_run();
    if (ret != NULL) read_timer(timer, ret);
    set_timer(timer, value, absolute != 0);
    turn_leave();
    return 0;
}

/* --- alarm --- */

EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict value, struct itimerval *restrict ret)
{
    struct itimerspec wanted, before;

    if (!managed() || which != ITIMER_REAL) {
        if (managed()) session_not_virtual("setitimer() of CPU time");
        return REAL(setitimer)(which, value, ret);
    }
    if (value == NULL) return (int)as_libc(-EFAULT);
    wanted.it_value = (struct timespec){value->it_value.tv_sec, value->it_value.tv_usec * 1000};
    wanted.it_interval = (struct timespec){value->it_interval.tv_sec, value->it_interval.tv_usec * 1000};
    if (change_timer(&alarm_timer, 0, &wanted, &before) < 0) return -1;
    if (ret != NULL) {
        ret->it_value = (struct timeval){before.it_value.tv_sec, before.it_value.tv_nsec / 1000};
        ret->it_interval = (struct timeval){before.it_interval.tv_sec, before.it_interval.tv_nsec / 1000};
    }
    return 0;
}

EXPORT int getitimer(__itimer_which_t which, struct itimerval *ret)
{
    struct itimerspec now;

    if (!managed() || which != ITIMER_REAL) return REAL(getitimer)(which, ret);
    read_timer(&alarm_timer, &now);
    ret->it_value = (struct timeval){now.it_value.tv_sec, now.it_value.tv_nsec / 1000};
    ret->it_interval = (struct timeval){now.it_interval.tv_sec, now.it_interval.tv_nsec / 1000};
    return 0;
}

EXPORT unsigned alarm(unsigned seconds)
{
    struct itimerspec wanted = {.it_value = {(time_t)seconds, 0}}, before = {0};

    if (!managed()) return REAL(alarm)(seconds);
    change_timer(&alarm_timer, 0, &wanted, &before);
    return (unsigned)before.it_value.tv_sec + (before.it_value.tv_nsec > 0);
}

EXPORT useconds_t ualarm(useconds_t first, useconds_t period)
{
    struct itimerval wanted = {.it_value = {first / 1000000, first % 1000000},
                               .it_interval = {period / 1000000, period % 1000000}};
    struct itimerval before = {0};

    if (!managed()) return REAL(ualarm)(first, period);
    setitimer(ITIMER_REAL, &wanted, &before);
    return (useconds_t)(before.it_value.tv_sec * 1000000 + before.it_value.tv_usec);
}

/* --- timers with a number --- */

static struct timer *add_timer(enum timer_kind kind, clockid_t clock)
{
    struct timer *timer = calloc(1, sizeof *timer);

    if (timer == NULL) return NULL;
    *timer = (struct timer){.kind = kind, .clock = clock, .at = NEVER, .next = timers, .fd = -1, .own_fd = -1};
    timers = timer;
    return timer;
}

static void drop_timer(struct timer *timer)
{
    struct timer **at = &timers;

    while (*at != NULL && *at != timer)
        at = &(*at)->next;
    if (*at == NULL || timer == &alarm_timer) return;
    *at = timer->next;
    free(timer);
    find_next();
}

static struct timer *posix_timer(timer_t id)
{
    struct timer *timer = timers;

    while (timer != NULL && (timer != (struct timer *)id || timer->kind != TIMER_POSIX))
        timer = timer->next;
    return timer;
}

EXPORT int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict ret)
{
    struct timer *timer;
    pid_t tid = 0;

    if (!managed() || !is_virtual_clock(clock)) {
        if (managed()) session_not_virtual("timer_create() of CPU time");
        return REAL(timer_create)(clock, event, ret);
    }
    if (event != NULL && event->sigev_notify == SIGEV_THREAD_ID) {
        if (event->_sigev_un._tid != identity_tid()) {
            session_not_virtual("timer_create() for another thread");
            return (int)as_libc(-EINVAL);
        }
        tid = self->tid;
    }
    timer = add_timer(TIMER_POSIX, clock);
    if (timer == NULL) return (int)as_libc(-EAGAIN);
    if (event != NULL) {
        timer->event = *event;
        if (tid > 0) timer->event._sigev_un._tid = tid;
    } else {
        timer->event = (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
        timer->event.sigev_value.sival_ptr = timer;
    }
    *ret = (timer_t)timer;
    return 0;
}

EXPORT int timer_settime(timer_t id, int flags, const struct itimerspec *restrict value,
                         struct itimerspec *restrict before)
{
    struct timer *timer = managed() ? posix_timer(id) : NULL;

    if (timer == NULL) return REAL(timer_settime)(id, flags, value, before);
    return change_timer(timer, flags & TIMER_ABSTIME, value, before);
}

EXPORT int timer_gettime(timer_t id, struct itimerspec *ret)
{
    struct timer *timer = managed() ? posix_timer(id) : NULL;

    if (timer == NULL) return REAL(timer_gettime)(id, ret);
    read_timer(timer, ret);
    return 0;
}

EXPORT int timer_getoverrun(timer_t id)
{
    struct timer *timer = managed() ? posix_timer(id) : NULL;

    return timer == NULL ? REAL(timer_getoverrun)(id) : timer->overrun;
}

EXPORT int timer_delete(timer_t id)
{
    struct timer *timer = managed() ? posix_timer(id) : NULL;

    if (timer == NULL) return REAL(timer_delete)(id);
    drop_timer(timer);
    return 0;
}

/* --- timers with a descriptor --- */

static struct timer *fd_timer(int fd)
{
    struct timer *timer = timers;

    while (timer != NULL && (timer->kind != TIMER_FD || timer->fd != fd))
        timer = timer->next;
    return timer;
}

EXPORT int timerfd_create(clockid_t clock, int flags)
{
    struct timer *timer;
    int fd;

    if (!managed() || !is_virtual_clock(clock)) return REAL(timerfd_create)(clock, flags);
    timer = add_timer(TIMER_FD, clock);
    if (timer == NULL) return (int)as_libc(-ENOMEM);
    fd = eventfd(0, (flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0) | (flags & TFD_CLOEXEC ? EFD_CLOEXEC : 0));
    if (fd < 0) {
        drop_timer(timer);
        return -1;
    }
    timer->fd = fd;
    timer->own_fd = (int)RAW(SYS_fcntl, fd, F_DUPFD_CLOEXEC, PRIVATE_FD, 0, 0, 0);
    if (timer->own_fd < 0) timer->own_fd = fd;
    return fd;
}

/* What it has counted before does not count any more. */
static void empty(int fd)
{
    struct pollfd wanted = {fd, POLLIN, 0};
    struct timespec none = {0, 0};
    uint64_t count;

    if (RAW_LOOK(SYS_ppoll, &wanted, 1, &none, NULL, 8, 0) > 0) RAW(SYS_read, fd, &count, sizeof count, 0, 0, 0);
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *before)
{
    struct timer *timer = managed() ? fd_timer(fd) : NULL;
    int result;

    if (timer == NULL) return REAL(timerfd_settime)(fd, flags, value, before);
    result = change_timer(timer, flags & TFD_TIMER_ABSTIME, value, before);
    if (result == 0) empty(timer->own_fd);
    return result;
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *ret)
{
    struct timer *timer = managed() ? fd_timer(fd) : NULL;

    if (timer == NULL) return REAL(timerfd_gettime)(fd, ret);
    read_timer(timer, ret);
    return 0;
}

void timers_closed(int fd)
{
    struct timer *timer = fd_timer(fd);

    if (timer == NULL) return;
    if (timer->own_fd != fd) RAW(SYS_close, timer->own_fd, 0, 0, 0, 0, 0);
    drop_timer(timer);
}

/* A child has no timers; those with a descriptor go on in the parent, who counts for both. */
void timers_forked(void)
{
    alarm_timer.at = NEVER;
    timers = &alarm_timer;
    find_next();
}
