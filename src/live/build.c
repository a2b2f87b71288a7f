/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From descriptor to bytes: packets are built one behind the other in a buffer and handed to the wire in bursts.
 *
 * A packet joins the run before it when the wire could send both in one piece (wire.h); its place in the run is
 * its IP identification, which its ICRC covers, so a run is decided here, when a packet is sealed, and not
 * by the wire.  A shorter packet ends a run.
 *
 * The adapter serves its queue pairs in turn, packet by packet; so that each makes runs all the same, packets are built
 * in batches, chosen by the destination's QPN.  Packets for one queue pair keep their order, others have none.
 */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "live/live_int.h"
#include "packet/codec.h"
#include "packet/icrc.h"

#define TTL_DEFAULT 64u
#define MEMORY_BURST 16u

bool build_room(const struct device *live)
{
    return live->out.total < WIRE_BURST;
}

struct batch *build_batch(struct device *live, uint32_t dest_qp)
{
    return &live->out.batch[(dest_qp ^ dest_qp >> REGISTRY_QPN_BITS) % LIVE_BATCHES];
}

static bool batch_complete(const struct device *live, const struct batch *b)
{
    if (b->count == 0) return false;
    if (b->packet[b->count - 1].unchecked) return b->count >= MEMORY_BURST;
    return b->run >= live->wire->run_max ? live->wire->run_max > 1 : b->run_bytes + b->run_step > live->wire->run_bytes;
}

bool build_complete(const struct device *live)
{
    return live->out.placed >= MEMORY_BURST || (live->out.last && batch_complete(live, live->out.last));
}

/* What the wire does not take stays at the front. */
static void batch_flush(struct device *live, struct batch *b, ps_t now)
{
    if (b->count == 0) return;
    int taken = wire_tx(live->wire, b->packet + b->sent, b->count - b->sent, now);
    if (taken < 0) taken = (int)(b->count - b->sent); /* the wire is gone: timers tell the application */
    b->sent += (unsigned)taken;
    if (b->sent < b->count) {
        live->tx_retry = now + 50 * PS_US;
        return;
    }
    live->out.total -= b->count;
    b->count = b->sent = b->run = 0;
    b->used = 0;
}

static void publish(struct device *live, ps_t now)
{
    struct outbox *out = &live->out;

    if (out->placing) live->wire->ops->publish(live->wire, now);
    out->placing = false;
    out->total -= out->placed;
    out->placed = 0;
}

void build_flush(struct device *live, ps_t now)
{
    live->tx_retry = PS_NEVER;
    publish(live, now);
    for (unsigned i = 0; i < LIVE_BATCHES && live->out.total; i++)
        batch_flush(live, &live->out.batch[i], now);
}

void build_flush_complete(struct device *live, ps_t now)
{
    publish(live, now);
    for (unsigned i = 0; i < LIVE_BATCHES && live->out.total; i++)
        if (batch_complete(live, &live->out.batch[i])) batch_flush(live, &live->out.batch[i], now);
    if (!build_room(live)) build_flush(live, now);
}

/* In place, if the wire can; not past packets that still wait for it, since order is part of the protocol. */
int build_begin(struct device *live, const struct pkt *p, const struct pkt_cold *cold, const struct path *path,
                ps_t now, struct build *ret)
{
    const struct batch *b = build_batch(live, p->dest_qp);
    uint8_t *place = NULL;

    CHECK(build_room(live));
    if (b->count == 0)
        place = wire_place(live->wire, &path->key.remote, p->dest_qp,
                           CODEC_BTH_MAX + p->payload_bytes + p->pad + PROTO_ICRC_BYTES, now);
    ret->placed = place != NULL;
    live->out.placing |= ret->placed;
    ret->at = place ? place : b->data + b->used;
    int bytes = codec_emit_bth(p, cold, ret->at, CODEC_BTH_MAX);
    if (bytes < 0) return bytes;
    ret->header_bytes = (uint32_t)bytes;
    return 0;
}

static bool joins(const struct device *live, const struct batch *b, const struct wire_packet *w)
{
    if (b->run == 0 || b->run >= live->wire->run_max || b->count == 0) return false;
    const struct wire_packet *last = &b->packet[b->count - 1];
    if (last->bytes != b->run_step || w->bytes > b->run_step || b->run_bytes + w->bytes > live->wire->run_bytes)
        return false;
    return last->sport == w->sport && last->tos == w->tos && last->ttl == w->ttl && last->net == w->net &&
           last->flow_label == w->flow_label && last->pcp == w->pcp &&
           codec_dest_qp(last->data) >> REGISTRY_QPN_BITS == codec_dest_qp(w->data) >> REGISTRY_QPN_BITS &&
           memcmp(&last->src, &w->src, sizeof w->src) == 0 && memcmp(&last->dst, &w->dst, sizeof w->dst) == 0;
}

void build_end(struct device *live, const struct build *built, const struct pkt *p, const struct path *path)
{
    struct batch *b = build_batch(live, p->dest_qp);
    uint32_t icrc_at = built->header_bytes + p->payload_bytes + p->pad;
    struct wire_packet *w = &b->packet[b->count];

    for (uint32_t i = 1; i <= p->pad; i++)
        built->at[icrc_at - i] = 0;
    *w = (struct wire_packet){.data = built->at,
                              .bytes = icrc_at + PROTO_ICRC_BYTES,
                              .src = path->src,
                              .dst = path->key.remote,
                              .flow_label = path->key.flow_label,
                              .sport = p->sport,
                              .net = path->net,
                              .tos = path->net == PKT_NET_V1 ? p->tos & (uint8_t)~PKT_ECN_MASK : p->tos,
                              .ttl = path->key.hop_limit ? path->key.hop_limit : TTL_DEFAULT,
                              .pcp = live->wire->port && live->env.vlan == LIVE_NO_VLAN ? 0 : p->pcp};
    memcpy(w->dmac, path->key.dmac, 6);
    memcpy(w->smac, live->device.mac, 6);
    if (built->placed) {
        w->unchecked = true;
        live->wire->ops->placed(live->wire, w);
        live->out.placed++;
        live->out.total++;
        return;
    }
    w->unchecked = wire_memory(live->wire, &w->dst, p->dest_qp);
    if (!w->unchecked && joins(live, b, w)) {
        w->ip_id = (uint16_t)b->run++;
        b->run_bytes += w->bytes;
    } else {
        b->run = 1;
        b->run_bytes = b->run_step = w->bytes;
    }
    if (!w->unchecked) store_le32(built->at + icrc_at, icrc_detached(&w->envelope, PROTO_IPV4_DF, built->at, w->bytes));
    b->used += w->bytes;
    b->count++;
    live->out.last = b;
    live->out.total++;
}
