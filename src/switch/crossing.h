/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet's crossing of the switch, in pieces that a caller can inline.
 *
 * sw_rx() is all of it in one call.  The engine takes the pieces apart where a switch does nothing but forward (no
 * flooding, no raised classes, no telemetry: sw_form()), because between them it knows something that the switch does
 * not: whether the port is free at this very moment and nothing comes before it.  Then a packet that meets an empty
 * port need not be queued to be taken off again: sw_cross_at_once() keeps the same books as sw_cross_queue() followed
 * by sw_tx(), to the last counter, with far fewer instructions.  On a fabric that is not congested this is the way of
 * most packets.  tests/switch/test_crossing.c holds the pieces and sw_rx() to each other.
 *
 * `simple`, a constant: the switch is SW_SIMPLE.  Everything here is inlined into the caller; a sw_crossing never
 * reaches memory.
 */
#ifndef ROCELAB_SWITCH_CROSSING_H
#define ROCELAB_SWITCH_CROSSING_H

#include "switch/switch_int.h"

#define SW_INLINE static inline __attribute__((always_inline))
#define sw_likely(x) __builtin_expect(!!(x), 1)
#define sw_unlikely(x) __builtin_expect(!!(x), 0)

struct sw_crossing { /* what was found out about a packet that came in */
    struct pkt *pkt;
    const struct sw_profile *from, *onto; /* of the two ports */
    struct sw_port *to;
    struct sw_pg *pg;
    uint32_t in, out;
    uint32_t pg_index, queue_index;
    uint32_t bytes, cells;
};

SW_INLINE bool sw_cross_drop(struct sw *sw, uint32_t port, uint32_t prio, enum sw_drop why, pkt_t id, ps_t now,
                             struct sw_io *io)
{
    sw_drop(sw, port, prio, why, id, now, io);
    return false;
}

/* Class, route, TTL, MTU, refusal.  False: dropped. */
SW_INLINE bool sw_cross_find(struct sw *sw, uint32_t in, pkt_t id, bool simple, ps_t now, struct sw_io *io,
                             struct sw_crossing *crossing)
{
    struct pkt *pkt = &io->pool->hot[id];
    const struct sw_profile *from = sw->port[in].profile;
    uint32_t bytes = pkt->frame_bytes;
    uint32_t tc = sw_unlikely(from->trust_pcp) ? from->pcp_to_tc[pkt->pcp & 7] : from->dscp_to_tc[pkt->tos >> 2];
    uint32_t pg_index = from->pg_of[tc];
    struct sw_pg *pg = sw_pg_at(sw, in, pg_index);
    pkt->in_port = (uint16_t)in;
    pkt->tc = (uint8_t)tc;
    pg->rx_packets++;
    pg->rx_bytes += bytes;

    uint32_t out = simple || !sw->balancer ? route_port(sw, pkt) : route_balanced(sw, pkt, tc, now);
    if (sw_unlikely(out == SW_NO_PORT)) return sw_cross_drop(sw, in, pg_index, SW_DROP_no_route, id, now, io);
    if (sw_unlikely(pkt->flags & PKT_STRAY)) return sw_cross_drop(sw, in, pg_index, SW_DROP_not_mine, id, now, io);
    if (sw_likely(pkt->net >= PKT_NET_IPV4)) {
        if (sw_unlikely(pkt->ttl <= 1)) return sw_cross_drop(sw, in, pg_index, SW_DROP_ttl, id, now, io);
        pkt->ttl--;
    }
    struct sw_port *to = &sw->port[out];
    const struct sw_profile *onto = to->profile;
    uint32_t index = onto->queue_of[tc];
    if (sw_unlikely(bytes > from->mtu_bytes || bytes > onto->mtu_bytes))
        return sw_cross_drop(sw, in, pg_index, SW_DROP_mtu, id, now, io);
    if (sw_unlikely(to->refuse >> index & 1))
        return sw_cross_drop(sw, out, index, sw->slow[out].down ? SW_DROP_port_down : SW_DROP_watchdog, id, now, io);
    *crossing = (struct sw_crossing){pkt, from, onto, to, pg, in, out, pg_index, index, bytes, sw_cells(sw, bytes)};
    return true;
}

/*
 * In and out again at once, by a port that is free: true when the packet met nothing on its way (no packet, pause,
 * threshold, limit or group in XOFF) and is the caller's to send; false, and nothing changed, otherwise.  An empty
 * queue marks nothing.
 */
SW_INLINE bool sw_cross_at_once(struct sw *sw, const struct sw_crossing *crossing)
{
    const struct sw_pg_rule *rule = &crossing->from->pg[crossing->pg_index];
    struct sw_pg *pg = crossing->pg;
    struct sw_port *to = crossing->to;
    uint32_t held = pg->held + crossing->cells;

    if (to->filled | sw->port[crossing->in].xoff | pg->headroom) return false;
    if (to->paused >> crossing->queue_index & 1) return false;
    if (!rule->lossless && crossing->onto->limited >> crossing->queue_index & 1) return false;
    if (held > rule->reserved && !mmu_below(sw, rule, held - rule->reserved, crossing->cells)) return false;
    if (held > pg->total_max) pg->total_max = held;
    struct sw_queue *queue = sw_queue_at(sw, crossing->out, crossing->queue_index);
    if (crossing->bytes > queue->bytes_max) queue->bytes_max = crossing->bytes;
    if (queue->deficit > 0) queue->deficit = 0;
    queue->tx_packets++;
    queue->tx_bytes += crossing->bytes;
    return true;
}

/* MMU, XOFF, mark, queue.  False: dropped. */
SW_INLINE bool sw_cross_queue(struct sw *sw, const struct sw_crossing *crossing, pkt_t id, bool simple, ps_t now,
                              struct sw_io *io)
{
    struct pkt *hot = io->pool->hot;
    uint32_t index = crossing->queue_index;
    struct sw_queue *queue = sw_queue_at(sw, crossing->out, index);
    const struct sw_pg_rule *rule = &crossing->from->pg[crossing->pg_index];
    const struct sw_queue_rule *queue_rule = &crossing->onto->queue[index];
    struct sw_port *to = crossing->to;

    if (sw_unlikely(!rule->lossless && crossing->onto->limited >> index & 1) &&
        mmu_egress_full(sw, queue, queue_rule, crossing->cells))
        return sw_refuse(sw, crossing->out, crossing->out, index, SW_DROP_egress, id, now, io);
    if (sw_unlikely(!mmu_admit_quiet(sw, crossing->pg, rule, crossing->cells))) {
        sw->blamed = (uint16_t)crossing->out;
        sw->blamed_paused = to->paused >> index & 1;
        enum sw_drop verdict = sw_admit(sw, crossing->in, crossing->pg_index, crossing->cells, now, io);
        if (verdict != SW_DROPS)
            return sw_refuse(sw, crossing->out, crossing->in, crossing->pg_index, verdict, id, now, io);
    }

    uint64_t length = queue->bytes;
    bool virtual = !simple && sw->voqs;
    if (sw_unlikely(length > queue_rule->mark_in_above))
        sw_mark(sw, queue_rule, queue, virtual ? voq_length(sw, crossing->out, index, crossing->in) : length,
                crossing->pkt, now);
    crossing->pkt->next = PKT_NONE;
    if (to->filled >> index & 1 && virtual)
        voq_push(sw, crossing, id, now, io);
    else if (to->filled >> index & 1)
        hot[queue->tail].next = id;
    else
        queue->head = id;
    queue->tail = id;
    to->filled |= (uint16_t)(1u << index);
    queue->cells += crossing->cells;
    queue->bytes = length + crossing->bytes;
    if (length + crossing->bytes > queue->bytes_max) queue->bytes_max = length + crossing->bytes;
    io->deadline = sw->deadline;
    return true;
}

/* The three pieces with credits (credit.c): the lane that it came in by counts it, and once more when it is gone. */
SW_INLINE bool sw_credit_find(struct sw *sw, uint32_t in, pkt_t id, ps_t now, struct sw_io *io,
                              struct sw_crossing *crossing)
{
    const struct sw_profile *from = sw->port[in].profile;
    uint32_t vl = from->pg_of[from->dscp_to_tc[io->pool->hot[id].tos >> 2]];
    uint32_t blocks = lane_blocks(sw, io->pool->hot[id].frame_bytes);

    if (sw_unlikely(!sw_cross_find(sw, in, id, false, now, io, crossing))) {
        lane_refused(sw, in, vl, blocks, now, io);
        return false;
    }
    credit_arrived(&lane_at(sw, in, vl)->rx, blocks, now);
    return true;
}

SW_INLINE bool sw_credit_at_once(struct sw *sw, const struct sw_crossing *crossing)
{
    uint32_t blocks = lane_blocks(sw, crossing->bytes);
    struct sw_lane *from = lane_at(sw, crossing->in, crossing->pg_index);
    struct sw_lane *onto = lane_at(sw, crossing->out, crossing->queue_index);

    /* Words, and timers to start, are the slow way's. */
    if (lane_tells(sw, crossing->in, from, blocks) || !sw->credits->lanes[crossing->out].armed) return false;
    if (!sw_cross_at_once(sw, crossing)) return false;
    credit_freed(&from->rx, blocks);
    credit_sent(&onto->tx, blocks);
    sw->credits->lanes[crossing->out].drops[crossing->queue_index] = 0;
    if (sw_unlikely(credit_dry(&onto->tx, sw->credits->packet_blocks)))
        crossing->to->paused |= (uint16_t)(1u << crossing->queue_index);
    return true;
}

SW_INLINE bool sw_credit_queue(struct sw *sw, const struct sw_crossing *crossing, pkt_t id, ps_t now, struct sw_io *io)
{
    if (sw_unlikely(!sw_cross_queue(sw, crossing, id, false, now, io))) {
        lane_freed(sw, crossing->in, crossing->pg_index, lane_blocks(sw, crossing->bytes), now, io);
        return false;
    }
    if (crossing->to->paused >> crossing->queue_index & 1) lane_queued(sw, crossing->out, crossing->queue_index, now);
    io->deadline = sw->deadline;
    return true;
}

#endif
