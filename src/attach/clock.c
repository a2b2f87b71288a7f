/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks and sleeps of the program, by the clock of its thread.
 *
 * All clocks show the same time with another beginning.  Reading one costs what is declared.  Reads in a row, with
 * nothing else in between, cost more: a program that does nothing but look at the clock waits for it.  Such a program
 * may wait for another thread at the same time, so it also lets the fabric come to its clock now and then, unless it
 * reads from inside libc, which may hold a lock.
 *
 * Times of CPUs are the thread's clock too: the program is taken to run whenever it is not asleep.
 */
#include "attach/attach_int.h"

#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <threads.h>

#include "base/time.h"

#define UPTIME_S 1000u /* of the machine at fabric time 0 */
#define TAI_S 37u
#define ROW_FREE 64u             /* reads in a row at the declared cost */
#define ROW_STEP 8u              /* then so many for each time the cost is added again */
#define ROW_COST 1000000u        /* ps: a read costs no more than that, or what is declared */
#define AHEAD_LEAST (20 * PS_US) /* of the fabric, by clock reads alone; or a 32nd of what they took already */
#define AHEAD_MOST (200 * PS_US)

static PER_THREAD uint64_t last_calls = UINT64_MAX, row, row_since, synced_at;

void clock_synced(void)
{
    synced_at = self ? self->now : 0;
}

/* One more of the same kind in a row: what it costs. */
static uint64_t cost_in_row(uint64_t cost)
{
    uint64_t grown;

    row = self->calls == last_calls ? row + 1 : 0;
    if (row == 0) row_since = self->now;
    last_calls = ++self->calls;
    if (row <= ROW_FREE) return cost;
    grown = cost * (1 + (row - ROW_FREE) / ROW_STEP);
    return grown < ROW_COST ? grown : cost > ROW_COST ? cost : ROW_COST;
}

/* How far a thread that only reads clocks may be ahead: every turn costs, and some programs measure for seconds. */
static uint64_t ahead_limit(void)
{
    uint64_t share = (self->now - row_since) / 32;
    return share < AHEAD_LEAST ? AHEAD_LEAST : share > AHEAD_MOST ? AHEAD_MOST : share;
}

uint64_t clock_read(uint64_t cost, bool may_yield)
{
    self->now += cost_in_row(cost);
    if (may_yield && self->now - synced_at >= ahead_limit()) {
        self->in_library++;
        turn_sync();
        turn_leave();
    }
    return self->now;
}

/* What a clock shows at fabric time 0, in seconds; -1: it is none of ours. */
static int64_t begins_at(clockid_t clock)
{
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
        return (int64_t)attached.head->epoch_s;
    case CLOCK_TAI:
        return (int64_t)attached.head->epoch_s + TAI_S;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
        return UPTIME_S;
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID:
        return 0;
    default: /* below zero: of a process or thread, or (3 in the low bits) of a device */
        return clock < 0 && (clock & 7) != 3 ? 0 : -1;
    }
}

bool clock_tell(clockid_t clock, uint64_t ps, struct timespec *ret)
{
    int64_t begins = begins_at(clock);

    if (begins < 0) return false;
    ret->tv_sec = (time_t)(begins + (int64_t)(ps / PS_S));
    ret->tv_nsec = (long)(ps % PS_S / PS_NS);
    return true;
}

static uint64_t as_ps(const struct timespec *span)
{
    if (span->tv_sec < 0) return 0;
    if ((uint64_t)span->tv_sec >= UINT64_MAX / PS_S - 1) return UINT64_MAX;
    return (uint64_t)span->tv_sec * PS_S + (uint64_t)span->tv_nsec * PS_NS;
}

uint64_t clock_after(const struct timespec *span)
{
    uint64_t ps = span ? as_ps(span) : UINT64_MAX;
    return ps >= UINT64_MAX - self->now ? UINT64_MAX : self->now + ps;
}

uint64_t clock_until(clockid_t clock, const struct timespec *at)
{
    int64_t begins = begins_at(clock);
    struct timespec since;

    if (!at || begins < 0) return UINT64_MAX;
    since = (struct timespec){.tv_sec = at->tv_sec - (time_t)begins, .tv_nsec = at->tv_nsec};
    return as_ps(&since);
}

int clock_virtual_get(clockid_t clock, struct timespec *ret, bool may_yield)
{
    if (begins_at(clock) < 0) {
        attached.head->counters.real_clock++;
        return (int)RAW(SYS_clock_gettime, clock, ret, 0, 0, 0, 0);
    }
    attached.head->counters.clocks++;
    clock_tell(clock, clock_read(attached.head->cost.clock, may_yield), ret);
    return 0;
}

/* --- clocks before libc --- */

EXPORT int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (!managed()) return (int)as_libc(RAW(SYS_clock_gettime, clock, ret, 0, 0, 0, 0));
    return (int)as_libc(clock_virtual_get(clock, ret, true));
}

EXPORT int clock_getres(clockid_t clock, struct timespec *ret)
{
    if (!managed() || begins_at(clock) < 0) return (int)as_libc(RAW(SYS_clock_getres, clock, ret, 0, 0, 0, 0));
    if (ret) *ret = (struct timespec){.tv_nsec = 1};
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct timespec at;

    if (!managed()) return (int)as_libc(RAW(SYS_gettimeofday, ret, zone, 0, 0, 0, 0));
    if (zone) memset(zone, 0, sizeof(struct timezone));
    clock_virtual_get(CLOCK_REALTIME, &at, true);
    *ret = (struct timeval){.tv_sec = at.tv_sec, .tv_usec = at.tv_nsec / 1000};
    return 0;
}

EXPORT time_t time(time_t *ret)
{
    struct timespec at;

    if (managed())
        clock_virtual_get(CLOCK_REALTIME, &at, true);
    else
        RAW(SYS_clock_gettime, CLOCK_REALTIME, &at, 0, 0, 0, 0);
    if (ret) *ret = at.tv_sec;
    return at.tv_sec;
}

EXPORT int timespec_get(struct timespec *ret, int base)
{
    if (base != TIME_UTC) return 0;
    return clock_gettime(CLOCK_REALTIME, ret) < 0 ? 0 : base;
}

EXPORT clock_t clock(void)
{
    struct timespec at;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at) < 0) return -1;
    return at.tv_sec * CLOCKS_PER_SEC + at.tv_nsec / (1000000000 / CLOCKS_PER_SEC);
}

EXPORT clock_t times(struct tms *ret)
{
    const uint64_t tick = PS_S / 100;
    uint64_t now;

    if (!managed()) return as_libc(RAW(SYS_times, ret, 0, 0, 0, 0, 0));
    now = clock_read(attached.head->cost.clock, true);
    if (ret) *ret = (struct tms){.tms_utime = (clock_t)(now / tick)};
    return (clock_t)((UPTIME_S * PS_S + now) / tick);
}

EXPORT int getrusage(__rusage_who_t who, struct rusage *ret)
{
    long result = RAW(SYS_getrusage, who, ret, 0, 0, 0, 0);

    if (result < 0 || !managed()) return (int)as_libc(result);
    /* times and switches are the machine's; memory is the program's own */
    ret->ru_stime = (struct timeval){0};
    ret->ru_utime =
        (struct timeval){.tv_sec = (time_t)(self->now / PS_S), .tv_usec = (suseconds_t)(self->now % PS_S / 1000000)};
    ret->ru_minflt = ret->ru_majflt = ret->ru_nvcsw = ret->ru_nivcsw = 0;
    return 0;
}

/* --- sleeps --- */

static bool is_span(const struct timespec *span)
{
    return span->tv_sec >= 0 && span->tv_nsec >= 0 && span->tv_nsec < 1000000000;
}

static int sleep_until(uint64_t until, struct timespec *ret_left)
{
    int error = clock_sleep(until);
    uint64_t left = until > self->now ? until - self->now : 0;

    if (error && ret_left)
        *ret_left = (struct timespec){.tv_sec = (time_t)(left / PS_S), .tv_nsec = (long)(left % PS_S / PS_NS)};
    return error;
}

EXPORT int nanosleep(const struct timespec *span, struct timespec *ret_left)
{
    if (!managed()) return (int)as_libc(RAW(SYS_nanosleep, span, ret_left, 0, 0, 0, 0));
    return (int)as_libc(is_span(span) ? -sleep_until(clock_after(span), ret_left) : -EINVAL);
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *span, struct timespec *ret_left)
{
    if (!managed() || begins_at(clock) < 0) return (int)-RAW(SYS_clock_nanosleep, clock, flags, span, ret_left, 0, 0);
    if (!is_span(span)) return EINVAL;
    if (flags & TIMER_ABSTIME) return sleep_until(clock_until(clock, span), NULL);
    return sleep_until(clock_after(span), ret_left);
}

EXPORT int usleep(useconds_t us)
{
    struct timespec span = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    return nanosleep(&span, NULL);
}

EXPORT unsigned sleep(unsigned seconds)
{
    struct timespec span = {.tv_sec = (time_t)seconds}, left = {0};

    if (nanosleep(&span, &left) == 0) return 0;
    return (unsigned)left.tv_sec + (left.tv_nsec >= 500000000);
}

EXPORT int thrd_sleep(const struct timespec *span, struct timespec *ret_left)
{
    if (nanosleep(span, ret_left) == 0) return 0;
    return errno == EINTR ? -1 : -2;
}

EXPORT int sched_yield(void)
{
    if (!managed()) return (int)as_libc(RAW(SYS_sched_yield, 0, 0, 0, 0, 0, 0));
    self->in_library++;
    turn_yield(ATTACH_SLEEP, self->now + cost_in_row(attached.head->cost.yield));
    turn_leave();
    return 0;
}

EXPORT void thrd_yield(void)
{
    sched_yield();
}

extern EXPORT int pthread_yield(void);
EXPORT int pthread_yield(void)
{
    return sched_yield();
}
