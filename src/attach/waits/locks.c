/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes, spin locks, read-write locks and pthread_once(): whoever would wait gives its turn back.
 *
 * The locks stay libc's own: a thread tries, and when it fails it waits for a turn and tries again, so libc never has
 * a waiter and nobody sleeps in the kernel.  Taking a lock that is free takes no time and needs no turn.  std::mutex,
 * std::call_once and the like come through these.
 *
 * What a try does not tell is read from libc's own fields: that the caller is the owner, and that others of the host
 * share the lock.
 */
#include "attach/waits/waits.h"

#define MUTEX_KIND 3         /* of __kind: PTHREAD_MUTEX_* */
#define MUTEX_ROBUST 16      /* a bit of it */
#define MUTEX_SHARED 128     /* another */
#define ONCE_RUNS 1          /* of pthread_once_t: somebody is in the routine */
#define ONCE_DONE 2          /* the routine has run */
#define SPIN_LOOK 10000000   /* ps: whether a spin lock is shared with another process is not written in it */
#define ONCE_LOOK 1000000000 /* ps: a routine that throws tells nobody */

static pid_t kernel_tid(void)
{
    return self->tid;
}

/* --- mutexes --- */

static bool mutex_shared(const pthread_mutex_t *mutex)
{
    return mutex->__data.__kind & MUTEX_SHARED;
}

static bool mutex_relocked(const pthread_mutex_t *mutex)
{
    return (mutex->__data.__kind & MUTEX_KIND) == PTHREAD_MUTEX_ERRORCHECK && mutex->__data.__owner == kernel_tid();
}

static int mutex_lock_until(pthread_mutex_t *mutex, uint64_t until)
{
    enum wait_end end = WAIT_AGAIN;
    int error;

    while ((error = REAL(pthread_mutex_trylock)(mutex)) == EBUSY) {
        if (mutex_relocked(mutex)) return EDEADLK;
        if (end == WAIT_LATE) return ETIMEDOUT;
        if (end == WAIT_GONE) return REAL(pthread_mutex_lock)(mutex);
        if (mutex->__data.__kind & MUTEX_ROBUST) threads_await_death(mutex->__data.__owner);
        end = wait_turn(until, "a mutex");
    }
    return error;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return managed() ? mutex_lock_until(mutex, UINT64_MAX) : REAL(pthread_mutex_lock)(mutex);
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    int error = REAL(pthread_mutex_trylock)(mutex);

    if (error == EBUSY && managed()) wait_moment();
    return error;
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict at)
{
    if (!managed()) return REAL(pthread_mutex_timedlock)(mutex, at);
    return mutex_lock_until(mutex, clock_until(CLOCK_REALTIME, at));
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict mutex, clockid_t clock, const struct timespec *restrict at)
{
    if (!managed()) return REAL(pthread_mutex_clocklock)(mutex, clock, at);
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    return mutex_lock_until(mutex, clock_until(clock, at));
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    /* Read before: whoever has the lock next may free its memory. */
    bool shared = mutex_shared(mutex);
    int error = REAL(pthread_mutex_unlock)(mutex);

    if (error == 0 && managed()) wait_release(shared);
    return error;
}

/* --- spin locks --- */

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
    enum wait_end end = WAIT_AGAIN;
    int error;

    if (!managed()) return REAL(pthread_spin_lock)(lock);
    while ((error = REAL(pthread_spin_trylock)(lock)) == EBUSY) {
        if (end == WAIT_GONE) return REAL(pthread_spin_lock)(lock);
        end = wait_turn(turn_now() + SPIN_LOOK, "a spin lock");
    }
    return error;
}

EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock)
{
    int error = REAL(pthread_spin_trylock)(lock);

    if (error == EBUSY && managed()) wait_moment();
    return error;
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock)
{
    int error = REAL(pthread_spin_unlock)(lock);

    if (managed()) wait_release(false);
    return error;
}

/* --- read-write locks --- */

typedef int (*rwlock_try)(pthread_rwlock_t *);

static int rwlock_until(pthread_rwlock_t *lock, rwlock_try attempt, rwlock_try real, uint64_t until)
{
    enum wait_end end = WAIT_AGAIN;
    int error;

    while ((error = attempt(lock)) == EBUSY) {
        if (lock->__data.__cur_writer == kernel_tid()) return EDEADLK;
        if (end == WAIT_LATE) return ETIMEDOUT;
        if (end == WAIT_GONE) return real(lock);
        end = wait_turn(until, "a read-write lock");
    }
    return error;
}

static int read_until(pthread_rwlock_t *lock, uint64_t until)
{
    return rwlock_until(lock, REAL(pthread_rwlock_tryrdlock), REAL(pthread_rwlock_rdlock), until);
}

static int write_until(pthread_rwlock_t *lock, uint64_t until)
{
    return rwlock_until(lock, REAL(pthread_rwlock_trywrlock), REAL(pthread_rwlock_wrlock), until);
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    return managed() ? read_until(lock, UINT64_MAX) : REAL(pthread_rwlock_rdlock)(lock);
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    return managed() ? write_until(lock, UINT64_MAX) : REAL(pthread_rwlock_wrlock)(lock);
}

EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
    int error = REAL(pthread_rwlock_tryrdlock)(lock);

    if (error == EBUSY && managed()) wait_moment();
    return error;
}

EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
    int error = REAL(pthread_rwlock_trywrlock)(lock);

    if (error == EBUSY && managed()) wait_moment();
    return error;
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict at)
{
    if (!managed()) return REAL(pthread_rwlock_timedrdlock)(lock, at);
    return read_until(lock, clock_until(CLOCK_REALTIME, at));
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict at)
{
    if (!managed()) return REAL(pthread_rwlock_timedwrlock)(lock, at);
    return write_until(lock, clock_until(CLOCK_REALTIME, at));
}

EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict lock, clockid_t clock,
                                      const struct timespec *restrict at)
{
    if (!managed()) return REAL(pthread_rwlock_clockrdlock)(lock, clock, at);
    return read_until(lock, clock_until(clock, at));
}

EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict lock, clockid_t clock,
                                      const struct timespec *restrict at)
{
    if (!managed()) return REAL(pthread_rwlock_clockwrlock)(lock, clock, at);
    return write_until(lock, clock_until(clock, at));
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    bool shared = lock->__data.__shared != 0;
    int error = REAL(pthread_rwlock_unlock)(lock);

    if (error == 0 && managed()) wait_release(shared);
    return error;
}

/* --- once: a routine that yields must not leave others in the kernel --- */

EXPORT int pthread_once(pthread_once_t *once, void (*routine)(void))
{
    int error;

    if (!managed() || __atomic_load_n(once, __ATOMIC_ACQUIRE) & ONCE_DONE) return REAL(pthread_once)(once, routine);
    while ((*once & (ONCE_RUNS | ONCE_DONE)) == ONCE_RUNS)
        if (wait_turn(turn_now() + ONCE_LOOK, "a pthread_once") == WAIT_GONE) break;
    error = REAL(pthread_once)(once, routine);
    if (managed()) wait_release(false);
    return error;
}
