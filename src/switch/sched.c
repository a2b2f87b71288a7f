/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which queue of a port sends next.
 *
 * Strict queues come first, the highest index before lower ones.  Below them, deficit round robin in the form that
 * borrows (surplus round robin): a queue whose turn comes is given its weight in bytes, sends while its balance is
 * above zero, and carries what it overdrew into its next round.  The head's length need not be known to choose, so
 * no packet of another queue is touched; the share of a backlogged queue stays within one packet of its weight.
 *
 * A queue that is paused is skipped and keeps its balance; what it may save up that way is bounded by two weights.
 * An empty queue keeps its debt and loses its savings.  A queue alone on the port is not charged: rounds with one
 * member would change nothing; it does not even come here.
 */
#include "switch/switch_int.h"

/* The next queue of the mask after `from`, round the clock. */
static uint32_t next_after(uint32_t mask, uint32_t from)
{
    uint32_t above = mask & (uint32_t)-2 << from;
    return (uint32_t)__builtin_ctz(above ? above : mask);
}

uint32_t sched_pick(const struct sw_profile *profile, struct sw_queue *queue, uint32_t ready, uint8_t *ret_turn)
{
    uint32_t strict = ready & profile->strict;
    if (strict) return 31 - (uint32_t)__builtin_clz(strict);

    uint32_t turn = *ret_turn;
    if (!(ready >> turn & 1) || queue[turn].deficit <= 0) {
        /* Weights are at least a small packet (profile.c), so this ends within a few rounds. */
        do {
            turn = next_after(ready, turn);
            int32_t weight = profile->queue[turn].weight;
            int32_t balance = queue[turn].deficit;
            queue[turn].deficit = balance < weight ? balance + weight : 2 * weight;
        } while (queue[turn].deficit <= 0);
        *ret_turn = (uint8_t)turn;
    }
    return turn;
}
