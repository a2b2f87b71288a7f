/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain loop: the second driver of nodes, over real bytes.
 *
 * It takes the nodes of a simulation that was created and not run, and drives them by pointers to their calls, in the
 * order of node/order.h, with a clock that the caller steps.  A frame that a node sends is written as bytes (or, in a
 * switch, patched in the bytes it came in), its descriptor is given back, and the bytes travel; at the other end they
 * are parsed, addresses are looked up, and a new descriptor is the node's.  Control words travel as PFC and 802.3x
 * frames.  So a node knows of a packet what its headers say and nothing else.
 *
 * Nothing here is fast.  Losses are the ports' own; of the simulator's faults those that spoil a line are run (corrupt,
 * drop, slow), the others are refused.
 */
#ifndef ROCELAB_TESTS_NODE_LOOP_H
#define ROCELAB_TESTS_NODE_LOOP_H

#include <stdint.h>

#include "sim/sim_int.h"

struct loop;

/* NULL: the run cannot be told by headers alone, *ret_why says what is in no header. */
struct loop *loop_create(struct sim *sim, const char **ret_why);
void loop_free(struct loop *loop);

/* The earliest event; PS_NEVER: none. */
ps_t loop_next(const struct loop *loop);
/* Steps the clock: runs every event before `until`. */
void loop_step(struct loop *loop, ps_t until);
/* Steps until the jobs are done, as the simulator would; false: something waits for ever, or until the run's end. */
bool loop_run(struct loop *loop);

struct loop_totals {
    uint64_t digest, hops; /* as the engine's */
    uint64_t frames, controls, bytes;
    uint64_t wrong; /* frames whose payload or ICRC was not what was sent; control words that came out otherwise */
    uint64_t left;  /* descriptors that nobody gave back, with those in queues */
};
struct loop_totals loop_totals(const struct loop *loop);

#endif
