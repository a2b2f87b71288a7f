/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: when the progress thread works, leaves the work to the application, looks for more, or sleeps.
 *
 * A turn of the thread is: it is woken, gets the lock, does a bounded piece of work, lets go, sleeps.  This is the
 * policy of it: what the thread tells goes in, with the time, and what to do comes out.  No lock, no socket and no
 * clock here; thread.c has them.  All of `struct turns` is the thread's own, but for `state`, which others read, and
 * call back by turns_armed(), under the lock.
 */
#ifndef ROCELAB_LIVE_TURNS_H
#define ROCELAB_LIVE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

/* What the thread is about between two turns. */
enum turn_state {
    TURN_LISTENS,     /* sleeps until the wire has something, or the next deadline */
    TURN_STANDS_BACK, /* leaves the wire to whoever polls, and looks now and then whether somebody does */
    TURN_OWES,        /* has left ACKs for the application to take along, for a moment */
    TURN_STREAMS,     /* a burst came: looks for more before it sleeps */
    TURN_STATES
};

/* What a turn found. */
enum turn_event {
    TURN_POLLED, /* the application polls, and nobody else is needed: nothing was done */
    TURN_QUIET,  /* nothing that is worth a word */
    TURN_ACKS,   /* an application that is active, and nothing to send but ACKs, which were kept for it */
    TURN_BURST,  /* much came, or much was sent, and no application that looks after it */
    TURN_ARMED,  /* between two turns: the application is about to sleep until an event comes */
    TURN_EVENTS
};

enum turn_state turns_next(enum turn_state state, enum turn_event event); /* the table */

#define TURN_STREAM 8u     /* packets at a time: more will follow */
#define TURN_STEP_PS PS_MS /* how long what the thread has left to others stays without a look */

struct turns {
    enum turn_state state;
    ps_t watch_until;           /* it does not stand back before */
    unsigned misses;            /* of packets, while it did */
    ps_t looked_at, poller_ran; /* it last stood back, and the processor time of the poller then */
    unsigned vain;              /* times that it left the lock to a program, though something was handed over */
    ps_t streamed_at;           /* something of a stream that may go on came; 0: none */
    ps_t linger_until;
    ps_t patience; /* how long it looks for more */
    unsigned rest; /* sleeps before that may grow again */
};

void turns_init(struct turns *turns);

struct turn_app {              /* what is known of the application */
    ps_t polled_at, posted_at; /* it last polled in vain, posted */
    bool armed;                /* it waits for an event */
    bool driven;               /* it waits for events and looks after the wire meanwhile */
    bool taken;                /* there are shards, and all work of this one is the thread's */
    bool shards;               /* there are several */
};

/* The lock is somebody's.  True: leave it to them for TURN_STEP_PS, unless something ends that earlier.  A program that
 * takes the lock again and again would be slowed down: each time it lets go it would have to wake us, and has it again
 * before we run.  It does what we would do, but for what others hand over. */
bool turns_naps(struct turns *turns, const struct turn_app *app, bool handed_over, ps_t now);
void turns_entered(struct turns *turns); /* the lock was had */

/* May the wire be left to the application?  Then the thread does no more than turns_stood_back(). */
bool turns_may_stand_back(const struct turns *turns, const struct turn_app *app, ps_t now);
void turns_stood_back(struct turns *turns, ps_t poller_ran, ps_t now);

void turns_armed(struct turns *turns); /* by who holds the lock */

/* Shall ACKs, and ACKs alone, wait for what the application posts next? */
bool turns_keeps_acks(const struct turns *turns, const struct turn_app *app, ps_t now);

struct turn_work {           /* what the thread did */
    uint64_t received, sent; /* packets */
    bool acks_left;          /* turns_keeps_acks(), and there are some */
};
void turns_worked(struct turns *turns, const struct turn_app *app, const struct turn_work *work, ps_t now);

/* After work that followed a time of standing back (`state` before it was TURN_STANDS_BACK): were packets there that
 * nobody polled for?  `ran`: the processor time of the poller, which is asked for only where it matters. */
bool turns_asks_for_poller(enum turn_state before, const struct turn_app *app, uint64_t received);
void turns_judge(struct turns *turns, enum turn_state before, const struct turn_app *app, uint64_t received, ps_t ran,
                 ps_t now);

struct turn_rest { /* how a turn ends */
    bool again;    /* at once: there is more */
    bool releases; /* the shard is no more `taken` */
    ps_t at_most;  /* sleep no longer than until then, nor than the next deadline; PS_NEVER */
};
/* `more`: received or to be sent.  `rings`: the application will be woken by an event. */
struct turn_rest turns_rest(const struct turns *turns, const struct turn_app *app, bool more, bool rings, ps_t now);

/* Looking for more of a stream, without sleeping. */
void turns_linger(struct turns *turns, ps_t now); /* begins */
static inline bool turns_lingers(const struct turns *turns, ps_t now)
{
    return now < turns->linger_until && now < turns->streamed_at + turns->patience;
}
static inline void turns_came(struct turns *turns, ps_t now) /* there was more */
{
    turns->streamed_at = now;
}
/* The thread is awake after a sleep: what it waited for came, or not. */
void turns_woken(struct turns *turns, bool shards, bool came, ps_t now);

#define TURN_OWED_PS (20 * PS_US) /* ACKs wait so long for a post to ride with */
#define TURN_OWED_WOKEN_PS                                                                                             \
    (200 * PS_US) /* for one of a program that an event wakes: its first poll in vain sends them */

#endif
