/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs on a host: whoever posts messages and is told of completions.
 *
 * Four calls.  Each answers what to post; nothing is called back.  Connections are numbered by the application; the
 * host knows which queue pair each is.
 */
#ifndef ROCELAB_NODE_APP_H
#define ROCELAB_NODE_APP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct app_post {
    uint32_t connection;
    uint64_t bytes;
    uint32_t tag; /* comes back in sent() */
    uint32_t imm; /* comes out in received() */
};

#define APP_POSTS 64
struct app_out { /* the caller empties posts */
    uint32_t posts;
    struct app_post post[APP_POSTS];
    bool more; /* no room for all: post these and call timer() again, at the same time */
};

struct app_ops {
    /* When the host's part of the application wants timer(); PS_NEVER: not. */
    ps_t (*next)(const void *app, uint32_t host);
    void (*timer)(void *app, uint32_t host, ps_t now, struct app_out *out);
    /* A work request of this host was completed, successfully or not. */
    void (*sent)(void *app, uint32_t host, uint32_t connection, uint32_t tag, bool good, ps_t now, struct app_out *out);
    /* A message arrived at this host, on a connection that notifies. */
    void (*received)(void *app, uint32_t host, uint32_t connection, uint32_t imm, ps_t now, struct app_out *out);
};

#endif
