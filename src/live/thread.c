/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress thread: what peers ask for and what timers demand happens although the application computes or sleeps.
 *
 * It waits for the wire, for packets that other processes hand over, and for the adapter's next deadline.  While
 * the application itself polls, the thread stays off the wire: two threads that spin on one
 * core cost milliseconds.  It then only looks once a millisecond whether polling has stopped.  A program that
 * waits for completion events has a queue armed; then the thread is needed whatever was polled before, and at once.
 * So it is by one that polls now and then and waits for a change of its memory otherwise; that is learned from packets
 * that lay waiting.  What the thread is about is in enum thread_state (live_int.h).
 *
 * Signals belong to the application: all are blocked here but those that guarded copies need.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "live/live_int.h"

#define POLLED_RECENTLY_PS (200 * PS_US)
#define STEP_PS PS_MS
#define MISSED_PS (20 * PS_US) /* a packet that waited so long, nobody polling, was missed */
#define WATCH_PS (2 * PS_MS)   /* after a miss; doubled with each that follows */
#define WATCH_DOUBLINGS 6u
#define OWED_PS (20 * PS_US)        /* ACKs wait so long for a post to ride with */
#define OWED_WOKEN_PS (200 * PS_US) /* for one of a program that an event wakes: its first poll in vain sends them */
#define LINGER_PS (50 * PS_US)      /* a stream pauses less than sleeping and waking cost */
#define LINGER_LEAST_PS PS_US
#define LINGER_REST 64u
#define ROUNDS 4
#define VAIN_MOST 4u /* steps without the lock while somebody has handed something over */

void thread_forwarded(struct live *live, ps_t now)
{
    struct wire_packet packet;

    for (int i = 0; i < WIRE_BURST; i++) {
        if (registry_receive(live->registry, &packet, live->forwarded, WIRE_PACKET_MAX) <= 0) return;
        receive_packet(live, &packet, true, now);
        progress_settle(live);
    }
}

/* When the application last posted, or polled in vain. */
static ps_t called_at(const struct live *live)
{
    ps_t polled_at = __atomic_load_n(&live->polled_at, __ATOMIC_RELAXED);
    ps_t posted_at = __atomic_load_n(&live->posted_at, __ATOMIC_RELAXED);

    return posted_at > polled_at ? posted_at : polled_at;
}

/* May the wire be left to the application?  Not when it was, and a packet lay there while nobody polled (a program
 * that polls for a completion, then spins on memory): then not for a while, longer each time. */
static bool may_stand_back(struct live *live, ps_t now)
{
    ps_t polled_at = __atomic_load_n(&live->polled_at, __ATOMIC_RELAXED);

    if (cq_armed(live) || now < live->watch_until || __atomic_load_n(&live->taken, __ATOMIC_RELAXED)) return false;
    return now < polled_at + POLLED_RECENTLY_PS;
}

/* The processor time of the thread that polls, in ps; 0: it is gone. */
static ps_t poller_time(const struct live *live)
{
    struct timespec t;

    if (live->poller == 0 || clock_gettime(live->poller, &t) < 0) return 0;
    return (ps_t)t.tv_sec * PS_S + (ps_t)t.tv_nsec * PS_NS;
}

/* Since the thread last looked, has the application run without polling?  If it has not run, a packet that waits
 * is no sign of how it works, only of a full machine. */
static bool ran_elsewhere(struct live *live, ps_t now)
{
    ps_t ran = poller_time(live) - live->poller_ran, silent = now - called_at(live);
    ps_t since = now - live->looked_at;

    return silent > MISSED_PS && silent < since && ran < since && ran > since - silent / 2;
}

static void look(struct live *live, ps_t now)
{
    live->looked_at = now;
    live->poller_ran = poller_time(live);
}

static void note_miss(struct live *live, bool missed, ps_t now)
{
    if (missed) {
        live->watch_until = now + (WATCH_PS << live->misses);
        if (live->misses < WATCH_DOUBLINGS) live->misses++;
    } else if (live->misses) {
        live->misses--;
    }
}

/* Is all that is to be sent acknowledgements, as far as the wire takes it? */
static bool acks_alone(const struct live *live, ps_t now)
{
    return live->tx_retry == PS_NEVER && !live->io.pauses && !nic_ready(live->nic, now);
}

/* A burst in, what is due, a burst out.  An application that has just posted or polled will likely do so again when it
 * sees what came: ACKs wait a moment for its packets, which they can ride with.  Nothing else does. */
static void rounds(struct live *live, ps_t now)
{
    const bool taken = __atomic_load_n(&live->taken, __ATOMIC_RELAXED);
    bool active = !taken && now < called_at(live) + POLLED_RECENTLY_PS;
    bool hot = active && live->thread_state != THREAD_OWES;
    uint64_t before = live->wire->counters.rx_packets, sent = live->wire->counters.tx_packets;

    live->lets_in = shard_many(live);
    for (int i = 0; i < ROUNDS; i++) {
        progress_rx(live, now);
        progress_tick(live, now);
        if (live->tx_wanted && !(hot && acks_alone(live, now))) progress_tx(live, now);
        if (live->lets_in) shard_let_in(live, false);
        if (!live->rx_more || live->rings) break; /* somebody is to be told */
    }
    live->lets_in = false;
    uint64_t received = live->wire->counters.rx_packets - before;
    bool streams = !active && received >= LIVE_STREAM;
    if (taken) streams = received || live->wire->counters.tx_packets != sent;
    if (streams && shard_many(live)) __atomic_store_n(&live->taken, true, __ATOMIC_RELAXED);
    bool owes = hot && live->tx_wanted && acks_alone(live, now);
    live->thread_state = owes ? THREAD_OWES : streams ? THREAD_STREAMS : THREAD_WATCHES;
}

/* What there is to do, in bounded time; answers how long to sleep. */
static ps_t work(struct live *live, bool hand_over)
{
    ps_t now = live_now();
    bool stood_back = live->thread_state == THREAD_STANDS_BACK;

    live->own.thread_rounds++;
    if (hand_over) thread_forwarded(live, now);
    if (may_stand_back(live, now)) {
        live->thread_state = THREAD_STANDS_BACK;
        if (live->tx_wanted) progress_tx(live, now); /* answers to what was forwarded, or forgotten */
        if (stood_back) note_miss(live, false, now);
        look(live, now);
        live->sleep_until = now + STEP_PS;
        return STEP_PS;
    }
    uint64_t before = live->wire->counters.rx_packets;
    rounds(live, now);
    if (stood_back && !cq_armed(live))
        note_miss(live, live->wire->counters.rx_packets != before && ran_elsewhere(live, now), now);
    bool owes = live->thread_state == THREAD_OWES, streams = live->thread_state == THREAD_STREAMS;
    bool more = live->rx_more || (live->tx_wanted && live->tx_retry == PS_NEVER && !owes);
    if (!more && !streams && __atomic_load_n(&live->taken, __ATOMIC_RELAXED)) {
        __atomic_store_n(&live->taken, false, __ATOMIC_RELAXED); /* before the thread sleeps; it looks once more */
        more = true;
    }
    ps_t deadline = more || streams ? 0 : progress_deadline(live);
    if (deadline == PS_NEVER) counters_export(live, now);
    ps_t owed = live->rings ? OWED_WOKEN_PS : OWED_PS;
    if (owes && deadline > now + owed) deadline = now + owed;
    live->sleep_until = deadline;
    now = live_now();
    return deadline == PS_NEVER ? PS_NEVER : deadline > now ? deadline - now : 0;
}

static void arrive(struct live *live)
{
    live->rings_later = !shard_many(live); /* a shard lets others in meanwhile */
}

static void leave(struct live *live)
{
    struct live_channel *ring[LIVE_RINGS];
    unsigned rings = live->rings;

    memcpy(ring, live->ring, sizeof ring);
    live->rings = 0;
    live->rings_later = false;
    pthread_mutex_unlock(&live->lock);
    for (unsigned i = 0; i < rings; i++)
        channel_ring(ring[i]);
}

/* More of a stream comes within microseconds: looking for it is cheaper than sleeping, for the sender too, who would
 * have to wake us.  Ends when the application takes the lock, which then does the work itself; with several shards
 * it has only brought something.  Bounded, so that
 * what else there is to look after is.  Answers when something last came. */
static ps_t linger(struct live *live, ps_t patience)
{
    ps_t now = live_now(), last = now, until = now + STEP_PS;

    while (now < until && now < last + patience) {
        if (pthread_mutex_trylock(&live->lock) != 0) {
            if (!shard_many(live)) break;
            now = live_now();
            continue;
        }
        arrive(live);
        uint64_t before = live->wire->counters.rx_packets;
        bool go_on = !live->stop && !cq_armed(live);
        if (go_on) rounds(live, now);
        bool came = live->wire->counters.rx_packets != before;
        go_on = go_on && live->thread_state != THREAD_OWES;
        leave(live);
        if (!go_on) break;
        now = live_now();
        if (came) last = now;
    }
    return last;
}

struct patience {
    ps_t now;
    unsigned rest; /* sleeps before it may grow again */
};

/* How long to linger the next time: longer after a sleep so short that lingering would have been better.  But when the
 * longest was in vain and then something came as soon as we slept, the sender has waited for this core.  Shards are
 * where there are cores. */
static void learn(struct patience *patience, const struct live *live, ps_t last, bool came, ps_t now)
{
    bool soon = came && now < last + 2 * LINGER_PS;

    if (shard_many(live)) return;
    if (patience->rest) {
        patience->rest--;
    } else if (soon && patience->now >= LINGER_PS) {
        patience->now = LINGER_LEAST_PS;
        patience->rest = LINGER_REST;
    } else if (soon) {
        patience->now *= 2;
    } else if (patience->now > LINGER_LEAST_PS) {
        patience->now /= 2;
    }
    if (patience->now > LINGER_PS) patience->now = LINGER_PS;
}

/* ACKs ride with what the program posts now that an event wakes it, or go with its first poll in vain.  If it does
 * neither the thread sends them: it is not woken for that, since it mostly would be in vain, but a timer is set. */
static void owe(struct live *live, ps_t now)
{
    struct itimerspec limit = {.it_value.tv_nsec = OWED_WOKEN_PS / PS_NS};

    if (now < live->owed_until) return;
    if (timerfd_settime(live->owed_fd, 0, &limit, NULL) == 0)
        live->owed_until = now + OWED_WOKEN_PS;
    else
        progress_tx(live, now);
}

void thread_help(struct live *live)
{
    ps_t now = live_now();

    live->event_told = false;
    progress_rx(live, now);
    progress_tick(live, now);
    bool owes = live->tx_wanted && live->event_told && acks_alone(live, now); /* else the caller sleeps on */
    if (live->tx_wanted && live->tx_retry == PS_NEVER && !owes) progress_tx(live, now);
    /* The thread and the caller sleep on a wire that was told that somebody is awake. */
    if (wire_deadline(live->wire) == 0) live->rx_more = true;
    if (owes) live->tx_wanted = false;
    progress_wake(live);
    if (!owes) return;
    live->tx_wanted = true;
    owe(live, now);
}

/* Waiting for the lock of a program that takes it again and again would slow it down: each time it lets go it would
 * have to wake us, and has it again before we run.  It does what we would do, but for what others hand over.  A
 * program that has armed a queue will sleep. */
static bool enter(struct live *live, bool hand_over, unsigned *vain)
{
    bool entered = pthread_mutex_trylock(&live->lock) == 0;

    if (!entered && !shard_many(live) && !__atomic_load_n(&live->driven, __ATOMIC_RELAXED) &&
        (!hand_over || ++*vain < VAIN_MOST) && live_now() < called_at(live) + STEP_PS) {
        __atomic_store_n(&live->naps, true, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&live->lock_left, 1, __ATOMIC_RELAXED);
        if (__atomic_load_n(&live->armed, __ATOMIC_SEQ_CST) == NULL) return false;
        __atomic_store_n(&live->naps, false, __ATOMIC_RELAXED);
    }
    if (!entered) pthread_mutex_lock(&live->lock);
    *vain = 0;
    arrive(live);
    return true;
}

/* In the hands of who polls: let it.  Ends when it arms a queue. */
static void nap(struct live *live)
{
    struct pollfd fd = {.fd = live->wake_fd, .events = POLLIN};
    struct timespec step = {.tv_nsec = STEP_PS / PS_NS};
    eventfd_t value;

    if (ppoll(&fd, 1, &step, NULL) > 0) (void)eventfd_read(live->wake_fd, &value);
    __atomic_store_n(&live->naps, false, __ATOMIC_RELAXED);
}

static void *run(void *argument)
{
    struct live *live = argument;
    int wire_fd = live->wire->ops->fd(live->wire);
    bool hand_over = true;
    unsigned vain = 0;
    struct patience patience = {.now = LINGER_PS};
    ps_t last = 0; /* when something of a stream came that may go on; 0: none */

    prctl(PR_SET_TIMERSLACK, 1000ul); /* ns */
    for (;;) {
        if (!enter(live, hand_over, &vain)) {
            nap(live);
            continue;
        }
        if (live->stop) break;
        ps_t sleep = work(live, hand_over);
        enum thread_state state = live->thread_state;
        leave(live);
        if (state == THREAD_STREAMS) last = linger(live, patience.now);
        struct pollfd fd[] = {{.fd = live->wake_fd, .events = POLLIN},
                              {.fd = registry_fd(live->registry), .events = POLLIN},
                              {.fd = live->netlink_fd, .events = POLLIN},
                              {.fd = state == THREAD_STANDS_BACK ? -1 : wire_fd, .events = POLLIN},
                              {.fd = live->owed_fd, .events = POLLIN}};
        struct timespec limit = {.tv_sec = (time_t)(sleep / PS_S), .tv_nsec = (long)(sleep % PS_S / PS_NS)};
        int ready = ppoll(fd, 5, sleep == PS_NEVER ? NULL : &limit, NULL);
        eventfd_t value;
        hand_over = ready > 0 && fd[1].revents;
        if (last && sleep) {
            learn(&patience, live, last, ready > 0 && fd[3].revents, live_now());
            last = 0;
        }
        if (ready > 0 && fd[0].revents) (void)eventfd_read(live->wake_fd, &value);
        if (ready > 0 && fd[4].revents) (void)eventfd_read(live->owed_fd, &value); /* how often it ran out: as much */
        if (ready > 0 && fd[2].revents) {
            if (shard_enter_all(live) < 0) continue;
            netlink_look(live);
            shard_leave_all(live);
        }
    }
    leave(live);
    return NULL;
}

int thread_start(struct live *live)
{
    sigset_t all, before;

    if (!live->env.thread) return 0;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGABRT);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    live->thread_runs = true;
    int error = pthread_create(&live->thread, NULL, run, live);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        live->thread_runs = false;
    else
        pthread_setname_np(live->thread, "rocelab");
    return -error;
}

void thread_stop(struct live *live)
{
    if (!live->thread_runs) return;
    pthread_mutex_lock(&live->lock);
    live->stop = true;
    pthread_mutex_unlock(&live->lock);
    eventfd_write(live->wake_fd, 1);
    pthread_join(live->thread, NULL);
    live->thread_runs = false;
}
