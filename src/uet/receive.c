/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink: takes packets in any order, tells the source, and knows when messages are whole.
 *
 * A packet is answered at once when it is marked, the first, asked for, the one that fills the last gap after one was
 * asked for, a duplicate, or when ack_bytes have come since the last answer.  One whose payload was cut off is answered
 * by a NACK, unless it is here already.  The answer is made of the packet itself and goes back with its path value.
 *
 * Where order is kept (ROD) a packet after a gap is dropped, and the one that is missing asked for, once a gap.
 */
#include "base/wide.h"
#include "uet/uet_int.h"

#define MAP_BITS 64u

static bool is_here(const struct uet_sink *sink, uint32_t psn)
{
    return psn_after(psn, sink->expected) < 0 || map_has(sink->map, psn & sink->mask);
}

/* The map of what is here from `base` on, as far as the window goes. */
static uint64_t map_from(const struct uet_sink *sink, uint32_t base)
{
    uint32_t at = base & sink->mask, words = (sink->mask + 1) / 64;
    uint64_t low = sink->map[at / 64] >> at % 64;
    uint32_t room = sink->expected + sink->mask + 1 - base; /* numbers of the window from base on */

    if (at % 64) low |= sink->map[(at / 64 + 1) % words] << (64 - at % 64);
    return room >= MAP_BITS ? low : low & ((1ULL << room) - 1);
}

static uint8_t penalty(struct uet *uet, ps_t now)
{
    if (uet->rx_bps == 0) return 0;
    uint64_t gone = rate_bytes_in(uet->rx_bps, now - uet->rx_at);
    if (gone > 0) {
        uet->rx_level = gone < uet->rx_level ? uet->rx_level - gone : 0;
        uet->rx_at = now;
    }
    uint64_t share = uet->rx_level * 127 / uet->config.max_window;
    return (uint8_t)(share < 127 ? share : 127);
}

/* Makes the answer of the packet it answers. */
static void answer(struct uet *uet, struct uet_sink *sink, pkt_t id, enum pkt_uet type, uint16_t flags, ps_t now,
                   struct pktpool *pool)
{
    uint32_t psn = pool->hot[id].psn;
    uint16_t path = pool->hot[id].sport;
    uint32_t base = psn - (MAP_BITS - 1);
    struct pkt *pkt;

    uet_control(uet, id, &sink->peer, type, pool);
    pkt = &pool->hot[id];
    pkt->psn = psn;
    pkt->sport = path;
    pkt->flags = flags;
    if (type == PKT_UET_NACK) {
        uet->counters.tx_nacks++;
    } else {
        if (type == PKT_UET_PROBE_ACK || psn_after(base, sink->expected + 1) < 0) base = sink->expected + 1;
        pkt->imm = sink->expected;
        pkt->uet.map = sink->waiting ? map_from(sink, base) : 0;
        pkt->uet.base = (uint16_t)(base - sink->expected);
        pkt->uet.bytes = (uint32_t)((sink->received + uet->config.received_unit - 1) / uet->config.received_unit);
        pkt->uet.waiting = (uint16_t)(sink->waiting < UINT16_MAX ? sink->waiting : UINT16_MAX);
        pkt->mark = penalty(uet, now);
        sink->since_ack = 0;
        uet->counters.tx_acks++;
    }
    uet_control_queue(uet, id, pool);
}

static uint16_t echo(const struct pkt *pkt)
{
    bool marked = (pkt->tos & PKT_ECN_MASK) == PKT_ECN_CE;

    return (uint16_t)((marked ? PKT_UET_MARKED : 0) | (pkt->flags & PKT_UET_AGAIN));
}

/* Notes the end of a message; false: there is no room for one more. */
static bool note_end(struct uet_sink *sink, const struct pkt *pkt)
{
    uint32_t at = sink->ends;

    if (!sink->notifies || !(pkt->flags & PKT_UET_LAST)) return true;
    if (sink->ends == sink->room) return false;
    for (; at > 0 && psn_after(sink->end[at - 1].psn, pkt->psn) > 0; at--)
        sink->end[at] = sink->end[at - 1];
    sink->end[at] = (struct uet_end){.psn = pkt->psn, .imm = pkt->imm};
    sink->ends++;
    return true;
}

static void place(struct uet *uet, struct uet_sink *sink, uint32_t psn)
{
    if (psn != sink->expected) {
        map_set(sink->map, psn & sink->mask);
        sink->waiting++;
        uet->counters.rx_out_of_order++;
        return;
    }
    sink->expected++;
    while (sink->waiting > 0 && map_has(sink->map, sink->expected & sink->mask)) {
        map_clear(sink->map, sink->expected & sink->mask);
        sink->waiting--;
        sink->expected++;
    }
    sink->gap_told = false;
    if (sink->complete < sink->ends) uet_sink_done(uet, sink);
}

static void take_duplicate(struct uet *uet, struct uet_sink *sink, pkt_t id, ps_t now, struct pktpool *pool)
{
    uet->counters.rx_duplicates++;
    answer(uet, sink, id, PKT_UET_ACK, echo(&pool->hot[id]), now, pool);
}

/* A slow host with no room is to the source as if the last switch had trimmed. */
static bool host_has_room(struct uet *uet, uint32_t bytes, ps_t now)
{
    if (uet->rx_bps == 0) return true;
    (void)penalty(uet, now);
    if (uet->rx_level + bytes > 2 * uet->config.max_window) return false;
    uet->rx_level += bytes;
    return true;
}

static void ask_for(struct uet *uet, struct uet_sink *sink, pkt_t id, uint32_t psn, uint16_t flags, ps_t now,
                    struct pktpool *pool)
{
    pool->hot[id].psn = psn;
    answer(uet, sink, id, PKT_UET_NACK, flags, now, pool);
}

static void take_data(struct uet *uet, struct uet_sink *sink, pkt_t id, ps_t now, struct pktpool *pool)
{
    const struct pkt *pkt = &pool->hot[id];
    uint32_t psn = pkt->psn, bytes = uet_nominal(uet, pkt->payload_bytes);
    uint16_t flags = echo(pkt);
    bool at_once = flags & PKT_UET_MARKED || !sink->any;

    sink->any = true;
    sink->received += bytes;
    sink->since_ack += bytes;
    uet->counters.rx_payload_bytes += pkt->payload_bytes;
    if (pkt->flags & PKT_UET_ACK_REQUEST) at_once = sink->ack_asked = true;
    place(uet, sink, psn);
    if (sink->waiting == 0 && sink->ack_asked) {
        at_once = true;
        sink->ack_asked = false;
    }
    if (at_once || sink->since_ack >= uet->config.ack_bytes)
        answer(uet, sink, id, PKT_UET_ACK, flags, now, pool);
    else
        pktpool_put(pool, id);
}

static void drop(uint64_t *counter, pkt_t id, struct pktpool *pool)
{
    ++*counter;
    pktpool_put(pool, id);
}

static void sink_data(struct uet *uet, struct uet_sink *sink, pkt_t id, ps_t now, struct pktpool *pool)
{
    const struct pkt *pkt = &pool->hot[id];
    bool marked = (pkt->tos & PKT_ECN_MASK) == PKT_ECN_CE;

    uet->counters.rx_marked += marked;
    uet->seen_data++;
    uet->seen_marked += marked;
    if (psn_after(pkt->psn, sink->expected) > (int32_t)sink->mask) {
        drop(&uet->counters.drop_window, id, pool);
        return;
    }
    if (uet->config.control & UET_RCCC) rccc_wanted(uet, sink, pkt->src_qp, false, now);
    if (is_here(sink, pkt->psn)) {
        take_duplicate(uet, sink, id, now, pool);
        return;
    }
    if (uet->config.ordered && pkt->psn != sink->expected) {
        uet->counters.drop_order++;
        if (sink->gap_told) {
            pktpool_put(pool, id);
            return;
        }
        sink->gap_told = true;
        ask_for(uet, sink, id, sink->expected, echo(pkt), now, pool);
        return;
    }
    if (!host_has_room(uet, pkt->payload_bytes, now)) {
        uet->counters.drop_receiver++;
        ask_for(uet, sink, id, pkt->psn, echo(pkt) | PKT_UET_LAST_HOP, now, pool);
        return;
    }
    if (!note_end(sink, pkt)) {
        drop(&uet->counters.drop_window, id, pool);
        return;
    }
    take_data(uet, sink, id, now, pool);
}

static void sink_trimmed(struct uet *uet, struct uet_sink *sink, pkt_t id, ps_t now, struct pktpool *pool)
{
    const struct pkt *pkt = &pool->hot[id];
    bool last_hop = uet->config.trimmed_last_dscp != UET_NO_DSCP && pkt->tos >> 2 == uet->config.trimmed_last_dscp;
    uint16_t flags = echo(pkt);

    uet->counters.rx_trimmed++;
    uet->counters.rx_trimmed_last_hop += last_hop;
    uet->seen_trimmed += !last_hop;
    if (psn_after(pkt->psn, sink->expected) > (int32_t)sink->mask) {
        drop(&uet->counters.drop_window, id, pool);
        return;
    }
    if (is_here(sink, pkt->psn)) {
        take_duplicate(uet, sink, id, now, pool);
        return;
    }
    if (uet->config.control & UET_RCCC) rccc_wanted(uet, sink, pkt->src_qp, true, now);
    if (last_hop) flags |= PKT_UET_LAST_HOP;
    ask_for(uet, sink, id, pkt->psn, flags, now, pool);
}

void uet_sink_rx(struct uet *uet, struct uet_sink *sink, pkt_t id, ps_t now, struct pktpool *pool)
{
    const struct pkt *pkt = &pool->hot[id];

    if (pkt->opcode == PKT_UET_DATA && pkt->flags & PKT_TRIMMED) {
        sink_trimmed(uet, sink, id, now, pool);
    } else if (pkt->opcode == PKT_UET_DATA) {
        sink_data(uet, sink, id, now, pool);
    } else if (pkt->opcode == PKT_UET_PROBE) {
        answer(uet, sink, id, PKT_UET_PROBE_ACK, echo(pkt), now, pool);
    } else {
        if (uet->config.control & UET_RCCC) rccc_wanted(uet, sink, pkt->src_qp, true, now);
        answer(uet, sink, id, PKT_UET_ACK, 0, now, pool);
    }
}
