/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to descriptor, in one pass from the outside in.
 *
 * Ethernet II with up to two tags (IEEE 802.1Q), IPv4 (RFC 791; options are skipped), IPv6 (RFC 8200; no
 * extension headers), UDP, VXLAN (RFC 7348; one level), MAC control (802.3 annex 31B, 802.1Qbb),
 * GRH and BTH (InfiniBand 1.x vol. 1, 8.3 and 9.2; RoCE annexes A16 and A17).
 *
 * Two ends matter.  `end` is where the packet ends by its own lengths, `limit` where the bytes at
 * hand end; what lies beyond `end` is malformed, what lies beyond `limit` alone was cut by the
 * capture.  A fault in an outer header is only remembered until the frame turns out to be ours:
 * nobody wants to hear of broken TCP from a RoCE tool.
 *
 * Tuned for millions of small packets a second: the descriptor is written once, after everything
 * was checked; the tunnel's record is copied only when there is a tunnel.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bytes.h"
#include "packet/codec.h"
#include "packet/opcode.h"
#include "packet/protocol.h"

enum step {
    STEP_OTHER, /* none of ours: stop looking */
    STEP_IN,    /* on with the next header */
    STEP_UDP,   /* w->at is a UDP header */
    STEP_VXLAN, /* w->at is a VXLAN header */
    STEP_BTH,   /* w->at is a BTH */
    STEP_MAC_CONTROL,
    STEP_CUT, /* the capture ends here */
    STEP_BAD, /* w->fault says why */
};

struct walk {
    const uint8_t *data;
    uint32_t at;    /* the header being read */
    uint32_t end;   /* of the packet, by the lengths read so far */
    uint32_t limit; /* bytes that can be read: min(captured, end) */
    uint32_t captured;
    uint32_t l3_at, udp_at, tag_at;
    enum codec_fault fault; /* the first one met; counts once the frame is known to be ours */
    uint16_t ethertype, sport;
    uint8_t net, tos, ttl, pcp, proto;
    uint16_t flags; /* PKT_TAGGED, PKT_TUNNEL */
};

const char *codec_fault_text(enum codec_fault fault)
{
    static const char *const texts[CODEC_FAULTS] = {
#define X(id, text) text,
        CODEC_FAULT_LIST(X)
#undef X
    };
    return (unsigned)fault < CODEC_FAULTS ? texts[fault] : "unknown fault";
}

static inline bool walk_has(const struct walk *w, uint32_t bytes)
{
    return w->limit - w->at >= bytes; /* at <= limit always holds */
}

static inline void walk_set_end(struct walk *w, uint32_t end)
{
    w->end = end;
    w->limit = w->captured < end ? w->captured : end;
}

static inline void walk_note(struct walk *w, enum codec_fault fault)
{
    if (w->fault == CODEC_FAULT_NONE) w->fault = fault;
}

static inline enum step walk_bad(struct walk *w, enum codec_fault fault)
{
    walk_note(w, fault);
    return STEP_BAD;
}

/* `bytes` are not there, and the frame has not yet said that it is ours. */
static enum step walk_lost(const struct walk *w, uint32_t bytes)
{
    return w->end - w->at < bytes ? STEP_OTHER : STEP_CUT;
}

/* `bytes` are not there in a frame of ours. */
static enum step walk_short(struct walk *w, uint32_t bytes, enum codec_fault fault)
{
    return w->end - w->at < bytes ? walk_bad(w, fault) : STEP_CUT;
}

/* Tags and the Ethertype behind them; w->ethertype is the one read last. */
static inline enum step walk_tags(struct walk *w, struct pkt_vlan vlan[2])
{
    for (unsigned i = 0; i < 2; i++) {
        if (w->ethertype != PROTO_ETHERTYPE_VLAN && w->ethertype != PROTO_ETHERTYPE_QINQ &&
            w->ethertype != PROTO_ETHERTYPE_QINQ_OLD)
            break;
        if (!walk_has(w, PROTO_VLAN_BYTES)) return walk_lost(w, PROTO_VLAN_BYTES);
        const uint8_t *at = w->data + w->at;
        w->tag_at = w->at;
        vlan[i].tpid = w->ethertype;
        vlan[i].tci = load_be16(at);
        w->pcp = (uint8_t)(vlan[i].tci >> 13);
        w->flags |= PKT_TAGGED;
        w->ethertype = load_be16(at + 2);
        w->at += PROTO_VLAN_BYTES;
    }
    return STEP_IN;
}

static inline enum step walk_ethernet(struct walk *w, struct pkt_cold *cold)
{
    if (!walk_has(w, PROTO_ETHERNET_BYTES)) return walk_lost(w, PROTO_ETHERNET_BYTES);
    const uint8_t *at = w->data + w->at;
    memcpy(cold->dmac, at, 6);
    memcpy(cold->smac, at + 6, 6);
    w->ethertype = load_be16(at + 12);
    w->at += PROTO_ETHERNET_BYTES;
    return walk_tags(w, cold->vlan);
}

/* Linux "cooked" captures: no destination address, the sender's as long as it is a MAC. */
static enum step walk_cooked(struct walk *w, struct pkt_cold *cold, enum codec_link link)
{
    uint32_t bytes = link == CODEC_SLL ? 16 : 20;
    if (!walk_has(w, bytes)) return walk_lost(w, bytes);
    const uint8_t *at = w->data + w->at;
    unsigned address_bytes = link == CODEC_SLL ? load_be16(at + 4) : at[11];
    if (address_bytes == 6) memcpy(cold->smac, link == CODEC_SLL ? at + 6 : at + 12, 6);
    w->ethertype = load_be16(link == CODEC_SLL ? at + 14 : at);
    w->at += bytes;
    return walk_tags(w, cold->vlan);
}

static enum step walk_raw(struct walk *w)
{
    if (!walk_has(w, 1)) return walk_lost(w, 1);
    unsigned version = w->data[w->at] >> 4;
    if (version != 4 && version != 6) return STEP_OTHER;
    w->ethertype = version == 4 ? PROTO_ETHERTYPE_IPV4 : PROTO_ETHERTYPE_IPV6;
    return STEP_IN;
}

static inline enum step walk_link(struct walk *w, struct pkt_cold *cold, enum codec_link link)
{
    if (link == CODEC_ETHERNET) return walk_ethernet(w, cold);
    if (link == CODEC_RAW_IP) return walk_raw(w);
    return walk_cooked(w, cold, link);
}

/* Sum of the header's 16-bit words, folded; 0xffff when the checksum is right. */
static inline uint32_t ipv4_sum(const uint8_t *header, uint32_t bytes)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < bytes; i += 4)
        sum += load_be32(header + i);
    sum = (sum >> 32) + (sum & 0xffffffff);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint32_t)((sum >> 16) + (sum & 0xffff));
}

/* Here and not pkt_addr_ipv4(): two stores, no call, on every IPv4 packet. */
static inline void addr_from_ipv4(struct pkt_addr *addr, const uint8_t *at)
{
    store_be64(addr->byte, 0);
    store_be64(addr->byte + 8, 0xffff00000000u | load_be32(at));
}

/* A RoCEv2 packet with telemetry in front of its BTH. */
static enum step walk_telemetry(struct walk *w, struct pkt_cold *cold)
{
    const uint8_t *at = w->data + w->at;
    if (w->fault != CODEC_FAULT_NONE) return STEP_BAD;
    if (!walk_has(w, PROTO_UDP_BYTES)) return walk_short(w, PROTO_UDP_BYTES, CODEC_FAULT_UDP_SHORT);
    if (load_be16(at + 4) != w->end - w->at) return walk_bad(w, CODEC_FAULT_UDP_LENGTH);
    cold->udp_checksum = load_be16(at + 6);
    w->at += PROTO_UDP_BYTES;
    if (!walk_has(w, CODEC_TELEMETRY_BYTES)) return walk_short(w, CODEC_TELEMETRY_BYTES, CODEC_FAULT_TELEMETRY);
    if (w->data[w->at] >> 4 > CODEC_TELEMETRY_HOPS) return walk_bad(w, CODEC_FAULT_TELEMETRY);
    w->at += CODEC_TELEMETRY_BYTES;
    return STEP_BTH;
}

static enum step walk_udp(struct walk *w, struct pkt_cold *cold)
{
    if (!walk_has(w, 4)) return walk_lost(w, 4);
    const uint8_t *at = w->data + w->at;
    uint16_t dport = load_be16(at + 2);
    w->sport = load_be16(at);
    w->udp_at = w->at;
    cold->dport = dport;
    if (dport == PROTO_PORT_ROCE) {
        if (w->fault != CODEC_FAULT_NONE) return STEP_BAD;
        if (!walk_has(w, PROTO_UDP_BYTES)) return walk_short(w, PROTO_UDP_BYTES, CODEC_FAULT_UDP_SHORT);
        if (load_be16(at + 4) != w->end - w->at) return walk_bad(w, CODEC_FAULT_UDP_LENGTH);
        cold->udp_checksum = load_be16(at + 6);
        w->at += PROTO_UDP_BYTES;
        return STEP_BTH;
    }
    if (dport == PROTO_PORT_ROCE_TELEMETRY) return walk_telemetry(w, cold);
    if (dport != PROTO_PORT_VXLAN) return STEP_OTHER;
    if (!walk_has(w, PROTO_UDP_BYTES + PROTO_VXLAN_BYTES)) return walk_lost(w, PROTO_UDP_BYTES + PROTO_VXLAN_BYTES);
    if (load_be16(at + 4) != w->end - w->at) walk_note(w, CODEC_FAULT_UDP_LENGTH);
    cold->udp_checksum = load_be16(at + 6);
    w->at += PROTO_UDP_BYTES;
    return STEP_VXLAN;
}

/* The IP packet is `bytes` long from w->at on.  Longer than the frame: noted, and what there is
 * is looked at to learn whose packet it is. */
static inline void walk_ip_length(struct walk *w, uint32_t bytes)
{
    if (bytes > w->end - w->at)
        walk_note(w, CODEC_FAULT_IP_TOTAL_LENGTH);
    else
        walk_set_end(w, w->at + bytes);
}

static inline enum step walk_ipv4(struct walk *w, struct pkt_cold *cold)
{
    if (!walk_has(w, PROTO_IPV4_BYTES)) return walk_lost(w, PROTO_IPV4_BYTES);
    const uint8_t *at = w->data + w->at;
    uint32_t header_bytes = (at[0] & 15u) * 4;
    uint32_t total_bytes = load_be16(at + 2);
    if (at[0] >> 4 != 4 || header_bytes < PROTO_IPV4_BYTES) return STEP_OTHER;
    w->l3_at = w->at;
    w->net = PKT_NET_IPV4;
    w->tos = at[1];
    w->ttl = at[8];
    w->proto = at[9];
    cold->ip_id = load_be16(at + 4);
    cold->ip_frag = load_be16(at + 6);
    addr_from_ipv4(&cold->src, at + 12);
    addr_from_ipv4(&cold->dst, at + 16);
    if (w->proto != PROTO_IP_UDP || (cold->ip_frag & 0x1fff) || total_bytes < header_bytes) return STEP_OTHER;
    if (!walk_has(w, header_bytes)) return walk_lost(w, header_bytes);

    walk_ip_length(w, total_bytes);
    if (cold->ip_frag & PROTO_FRAG_MASK) walk_note(w, CODEC_FAULT_IP_FRAGMENT);
    /* 0: left to the adapter, as captures of outgoing packets show it */
    if (load_be16(at + 10) != 0 && ipv4_sum(at, header_bytes) != 0xffff) walk_note(w, CODEC_FAULT_IP_CHECKSUM);
    w->at += header_bytes;
    return STEP_UDP;
}

/* IPv6 and GRH have one shape. */
static inline void walk_ipv6_fields(struct walk *w, struct pkt_cold *cold, enum pkt_net net)
{
    const uint8_t *at = w->data + w->at;
    uint32_t first = load_be32(at);
    w->l3_at = w->at;
    w->net = (uint8_t)net;
    w->tos = (uint8_t)(first >> 20);
    w->ttl = at[7];
    w->proto = at[6];
    cold->flow_label = first & 0xfffff;
    memcpy(cold->src.byte, at + 8, 16);
    memcpy(cold->dst.byte, at + 24, 16);
    walk_ip_length(w, PROTO_IPV6_BYTES + load_be16(at + 4));
}

static enum step walk_ipv6(struct walk *w, struct pkt_cold *cold)
{
    if (!walk_has(w, PROTO_IPV6_BYTES)) return walk_lost(w, PROTO_IPV6_BYTES);
    if (w->data[w->at] >> 4 != 6) return STEP_OTHER;
    walk_ipv6_fields(w, cold, PKT_NET_IPV6);
    w->at += PROTO_IPV6_BYTES;
    return w->proto == PROTO_IP_UDP ? STEP_UDP : STEP_OTHER;
}

static enum step walk_grh(struct walk *w, struct pkt_cold *cold)
{
    if (w->fault != CODEC_FAULT_NONE) return STEP_BAD;
    if (!walk_has(w, PROTO_IPV6_BYTES)) return walk_short(w, PROTO_IPV6_BYTES, CODEC_FAULT_IP_SHORT);
    if (w->data[w->at] >> 4 != 6) return walk_bad(w, CODEC_FAULT_IP_VERSION);
    walk_ipv6_fields(w, cold, PKT_NET_V1);
    if (w->fault != CODEC_FAULT_NONE) return STEP_BAD;
    if (w->proto != PROTO_GRH_NEXT_BTH) return walk_bad(w, CODEC_FAULT_GRH_NEXT);
    w->at += PROTO_IPV6_BYTES;
    return STEP_BTH;
}

static inline enum step walk_network(struct walk *w, struct pkt_cold *cold)
{
    switch (w->ethertype) {
    case PROTO_ETHERTYPE_IPV4:
        return walk_ipv4(w, cold);
    case PROTO_ETHERTYPE_IPV6:
        return walk_ipv6(w, cold);
    case PROTO_ETHERTYPE_ROCE_V1:
        return walk_grh(w, cold);
    case PROTO_ETHERTYPE_MAC_CONTROL:
        return STEP_MAC_CONTROL;
    default:
        return STEP_OTHER;
    }
}

/* In pieces: each is short enough for stores in line; as one, gcc makes it a slower `rep stos`. */
static inline void cold_clear(struct pkt_cold *cold)
{
    uint8_t *at = (uint8_t *)cold;
    _Static_assert(sizeof *cold > 128 && sizeof *cold <= 192, "cold_clear() knows the size");
    memset(at, 0, 64);
    memset(at + 64, 0, 64);
    memset(at + 128, 0, sizeof *cold - 128);
}

/* What was read so far becomes the tunnel; the inner frame starts with a clean record. */
static void walk_into_tunnel(struct walk *w, struct pkt_cold *cold)
{
    const uint8_t *at = w->data + w->at;
    struct pkt_outer outer;
    memset(&outer, 0, sizeof outer); /* padding too: records are compared as bytes */
    memcpy(outer.dmac, cold->dmac, 6);
    memcpy(outer.smac, cold->smac, 6);
    memcpy(outer.vlan, cold->vlan, sizeof outer.vlan);
    outer.src = cold->src;
    outer.dst = cold->dst;
    outer.flow_label = cold->flow_label;
    outer.vni = load_be24(at + 4);
    outer.ip_id = cold->ip_id;
    outer.ip_frag = cold->ip_frag;
    outer.sport = w->sport;
    outer.udp_checksum = cold->udp_checksum;
    outer.net = w->net;
    outer.tos = w->tos;
    outer.ttl = w->ttl;
    if (!(at[0] & PROTO_VXLAN_FLAG_VNI) || (w->flags & PKT_TUNNEL)) walk_note(w, CODEC_FAULT_VXLAN);
    cold_clear(cold);
    memcpy(&cold->outer, &outer, sizeof outer);
    w->at += PROTO_VXLAN_BYTES;
    w->net = w->tos = w->ttl = w->pcp = w->proto = 0;
    w->ethertype = w->sport = 0;
    w->tag_at = 0;
    w->flags = PKT_TUNNEL;
}

static void fill_other(const struct walk *w, struct pkt *pkt, struct pkt_cold *cold, struct codec_layout *layout)
{
    *pkt = (struct pkt){.kind = PKT_OTHER,
                        .flags = w->flags,
                        .tos = w->tos,
                        .pcp = w->pcp,
                        .ttl = w->ttl,
                        .net = w->net,
                        .sport = w->sport};
    cold->ethertype = w->ethertype;
    cold->ip_proto = w->proto;
    /* A header that says it is longer than the frame: not one that could be written to. */
    bool whole =
        w->net != PKT_NET_NONE && (w->net != PKT_NET_IPV4 || (w->data[w->l3_at] & 15u) * 4 <= w->captured - w->l3_at);
    *layout = (struct codec_layout){.l3_at = whole ? (uint16_t)w->l3_at : 0, .tag_at = (uint16_t)w->tag_at};
}

static enum step fill_mac_control(struct walk *w, struct pkt *pkt, struct codec_layout *layout)
{
    if (!walk_has(w, 2)) return walk_lost(w, 2);
    const uint8_t *at = w->data + w->at;
    uint16_t opcode = load_be16(at);
    if (opcode != PROTO_MAC_CONTROL_PAUSE && opcode != PROTO_MAC_CONTROL_PFC) return STEP_OTHER;
    if (w->fault != CODEC_FAULT_NONE) return STEP_BAD;
    uint32_t bytes = opcode == PROTO_MAC_CONTROL_PFC ? PROTO_PFC_BYTES : PROTO_PAUSE_BYTES;
    if (!walk_has(w, bytes)) return walk_short(w, bytes, CODEC_FAULT_PAUSE_SHORT);

    *pkt = (struct pkt){
        .kind = opcode == PROTO_MAC_CONTROL_PFC ? PKT_PFC : PKT_PAUSE,
        .flags = w->flags,
        .pcp = w->pcp,
        .frame_bytes = (uint16_t)(w->at + bytes),
    };
    if (opcode == PROTO_MAC_CONTROL_PFC) {
        pkt->pfc_enable = at[3];
        for (unsigned i = 0; i < 8; i++)
            pkt->quanta[i] = load_be16(at + 4 + 2 * i);
    } else {
        pkt->quanta[0] = load_be16(at + 2);
    }
    *layout = (struct codec_layout){.tag_at = (uint16_t)w->tag_at};
    return STEP_IN;
}

/* Which of the extended headers are not wholly in the `bytes` that follow the BTH. */
static unsigned headers_missing(unsigned flags, uint32_t bytes)
{
    static const struct {
        uint8_t flag, bytes;
    } header[] = {{OP_DETH, 8},         {OP_RETH, 16}, {OP_ATOMICETH, 28}, {OP_AETH, 4},
                  {OP_ATOMICACKETH, 8}, {OP_IMMDT, 4}, {OP_IETH, 4}};
    unsigned missing = 0;
    uint32_t end = 0;
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++) {
        if (!(flags & header[i].flag)) continue;
        end += header[i].bytes;
        if (end > bytes) missing |= header[i].flag;
    }
    return missing;
}

static inline void fill_extended(const uint8_t *at, unsigned flags, struct pkt *pkt, struct pkt_cold *cold)
{
    if (flags & OP_DETH) {
        pkt->ud.qkey = load_be32(at);
        pkt->src_qp = load_be24(at + 5);
        at += 8;
    }
    if (flags & (OP_RETH | OP_ATOMICETH)) {
        pkt->rdma.va = load_be64(at);
        pkt->rdma.rkey = load_be32(at + 8);
        if (flags & OP_RETH) {
            pkt->rdma.dma_bytes = load_be32(at + 12);
            at += 16;
        } else {
            cold->swap = load_be64(at + 12);
            cold->compare = load_be64(at + 20);
            at += 28;
        }
    }
    if (flags & OP_AETH) {
        pkt->ack.syndrome = at[0];
        pkt->ack.msn = load_be24(at + 1);
        at += 4;
        if (flags & OP_ATOMICACKETH) pkt->ack.original = load_be64(at);
    }
    if (flags & (OP_IMMDT | OP_IETH)) pkt->imm = load_be32(at);
}

/* All faults a BTH can have, before anything is written; *ret_body_bytes: payload and pad. */
static inline enum step check_bth(struct walk *w, const uint8_t *at, const struct opcode_info *info,
                                  uint32_t *ret_body_bytes)
{
    uint32_t header_bytes = PROTO_BTH_BYTES + info->header_bytes;
    uint32_t bytes = w->end - w->at;
    uint32_t pad = at[1] >> 4 & 3u;
    if (at[1] & 15u) return walk_bad(w, CODEC_FAULT_BTH_VERSION);
    if (bytes < header_bytes) return walk_bad(w, CODEC_FAULT_HEADERS_SHORT);
    if (bytes < header_bytes + PROTO_ICRC_BYTES) return walk_bad(w, CODEC_FAULT_ICRC_SHORT);
    uint32_t body = bytes - header_bytes - PROTO_ICRC_BYTES;
    bool carries = !info->name || (info->flags & OP_PAYLOAD);
    if (body && !carries) return walk_bad(w, CODEC_FAULT_PAYLOAD);
    if (pad > body) return walk_bad(w, CODEC_FAULT_PAD);
    if (body - pad > (info->name ? PROTO_PAYLOAD_MAX : PROTO_UNKNOWN_PAYLOAD_MAX))
        return walk_bad(w, CODEC_FAULT_TOO_LONG);
    *ret_body_bytes = body;
    return STEP_IN;
}

static inline enum step fill_roce(struct walk *w, struct pkt *pkt, struct pkt_cold *cold, struct codec_layout *layout)
{
    if (!walk_has(w, PROTO_BTH_BYTES)) return walk_short(w, PROTO_BTH_BYTES, CODEC_FAULT_BTH_SHORT);
    /* A packet may lie in memory that its sender can still write: what was checked must be what is used. */
    uint8_t at[PROTO_BTH_BYTES];
    memcpy(at, w->data + w->at, sizeof at);
    __asm__ volatile("" : "+m"(at));
    const struct opcode_info *info = opcode_info(at[0]);
    uint32_t body_bytes;
    cold->tver = at[1] & 15u;
    enum step step = check_bth(w, at, info, &body_bytes);
    if (step != STEP_IN) return step;

    uint32_t pad = at[1] >> 4 & 3u;
    unsigned flags = w->flags;
    flags |= (at[1] & 0x80 ? PKT_SOLICITED : 0u) | (at[1] & 0x40 ? PKT_MIGRATED : 0u);
    flags |= (at[4] & 0x80 ? PKT_FECN : 0u) | (at[4] & 0x40 ? PKT_BECN : 0u);
    flags |= at[8] & 0x80 ? PKT_ACK_REQUEST : 0u;
    bool cut = w->limit < w->end;
    memset(pkt, 0, sizeof *pkt);
    pkt->kind = PKT_ROCE;
    pkt->opcode = at[0];
    pkt->flags = (uint16_t)(cut ? flags | PKT_CUT : flags);
    pkt->tos = w->tos;
    pkt->pcp = w->pcp;
    pkt->ttl = w->ttl;
    pkt->pad = (uint8_t)pad;
    pkt->net = w->net;
    pkt->dest_qp = load_be24(at + 5);
    pkt->psn = load_be24(at + 9);
    pkt->payload_bytes = (uint16_t)(body_bytes - pad);
    pkt->frame_bytes = (uint16_t)w->end;
    pkt->sport = w->sport;
    cold->pkey = load_be16(at + 2);
    cold->resv8a = at[4] & 0x3f;
    cold->resv7 = at[8] & 0x7f;
    unsigned headers = info->flags & OP_HEADERS;
    if (headers && !walk_has(w, PROTO_BTH_BYTES + info->header_bytes)) {
        /* wire order: what is there is in front of what is not */
        pkt->missing = headers_missing(headers, w->limit - w->at - PROTO_BTH_BYTES);
        headers &= ~pkt->missing;
    }
    if (headers) fill_extended(w->data + w->at + PROTO_BTH_BYTES, headers, pkt, cold);
    if (!cut) cold->icrc = load_le32(w->data + w->end - PROTO_ICRC_BYTES);

    layout->l3_at = (uint16_t)w->l3_at;
    layout->udp_at = w->net == PKT_NET_V1 ? 0 : (uint16_t)w->udp_at;
    layout->bth_at = (uint16_t)w->at;
    layout->payload_at = (uint16_t)(w->at + PROTO_BTH_BYTES + info->header_bytes);
    layout->icrc_at = cut ? 0 : (uint16_t)(w->end - PROTO_ICRC_BYTES);
    layout->tag_at = (uint16_t)w->tag_at;
    return STEP_IN;
}

/* From the link to the BTH or the MAC control header, or to where the frame is none of ours.  `transit`, a constant:
 * tunnels are passed by. */
static inline enum step walk_in(struct walk *w, const struct codec_frame *frame, struct pkt_cold *cold, bool transit)
{
    enum step step;
    for (enum codec_link link = frame->link;; link = CODEC_ETHERNET) {
        step = walk_link(w, cold, link);
        if (step == STEP_IN) step = walk_network(w, cold);
        if (step == STEP_UDP) step = walk_udp(w, cold);
        if (step != STEP_VXLAN) return step;
        if (transit) return STEP_OTHER;
        walk_into_tunnel(w, cold);
    }
}

static int walk_verdict(const struct walk *w, enum step step, enum codec_fault *ret_fault)
{
    if (step == STEP_CUT) {
        *ret_fault = CODEC_FAULT_CUT_HEADERS;
        return -ENODATA;
    }
    *ret_fault = step == STEP_BAD ? w->fault : CODEC_FAULT_NONE;
    return step == STEP_BAD ? -EBADMSG : 0;
}

int codec_parse(const struct codec_frame *frame, struct pkt *ret, struct pkt_cold *ret_cold,
                struct codec_layout *ret_layout, enum codec_fault *ret_fault)
{
    uint32_t length = frame->length > frame->captured ? frame->length : frame->captured;
    struct walk w = {.data = frame->data, .captured = frame->captured};
    walk_set_end(&w, length);
    cold_clear(ret_cold);

    enum step step = walk_in(&w, frame, ret_cold, false);
    if (step == STEP_BTH)
        step = fill_roce(&w, ret, ret_cold, ret_layout);
    else if (step == STEP_MAC_CONTROL)
        step = fill_mac_control(&w, ret, ret_layout);

    if (step == STEP_OTHER) {
        fill_other(&w, ret, ret_cold, ret_layout);
        ret->frame_bytes = length < UINT16_MAX ? (uint16_t)length : UINT16_MAX;
    }
    return walk_verdict(&w, step, ret_fault);
}

int codec_parse_transit(const struct codec_frame *frame, struct pkt *ret, struct pkt_cold *ret_cold,
                        struct codec_layout *ret_layout, enum codec_fault *ret_fault)
{
    struct walk w = {.data = frame->data, .captured = frame->captured};
    walk_set_end(&w, frame->captured);
    cold_clear(ret_cold);

    enum step step = walk_in(&w, frame, ret_cold, true);
    if (step == STEP_BTH)
        step = fill_roce(&w, ret, ret_cold, ret_layout);
    else if (step == STEP_MAC_CONTROL)
        step = fill_mac_control(&w, ret, ret_layout);

    bool refused = step == STEP_BAD && w.net != PKT_NET_V1 &&
                   (w.fault == CODEC_FAULT_IP_CHECKSUM || w.fault == CODEC_FAULT_IP_TOTAL_LENGTH);
    if (step == STEP_OTHER || (step == STEP_BAD && !refused)) {
        step = STEP_OTHER;
        ret_cold->tver = 0;
        fill_other(&w, ret, ret_cold, ret_layout);
        ret->frame_bytes = frame->captured < UINT16_MAX ? (uint16_t)frame->captured : UINT16_MAX;
    }
    return walk_verdict(&w, step, ret_fault);
}

int codec_parse_outer(const struct codec_frame *frame, struct pkt *ret, struct pkt_cold *ret_cold, uint32_t *ret_bth_at,
                      uint32_t *ret_bytes, enum codec_fault *ret_fault)
{
    struct walk w = {.data = frame->data, .captured = frame->captured};
    struct codec_layout layout;
    walk_set_end(&w, frame->length > frame->captured ? frame->length : frame->captured);
    cold_clear(ret_cold);

    enum step step = walk_in(&w, frame, ret_cold, false);
    if (step == STEP_MAC_CONTROL) step = fill_mac_control(&w, ret, &layout);
    if (step == STEP_OTHER || step == STEP_BTH) fill_other(&w, ret, ret_cold, &layout);
    if (step == STEP_BTH) {
        ret->kind = PKT_ROCE;
        ret_cold->ethertype = 0;
        ret_cold->ip_proto = 0;
        *ret_bth_at = w.at;
        *ret_bytes = w.end - w.at;
    }
    return walk_verdict(&w, step, ret_fault);
}

int codec_parse_bth(const uint8_t *data, uint32_t bytes, struct pkt *ret, struct pkt_cold *ret_cold,
                    uint32_t *ret_payload_at, enum codec_fault *ret_fault)
{
    struct walk w = {.data = data, .end = bytes, .limit = bytes};
    struct codec_layout layout;
    if (fill_roce(&w, ret, ret_cold, &layout) != STEP_IN) {
        *ret_fault = w.fault;
        return -EBADMSG;
    }
    *ret_fault = CODEC_FAULT_NONE;
    *ret_payload_at = layout.payload_at;
    return 0;
}

const uint8_t *codec_payload(const struct codec_frame *frame, const struct codec_layout *layout)
{
    return layout->icrc_at ? frame->data + layout->payload_at : NULL;
}

void codec_grh_parse(const uint8_t in[CODEC_GRH_BYTES], struct pkt_envelope *ret)
{
    const uint8_t *ip = in + CODEC_GRH_BYTES - PROTO_IPV4_BYTES;
    memset(ret, 0, sizeof *ret);
    if (in[0] >> 4 != 6 && ip[0] == 0x45) {
        ret->net = PKT_NET_IPV4;
        ret->tos = ip[1];
        ret->ip_id = load_be16(ip + 4);
        ret->ttl = ip[8];
        addr_from_ipv4(&ret->src, ip + 12);
        addr_from_ipv4(&ret->dst, ip + 16);
        return;
    }
    uint32_t first = load_be32(in);
    ret->net = in[6] == PROTO_GRH_NEXT_BTH ? PKT_NET_V1 : PKT_NET_IPV6;
    ret->tos = (uint8_t)(first >> 20);
    ret->flow_label = first & 0xfffff;
    ret->ttl = in[7];
    memcpy(ret->src.byte, in + 8, 16);
    memcpy(ret->dst.byte, in + 24, 16);
}
