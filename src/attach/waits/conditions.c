/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions, barriers, semaphores and futexes: waiting for what another thread says or counts.
 *
 * A thread that waits for a condition or a futex lies on a list of this process (waits.h) until it is woken: one
 * signal wakes one, the longest waiting first.  libc's condition never has a waiter, so its words are free: those
 * shared between processes count signals in the first of them, and every signal wakes all (a wake that was not needed
 * is allowed).  A futex shared between processes ends its wait when the word has changed.
 */
#include <limits.h>
#include <linux/futex.h>
#include <semaphore.h>

#include "attach/waits/waits.h"

#define CONDITION_SHARED 1u /* of __wrefs: shared between processes */
#define CONDITION_CLOCK 2u  /* the clock of timedwait is CLOCK_MONOTONIC */

/* --- conditions --- */

static uint32_t *condition_word(pthread_cond_t *condition)
{
    return (uint32_t *)condition;
}

static bool condition_shared(const pthread_cond_t *condition)
{
    return condition->__data.__wrefs & CONDITION_SHARED;
}

static int condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until)
{
    bool shared = condition_shared(condition);
    uint32_t *word = condition_word(condition), before = *word;
    enum wait_end end = WAIT_AGAIN;
    struct parked parked;
    int error = pthread_mutex_unlock(mutex), locked;

    if (error != 0) return error;
    park(&parked, condition, UINT32_MAX);
    while (!parked.woken && !(shared && *word != before)) {
        if (end == WAIT_LATE || end == WAIT_GONE || threads_cancelled()) break;
        end = wait_turn(until, "a condition");
    }
    unpark(&parked);
    if (!parked.woken && end == WAIT_LATE) error = ETIMEDOUT;
    locked = pthread_mutex_lock(mutex);
    if (threads_cancelled()) pthread_testcancel();
    return locked != 0 ? locked : error;
}

EXPORT int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex)
{
    if (!managed()) return REAL(pthread_cond_wait)(condition, mutex);
    return condition_wait(condition, mutex, UINT64_MAX);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                                  const struct timespec *restrict at)
{
    clockid_t clock;

    if (!managed()) return REAL(pthread_cond_timedwait)(condition, mutex, at);
    clock = condition->__data.__wrefs & CONDITION_CLOCK ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    return condition_wait(condition, mutex, clock_until(clock, at));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                                  const struct timespec *restrict at)
{
    if (!managed()) return REAL(pthread_cond_clockwait)(condition, mutex, clock, at);
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    return condition_wait(condition, mutex, clock_until(clock, at));
}

static void condition_wake(pthread_cond_t *condition, unsigned most)
{
    bool shared = condition_shared(condition);

    if (shared) ++*condition_word(condition);
    park_wake(condition, most, UINT32_MAX);
    if (shared) wait_release(true);
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition)
{
    if (!managed()) return REAL(pthread_cond_signal)(condition);
    condition_wake(condition, 1);
    return 0;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition)
{
    if (!managed()) return REAL(pthread_cond_broadcast)(condition);
    condition_wake(condition, UINT_MAX);
    return 0;
}

/* --- barriers: libc's words, our use of them --- */

struct barrier {
    uint32_t here, round, count, shared;
    uint32_t waiting; /* threads that have not left yet: it may be destroyed, but not before they have */
};
_Static_assert(sizeof(struct barrier) <= sizeof(pthread_barrier_t), "a barrier has the words");

EXPORT int pthread_barrier_wait(pthread_barrier_t *opaque)
{
    struct barrier *barrier = (struct barrier *)opaque;
    volatile uint32_t *round = &barrier->round;
    uint32_t mine;

    if (!managed()) return REAL(pthread_barrier_wait)(opaque);
    mine = *round;
    if (++barrier->here == barrier->count) {
        barrier->here = 0;
        ++*round;
        wait_release(barrier->shared != 0);
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    barrier->waiting++;
    while (*round == mine)
        if (wait_turn(UINT64_MAX, "a barrier") == WAIT_GONE) break;
    if (--barrier->waiting == 0) wait_release(barrier->shared != 0);
    return 0;
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *opaque)
{
    volatile uint32_t *waiting = &((struct barrier *)opaque)->waiting;

    if (!managed()) return REAL(pthread_barrier_destroy)(opaque);
    while (*waiting > 0)
        if (wait_turn(UINT64_MAX, "a barrier") == WAIT_GONE) break;
    return 0;
}

/* --- semaphores --- */

struct semaphore {
    uint64_t value;
    uint32_t shared, pad;
};
_Static_assert(sizeof(struct semaphore) <= sizeof(sem_t), "a semaphore has the words");

static int semaphore_wait(sem_t *semaphore, uint64_t until)
{
    enum wait_end end = WAIT_AGAIN;
    int was = errno;

    while (REAL(sem_trywait)(semaphore) < 0) {
        if (errno != EAGAIN) return -1;
        errno = was;
        if (threads_cancelled()) pthread_testcancel();
        if (end == WAIT_GONE) return REAL(sem_wait)(semaphore);
        if (end == WAIT_LATE || (end == WAIT_INTERRUPTED && !turn_restarts())) {
            errno = end == WAIT_LATE ? ETIMEDOUT : EINTR;
            return -1;
        }
        end = wait_turn(until, "a semaphore");
    }
    return 0;
}

EXPORT int sem_wait(sem_t *semaphore)
{
    return managed() ? semaphore_wait(semaphore, UINT64_MAX) : REAL(sem_wait)(semaphore);
}

EXPORT int sem_trywait(sem_t *semaphore)
{
    int result = REAL(sem_trywait)(semaphore), was = errno;

    if (result < 0 && was == EAGAIN && managed()) wait_moment();
    errno = was;
    return result;
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict at)
{
    if (!managed()) return REAL(sem_timedwait)(semaphore, at);
    return semaphore_wait(semaphore, clock_until(CLOCK_REALTIME, at));
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict at)
{
    if (!managed()) return REAL(sem_clockwait)(semaphore, clock, at);
    return semaphore_wait(semaphore, clock_until(clock, at));
}

EXPORT int sem_post(sem_t *semaphore)
{
    bool shared = ((struct semaphore *)semaphore)->shared != 0;
    int result = REAL(sem_post)(semaphore);

    if (result == 0 && managed()) wait_release(shared);
    return result;
}

/* --- futexes by their own name --- */

static long futex_wait(uint32_t *word, uint32_t value, uint32_t bits, uint64_t until, bool shared)
{
    volatile uint32_t *now = word;
    enum wait_end end = WAIT_AGAIN;
    struct parked parked;

    if (bits == 0) return -EINVAL;
    if (*now != value) return -EAGAIN;
    park(&parked, word, bits);
    while (!parked.woken && !(shared && *now != value)) {
        if (end != WAIT_AGAIN && !(end == WAIT_INTERRUPTED && turn_restarts())) break;
        end = wait_turn(until, "a futex");
    }
    unpark(&parked);
    if (parked.woken || *now != value || end == WAIT_GONE) return 0;
    return end == WAIT_LATE ? -ETIMEDOUT : -EINTR;
}

static long futex_wake(uint32_t *word, uint32_t most, uint32_t bits, bool shared)
{
    long woken = park_wake(word, most, bits);

    if (shared) wait_release(true);
    return woken;
}

/* FUTEX_WAKE_OP: a word is changed, then one is woken always and another by what the second word was. */
static long futex_wake_op(uint32_t *word, uint32_t most, uint32_t *word2, uint32_t most2, uint32_t code, bool shared)
{
    uint32_t op = code >> 28 & 7, compare = code >> 24 & 15, before = *word2;
    uint32_t change = (uint32_t)((int32_t)(code << 8) >> 20), against = (uint32_t)((int32_t)(code << 20) >> 20);
    bool also;

    if (code >> 28 & FUTEX_OP_OPARG_SHIFT) change = 1u << (change & 31);
    switch (op) {
    case FUTEX_OP_SET:
        *word2 = change;
        break;
    case FUTEX_OP_ADD:
        *word2 = before + change;
        break;
    case FUTEX_OP_OR:
        *word2 = before | change;
        break;
    case FUTEX_OP_ANDN:
        *word2 = before & ~change;
        break;
    case FUTEX_OP_XOR:
        *word2 = before ^ change;
        break;
    default:
        return -ENOSYS;
    }
    switch (compare) {
    case FUTEX_OP_CMP_EQ:
        also = before == against;
        break;
    case FUTEX_OP_CMP_NE:
        also = before != against;
        break;
    case FUTEX_OP_CMP_LT:
        also = (int32_t)before < (int32_t)against;
        break;
    case FUTEX_OP_CMP_LE:
        also = (int32_t)before <= (int32_t)against;
        break;
    case FUTEX_OP_CMP_GT:
        also = (int32_t)before > (int32_t)against;
        break;
    case FUTEX_OP_CMP_GE:
        also = (int32_t)before >= (int32_t)against;
        break;
    default:
        return -ENOSYS;
    }
    return futex_wake(word, most, UINT32_MAX, shared) + (also ? futex_wake(word2, most2, UINT32_MAX, shared) : 0);
}

/* A lock with inherited priority: tried, as mutexes are. */
static long futex_lock(uint32_t *word, bool shared, uint64_t until)
{
    enum wait_end end = WAIT_AGAIN;
    long result;

    while ((result = RAW(SYS_futex, word, FUTEX_TRYLOCK_PI | (shared ? 0 : FUTEX_PRIVATE_FLAG), 0, 0, 0, 0)) ==
           -EAGAIN) {
        if (end == WAIT_LATE) return -ETIMEDOUT;
        if (end == WAIT_GONE) break;
        end = wait_turn(until, "a futex");
    }
    return result;
}

long locks_futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout, uint32_t *word2,
                 uint32_t value3)
{
    bool shared = !(op & FUTEX_PRIVATE_FLAG);
    clockid_t clock = op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    uint32_t other = (uint32_t)(uintptr_t)timeout; /* where it is a count */
    long result;

    switch (op & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        return futex_wait(word, value, UINT32_MAX, clock_after(timeout), shared);
    case FUTEX_WAIT_BITSET:
        return futex_wait(word, value, value3, timeout == NULL ? UINT64_MAX : clock_until(clock, timeout), shared);
    case FUTEX_WAKE:
        return futex_wake(word, value, UINT32_MAX, shared);
    case FUTEX_WAKE_BITSET:
        return futex_wake(word, value, value3, shared);
    case FUTEX_WAKE_OP:
        return futex_wake_op(word, value, word2, other, value3, shared);
    case FUTEX_CMP_REQUEUE:
        if (*(volatile uint32_t *)word != value3) return -EAGAIN;
        __attribute__((fallthrough));
    case FUTEX_REQUEUE:
        result = futex_wake(word, value, UINT32_MAX, shared);
        return result + park_move(word, other, word2);
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
        return futex_lock(word, shared, timeout == NULL ? UINT64_MAX : clock_until(CLOCK_REALTIME, timeout));
    default:
        result = RAW(SYS_futex, word, op, value, timeout, word2, value3);
        wait_release(shared);
        return result;
    }
}
