/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From bytes to the adapter: a packet is parsed, its ICRC checked, its sender compared with whom the queue pair is
 * connected to; then src/nic judges it and says where its payload goes.
 *
 * A UDP receiver does not see the IPv4 identification, which the ICRC covers.  Our own senders use one that
 * the wire knows; of others' any may fit.  A queue pair whose peer has sent some packets that fit the known one
 * is taken to talk to one of us, and from then on nothing else is accepted: 32 bits of check instead of 16.
 *
 * A forged source never reaches a connected queue pair: its packets carry the endpoint of nobody.  Nor does a v1
 * packet one that is connected by v2, or the other way round, whatever their addresses.  On one machine all users have
 * the same addresses: there the UDP source port tells them apart, which one of us never changes and no other user can
 * bind; and what is connected through memory takes nothing from sockets.
 *
 * Congestion is told in the IP header (annex A17), so in v1 packets nothing is: the two bits of its traffic class
 * are not looked at.
 */
#include <string.h>

#include "live/live_int.h"
#include "packet/codec.h"
#include "packet/icrc.h"
#include "packet/opcode.h"

#define ICRC_TRUSTED 8u /* packets that fit before the peer is taken for one of us */

static bool icrc_right(struct device_qp *qp, const struct wire_packet *w, uint32_t icrc)
{
    if (w->unchecked) return true;
    bool known = w->id_known || w->net != PKT_NET_IPV4;
    bool foreign = qp && qp->foreign;
    if (known && !foreign && icrc_detached(&w->envelope, PROTO_IPV4_DF, w->data, w->bytes) == icrc) {
        if (qp && qp->exact < ICRC_TRUSTED) qp->exact++;
        return true;
    }
    if (w->net != PKT_NET_IPV4 || (qp && qp->exact == ICRC_TRUSTED)) return false;
    bool fits = icrc_fits_some_id(&w->envelope, PROTO_IPV4_DF, w->data, w->bytes, icrc, NULL);
    if (fits && qp) qp->foreign = true;
    return fits;
}

static bool from_peer(struct device_qp *qp, const struct wire_packet *w)
{
    const struct path *path = &qp->device->path[qp->path];

    if (qp->path == 0 || w->net != path->net || memcmp(&w->src, &path->key.remote, sizeof w->src) != 0 ||
        memcmp(&w->dst, &path->src, sizeof w->dst) != 0)
        return false;
    return qp_from_peer(qp, w);
}

static struct arrival arrival_of(const struct pkt *p, const struct wire_packet *w, const uint8_t *payload)
{
    return (struct arrival){.psn = p->psn,
                            .rkey = p->rdma.rkey,
                            .opcode = p->opcode,
                            .bth_bytes = w->bytes,
                            .envelope = &w->envelope,
                            .payload = payload};
}

/* What nic_rx has just asked for. */
static void perform(struct device *live, uint32_t qpn, const struct arrival *arrival, ps_t now)
{
    live->own.faults_local += !bytes_arrive(&live->objects, live, qpn, arrival, now, &live->io);
}

/* A copy for each member of the group. */
static void receive_multicast(struct device *live, pkt_t id, const struct wire_packet *w, const uint8_t *payload,
                              ps_t now)
{
    const struct arrival arrival = arrival_of(&live->pool.hot[id], w, payload);

    live->own.rx_multicast++;
    for (uint32_t i = 0; i < live->members; i++) {
        struct device_qp *qp = live->member[i].qp;
        if (memcmp(&live->member[i].group, &w->dst, sizeof w->dst) != 0) continue;
        enum nic_state state = nic_qp_state(qp->nic);
        if (state < NIC_RTR || state == NIC_ERROR) continue;
        pkt_t copy = pktpool_get(&live->pool);
        if (copy == PKT_NONE) break;
        live->pool.hot[copy] = live->pool.hot[id];
        live->pool.cold[copy] = live->pool.cold[id];
        nic_rx_to(live->nic, qp->nic, copy, now, &live->io);
        perform(live, qp->qpn, &arrival, now);
    }
    pktpool_put(&live->pool, id);
}

/* Ethernet, IP or GRH, UDP */
static uint32_t headers_bytes(uint8_t net)
{
    return net == PKT_NET_IPV4 ? 42 : net == PKT_NET_IPV6 ? 62 : 54;
}

/* Parses and checks; false: dropped and counted.  *ret_qp: the connected queue pair that it is for, or NULL. */
static bool admit(struct device *live, pkt_t id, const struct wire_packet *w, uint32_t *ret_payload_at,
                  struct device_qp **ret_qp)
{
    struct pkt *p = &live->pool.hot[id];
    struct pkt_cold *cold = &live->pool.cold[id];
    enum codec_fault fault;

    if (codec_parse_bth(w->data, w->bytes, p, cold, ret_payload_at, &fault) < 0) {
        live->own.rx_malformed++;
        return false;
    }
    struct nic_qp *nic_qp = nic_qp_find(live->nic, p->dest_qp);
    struct device_qp *qp = nic_qp ? nic_qp_app(nic_qp) : NULL;
    bool connected = qp && qp->config.transport != NIC_UD;
    if (connected && !from_peer(qp, w)) {
        live->own.rx_forged++;
        return false;
    }
    if (!icrc_right(connected ? qp : NULL, w, cold->icrc)) {
        live->own.rx_icrc_errors++;
        return false;
    }
    if ((cold->pkey & 0x7fff) != (PROTO_PKEY_DEFAULT & 0x7fff)) {
        live->own.rx_pkey++;
        return false;
    }
    p->net = w->net;
    p->tos = w->net == PKT_NET_V1 ? w->tos & (uint8_t)~PKT_ECN_MASK : w->tos;
    p->ttl = w->ttl;
    p->pcp = w->pcp;
    p->sport = w->sport;
    p->frame_bytes = (uint16_t)(w->bytes + headers_bytes(w->net));
    p->mark = 0;
    *ret_qp = connected ? qp : NULL;
    if (connected) peer_mark_in(live, qp, id, cold->resv7);
    if (connected)
        p->src_node = qp->config.remote;
    else if ((p->tos & PKT_ECN_MASK) == PKT_ECN_CE)
        path_reply(live, w, &p->src_node);
    return true;
}

/* The adapter's verdict.  A packet that brings a queue pair further had the right PSN, so it is its peer's: only then
 * the way that it came is believed. */
static void judge(struct device *live, struct device_qp *qp, pkt_t id, const struct wire_packet *w, ps_t now)
{
    uint32_t send, expected, expects;

    if (qp == NULL || qp->peer_port || qp->memory) {
        nic_rx(live->nic, id, now, &live->io);
        return;
    }
    uint32_t queued = nic_qp_queued(qp->nic);
    nic_qp_psns(qp->nic, &send, &expected);
    nic_rx(live->nic, id, now, &live->io);
    nic_qp_psns(qp->nic, &send, &expects);
    if (expects != expected || nic_qp_queued(qp->nic) != queued) qp_learn(qp, w);
}

void receive_packet(struct device *live, const struct wire_packet *w, bool forwarded, ps_t now)
{
    pkt_t id = pktpool_get(&live->pool);
    struct device_qp *qp;
    uint32_t payload_at;

    if (id == PKT_NONE) {
        live->own.rx_no_descriptor++;
        return;
    }
    if (!admit(live, id, w, &payload_at, &qp)) {
        pktpool_put(&live->pool, id);
        return;
    }
    const uint8_t *payload = w->data + payload_at;
    const uint32_t dest_qp = live->pool.hot[id].dest_qp, payload_bytes = live->pool.hot[id].payload_bytes;
    const struct arrival arrival = arrival_of(&live->pool.hot[id], w, payload);
    if (dest_qp == LIVE_QPN_CM) {
        mad_receive(live, w, &live->pool.hot[id], payload, forwarded);
        pktpool_put(&live->pool, id);
        return;
    }
    if (dest_qp == LIVE_QPN_MULTICAST && opcode_info(arrival.opcode)->transport == OP_UD) {
        receive_multicast(live, id, w, payload, now);
        return;
    }
    judge(live, qp, id, w, now);
    peer_keep(live, dest_qp, payload, payload_bytes);
    perform(live, dest_qp, &arrival, now);
    while (live->io.kept != PKT_NONE) { /* what waited for this one, each in its turn */
        const uint8_t *at = peer_kept(live);
        const struct arrival waited = arrival_of(&live->pool.hot[live->io.kept], w, at);
        if (at == NULL) {
            nic_qp_inconsistent(live->nic, dest_qp, &live->io);
            return;
        }
        nic_rx_kept(live->nic, dest_qp, now, &live->io);
        perform(live, dest_qp, &waited, now);
    }
}
