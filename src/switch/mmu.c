/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory management: who may keep a packet in the shared buffer, and what is given back when it leaves.
 *
 * Ingress: a priority group fills its reserve, then the shared pool while its share stays within the threshold
 * (fixed, or alpha times what is free: Choudhury and Hahne, "Dynamic queue length thresholds", 1998), then, when
 * lossless, its headroom.  A packet goes wholly to headroom or wholly to reserve and pool; one that straddles
 * the reserve takes the rest from the pool.  Thresholds above 1 x free or fixed ones may promise more than there
 * is, so what is left in the pool is asked too.
 *
 * A packet does not remember what it was charged from.  Release empties headroom first, then the pool, then the
 * reserve, as switch chips and the HPCC model do: the group leaves headroom as early as it can.
 *
 * Egress limits are tail drop of lossy classes: a lossless packet that came in must not be dropped on the way out.
 *
 * What nearly all packets need (mmu_admit_quiet, mmu_release) is inlined from switch_int.h.
 * Integer arithmetic in cells, no division.  alpha has 20 fraction bits: exact for powers of two down to 2^-20.
 */
#include "switch/switch_int.h"

static enum sw_drop admit_headroom(struct sw *sw, struct sw_pg *pg, const struct sw_pg_rule *rule, uint32_t cells)
{
    if (!rule->lossless) return SW_DROP_buffer;
    if (cells > rule->headroom - pg->headroom || cells > sw->headroom_size - sw->headroom_used) return SW_DROP_headroom;
    pg->headroom += cells;
    sw->headroom_used += cells;
    if (pg->headroom > pg->headroom_max) pg->headroom_max = pg->headroom;
    if (pg->held + pg->headroom > pg->total_max) pg->total_max = pg->held + pg->headroom;
    return SW_DROPS;
}

enum sw_drop mmu_admit(struct sw *sw, struct sw_pg *pg, const struct sw_pg_rule *rule, uint32_t cells)
{
    uint32_t held = pg->held + cells;
    if (held > rule->reserved) {
        uint32_t over = held - rule->reserved;
        uint32_t part = over < cells ? over : cells;
        uint32_t free = sw->shared_size - sw->shared_used;
        if (over > mmu_threshold(rule, free) || part > free) return admit_headroom(sw, pg, rule, cells);
        sw->shared_used += part;
    }
    pg->held = held;
    if (held + pg->headroom > pg->total_max) pg->total_max = held + pg->headroom;
    return SW_DROPS;
}

bool mmu_egress_full(const struct sw *sw, const struct sw_queue *queue, const struct sw_queue_rule *rule,
                     uint32_t cells)
{
    uint64_t length = (uint64_t)queue->cells + cells;
    if (length > rule->limit) return true;
    uint64_t free = sw->shared_size - sw->shared_used;
    return rule->limit_alpha && length > free * rule->limit_alpha >> SW_ALPHA_BITS;
}

bool mmu_must_pause(const struct sw *sw, const struct sw_pg *pg, const struct sw_pg_rule *rule)
{
    if (pg->headroom || (sw->voqs && voq_over(sw, pg))) return true;
    uint32_t shared = mmu_shared(pg, rule);
    return shared && shared >= mmu_threshold(rule, sw->shared_size - sw->shared_used);
}

bool mmu_may_resume(const struct sw *sw, const struct sw_pg *pg, const struct sw_pg_rule *rule)
{
    if (pg->headroom) return false;
    if (pg->held == 0) return true; /* what makes a virtual output queue of it too long is of another group */
    if (sw->voqs && voq_over(sw, pg)) return false;
    uint32_t shared = mmu_shared(pg, rule);
    return shared == 0 || (uint64_t)shared + rule->xon_offset <= mmu_threshold(rule, sw->shared_size - sw->shared_used);
}

void sw_audit(const struct sw *sw)
{
    uint64_t shared = 0, headroom = 0, held = 0, queued = 0;
    for (uint32_t port = 0; port < sw->ports; port++) {
        const struct sw_profile *profile = sw->port[port].profile;
        for (uint32_t i = 0; i < SW_PRIOS; i++) {
            const struct sw_pg *pg = sw_pg_at(sw, port, i);
            const struct sw_queue *queue = sw_queue_at(sw, port, i);
            bool filled = sw->port[port].filled >> i & 1;
            shared += mmu_shared(pg, &profile->pg[i]);
            headroom += pg->headroom;
            held += (uint64_t)pg->held + pg->headroom;
            queued += queue->cells;
            CHECK(pg->headroom <= profile->pg[i].headroom);
            CHECK(filled == (queue->cells > 0) && filled == (queue->bytes > 0));
            CHECK((uint64_t)queue->cells * sw->cell_bytes >= queue->bytes);
            CHECK(!(sw->port[port].xoff >> i & 1) || pg->held || pg->headroom);
        }
    }
    for (uint32_t port = 0; sw->credits && port < sw->ports; port++)
        credit_audit(sw, port);
    CHECK(shared == sw->shared_used && shared <= sw->shared_size);
    CHECK(headroom == sw->headroom_used && headroom <= sw->headroom_size);
    CHECK(held == queued);
}
