/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the program: each has a place in the segment and turns of its own.
 *
 * A thread begins with its first turn and ends when the last destructor of its keys has run: then the place is given
 * back, and whoever joins it goes on.  What libc does after that (its stack, its death in the kernel) has no time; a
 * join waits for it in the kernel, a matter of microseconds.  Records outlive places: a thread that has ended and is
 * not joined has a record and no place.
 *
 * Cancellation is libc's.  It comes to a thread that waits for its turn when that has the turn again, at a call that
 * is a cancellation point.
 */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <threads.h>

#include "attach/waits/waits.h"

struct record {
    struct record *next;
    pthread_t thread;
    pid_t tid;
    struct attach_thread *place;
    void *(*run)(void *);
    void *argument;
    bool detached, ended, cancelled;
    unsigned destructors; /* rounds of them that libc has run */
};

static struct record *records; /* of threads that have not been joined */
static PER_THREAD struct record *mine;
static pthread_key_t end_key;
static bool has_key;

static struct record *find(pthread_t thread)
{
    struct record *record = records;

    while (record != NULL && !pthread_equal(record->thread, thread))
        record = record->next;
    return record;
}

static void forget(struct record *record)
{
    struct record **at = &records;

    while (*at != NULL && *at != record)
        at = &(*at)->next;
    if (*at != NULL) *at = record->next;
    free(record);
}

/* libc calls destructors again while values are left, so many times: others' may still wait and lock, so ours is
 * content with the last round. */
static void thread_ends(void *value)
{
    struct record *record = value;

    if (self == NULL || record != mine) return;
    if (++record->destructors < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(end_key, record) == 0) return;
    mine = NULL;
    record->ended = true;
    record->place = NULL;
    turn_touched(ATTACH_TOUCHED_PROCESS);
    if (record->detached) forget(record);
    turn_end();
}

static void *thread_begins(void *argument)
{
    struct record *record = argument;

    record->tid = (pid_t)RAW(SYS_gettid, 0, 0, 0, 0, 0, 0);
    turn_begin(record->place);
    mine = record;
    pthread_setspecific(end_key, record);
    return record->run(record->argument);
}

static int create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
    int state = PTHREAD_CREATE_JOINABLE, error;
    struct record *record = calloc(1, sizeof *record);

    if (record == NULL) return EAGAIN;
    record->run = run;
    record->argument = argument;
    record->place = turn_place();
    if (record->place == NULL) {
        session_not_virtual("more threads than a process can have in a fabric");
        free(record);
        return EAGAIN;
    }
    if (attr != NULL) pthread_attr_getdetachstate(attr, &state);
    record->detached = state == PTHREAD_CREATE_DETACHED;
    error = REAL(pthread_create)(&record->thread, attr, thread_begins, record);
    if (error != 0) {
        record->place->state = ATTACH_FREE;
        free(record);
        return error;
    }
    *thread = record->thread;
    record->next = records;
    records = record;
    return 0;
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr, void *(*run)(void *),
                          void *restrict argument)
{
    int error;

    if (!managed() || !has_key || turn_enter() < 0) return REAL(pthread_create)(thread, attr, run, argument);
    error = create(thread, attr, run, argument);
    turn_leave();
    return error;
}

struct simple_start {
    void (*run)(void *);
    void *argument;
};

static void *simple_begins(void *argument)
{
    struct simple_start start = *(struct simple_start *)argument;

    free(argument);
    start.run(start.argument);
    return NULL;
}

bool threads_run(void (*run)(void *), void *argument)
{
    struct simple_start *start = malloc(sizeof *start);
    pthread_attr_t attr;
    pthread_t thread;
    int error;

    if (start == NULL) return false;
    *start = (struct simple_start){run, argument};
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    error = create(&thread, &attr, simple_begins, start);
    pthread_attr_destroy(&attr);
    if (error != 0) free(start);
    return error == 0;
}

/* --- join --- */

static int join_until(pthread_t thread, void **ret, uint64_t until)
{
    struct record *record = find(thread);
    enum wait_end end = WAIT_AGAIN;
    int error;

    if (record != NULL && record == mine) return EDEADLK;
    while (record != NULL && !record->ended && end != WAIT_GONE) {
        if (threads_cancelled()) pthread_testcancel();
        if (end == WAIT_LATE) return ETIMEDOUT;
        end = wait_turn(until, "the end of a thread");
    }
    if (turn_enter() < 0) return REAL(pthread_join)(thread, ret);
    error = REAL(pthread_join)(thread, ret);
    if (error == 0 && record != NULL) forget(record);
    turn_leave();
    return error;
}

EXPORT int pthread_join(pthread_t thread, void **ret)
{
    return managed() ? join_until(thread, ret, UINT64_MAX) : REAL(pthread_join)(thread, ret);
}

EXPORT int pthread_tryjoin_np(pthread_t thread, void **ret)
{
    struct record *record;

    if (!managed()) return REAL(pthread_tryjoin_np)(thread, ret);
    record = find(thread);
    if (record == NULL || record->ended) return join_until(thread, ret, 0);
    wait_moment();
    return EBUSY;
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *at)
{
    if (!managed()) return REAL(pthread_timedjoin_np)(thread, ret, at);
    return join_until(thread, ret, at == NULL ? UINT64_MAX : clock_until(CLOCK_REALTIME, at));
}

EXPORT int pthread_clockjoin_np(pthread_t thread, void **ret, clockid_t clock, const struct timespec *at)
{
    if (!managed()) return REAL(pthread_clockjoin_np)(thread, ret, clock, at);
    return join_until(thread, ret, at == NULL ? UINT64_MAX : clock_until(clock, at));
}

EXPORT int pthread_detach(pthread_t thread)
{
    struct record *record;
    int error = REAL(pthread_detach)(thread);

    if (!managed() || error != 0 || (record = find(thread)) == NULL) return error;
    record->detached = true;
    if (record->ended) forget(record);
    return 0;
}

/* --- cancellation --- */

EXPORT int pthread_cancel(pthread_t thread)
{
    struct record *record = managed() ? find(thread) : NULL;

    if (record != NULL) {
        record->cancelled = true;
        wait_release(false);
    }
    return REAL(pthread_cancel)(thread);
}

bool threads_cancelled(void)
{
    int state;

    if (mine == NULL || !mine->cancelled) return false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (state == PTHREAD_CANCEL_ENABLE) pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    return state == PTHREAD_CANCEL_ENABLE;
}

EXPORT int pthread_kill(pthread_t thread, int signal)
{
    int error = REAL(pthread_kill)(thread, signal);

    if (managed() && error == 0 && signal != 0) turn_touched(ATTACH_TOUCHED_PROCESS);
    return error;
}

void threads_await_death(pid_t tid)
{
    for (struct record *record = records; record != NULL; record = record->next) {
        if (record->tid != tid || !record->ended) continue;
        while (RAW(SYS_tgkill, RAW(SYS_getpid, 0, 0, 0, 0, 0, 0), tid, 0, 0, 0, 0) == 0)
            RAW(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    }
}

/* --- C11: the same threads by other names --- */

struct c11_start {
    thrd_start_t run;
    void *argument;
};

static void *c11_begins(void *argument)
{
    struct c11_start start = *(struct c11_start *)argument;

    free(argument);
    return (void *)(intptr_t)start.run(start.argument);
}

static int c11_error(int error)
{
    switch (error) {
    case 0:
        return thrd_success;
    case EAGAIN:
    case ENOMEM:
        return thrd_nomem;
    case EBUSY:
        return thrd_busy;
    case ETIMEDOUT:
        return thrd_timedout;
    default:
        return thrd_error;
    }
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    struct c11_start *start;
    int error;

    if (!managed()) return REAL(thrd_create)(thread, run, argument);
    start = malloc(sizeof *start);
    if (start == NULL) return thrd_nomem;
    *start = (struct c11_start){run, argument};
    error = pthread_create(thread, NULL, c11_begins, start);
    if (error != 0) free(start);
    return c11_error(error);
}

EXPORT int thrd_join(thrd_t thread, int *ret)
{
    void *value;
    int error;

    if (!managed()) return REAL(thrd_join)(thread, ret);
    error = pthread_join(thread, &value);
    if (error == 0 && ret != NULL) *ret = (int)(intptr_t)value;
    return c11_error(error);
}

EXPORT int thrd_detach(thrd_t thread)
{
    return managed() ? c11_error(pthread_detach(thread)) : REAL(thrd_detach)(thread);
}

EXPORT int mtx_lock(mtx_t *mutex)
{
    return managed() ? c11_error(pthread_mutex_lock((pthread_mutex_t *)mutex)) : REAL(mtx_lock)(mutex);
}

EXPORT int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict at)
{
    if (!managed()) return REAL(mtx_timedlock)(mutex, at);
    return c11_error(pthread_mutex_timedlock((pthread_mutex_t *)mutex, at));
}

EXPORT int mtx_trylock(mtx_t *mutex)
{
    return managed() ? c11_error(pthread_mutex_trylock((pthread_mutex_t *)mutex)) : REAL(mtx_trylock)(mutex);
}

EXPORT int mtx_unlock(mtx_t *mutex)
{
    return managed() ? c11_error(pthread_mutex_unlock((pthread_mutex_t *)mutex)) : REAL(mtx_unlock)(mutex);
}

EXPORT int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    if (!managed()) return REAL(cnd_wait)(condition, mutex);
    return c11_error(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}

EXPORT int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict at)
{
    if (!managed()) return REAL(cnd_timedwait)(condition, mutex, at);
    return c11_error(pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, at));
}

EXPORT int cnd_signal(cnd_t *condition)
{
    return managed() ? c11_error(pthread_cond_signal((pthread_cond_t *)condition)) : REAL(cnd_signal)(condition);
}

EXPORT int cnd_broadcast(cnd_t *condition)
{
    return managed() ? c11_error(pthread_cond_broadcast((pthread_cond_t *)condition)) : REAL(cnd_broadcast)(condition);
}

/* --- the beginning, and a child's --- */

static void first_thread(void)
{
    struct record *first = calloc(1, sizeof *first);

    if (first == NULL) return;
    *first = (struct record){.thread = pthread_self(), .tid = (pid_t)RAW(SYS_gettid, 0, 0, 0, 0, 0, 0), .place = self};
    records = mine = first;
    pthread_setspecific(end_key, mine);
}

void threads_start(void)
{
    if (!attached.is_virtual) return;
    has_key = pthread_key_create(&end_key, thread_ends) == 0;
    if (has_key) first_thread();
    process_start();
}

void threads_forked(void)
{
    wait_forked();
    timers_forked();
    process_forked();
    if (has_key) first_thread();
}
