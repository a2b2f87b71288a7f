/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explicit congestion notification: the marking curve of a queue.
 *
 * Up to min nothing is marked, above max everything, between them the probability rises from 0 to its maximum in a
 * straight line (RED's curve on the instantaneous length, as switch chips and the HPCC model apply it for DCQCN).
 * The length is that of the packet's own queue in frame bytes.  Marking at enqueue sees the queue that the packet
 * found, without itself; marking at dequeue the queue it leaves behind.
 *
 * Draws come from the switch's own stream, so they do not depend on what other switches do.  Only ECT packets are
 * marked (RFC 3168, section 5); others pass: early random drop (WRED) is not modelled.
 */
#include "switch/switch_int.h"

bool ecn_mark(struct sw *sw, const struct sw_queue_rule *rule, uint64_t bytes)
{
    if (bytes > rule->mark_max) return true;
    uint64_t chance = (bytes - rule->mark_min) * rule->mark_slope >> 16; /* 2^32 = 1 */
    return rng_u32(&sw->rng) < chance;
}
