/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: with the virtual clock exactly one side runs, the fabric or the thread that has the turn.
 *
 * A thread that gives its turn back waits for it in the word of its place.  It looks at the word for a moment first,
 * where there is more than one CPU: a wake-up across CPUs costs tens of microseconds, a look less than one.  While it
 * waits all signals are held: a handler of the program that ran now would run without the turn.  What is held is
 * delivered with the turn; a signal from outside asks for one (signalled).
 *
 * A fabric that is no more does not wake anybody: who waits asks now and then whether the other end of the socket is
 * still there.  With the real clock there are no turns; a place is then only room for requests.
 */
#include "attach/attach_int.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#define LOOKS 300u            /* at the word, some nanoseconds each */
#define LOOK_AGAIN 64u        /* after so many turns that looking did not help */
#define ASK_NS 100000000L     /* between questions for a dead fabric */
#define POLL_LEAST 2000000u   /* ps: an empty poll waits so long */
#define POLL_MOST 100000000u  /* at most */
#define POLLS_ALONE 1000u     /* one after another before the fabric may look at the outside again */
#define POLLS_YIELD 256u      /* real clock: empty polls before others may run */
#define POLL_NEVER UINT64_MAX /* no empty poll since one that found something */
#define KERNEL_SIGSET 8

PER_THREAD struct attach_thread *self;
static PER_THREAD uint64_t polls_since = POLL_NEVER;
static PER_THREAD uint32_t looks_failed; /* in a row */
static PER_THREAD bool restarts;
static PER_THREAD bool finds_gone; /* this thread is the first that has found the fabric gone */

static bool several_cpus(void)
{
    static int answer = -1;

    if (answer < 0) {
        cpu_set_t set;
        long bytes = RAW(SYS_sched_getaffinity, 0, sizeof set, &set, 0, 0, 0);

        answer = bytes > 0 && CPU_COUNT_S((size_t)bytes, &set) > 1;
    }
    return answer;
}

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static inline uint32_t turn_of(const struct attach_thread *me)
{
    return __atomic_load_n(&me->turn, __ATOMIC_ACQUIRE);
}

/* Whether a few looks at the word are enough.  Where they were not, they are tried now and then. */
static bool look(const struct attach_thread *me)
{
    if (!several_cpus()) return turn_of(me) != ATTACH_TURN_FABRIC;
    if (looks_failed > 4 && looks_failed++ % LOOK_AGAIN) return turn_of(me) != ATTACH_TURN_FABRIC;
    for (unsigned i = 0; i < LOOKS; i++) {
        if (turn_of(me) != ATTACH_TURN_FABRIC) {
            looks_failed = 0;
            return true;
        }
        relax();
    }
    looks_failed++;
    return false;
}

/* Signals that came from outside while we hold them.  What ends or stops the program by default does so now; what has
 * a handler waits for a turn, which is asked for. */
static void look_at_signals(struct attach_thread *me, uint64_t mask)
{
    uint64_t pending = 0, by_default = 0;

    RAW(SYS_rt_sigpending, &pending, KERNEL_SIGSET, 0, 0, 0, 0);
    pending &= ~mask;
    pending &= ~(1ULL << (ATTACH_SPIN_SIGNAL - 1)); /* ours, for who runs */
    for (int number = 1; number <= 64; number++)
        if (pending >> (number - 1) & 1 && !signals_has_handler(number)) by_default |= 1ULL << (number - 1);
    if (by_default) {
        uint64_t held;

        RAW(SYS_rt_sigprocmask, SIG_UNBLOCK, &by_default, &held, KERNEL_SIGSET, 0, 0);
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &held, NULL, KERNEL_SIGSET, 0, 0);
    }
    if (pending & ~by_default) __atomic_store_n(&me->signalled, 1, __ATOMIC_RELEASE);
}

void turn_gone(void)
{
    if (session_gone()) finds_gone = true;
}

/* Until the word is ours.  False: the fabric is gone. */
static bool await(struct attach_thread *me, uint64_t mask)
{
    const struct timespec patience = {0, ASK_NS};

    if (!look(me)) {
        while (turn_of(me) == ATTACH_TURN_FABRIC && !attached.gone) {
            long woken = RAW(SYS_futex, &me->turn, FUTEX_WAIT, ATTACH_TURN_FABRIC, &patience, NULL, 0);

            if (woken != -ETIMEDOUT) continue;
            if (session_is_gone()) turn_gone();
            look_at_signals(me, mask);
        }
    }
    if (turn_of(me) == ATTACH_TURN_GONE) turn_gone();
    return !attached.gone;
}

static void hand_over(struct attach_thread *me)
{
    __atomic_store_n(&me->turn, ATTACH_TURN_FABRIC, __ATOMIC_RELEASE);
    RAW(SYS_futex, &me->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void turn_ring_bell(void)
{
    const uint64_t one = 1;

    __atomic_add_fetch(&attached.head->bell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&attached.head->sleeps, __ATOMIC_SEQ_CST))
        RAW(SYS_write, attached.bell_fd, &one, sizeof one, 0, 0, 0);
}

bool turn_yield(enum attach_why why, uint64_t until)
{
    struct attach_thread *me = self;
    const uint64_t all = ~0ULL;
    uint32_t handled = signals_handled(), not_restarting = signals_not_restarting();
    uint64_t mask = 0;
    bool passes = why != ATTACH_REQUEST;

    if (attached.gone) return false;
    RAW(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask, KERNEL_SIGSET, 0, 0);
    if (passes && attached.is_virtual && timers_next() < until) until = timers_next();
    me->until = until;
    me->why = why;
    hand_over(me);
    if (!attached.is_virtual) turn_ring_bell();
    if (!await(me, mask)) tsc_stop();
    me->why = ATTACH_RUNS;
    __atomic_store_n(&me->signalled, 0, __ATOMIC_RELAXED);
    clock_synced();
    if (passes && attached.is_virtual) spin_turn_begins();
    RAW(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_SIGSET, 0, 0);
    if (passes && attached.is_virtual) timers_run();
    restarts = signals_not_restarting() == not_restarting;
    return signals_handled() != handled;
}

bool turn_restarts(void)
{
    return restarts;
}

void turn_sync(void)
{
    if (attached.is_virtual) turn_yield(ATTACH_SLEEP, self->now);
}

void turn_touched(uint32_t what)
{
    if (!attached.is_virtual || !self) return;
    self->touched |= what;
    self->alone = 0;
}

void turn_charge(uint64_t ps)
{
    if (attached.is_virtual && self) self->now += ps;
}

uint64_t turn_now(void)
{
    return attached.is_virtual && self ? self->now : 0;
}

/* --- places --- */

static bool take(struct attach_thread *place, uint32_t from)
{
    return __atomic_load_n(&place->state, __ATOMIC_RELAXED) == from &&
           __atomic_compare_exchange_n(&place->state, &from, ATTACH_STARTS, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

struct attach_thread *turn_place(void)
{
    turn_alone_no_more();
    for (uint32_t i = 0; i < ATTACH_THREADS; i++) {
        struct attach_thread *place = &attached.head->thread[i];

        /* with the real clock nobody but us looks at a place that has ended */
        if (!take(place, ATTACH_FREE) && !(!attached.is_virtual && take(place, ATTACH_ENDED))) continue;
        place->turn = attached.is_virtual ? ATTACH_TURN_FABRIC : ATTACH_TURN_PROGRAM;
        place->number = i;
        place->now = self ? self->now : 0;
        place->why = ATTACH_RUNS;
        place->touched = 0;
        place->in_library = 1;
        place->tid = 0;
        return place;
    }
    return NULL;
}

void turn_first(struct attach_thread *place)
{
    uint64_t all = ~0ULL, mask = 0;

    self = place;
    place->tid = (int32_t)RAW(SYS_gettid, 0, 0, 0, 0, 0, 0);
    place->in_library = 1;
    __atomic_store_n(&place->state, ATTACH_LIVES, __ATOMIC_RELEASE);
    if (attached.is_virtual) {
        RAW(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask, KERNEL_SIGSET, 0, 0);
        if (!await(place, mask)) tsc_stop();
        clock_synced();
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_SIGSET, 0, 0);
    }
}

void turn_begin(struct attach_thread *place)
{
    turn_first(place);
    place->in_library = 0;
}

void turn_hand_over(void)
{
    struct attach_thread *me = self;

    self = NULL;
    hand_over(me);
}

void turn_end(void)
{
    struct attach_thread *me = self;

    if (!me) return;
    self = NULL;
    me->in_library = 1;
    me->why = ATTACH_THREAD_ENDS;
    if (!attached.is_virtual)
        __atomic_store_n(&me->state, ATTACH_ENDED, __ATOMIC_RELEASE);
    else
        hand_over(me);
}

void turn_process_ends(void)
{
    if (!attached.is_virtual || !self) return;
    self->in_library = 1;
    self->why = ATTACH_PROCESS_ENDS;
    hand_over(self);
}

/* --- the verbs library's side --- */

static pthread_key_t place_key;

static void give_place(void *place)
{
    self = place;
    turn_end();
}

static void begin_requests(void)
{
    pthread_key_create(&place_key, give_place);
}

/* Real clock: a thread has a place from its first request to its end. */
static int place_for_requests(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct attach_thread *place;

    if (attached.is_virtual) {
        session_not_virtual("verbs in a thread that was not made by pthread_create()");
        return -EIO;
    }
    REAL(pthread_once)(&once, begin_requests);
    place = turn_place();
    if (!place) return -EIO;
    turn_begin(place);
    pthread_setspecific(place_key, place);
    return 0;
}

int turn_enter(void)
{
    if (!attached.head || attached.gone) return -EIO;
    if (!self && place_for_requests() < 0) return -EIO;
    if (!attached.is_virtual && !attached.watched) session_watch();
    self->in_library++;
    self->calls++;
    return 0;
}

void turn_leave(void)
{
    if (!self || --self->in_library > 0 || !finds_gone) return;
    finds_gone = false;
    if (rocelab_fabric_api.on_gone) rocelab_fabric_api.on_gone();
}

/* Nothing could have come by then: the fabric would give the turn back as it is. */
static bool polls_alone(uint64_t until)
{
    static PER_THREAD uint32_t in_a_row;

    if (until >= self->alone || timers_next() <= until) return false;
    if (++in_a_row % POLLS_ALONE == 0) return false;
    self->now = until;
    clock_synced();
    return true;
}

void turn_alone_no_more(void)
{
    if (self) self->alone = 0;
}

void turn_poll_empty(void)
{
    static PER_THREAD uint32_t in_vain;
    uint64_t waited, bound;

    if (!attached.is_virtual) { /* the fabric may want this CPU */
        if (++in_vain % POLLS_YIELD == 0) RAW(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
        return;
    }
    self->now += attached.head->cost.poll;
    if (polls_since == POLL_NEVER) polls_since = self->now;
    waited = (self->now - polls_since) / 32;
    bound = waited < POLL_LEAST ? POLL_LEAST : waited > POLL_MOST ? POLL_MOST : waited;
    if (!polls_alone(self->now + bound)) turn_yield(ATTACH_POLL, self->now + bound);
}

void turn_poll_found(void)
{
    polls_since = POLL_NEVER;
    turn_alone_no_more();
}
