/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom in this switch: what a search for deadlocks asks, at a moment when nothing runs.
 *
 * A queue waits for the peer that paused it; the peer waits for what came in by that port to leave.  Whether it would
 * be let go on is answered for the best case: everything that is not stuck has left, and the shared pool holds only
 * what is.  With credits a lane waits for a packet's worth of them, and the peer has them to give when so much of the
 * lane's buffer is free.  Groups look at their thresholds when their own packets come and go; one whose packets are
 * all stuck is not let go on, however much of the pool becomes free.
 */
#include "switch/switch_int.h"

uint16_t sw_waiting(const struct sw *sw, uint16_t port)
{
    CHECK(port < sw->ports);
    return sw->port[port].paused & sw->port[port].filled;
}

uint16_t sw_waiting_prios(const struct sw *sw, uint16_t port, uint8_t queue)
{
    const struct sw_port *state = &sw->port[port];
    uint16_t prios = 0;

    if (sw->credits) return (uint16_t)(sw_waiting(sw, port) & 1u << queue);
    for (uint32_t mask = sw->slow[port].paused_prio; mask; mask &= mask - 1) {
        uint32_t prio = (uint32_t)__builtin_ctz(mask);
        if (state->profile->queue_of[prio] == queue) prios |= (uint16_t)(1u << prio);
    }
    return prios;
}

ps_t sw_paused_from(const struct sw *sw, uint16_t port, uint8_t prio)
{
    return sw->credits ? lane_at(sw, port, prio)->head_since : sw->slow[port].paused_from[prio];
}

/* Of the packets that the peer sends as `prio`: with credits that is the lane. */
static uint32_t group_for(const struct sw *sw, uint32_t port, uint32_t prio)
{
    return sw->credits ? prio : sw->port[port].profile->pg_of[prio];
}

static uint32_t group_of(const struct sw *sw, const struct pkt *pkt)
{
    return sw->port[pkt->in_port].profile->pg_of[pkt->tc];
}

void sw_stuck_cells(const struct sw *sw, const struct pkt *hot, const uint16_t *stuck, uint32_t *ret_cells)
{
    for (uint32_t i = 0; i < (uint32_t)sw->ports * SW_PRIOS; i++)
        ret_cells[i] = 0;
    for (uint32_t port = 0; port < sw->ports; port++) {
        for (uint32_t mask = stuck[port] & sw->port[port].filled; mask; mask &= mask - 1) {
            uint32_t queue_index = (uint32_t)__builtin_ctz(mask);
            const struct sw_queue *queue = sw_queue_at(sw, port, queue_index);
            for (pkt_t id = queue->head; id != PKT_NONE; id = sw_queued_next(sw, hot, port, queue_index, id))
                ret_cells[hot[id].in_port * SW_PRIOS + group_of(sw, &hot[id])] += sw_cells(sw, hot[id].frame_bytes);
        }
    }
}

bool sw_would_resume(const struct sw *sw, uint16_t in, uint8_t prio, const uint32_t *cells)
{
    const struct sw_port *state = &sw->port[in];
    uint32_t pg = group_for(sw, in, prio), stays = cells[in * SW_PRIOS + pg], used = 0;
    const struct sw_pg_rule *rule = &state->profile->pg[pg];
    const struct sw_pg *ledger = sw_pg_at(sw, in, pg);
    uint32_t now = ledger->held + ledger->headroom, leaves = now > stays ? now - stays : 0;

    if (sw->credits) return rule->reserved - stays >= sw->credits->packet_blocks;
    if (!(state->xoff >> pg & 1)) return true;
    if (leaves == 0 || leaves < ledger->headroom) return false;
    for (uint32_t port = 0; port < sw->ports; port++) {
        for (uint32_t i = 0; i < SW_PRIOS; i++) {
            uint32_t reserved = sw->port[port].profile->pg[i].reserved, held = cells[port * SW_PRIOS + i];
            if (held > reserved) used += held - reserved;
        }
    }
    uint32_t shared = stays > rule->reserved ? stays - rule->reserved : 0;
    uint32_t free = sw->shared_size > used ? sw->shared_size - used : 0;
    return shared == 0 || (uint64_t)shared + rule->xon_offset <= mmu_threshold(rule, free);
}

bool sw_queue_holds(const struct sw *sw, const struct pkt *hot, uint16_t port, uint8_t queue, uint16_t in, uint8_t prio)
{
    const struct sw_queue *from = sw_queue_at(sw, port, queue);
    uint32_t pg = group_for(sw, in, prio);

    if (!(sw->port[port].filled >> queue & 1)) return false;
    for (pkt_t id = from->head; id != PKT_NONE; id = sw_queued_next(sw, hot, port, queue, id))
        if (hot[id].in_port == in && group_of(sw, &hot[id]) == pg) return true;
    return false;
}
