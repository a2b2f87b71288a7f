/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress thread: what peers ask for and what timers demand happens although the application computes or sleeps.
 *
 * It waits for the wire, for packets that other processes hand over, and for the adapter's next deadline.  When it
 * works, for whom it leaves the work and how long it sleeps is decided in turns.c; here it is done.
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

#define ROUNDS 4

void thread_forwarded(struct device *live, ps_t now)
{
    struct wire_packet packet;

    for (int i = 0; i < WIRE_BURST; i++) {
        if (registry_receive(live->registry, &packet, live->forwarded, WIRE_PACKET_MAX) <= 0) return;
        receive_packet(live, &packet, true, now);
        progress_settle(live);
    }
}

/* What callers have left for us to see; `armed` needs the lock. */
static struct turn_app app_of(const struct device *live)
{
    return (struct turn_app){.polled_at = __atomic_load_n(&live->polled_at, __ATOMIC_RELAXED),
                             .posted_at = __atomic_load_n(&live->posted_at, __ATOMIC_RELAXED),
                             .driven = __atomic_load_n(&live->driven, __ATOMIC_RELAXED),
                             .taken = __atomic_load_n(&live->taken, __ATOMIC_RELAXED),
                             .shards = shard_many(live)};
}

/* The processor time of the thread that polls, in ps; 0: it is gone. */
static ps_t poller_time(const struct device *live)
{
    struct timespec t;

    if (live->poller == 0 || clock_gettime(live->poller, &t) < 0) return 0;
    return (ps_t)t.tv_sec * PS_S + (ps_t)t.tv_nsec * PS_NS;
}

/* Is all that is to be sent acknowledgements, as far as the wire takes it? */
static bool acks_alone(const struct device *live, ps_t now)
{
    return live->tx_retry == PS_NEVER && !live->io.pauses && !nic_ready(live->nic, now);
}

/* A burst in, what is due, a burst out.  ACKs may wait for packets of the application that they can ride with; nothing
 * else does. */
static void rounds(struct device *live, const struct turn_app *app, ps_t now)
{
    const bool keeps_acks = turns_keeps_acks(&live->turns, app, now);
    const uint64_t received = live->wire->counters.rx_packets, sent = live->wire->counters.tx_packets;

    if (shard_many(live)) live->holder = HOLDER_SHARD;
    for (int i = 0; i < ROUNDS; i++) {
        progress_rx(live, now);
        progress_tick(live, now);
        if (live->tx_wanted && !(keeps_acks && acks_alone(live, now))) progress_tx(live, now);
        if (live->holder == HOLDER_SHARD) shard_let_in(live, false);
        if (!live->rx_more || live->rings) break; /* somebody is to be told */
    }
    if (shard_many(live)) live->holder = HOLDER_ANYONE;
    struct turn_work work = {.received = live->wire->counters.rx_packets - received,
                             .sent = live->wire->counters.tx_packets - sent,
                             .acks_left = keeps_acks && live->tx_wanted && acks_alone(live, now)};
    turns_worked(&live->turns, app, &work, now);
    if (live->turns.state == TURN_STREAMS && shard_many(live)) __atomic_store_n(&live->taken, true, __ATOMIC_RELAXED);
}

/* Was it right to stand back before? */
static void judge(struct device *live, struct turn_app *app, uint64_t received, ps_t now)
{
    app->armed = cq_armed(live);
    ps_t ran = turns_asks_for_poller(TURN_STANDS_BACK, app, received) ? poller_time(live) : 0;
    turns_judge(&live->turns, TURN_STANDS_BACK, app, received, ran, now);
}

/* Answers until when to sleep.  The wire is asked for its deadline last: it takes that for a sign of sleep. */
static ps_t rest(struct device *live, ps_t now)
{
    struct turn_app app = app_of(live);
    bool owes = live->turns.state == TURN_OWES;
    bool more = live->rx_more || (live->tx_wanted && live->tx_retry == PS_NEVER && !owes);
    struct turn_rest rest = turns_rest(&live->turns, &app, more, live->rings != 0, now);

    if (rest.releases) __atomic_store_n(&live->taken, false, __ATOMIC_RELAXED);
    if (rest.again) return 0;
    ps_t deadline = progress_deadline(live);
    if (deadline == PS_NEVER) counters_export(live, now);
    return deadline < rest.at_most ? deadline : rest.at_most;
}

/* What there is to do, in bounded time; answers until when to sleep. */
static ps_t work(struct device *live, bool handed_over, ps_t now)
{
    const bool stood_back = live->turns.state == TURN_STANDS_BACK;

    live->own.thread_rounds++;
    if (handed_over) thread_forwarded(live, now);
    struct turn_app app = app_of(live);
    app.armed = cq_armed(live);
    if (turns_may_stand_back(&live->turns, &app, now)) {
        if (live->tx_wanted) progress_tx(live, now); /* answers to what was forwarded, or forgotten */
        turns_stood_back(&live->turns, poller_time(live), now);
        return now + TURN_STEP_PS;
    }
    uint64_t before = live->wire->counters.rx_packets;
    rounds(live, &app, now);
    if (stood_back) judge(live, &app, live->wire->counters.rx_packets - before, now);
    return rest(live, now);
}

static void arrive(struct device *live)
{
    if (!shard_many(live)) live->holder = HOLDER_THREAD;
}

static void leave(struct device *live)
{
    struct device_channel *ring[LIVE_RINGS];
    unsigned rings = live->rings;

    memcpy(ring, live->ring, sizeof ring);
    live->rings = 0;
    live->holder = HOLDER_ANYONE;
    pthread_mutex_unlock(&live->lock);
    for (unsigned i = 0; i < rings; i++)
        channel_ring(ring[i]);
}

/* More of a stream comes within microseconds: looking for it is cheaper than sleeping, for the sender too, who would
 * have to wake us.  Ends when the application takes the lock, which then does the work itself; with several shards
 * it has only brought something.  Bounded, so that what else there is to look after is. */
static void linger(struct device *live)
{
    ps_t now = live_now();

    turns_linger(&live->turns, now);
    while (turns_lingers(&live->turns, now)) {
        if (pthread_mutex_trylock(&live->lock) != 0) {
            if (!shard_many(live)) break;
            now = live_now();
            continue;
        }
        arrive(live);
        uint64_t before = live->wire->counters.rx_packets;
        bool go_on = !live->stop && !cq_armed(live);
        if (go_on) {
            struct turn_app app = app_of(live);
            rounds(live, &app, now);
        }
        bool came = live->wire->counters.rx_packets != before;
        go_on = go_on && live->turns.state != TURN_OWES;
        leave(live);
        if (!go_on) break;
        now = live_now();
        if (came) turns_came(&live->turns, now);
    }
}

/* ACKs ride with what the program posts now that an event wakes it, or go with its first poll in vain.  If it does
 * neither the thread sends them: it is not woken for that, since it mostly would be in vain, but a timer is set. */
static void owe(struct device *live, ps_t now)
{
    struct itimerspec limit = {.it_value.tv_nsec = TURN_OWED_WOKEN_PS / PS_NS};

    if (now < live->owed_until) return;
    if (timerfd_settime(live->owed_fd, 0, &limit, NULL) == 0)
        live->owed_until = now + TURN_OWED_WOKEN_PS;
    else
        progress_tx(live, now);
}

void thread_help(struct device *live)
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

/* The lock, or (false) a nap: a program that has it is busy, and has armed no queue, so it will not sleep.  `now` is
 * another when the lock had to be waited for. */
static bool enter(struct device *live, bool handed_over, ps_t *now)
{
    if (pthread_mutex_trylock(&live->lock) != 0) {
        struct turn_app app = app_of(live);
        if (turns_naps(&live->turns, &app, handed_over, *now)) {
            __atomic_store_n(&live->naps, true, __ATOMIC_SEQ_CST);
            __atomic_fetch_add(&live->lock_left, 1, __ATOMIC_RELAXED);
            if (__atomic_load_n(&live->armed, __ATOMIC_SEQ_CST) == NULL) return false;
            __atomic_store_n(&live->naps, false, __ATOMIC_RELAXED);
        }
        pthread_mutex_lock(&live->lock);
        *now = live_now();
    }
    turns_entered(&live->turns);
    arrive(live);
    return true;
}

/* In the hands of who polls: let it.  Ends when it arms a queue. */
static void nap(struct device *live)
{
    struct pollfd fd = {.fd = live->wake_fd, .events = POLLIN};
    struct timespec step = {.tv_nsec = TURN_STEP_PS / PS_NS};
    eventfd_t value;

    if (ppoll(&fd, 1, &step, NULL) > 0) (void)eventfd_read(live->wake_fd, &value);
    __atomic_store_n(&live->naps, false, __ATOMIC_RELAXED);
}

struct wake { /* what ended a sleep */
    bool wire, handed_over, interfaces;
};

static ps_t span_until(ps_t until)
{
    if (until == 0 || until == PS_NEVER) return until;
    ps_t now = live_now();
    return until > now ? until - now : 0;
}

/* `span`: 0: only looks. */
static struct wake doze(struct device *live, bool listens, ps_t span)
{
    struct pollfd fd[] = {{.fd = live->wake_fd, .events = POLLIN},
                          {.fd = registry_fd(live->registry), .events = POLLIN},
                          {.fd = live->netlink_fd, .events = POLLIN},
                          {.fd = listens ? wire_fd(live->wire) : -1, .events = POLLIN},
                          {.fd = live->owed_fd, .events = POLLIN}};
    struct timespec limit = {.tv_sec = (time_t)(span / PS_S), .tv_nsec = (long)(span % PS_S / PS_NS)};
    eventfd_t value;

    if (ppoll(fd, 5, span == PS_NEVER ? NULL : &limit, NULL) <= 0) return (struct wake){.wire = false};
    if (fd[0].revents) (void)eventfd_read(live->wake_fd, &value);
    if (fd[4].revents) (void)eventfd_read(live->owed_fd, &value); /* how often it ran out: as much */
    return (struct wake){.wire = fd[3].revents, .handed_over = fd[1].revents, .interfaces = fd[2].revents};
}

/* One reading of the clock a turn, and one for a sleep that has an end.  How long that is, is decided before we let go:
 * whom we wake then may take this core, and shall have its time to take along what is owed. */
static void *run(void *argument)
{
    struct device *live = argument;
    struct wake wake = {.handed_over = true};
    ps_t now = live_now();

    prctl(PR_SET_TIMERSLACK, 1000ul); /* ns */
    for (;;) {
        if (!enter(live, wake.handed_over, &now)) {
            nap(live);
            now = live_now();
            continue;
        }
        if (live->stop) break;
        live->sleep_until = work(live, wake.handed_over, now);
        ps_t span = span_until(live->sleep_until);
        enum turn_state state = live->turns.state;
        leave(live);
        if (state == TURN_STREAMS) linger(live);
        wake = doze(live, state != TURN_STANDS_BACK, span);
        now = live_now();
        if (span) turns_woken(&live->turns, shard_many(live), wake.wire, now);
        if (wake.interfaces && shard_enter_all(live) == 0) {
            netlink_look(live, now);
            shard_leave_all(live);
            now = live_now(); /* it may have taken long */
        }
    }
    leave(live);
    return NULL;
}

int thread_start(struct device *live)
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

void thread_stop(struct device *live)
{
    if (!live->thread_runs) return;
    pthread_mutex_lock(&live->lock);
    live->stop = true;
    pthread_mutex_unlock(&live->lock);
    eventfd_write(live->wake_fd, 1);
    pthread_join(live->thread, NULL);
    live->thread_runs = false;
}
