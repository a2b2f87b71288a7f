/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a proxy operation waits for, from its steps' states.
 *
 * A proxy operation moves a channel's data to or from one peer in steps, of which up to eight are under way at a time.
 * What the operation waits for is what its oldest step waits for: the others stand in line behind it.  So each moment
 * of an operation is counted once, to the state of its oldest step, and the waits add up to the operation's time.
 *
 * No clock and no lock: one thread drives an operation, and `now` is an argument.  Another thread may look at it
 * (waits_peek).
 */
#ifndef ROCELAB_NCCL_WAITS_H
#define ROCELAB_NCCL_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl/api.h"

enum wait_for {
    WAIT_OTHER,   /* a step is not posted yet, or none is under way */
    WAIT_GPU,     /* our GPU: has not filled the buffer to send (SendGPUWait), not taken what came (RecvGPUWait) */
    WAIT_FLUSH,   /* our GPU's memory: what came is made visible to it (RecvFlushWait) */
    WAIT_PEER,    /* the receiver has no buffer for us (SendPeerWait) */
    WAIT_NETWORK, /* sent, and not acknowledged (SendWait) */
    WAIT_DATA,    /* nothing came (RecvWait): the sender is late, or the network; the sender's record tells which */
    WAITS
};

struct wait_times { /* of sends or of receives; uint64_t throughout */
    uint64_t ops, steps, bytes;
    uint64_t time_ns; /* the sum of wait_ns */
    uint64_t wait_ns[WAITS];
};

struct waits {     /* a proxy operation */
    uint32_t turn; /* odd while it is being changed */
    bool send;
    uint32_t first, next;           /* steps that are under way: [first, next), at [number % NCCL_STEPS_OPEN] */
    uint8_t state[NCCL_STEPS_OPEN]; /* enum wait_for, or ENDED */
    uint64_t mark_ns;               /* counted until here, at last its last step's end; 0: it has not begun */
    uint64_t steps, bytes;          /* that went through */
    uint64_t wait_ns[WAITS];        /* until mark_ns */
};

void waits_init(struct waits *waits, bool send);
void waits_begin(struct waits *waits, uint64_t now);
/* A step is started; `ret_slot` names it from now on.  Started again before it was posted, it stays the same one.
 * False: more steps are under way than there can be, or it is over. */
bool waits_step(struct waits *waits, uint32_t step, uint64_t now, uint32_t *ret_slot);
void waits_state(struct waits *waits, uint32_t slot, int state, uint64_t bytes, uint64_t now);
void waits_stop(struct waits *waits, uint32_t slot, uint64_t now);
/* Adds what it waited, up to its last step's end. */
void waits_sum(const struct waits *waits, struct wait_times *into);
/* The same up to now, from another thread, while it goes on: into [0] what it receives, into [1] what it sends; nothing
 * where it has not begun.  False: it was being changed; look again later. */
bool waits_peek(const struct waits *waits, uint64_t now, struct wait_times into[2]);
/* Any thread may add, and others at the same time. */
void wait_times_add(struct wait_times *to, const struct wait_times *from);

#endif
