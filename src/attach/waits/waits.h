/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a thread of the program waits: it looks, and gives its turn back until something may have changed.
 *
 * Between two looks others run, at earlier or the same time; what they did that somebody may wait for they have said
 * with turn_touched().  Nobody waits in the kernel while it has the turn.
 */
#ifndef ROCELAB_ATTACH_WAITS_WAITS_H
#define ROCELAB_ATTACH_WAITS_WAITS_H

#include <pthread.h>

#include "attach/attach_int.h"

enum wait_end {
    WAIT_AGAIN,       /* look again */
    WAIT_LATE,        /* `until` had come before: there was no turn */
    WAIT_INTERRUPTED, /* look again; a handler of the program has run */
    WAIT_GONE,        /* the fabric is no more: libc goes on */
};

/* For something that only threads change: a lock, a word in memory, a child.  `what` it is: a literal, for who is told
 * that nothing will end it. */
enum wait_end wait_turn(uint64_t until, const char *what);
/* For something that an adapter may change as well: a descriptor. */
enum wait_end wait_turn_event(uint64_t until, const char *what);
/* A call that does not wait has found nothing, and the program will ask again: a moment passes. */
void wait_moment(void);
/* Before a look at what other processes see: those whose time is earlier go first. */
void wait_sync(void);
/* Threads of this process that wait for locks and the like, in all. */
extern uint32_t wait_count;
/* Something of this process, or (shared) of others of the host too, is free, done or there. */
static inline void wait_release(bool shared)
{
    if (shared)
        turn_touched(ATTACH_TOUCHED_PROCESS | ATTACH_TOUCHED_HOST);
    else if (wait_count > 0)
        turn_touched(ATTACH_TOUCHED_PROCESS);
}

/* Waiting for somebody's word: whoever waits lies on a list by address until it is woken or gives up. */
struct parked {
    const void *on;
    struct parked *next;
    uint32_t bits; /* a wake with none of them does not count */
    bool woken;
};
void park(struct parked *parked, const void *on, uint32_t bits); /* at the end */
void unpark(struct parked *parked);                              /* woken or not */
/* Wakes up to `most` on the address, the longest waiting first; or lets them wait on another.  How many they were. */
unsigned park_wake(const void *on, unsigned most, uint32_t bits);
unsigned park_move(const void *on, unsigned most, const void *to);

/* The calling thread was cancelled and has not disabled that: a cancellation point acts (pthread_testcancel()). */
bool threads_cancelled(void);
/* This thread of ours (kernel's number) has ended; returns when the kernel knows it too. */
void threads_await_death(pid_t tid);

/* Runs as a thread of the program that nobody joins; false: it could not begin. */
bool threads_run(void (*run)(void *), void *argument);

/* wait.c: whether a look at this descriptor may find nothing: a pipe, a socket, an eventfd, a terminal */
bool wait_is_waitable(int fd);
/* ... and the program wants to wait then: O_NONBLOCK is off. */
bool wait_would_block(int fd);
/* Until poll() would find it ready.  0; -ETIMEDOUT; -EINTR; -EIO: the fabric is gone. */
int wait_ready(int fd, short events, uint64_t until);
/* A call that is not to wait has found nothing, or something: see wait.c. */
void wait_found_nothing(void);
void wait_found(void);

void process_start(void);
void process_forked(void);
void wait_forked(void);
void timers_forked(void);
void timers_closed(int fd); /* about to be */
#endif
