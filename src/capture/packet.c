/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One RoCE packet: checked when it comes, taken into account a few packets later.
 *
 * With ten thousand connections the record of a packet's direction is not in the cache, nor are its
 * peer's and the histogram an ACK ends in: three misses, each needing the one before.  So packets
 * wait in a short queue and go through it in stages; each stage asks for the lines the next one
 * reads, while other packets are parsed and their ICRCs computed.  Measured on one core with 64-byte
 * WRITEs and their ACKs over 10,000 connections in random order: 90 ns a packet for all of the
 * analysis, 125 without the queue.
 *
 * Packets are taken into account strictly in order.  What could overtake them (a CM message, which is
 * read from the frame's bytes) empties the queue first.
 */
#include "capture/capture_int.h"
#include "packet/codec.h"
#include "packet/icrc.h"

/* Ages at which a waiting packet goes through the stages; it leaves at PENDING - 1. */
#define AGE_DIRECTION 2
#define AGE_PEER 7
#define AGE_HISTO 11

#define COPY_NS 8192 /* the shortest ACK timeout, 4.096 us * 2^1 (InfiniBand 1.x vol. 1, 9.7.6.1.3) */

static inline struct pending *pending_at(struct capture *capture, uint32_t position)
{
    return &capture->pending[position % PENDING];
}

struct pkt *cap_packet_slot(struct capture *capture)
{
    return &pending_at(capture, capture->pending_tail)->pkt;
}

/* The direction's own lines. */
static inline void fetch_direction(const struct capture *capture, struct pending *item)
{
    item->guess = cap_table_guess(capture, item->flow.hash);
    if (item->guess == NONE) return;
    const struct opcode_info *info = opcode_info(item->pkt.opcode);
    const struct direction *direction = &capture->direction[item->guess];
    __builtin_prefetch(direction, 1);
    __builtin_prefetch(&direction->view, 1);
    __builtin_prefetch(&direction->view.bytes, 1);
    if (info->flags & OP_REQUEST) {
        const struct capture_ops *ops = &direction->view.ops[info->verb & 3];
        __builtin_prefetch(ops, 1);
        __builtin_prefetch(&ops->size_class[12], 1);
        __builtin_prefetch(&direction->ack_histo, 1);
    }
}

/* What an answer says about its requester; the bin that goodput goes to. */
static inline void fetch_peer(const struct capture *capture, const struct pending *item)
{
    if (item->guess == NONE) return;
    const struct direction *direction = &capture->direction[item->guess];
    if (item->pkt.payload_bytes) __builtin_prefetch(&direction->view.bin[direction->bin % CAPTURE_BINS], 1);
    if (!(opcode_info(item->pkt.opcode)->flags & OP_RESPONSE) || direction->peer == NONE) return;
    const struct direction *peer = &capture->direction[direction->peer];
    __builtin_prefetch(peer, 1);
    __builtin_prefetch(&peer->ack_histo, 1);
}

static inline void fetch_histo(const struct capture *capture, const struct pending *item)
{
    if (item->guess == NONE || !(opcode_info(item->pkt.opcode)->flags & OP_RESPONSE)) return;
    const struct direction *direction = &capture->direction[item->guess];
    if (direction->peer == NONE) return;
    const struct direction *peer = &capture->direction[direction->peer];
    const struct histo *histo = peer->ack_histo;
    if (!histo) return;
    __builtin_prefetch(histo, 1);
    /* latencies repeat; wrong is only slower */
    __builtin_prefetch(&histo->bucket[histo_bucket(peer->last_latency_ns)], 1);
}

static void cnp_packet(struct capture *capture, struct direction *direction)
{
    if (direction->view.cnps++ && capture->now_ns >= direction->last_cnp_ns)
        cap_table_histo_add(capture, &direction->view.cnp_gap, capture->now_ns - direction->last_cnp_ns);
    direction->last_cnp_ns = capture->now_ns;
    if (!direction->first_cnp) direction->first_cnp = capture->number;
    capture->totals.cnps++;
    evidence_add(capture, EVIDENCE_CNP);
}

static void count_ecn(struct capture *capture, struct direction *direction, unsigned ecn)
{
    direction->view.ecn_capable++;
    capture->totals.ecn_capable++;
    if (ecn != PKT_ECN_CE) return;
    if (direction->view.ecn_marked++ == 0) direction->first_ce = capture->number;
    capture->totals.ecn_marked++;
    evidence_add(capture, EVIDENCE_CE);
}

/* Takes a packet into account. */
static void pending_believe(struct capture *capture, const struct pending *item)
{
    const struct pkt *pkt = &item->pkt;
    const struct opcode_info *info = opcode_info(pkt->opcode);
    capture->now_ns = item->time_ns;
    capture->number = item->number;
    capture->copy = item->copy;
    if (item->time_ns < capture->bin_from_ns || item->time_ns >= capture->bin_to_ns) cap_bins_turn(capture);
    struct direction *direction = cap_table_find(capture, &item->flow, pkt);
    struct capture_direction *view = &direction->view;
    view->packets++;
    view->bytes += item->length;
    if (item->time_ns > view->last_ns) view->last_ns = item->time_ns; /* time may go backwards */
    if (item->damaged) {
        if (view->icrc_errors++ == 0) view->icrc_first_packet = item->number;
        return;
    }
    view->payload_bytes += pkt->payload_bytes;
    view->sport = pkt->sport;
    if (item->ecn) count_ecn(capture, direction, item->ecn);
    if (!info->name) {
        capture->totals.unknown_opcodes++;
        evidence_add(capture, EVIDENCE_UNKNOWN);
    } else if (info->transport == OP_CNP_KIND) {
        cnp_packet(capture, direction);
    } else {
        view->transport = info->transport;
        if (info->flags & OP_RESPONSE)
            cap_response_packet(capture, direction, pkt, info);
        else
            cap_request_packet(capture, direction, pkt, info);
    }
}

static void pending_take(struct capture *capture)
{
    pending_believe(capture, pending_at(capture, capture->pending_head++));
    cap_table_trim(capture);
}

void cap_packet_flush(struct capture *capture)
{
    while (capture->pending_head != capture->pending_tail)
        pending_take(capture);
}

/* False when the ICRC is wrong. */
static bool intact(struct capture *capture, const struct codec_frame *frame, const struct pkt *pkt,
                   const struct pkt_cold *cold, const struct codec_layout *layout)
{
    if (capture->options.skip_icrc) return true;
    enum icrc_verdict verdict = icrc_check(frame, pkt, cold, layout);
    if (verdict == ICRC_UNKNOWN) return true;
    capture->totals.icrc_checked++;
    if (verdict == ICRC_GOOD) return true;
    capture->totals.icrc_errors++;
    evidence_add(capture, EVIDENCE_ICRC);
    return false;
}

/* Switches mark the header they see, the outer one; it is copied inward where the tunnel ends (RFC 6040). */
static inline uint8_t ecn_of(const struct pkt *pkt, const struct pkt_cold *cold)
{
    uint8_t inner = pkt->tos & PKT_ECN_MASK;
    if (!(pkt->flags & PKT_TUNNEL) || inner == PKT_ECN_CE) return inner;
    uint8_t outer = cold->outer.tos & PKT_ECN_MASK;
    return outer == PKT_ECN_CE || !inner ? outer : inner;
}

/* Is this packet in the file already, recorded a moment ago (a mirror of both ports, -i any on a bridge, files
 * merged)?  The ICRC covers all that stays the same on the way, the IP identification too, which many senders
 * count up; where neither tells two packets apart, time does: no timer is shorter than COPY_NS. */
static inline bool recorded_just_now(struct capture *capture, const struct pending *item, const struct pkt_cold *cold)
{
    const struct pkt *pkt = &item->pkt;
    uint64_t hash =
        hash_fold(((uint64_t)item->flow.hash << 32 | cold->icrc) ^ 0x9e3779b97f4a7c15u,
                  ((uint64_t)pkt->psn << 32 | (uint64_t)pkt->opcode << 16 | cold->ip_id) ^ 0xc2b2ae3d27d4eb4fu);
    struct recent *recent = capture->recent[hash % RECENT_PLACES];
    uint32_t tag = (uint32_t)(hash >> 32) | 1;
    unsigned way = 0;
    for (; way < RECENT_WAYS - 1 && recent[way].tag != tag; way++)
        ;
    if (recent[way].tag == tag) {
        uint64_t then = recent[way].time_ns;
        if ((item->time_ns > then ? item->time_ns - then : then - item->time_ns) < COPY_NS) return true;
    }
    memmove(&recent[1], &recent[0], way * sizeof recent[0]);
    recent[0] = (struct recent){.time_ns = item->time_ns, .tag = tag};
    return false;
}

void cap_packet_add(struct capture *capture, const struct codec_frame *frame, const struct pkt_cold *cold,
                    const struct codec_layout *layout)
{
    uint32_t tail = capture->pending_tail;
    struct pending *item = pending_at(capture, tail);
    const struct pkt *pkt = &item->pkt;
    uint32_t vni = flow_vni(pkt->flags & PKT_TUNNEL, cold->outer.vni);
    bool deth = opcode_info(pkt->opcode)->flags & OP_DETH && !(pkt->missing & OP_DETH);
    uint32_t ud_src_qp = deth ? pkt->src_qp : NONE;
    item->flow = flow_of(&cold->src, &cold->dst, vni, pkt->dest_qp, ud_src_qp);
    __builtin_prefetch(&capture->hash_head[item->flow.hash & capture->hash_mask]);
    item->time_ns = capture->now_ns;
    item->number = capture->number;
    item->length = frame->length;
    capture->totals.roce_packets++;
    capture->totals.roce_bytes += frame->length;
    if (pkt->flags & PKT_TUNNEL) capture->totals.tunnelled++;
    if (pkt->flags & PKT_CUT) {
        capture->totals.cut++;
        if (pkt->missing) capture->totals.cut_extended++;
        evidence_add(capture, EVIDENCE_CUT);
    }
    item->ecn = ecn_of(pkt, cold);
    item->damaged = !intact(capture, frame, pkt, cold, layout);
    item->copy = !item->damaged && recorded_just_now(capture, item, cold);
    capture->pending_tail++;
    if (pkt->dest_qp == 1 && ud_src_qp != NONE && !(pkt->flags & PKT_CUT) && !item->damaged) {
        cap_packet_flush(capture);
        cap_cm_packet(capture, pkt, cold, codec_payload(frame, layout), pkt->payload_bytes);
        return;
    }
    uint32_t waiting = capture->pending_tail - capture->pending_head;
    if (waiting > AGE_DIRECTION) fetch_direction(capture, pending_at(capture, tail - AGE_DIRECTION));
    if (waiting > AGE_PEER) fetch_peer(capture, pending_at(capture, tail - AGE_PEER));
    if (waiting > AGE_HISTO) fetch_histo(capture, pending_at(capture, tail - AGE_HISTO));
    if (waiting == PENDING) pending_take(capture);
}
