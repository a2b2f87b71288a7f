/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trimming: a packet of Ultra Ethernet that finds no room goes on without its payload, in a class that has some, so
 * that its receiver can ask for it again at once.
 *
 * It is trimmed where it would have been dropped: above its queue's egress limit, or above its group's threshold.  The
 * class of what is left comes from its new DSCP by the port it came in by, as that of a packet does.  What is trimmed
 * already, has no payload or is not of this transport is dropped.
 *
 * Model uet-htsim: by chance, one half, the newest of a full queue is refused in place of the packet that arrives.
 */
#include "switch/crossing.h"

static bool trims(const struct sw_trim *trim, const struct pkt *pkt)
{
    return trim->bytes && pkt->kind == PKT_UET && pkt->payload_bytes && !(pkt->flags & PKT_TRIMMED) &&
           pkt->frame_bytes > trim->bytes;
}

static bool last_hop(const struct sw *sw, const struct pkt *pkt)
{
    return sw->routes->edge_of[pkt->dst_node] == sw->routes->own_edge;
}

static void trim_packet(const struct sw *sw, const struct sw_trim *trim, struct pkt *pkt)
{
    uint8_t dscp = last_hop(sw, pkt) ? trim->last_hop_dscp : trim->dscp;

    pkt->tos = (uint8_t)(dscp << 2 | (pkt->tos & PKT_ECN_MASK));
    pkt->flags |= PKT_TRIMMED;
    pkt->frame_bytes = trim->bytes;
    pkt->payload_bytes = 0;
}

/* The crossing of what is left: the same ports, another class. */
static struct sw_crossing crossing_of(struct sw *sw, uint32_t out, struct pkt *pkt)
{
    uint32_t in = pkt->in_port;
    const struct sw_profile *from = sw->port[in].profile, *onto = sw->port[out].profile;
    uint32_t tc = from->trust_pcp ? from->pcp_to_tc[pkt->pcp & 7] : from->dscp_to_tc[pkt->tos >> 2];

    pkt->tc = (uint8_t)tc;
    return (struct sw_crossing){.pkt = pkt,
                                .from = from,
                                .onto = onto,
                                .to = &sw->port[out],
                                .pg = sw_pg_at(sw, in, from->pg_of[tc]),
                                .in = in,
                                .out = out,
                                .pg_index = from->pg_of[tc],
                                .queue_index = onto->queue_of[tc],
                                .bytes = pkt->frame_bytes,
                                .cells = sw_cells(sw, pkt->frame_bytes)};
}

/* Takes the newest packet off a queue that has one before it. */
static pkt_t take_newest(struct sw *sw, uint32_t out, uint32_t index, struct pkt *hot)
{
    struct sw_queue *queue = sw_queue_at(sw, out, index);
    pkt_t before = queue->head, id = queue->tail;
    uint32_t cells = sw_cells(sw, hot[id].frame_bytes);
    const struct sw_profile *from = sw->port[hot[id].in_port].profile;
    uint32_t pg = from->pg_of[hot[id].tc];

    while (hot[before].next != id)
        before = hot[before].next;
    hot[before].next = PKT_NONE;
    queue->tail = before;
    queue->cells -= cells;
    queue->bytes -= hot[id].frame_bytes;
    mmu_release(sw, sw_pg_at(sw, hot[id].in_port, pg), &from->pg[pg], cells);
    return id;
}

static bool refuse(struct sw *sw, uint32_t out, uint32_t port, uint32_t prio, enum sw_drop why, pkt_t id, ps_t now,
                   struct sw_io *io)
{
    struct pkt *pkt = &io->pool->hot[id];
    uint32_t queue = sw->port[out].profile->queue_of[pkt->tc];
    const struct sw_trim *trim = &sw->port[out].profile->queue[queue].trim;

    if (!trims(trim, pkt)) {
        sw_drop(sw, port, prio, why, id, now, io);
        return false;
    }
    sw->counters[out].prio[queue].trimmed++;
    trim_packet(sw, trim, pkt);
    struct sw_crossing crossing = crossing_of(sw, out, pkt);
    bool kept = !(crossing.to->refuse >> crossing.queue_index & 1);
    if (!kept)
        sw_drop(sw, out, crossing.queue_index, SW_DROP_watchdog, id, now, io);
    else
        kept = sw_cross_queue(sw, &crossing, id, false, now, io);
    sw->counters[out].prio[queue].trim_dropped += !kept;
    return kept;
}

__attribute__((noinline, cold)) bool sw_refuse(struct sw *sw, uint32_t out, uint32_t port, uint32_t prio,
                                               enum sw_drop why, pkt_t id, ps_t now, struct sw_io *io)
{
    struct pkt *hot = io->pool->hot;
    uint32_t index = sw->port[out].profile->queue_of[hot[id].tc];
    const struct sw_queue *queue = sw_queue_at(sw, out, index);
    bool several = sw->port[out].filled >> index & 1 && queue->head != queue->tail;

    if (!sw->config->refuses_newest || why != SW_DROP_egress || !several || rng_u32(&sw->rng) & 1)
        return refuse(sw, out, port, prio, why, id, now, io);
    (void)refuse(sw, out, out, index, why, take_newest(sw, out, index, hot), now, io);
    struct sw_crossing crossing = crossing_of(sw, out, &hot[id]);
    return sw_cross_queue(sw, &crossing, id, false, now, io);
}
