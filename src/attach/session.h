/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's side of the fabric: its session, and the turns of its threads.
 *
 * librocelab-fabric.so is preloaded before everything else.  It connects, stands before libc's clocks, sleeps, threads
 * and sockets, and offers this table to the verbs library (device/), which finds it by name: ATTACH_API_SYMBOL.  A
 * program without verbs (a shell, a launcher) has the first and not the second.
 *
 * All calls are for the calling thread.  With the virtual clock the caller has the turn.
 */
#ifndef ROCELAB_ATTACH_SESSION_H
#define ROCELAB_ATTACH_SESSION_H

#include "attach/protocol.h"

#define ATTACH_API_SYMBOL "rocelab_fabric_api"
#define ATTACH_API_VERSION 1u

struct attach_api {
    uint32_t version;
    struct attach_head *head; /* the segment; NULL: this process is not attached */
    /* Between enter and leave our own code runs: calls that come back to us (locks, clocks) go straight to libc.
     * enter answers 0, or -EIO: the fabric is gone. */
    int (*enter)(void);
    void (*leave)(void);
    /* Within them: one request, answered in place; its result is returned.  fds: sent ahead of it. */
    int (*request)(struct attach_request *request, const int *fds, unsigned count);
    /* A descriptor that came with the answer; -errno. */
    int (*take_fd)(void);
    /* The time that a call of the program takes, as declared.  Real clock: nothing. */
    void (*charge)(uint64_t ps);
    uint64_t (*now)(void); /* ps, of this thread; real clock: 0 */
    /* Room for a post of so many bytes, in the ring; and the ring told of it.  Waits (syncs) while it is full; NULL:
     * the fabric is gone.  Real clock: the ring is locked between the two. */
    struct attach_post *(*post)(uint32_t bytes);
    void (*posted)(struct attach_post *post);
    /* A poll has found nothing: what rule 2 of docs/virtual-time.md says.  `found`: it has found something. */
    void (*poll_empty)(void);
    void (*poll_found)(void);
    /* Memory is about to be registered: moved into memory that the fabric sees too, where that can be done. */
    void (*adopt)(void *addr, uint64_t bytes);
    /* Set by the verbs library: called once, outside of enter and leave, by the thread that finds the fabric gone,
     * before it goes on.  NULL: nobody wants to know. */
    void (*on_gone)(void);
};

#endif
