/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What leaves the port: control packets before data, ten to one while both wait; sources with data in turn, a packet
 * each.  A source sends what is lost before what is new.
 */
#include "uet/uet_int.h"

#define CONTROL_TURNS 10u

bool uet_permitted(const struct uet *uet, const struct uet_source *source)
{
    uint64_t payload;

    if (source->lost > 0)
        payload = uet_record(source, loss_next(source))->payload;
    else if (source->current < source->posted && source->next - source->una <= source->mask)
        payload = source->left < uet->config.payload_bytes ? source->left : uet->config.payload_bytes;
    else
        return false;
    if (source->failed) return false;
    if (uet->config.control & UET_RCCC && source->credit <= 0) return false;
    if (!(uet->config.control & UET_NSCC) || (source->recovering && source->lost > 0)) return true;
    return (int64_t)source->nscc.cwnd >= source->inflight + (int64_t)uet_nominal(uet, (uint32_t)payload);
}

void uet_offer(struct uet *uet, struct uet_source *source)
{
    if (!source->ready.in && uet_permitted(uet, source)) list_push(&uet->ready, &source->ready, source);
}

pkt_t uet_control(struct uet *uet, pkt_t id, const struct uet_peer *peer, enum pkt_uet type, struct pktpool *pool)
{
    const struct uet_config *config = &uet->config;

    if (id == PKT_NONE) id = pktpool_get(pool);
    if (id == PKT_NONE) {
        uet->counters.drop_no_packet++;
        return PKT_NONE;
    }
    pool->hot[id] = (struct pkt){.kind = PKT_UET,
                                 .opcode = (uint8_t)type,
                                 .tos = config->control_tos == UET_AS_DATA ? peer->tos : config->control_tos,
                                 .pcp = config->control_prio == UET_AS_DATA ? peer->prio : config->control_prio,
                                 .ttl = config->ttl,
                                 .net = config->net,
                                 .dest_qp = peer->number,
                                 .frame_bytes = config->control_bytes,
                                 .src_node = config->endpoint,
                                 .dst_node = peer->node,
                                 .next = PKT_NONE};
    return id;
}

void uet_control_queue(struct uet *uet, pkt_t id, struct pktpool *pool)
{
    if (uet->control_head == PKT_NONE)
        uet->control_head = id;
    else
        pool->hot[uet->control_tail].next = id;
    uet->control_tail = id;
    uet->control_count++;
}

static pkt_t data_packet(struct uet *uet, struct uet_source *source, uint32_t psn, struct pktpool *pool)
{
    const struct uet_config *config = &uet->config;
    pkt_t id = pktpool_get(pool);

    CHECK(id != PKT_NONE);
    uint16_t payload = uet_record(source, psn)->payload;
    pool->hot[id] = (struct pkt){.kind = PKT_UET,
                                 .opcode = PKT_UET_DATA,
                                 .tos = (uint8_t)(source->peer.tos | PKT_ECN_ECT0),
                                 .pcp = source->peer.prio,
                                 .ttl = config->ttl,
                                 .net = config->net,
                                 .dest_qp = source->peer.number,
                                 .psn = psn,
                                 .payload_bytes = payload,
                                 .frame_bytes = (uint16_t)(payload + config->data_bytes),
                                 .sport = paths_next(uet, &source->paths),
                                 .src_node = config->endpoint,
                                 .dst_node = source->peer.node,
                                 .next = PKT_NONE};
    uint32_t bytes = uet_nominal(uet, payload);
    source->inflight += bytes;
    if (config->control & UET_RCCC) {
        source->credit -= bytes;
        pool->hot[id].src_qp = rccc_target(uet, source);
    }
    uet->counters.tx_data_packets++;
    uet->counters.tx_payload_bytes += payload;
    return id;
}

/* Whether the sink is to answer this one at once: nothing more may follow for now. */
static bool ask(const struct uet *uet, const struct uet_source *source, uint32_t bytes)
{
    if (source->current == source->posted) return true;
    if (uet->config.control & UET_RCCC && source->credit <= 0) return true;
    return uet->config.control & UET_NSCC && source->inflight + (int64_t)bytes >= (int64_t)source->nscc.cwnd;
}

static pkt_t send_new(struct uet *uet, struct uet_source *source, ps_t now, struct pktpool *pool)
{
    struct uet_message *message = &source->message[(source->first + source->current) % source->peer.depth];
    uint32_t psn = source->next++, most = uet->config.payload_bytes;
    struct uet_record *record = uet_record(source, psn);
    bool last = source->left <= most;

    record->payload = (uint16_t)(last ? source->left : most);
    record->sends = 0;
    source->left -= record->payload;
    uint32_t bytes = uet_nominal(uet, record->payload);
    source->backlog -= bytes;
    source->sent_nominal += bytes;
    if (last) {
        message->sent = true;
        message->end = source->next;
        source->current++;
        if (source->current < source->posted)
            source->left = source->message[(source->first + source->current) % source->peer.depth].bytes;
    }
    pkt_t id = data_packet(uet, source, psn, pool);
    struct pkt *pkt = &pool->hot[id];
    if (last) {
        pkt->flags = PKT_UET_LAST;
        pkt->imm = message->imm;
    }
    if (ask(uet, source, bytes)) pkt->flags |= PKT_UET_ACK_REQUEST;
    record_out(source, psn, now);
    return id;
}

static pkt_t send_again(struct uet *uet, struct uet_source *source, ps_t now, struct pktpool *pool)
{
    uint32_t psn = loss_next(source);
    struct uet_record *record = uet_record(source, psn);

    map_clear(source->lost_map, psn & source->mask);
    source->lost--;
    source->lost_bytes -= uet_nominal(uet, record->payload);
    pkt_t id = data_packet(uet, source, psn, pool);
    struct pkt *pkt = &pool->hot[id];
    pkt->flags = PKT_UET_AGAIN | PKT_UET_ACK_REQUEST;
    for (uint32_t i = 0; i < source->posted; i++) {
        const struct uet_message *message = &source->message[(source->first + i) % source->peer.depth];
        if (!message->sent || message->end != psn + 1) continue;
        pkt->flags |= PKT_UET_LAST;
        pkt->imm = message->imm;
        break;
    }
    record_out(source, psn, now);
    uet->counters.tx_again_packets++;
    source->resent_packets++;
    uet->counters.tx_again_bytes += record->payload;
    return id;
}

static pkt_t send_data(struct uet *uet, ps_t now, struct pktpool *pool)
{
    for (;;) {
        struct uet_source *source = list_pop(&uet->ready);
        if (source == NULL) return PKT_NONE;
        if (!uet_permitted(uet, source)) continue;
        pkt_t id = source->lost > 0 ? send_again(uet, source, now, pool) : send_new(uet, source, now, pool);
        source->heard_at = now;
        uet_offer(uet, source);
        if (source->heap_at == UET_NONE) timer_want(uet, source, loss_timer(uet, source));
        return id;
    }
}

static pkt_t send_control(struct uet *uet, struct pktpool *pool)
{
    pkt_t id = uet->control_head;

    if (id == PKT_NONE) return PKT_NONE;
    uet->control_head = pool->hot[id].next;
    pool->hot[id].next = PKT_NONE;
    uet->control_count--;
    return id;
}

pkt_t uet_tx(struct uet *uet, ps_t now, struct pktpool *pool)
{
    bool control = uet->control_head != PKT_NONE && !(uet->paused >> pool->hot[uet->control_head].pcp & 1);
    bool data = uet->ready.head && !(uet->paused & uet->data_prios);
    pkt_t id = PKT_NONE;

    if (data && control && ++uet->turn > CONTROL_TURNS) uet->turn = 0;
    if (data && (!control || uet->turn == 0)) id = send_data(uet, now, pool);
    if (id == PKT_NONE && control) id = send_control(uet, pool);
    if (id == PKT_NONE) return PKT_NONE;
    uet->counters.tx_packets++;
    uet->counters.tx_bytes += pool->hot[id].frame_bytes;
    return id;
}

bool uet_wants(const struct uet *uet)
{
    return uet->control_head != PKT_NONE || uet->ready.head;
}
