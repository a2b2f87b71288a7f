/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flooding: a bridge that has forgotten the port of an address sends the frame to all ports (IEEE 802.1Q-2018, 8.8).
 * It happens to a host that is dead: its MAC entry ages out before its ARP entry does.  Copies that are not for whom
 * they reach are dropped there, because the MAC address is not theirs: PKT_STRAY says so (adapters count them as of no
 * queue pair).  A chip charges the ingress group once for all copies.
 * Here each is charged, and so that this takes no headroom that was meant for others, only one copy may enter
 * headroom: the one that reaches whom it is for, or, where that port is down, the one that will wait longest, which
 * would keep the chip's charge. The others are made while the group stays below its threshold.
 */
#include "switch/crossing.h"

bool sw_floods(const struct sw *sw, const struct pkt *pkt)
{
    const struct sw_routes *routes = sw->routes;

    return routes->edge_of[pkt->dst_node] == routes->own_edge && routes->local_port[pkt->dst_node] == SW_FLOOD_PORT;
}

/* One copy to one port. */
static void flood_to(struct sw *sw, struct sw_crossing *crossing, uint32_t out, bool first, pkt_t id, ps_t now,
                     struct sw_io *io)
{
    struct sw_port *to = &sw->port[out];
    uint32_t held = crossing->pg->held + crossing->cells, reserved = crossing->from->pg[crossing->pg_index].reserved;
    bool quiet =
        held <= reserved || mmu_below(sw, &crossing->from->pg[crossing->pg_index], held - reserved, crossing->cells);

    if (!first && (crossing->pg->headroom || !quiet)) {
        sw_drop(sw, crossing->in, crossing->pg_index, SW_DROP_flood, id, now, io);
        return;
    }
    crossing->to = to;
    crossing->onto = to->profile;
    crossing->out = out;
    crossing->queue_index = to->profile->queue_of[io->pool->hot[id].tc];
    crossing->pkt = &io->pool->hot[id];
    sw_cross_queue(sw, crossing, id, false, now, io);
}

static bool flood_takes(const struct sw *sw, const struct sw_crossing *crossing, uint32_t port)
{
    return port != crossing->in && !(sw->port[port].refuse >> sw->port[port].profile->queue_of[crossing->pkt->tc] & 1);
}

/* The port that is served first: see above. */
static uint32_t flood_first(const struct sw *sw, const struct sw_crossing *crossing)
{
    const struct sw_routes *routes = sw->routes;
    uint32_t right = routes->wired_port ? routes->wired_port[crossing->pkt->dst_node] : SW_NO_PORT, slowest = 0;
    uint64_t most = 0;

    if (right < sw->ports && flood_takes(sw, crossing, right)) return right;
    for (uint32_t port = 0; port < sw->ports; port++) {
        if (!flood_takes(sw, crossing, port)) continue;
        uint32_t queue = sw->port[port].profile->queue_of[crossing->pkt->tc];
        uint64_t waits = sw_queue_at(sw, port, queue)->bytes + 1;
        if (sw->port[port].paused >> queue & 1) waits += UINT64_C(1) << 62;
        if (waits <= most) continue;
        most = waits;
        slowest = port;
    }
    return slowest;
}

/* To every port but the one it came by; answers how many copies there are. */
static uint32_t flood_all(struct sw *sw, struct sw_crossing *crossing, pkt_t id, ps_t now, struct sw_io *io)
{
    const struct sw_routes *routes = sw->routes;
    struct pkt whole = *crossing->pkt, stray = whole;
    uint32_t copies = 0, first = flood_first(sw, crossing);

    whole.ttl = (uint8_t)(whole.ttl - (whole.net >= PKT_NET_IPV4));
    stray.flags |= PKT_STRAY;
    for (uint32_t i = 0; i < sw->ports; i++) {
        uint32_t port = first + i < sw->ports ? first + i : first + i - sw->ports;
        if (!flood_takes(sw, crossing, port)) continue;
        pkt_t copy = copies ? pktpool_get(io->pool) : id;
        CHECK(copy != PKT_NONE);
        pktpool_copy(io->pool, copy, id);
        io->pool->hot[copy] = routes->wired_port && port == routes->wired_port[whole.dst_node] ? whole : stray;
        flood_to(sw, crossing, port, copies == 0, copy, now, io);
        copies++;
    }
    return copies;
}

uint32_t sw_flood(struct sw *sw, uint16_t in, pkt_t id, ps_t now, struct sw_io *io)
{
    struct pkt *pkt = &io->pool->hot[id];
    const struct sw_profile *from = sw->port[in].profile;
    uint32_t tc = from->trust_pcp ? from->pcp_to_tc[pkt->pcp & 7] : from->dscp_to_tc[pkt->tos >> 2];
    uint32_t pg_index = from->pg_of[tc];
    struct sw_pg *pg = sw_pg_at(sw, in, pg_index);

    pkt->in_port = in;
    pkt->tc = (uint8_t)tc;
    pg->rx_packets++;
    pg->rx_bytes += pkt->frame_bytes;
    enum sw_drop why = SW_DROPS;
    if (pkt->net >= PKT_NET_IPV4 && pkt->ttl <= 1) why = SW_DROP_ttl;
    if (pkt->flags & PKT_STRAY) why = SW_DROP_not_mine;
    if (sw->config->drop_unknown && from->pg[pg_index].lossless) why = SW_DROP_unknown;
    if (pkt->frame_bytes > from->mtu_bytes) why = SW_DROP_mtu;
    struct sw_crossing crossing = {
        pkt, from, NULL, NULL, pg, in, 0, pg_index, 0, pkt->frame_bytes, sw_cells(sw, pkt->frame_bytes)};
    uint32_t copies = why == SW_DROPS ? flood_all(sw, &crossing, id, now, io) : 0;
    if (copies == 0) sw_drop(sw, in, pg_index, why == SW_DROPS ? SW_DROP_no_route : why, id, now, io);
    return copies;
}
