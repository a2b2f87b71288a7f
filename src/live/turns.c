/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of the progress thread: see turns.h for what it is given, thread.c for who asks.
 *
 * While the application itself polls, the thread stays off the wire: two threads that spin on one core cost
 * milliseconds.  It then only looks once a millisecond whether polling has stopped.  A program that waits for
 * completion events has a queue armed; then the thread is needed whatever was polled before, and at once.  So it is by
 * one that polls now and then and waits for a change of its memory otherwise; that is learned from packets that lay
 * waiting.
 */
#include "live/turns.h"

#define POLLED_RECENTLY_PS (200 * PS_US)
#define MISSED_PS (20 * PS_US) /* a packet that waited so long, nobody polling, was missed */
#define WATCH_PS (2 * PS_MS)   /* after a miss; doubled with each that follows */
#define WATCH_DOUBLINGS 6u
#define LINGER_PS (50 * PS_US) /* a stream pauses less than sleeping and waking cost */
#define LINGER_LEAST_PS PS_US
#define LINGER_REST 64u
#define VAIN_MOST 4u /* steps without the lock while somebody has handed something over */

/* The state after a turn, by the state before it and what the turn found.  ACKs are left to the application once: if it
 * does not take them along, the thread sends them. */
static const uint8_t next_state[TURN_STATES][TURN_EVENTS] = {
    /* clang-format off */
    /*                     polled            quiet         acks          burst         armed */
    [TURN_LISTENS]     = {TURN_STANDS_BACK, TURN_LISTENS, TURN_OWES,    TURN_STREAMS, TURN_LISTENS},
    [TURN_STANDS_BACK] = {TURN_STANDS_BACK, TURN_LISTENS, TURN_OWES,    TURN_STREAMS, TURN_LISTENS},
    [TURN_OWES]        = {TURN_STANDS_BACK, TURN_LISTENS, TURN_LISTENS, TURN_STREAMS, TURN_OWES},
    [TURN_STREAMS]     = {TURN_STANDS_BACK, TURN_LISTENS, TURN_OWES,    TURN_STREAMS, TURN_STREAMS},
    /* clang-format on */
};

enum turn_state turns_next(enum turn_state state, enum turn_event event)
{
    return next_state[state][event];
}

void turns_init(struct turns *turns)
{
    *turns = (struct turns){.state = TURN_LISTENS, .patience = LINGER_PS};
}

/* When the application last posted, or polled in vain. */
static ps_t called_at(const struct turn_app *app)
{
    return app->posted_at > app->polled_at ? app->posted_at : app->polled_at;
}

bool turns_naps(struct turns *turns, const struct turn_app *app, bool handed_over, ps_t now)
{
    if (app->shards || app->driven) return false;
    if (handed_over && ++turns->vain >= VAIN_MOST) return false;
    return now < called_at(app) + TURN_STEP_PS;
}

void turns_entered(struct turns *turns)
{
    turns->vain = 0;
}

/* Not when it was, and a packet lay there while nobody polled (a program that polls for a completion, then spins on
 * memory): then not for a while, longer each time. */
bool turns_may_stand_back(const struct turns *turns, const struct turn_app *app, ps_t now)
{
    if (app->armed || now < turns->watch_until || app->taken) return false;
    return now < app->polled_at + POLLED_RECENTLY_PS;
}

static void note_miss(struct turns *turns, bool missed, ps_t now)
{
    if (missed) {
        turns->watch_until = now + (WATCH_PS << turns->misses);
        if (turns->misses < WATCH_DOUBLINGS) turns->misses++;
    } else if (turns->misses) {
        turns->misses--;
    }
}

void turns_stood_back(struct turns *turns, ps_t poller_ran, ps_t now)
{
    if (turns->state == TURN_STANDS_BACK) note_miss(turns, false, now);
    turns->state = turns_next(turns->state, TURN_POLLED);
    turns->looked_at = now;
    turns->poller_ran = poller_ran;
}

void turns_armed(struct turns *turns)
{
    turns->state = turns_next(turns->state, TURN_ARMED);
}

static bool active(const struct turn_app *app, ps_t now)
{
    return !app->taken && now < called_at(app) + POLLED_RECENTLY_PS;
}

/* An application that has just posted or polled will likely do so again when it sees what came. */
bool turns_keeps_acks(const struct turns *turns, const struct turn_app *app, ps_t now)
{
    return active(app, now) && turns_next(turns->state, TURN_ACKS) == TURN_OWES;
}

void turns_worked(struct turns *turns, const struct turn_app *app, const struct turn_work *work, ps_t now)
{
    bool burst = app->taken ? work->received || work->sent : !active(app, now) && work->received >= TURN_STREAM;
    enum turn_event event = work->acks_left ? TURN_ACKS : burst ? TURN_BURST : TURN_QUIET;

    turns->state = turns_next(turns->state, event);
}

/* Since the thread last looked, has the application run without polling?  If it has not run, a packet that waits is no
 * sign of how it works, only of a full machine. */
static bool ran_elsewhere(const struct turns *turns, const struct turn_app *app, ps_t poller_ran, ps_t now)
{
    ps_t ran = poller_ran - turns->poller_ran, silent = now - called_at(app);
    ps_t since = now - turns->looked_at;

    return silent > MISSED_PS && silent < since && ran < since && ran > since - silent / 2;
}

bool turns_asks_for_poller(enum turn_state before, const struct turn_app *app, uint64_t received)
{
    return before == TURN_STANDS_BACK && !app->armed && received > 0;
}

void turns_judge(struct turns *turns, enum turn_state before, const struct turn_app *app, uint64_t received, ps_t ran,
                 ps_t now)
{
    if (before != TURN_STANDS_BACK || app->armed) return;
    note_miss(turns, received > 0 && ran_elsewhere(turns, app, ran, now), now);
}

struct turn_rest turns_rest(const struct turns *turns, const struct turn_app *app, bool more, bool rings, ps_t now)
{
    struct turn_rest rest = {.again = more || turns->state == TURN_STREAMS, .at_most = PS_NEVER};

    if (!rest.again && app->taken) { /* before the thread sleeps it looks once more */
        rest.releases = rest.again = true;
    } else if (turns->state == TURN_OWES) {
        rest.at_most = now + (rings ? TURN_OWED_WOKEN_PS : TURN_OWED_PS);
    }
    return rest;
}

void turns_linger(struct turns *turns, ps_t now)
{
    turns->streamed_at = now;
    turns->linger_until = now + TURN_STEP_PS;
}

/* How long to linger the next time: longer after a sleep so short that lingering would have been better.  But when the
 * longest was in vain and then something came as soon as we slept, the sender has waited for this core.  Shards are
 * where there are cores. */
void turns_woken(struct turns *turns, bool shards, bool came, ps_t now)
{
    bool soon = came && now < turns->streamed_at + 2 * LINGER_PS;

    if (turns->streamed_at == 0) return;
    turns->streamed_at = 0;
    if (shards) return;
    if (turns->rest) {
        turns->rest--;
    } else if (soon && turns->patience >= LINGER_PS) {
        turns->patience = LINGER_LEAST_PS;
        turns->rest = LINGER_REST;
    } else if (soon) {
        turns->patience *= 2;
    } else if (turns->patience > LINGER_LEAST_PS) {
        turns->patience /= 2;
    }
    if (turns->patience > LINGER_PS) turns->patience = LINGER_PS;
}
