/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptor to bytes: the mirror of codec_parse.c, same clauses, same order, outside in.
 *
 * The record is checked first, whole; writing then cannot fail.  Computed here: every length, the
 * IPv4 header checksum, the pad bytes (zero) and the ICRC.  Taken as they are: UDP checksums (0 is what
 * RoCE adapters send) and reserved bits.  Fields that this kind of frame does not have are
 * ignored, so a record without them is read back as zeros.  No IPv4 options, no Ethernet padding.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/codec.h"
#include "packet/icrc.h"
#include "packet/opcode.h"
#include "packet/protocol.h"

#define BITS_24 0xffffffu
#define BITS_20 0xfffffu

/* What an IP header and the Ethernet header before it need, of the frame itself or of its tunnel. */
struct envelope {
    const uint8_t *dmac, *smac;
    const struct pkt_vlan *vlan;
    const struct pkt_addr *src, *dst;
    uint32_t flow_label;
    uint16_t ip_id, ip_frag, sport, dport, udp_checksum;
    uint8_t net, tos, ttl;
};

static struct envelope inner_envelope(const struct pkt *pkt, const struct pkt_cold *cold)
{
    return (struct envelope){
        .dmac = cold->dmac,
        .smac = cold->smac,
        .vlan = cold->vlan,
        .src = &cold->src,
        .dst = &cold->dst,
        .flow_label = cold->flow_label,
        .ip_id = cold->ip_id,
        .ip_frag = cold->ip_frag,
        .sport = pkt->sport,
        .dport = cold->dport == PROTO_PORT_ROCE_TELEMETRY ? PROTO_PORT_ROCE_TELEMETRY : PROTO_PORT_ROCE,
        .udp_checksum = cold->udp_checksum,
        .net = pkt->net,
        .tos = pkt->tos,
        .ttl = pkt->ttl,
    };
}

static struct envelope outer_envelope(const struct pkt_outer *outer)
{
    return (struct envelope){
        .dmac = outer->dmac,
        .smac = outer->smac,
        .vlan = outer->vlan,
        .src = &outer->src,
        .dst = &outer->dst,
        .flow_label = outer->flow_label,
        .ip_id = outer->ip_id,
        .ip_frag = outer->ip_frag,
        .sport = outer->sport,
        .dport = PROTO_PORT_VXLAN,
        .udp_checksum = outer->udp_checksum,
        .net = outer->net,
        .tos = outer->tos,
        .ttl = outer->ttl,
    };
}

static uint32_t vlan_bytes(const struct pkt_vlan vlan[2])
{
    return (vlan[0].tpid ? PROTO_VLAN_BYTES : 0) + (vlan[1].tpid ? PROTO_VLAN_BYTES : 0);
}

static uint32_t network_bytes(uint8_t net)
{
    if (net == PKT_NET_V1) return PROTO_IPV6_BYTES;
    return (net == PKT_NET_IPV4 ? PROTO_IPV4_BYTES : PROTO_IPV6_BYTES) + PROTO_UDP_BYTES;
}

/* In front of the BTH: only where there is a UDP header that can say so. */
static uint32_t telemetry_bytes(const struct pkt *pkt, const struct pkt_cold *cold)
{
    return pkt->net != PKT_NET_V1 && cold->dport == PROTO_PORT_ROCE_TELEMETRY ? CODEC_TELEMETRY_BYTES : 0;
}

static uint32_t tunnel_bytes(const struct pkt *pkt, const struct pkt_cold *cold)
{
    if (!(pkt->flags & PKT_TUNNEL)) return 0;
    return PROTO_ETHERNET_BYTES + vlan_bytes(cold->outer.vlan) + network_bytes(cold->outer.net) + PROTO_VXLAN_BYTES;
}

/* From the first byte of the frame to the payload; the record was checked. */
static uint32_t header_bytes(const struct pkt *pkt, const struct pkt_cold *cold)
{
    uint32_t bytes = tunnel_bytes(pkt, cold) + PROTO_ETHERNET_BYTES + vlan_bytes(cold->vlan);
    if (pkt->kind == PKT_PFC) return bytes + PROTO_PFC_BYTES;
    if (pkt->kind == PKT_PAUSE) return bytes + PROTO_PAUSE_BYTES;
    return bytes + network_bytes(pkt->net) + telemetry_bytes(pkt, cold) + PROTO_BTH_BYTES +
           opcode_info(pkt->opcode)->header_bytes;
}

static bool tags_valid(const struct pkt_vlan vlan[2])
{
    for (int i = 0; i < 2; i++)
        if (vlan[i].tpid && vlan[i].tpid != PROTO_ETHERTYPE_VLAN && vlan[i].tpid != PROTO_ETHERTYPE_QINQ &&
            vlan[i].tpid != PROTO_ETHERTYPE_QINQ_OLD)
            return false;
    return vlan[0].tpid || !vlan[1].tpid;
}

static bool envelope_valid(const struct envelope *env)
{
    if (env->net == PKT_NET_IPV4)
        return pkt_addr_is_ipv4(env->src) && pkt_addr_is_ipv4(env->dst) && !(env->ip_frag & PROTO_FRAG_MASK);
    return (env->net == PKT_NET_IPV6 || env->net == PKT_NET_V1) && env->flow_label <= BITS_20;
}

static bool bth_valid(const struct pkt *pkt, const struct pkt_cold *cold)
{
    const struct opcode_info *info = opcode_info(pkt->opcode);
    if (pkt->dest_qp > BITS_24 || pkt->psn > BITS_24 || pkt->pad > 3) return false;
    if (cold->tver != 0 || cold->resv8a > 0x3f || cold->resv7 > 0x7f) return false;
    if ((info->flags & OP_DETH) && pkt->src_qp > BITS_24) return false;
    if ((info->flags & OP_AETH) && pkt->ack.msn > BITS_24) return false;
    if (!info->name) return pkt->payload_bytes <= PROTO_UNKNOWN_PAYLOAD_MAX;
    if (!(info->flags & OP_PAYLOAD)) return pkt->payload_bytes == 0 && pkt->pad == 0;
    return pkt->payload_bytes <= PROTO_PAYLOAD_MAX;
}

static bool roce_valid(const struct pkt *pkt, const struct pkt_cold *cold)
{
    struct envelope env = inner_envelope(pkt, cold);
    if (!envelope_valid(&env)) return false;
    if (pkt->net != PKT_NET_V1 && cold->dport != PROTO_PORT_ROCE && cold->dport != PROTO_PORT_ROCE_TELEMETRY)
        return false;
    return bth_valid(pkt, cold);
}

static bool record_valid(const struct pkt *pkt, const struct pkt_cold *cold)
{
    bool tagged = cold->vlan[0].tpid != 0;
    const struct pkt_vlan *innermost = &cold->vlan[cold->vlan[1].tpid ? 1 : 0];
    if (pkt->flags & PKT_CUT) return false;
    if (!tags_valid(cold->vlan) || tagged != !!(pkt->flags & PKT_TAGGED)) return false;
    if (pkt->pcp != (tagged ? innermost->tci >> 13 : 0)) return false;
    if (pkt->flags & PKT_TUNNEL) {
        struct envelope env = outer_envelope(&cold->outer);
        if (env.net == PKT_NET_V1 || !envelope_valid(&env) || !tags_valid(env.vlan)) return false;
        if (cold->outer.vni > BITS_24) return false;
    }
    if (pkt->kind == PKT_ROCE) return roce_valid(pkt, cold);
    return pkt->kind == PKT_PFC || pkt->kind == PKT_PAUSE;
}

static uint8_t *put_ethernet(uint8_t *at, const struct envelope *env, uint32_t ethertype)
{
    memcpy(at, env->dmac, 6);
    memcpy(at + 6, env->smac, 6);
    at += 12;
    for (int i = 0; i < 2 && env->vlan[i].tpid; i++) {
        store_be16(at, env->vlan[i].tpid);
        store_be16(at + 2, env->vlan[i].tci);
        at += PROTO_VLAN_BYTES;
    }
    store_be16(at, (uint16_t)ethertype);
    return at + 2;
}

static void put_ipv4_checksum(uint8_t *header)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < PROTO_IPV4_BYTES; i += 2)
        sum += load_be16(header + i);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    store_be16(header + 10, (uint16_t)~sum);
}

static uint32_t ethertype_of(uint8_t net)
{
    if (net == PKT_NET_V1) return PROTO_ETHERTYPE_ROCE_V1;
    return net == PKT_NET_IPV4 ? PROTO_ETHERTYPE_IPV4 : PROTO_ETHERTYPE_IPV6;
}

/* IP or GRH; `bytes` follow it. */
static uint8_t *put_ip(uint8_t *at, const struct envelope *env, uint32_t bytes)
{
    if (env->net == PKT_NET_IPV4) {
        at[0] = 0x45;
        at[1] = env->tos;
        store_be16(at + 2, (uint16_t)(PROTO_IPV4_BYTES + bytes));
        store_be16(at + 4, env->ip_id);
        store_be16(at + 6, env->ip_frag);
        at[8] = env->ttl;
        at[9] = PROTO_IP_UDP;
        store_be16(at + 10, 0);
        memcpy(at + 12, env->src->byte + 12, 4);
        memcpy(at + 16, env->dst->byte + 12, 4);
        put_ipv4_checksum(at);
        return at + PROTO_IPV4_BYTES;
    }
    store_be32(at, 6u << 28 | (uint32_t)env->tos << 20 | env->flow_label);
    store_be16(at + 4, (uint16_t)bytes);
    at[6] = env->net == PKT_NET_V1 ? PROTO_GRH_NEXT_BTH : PROTO_IP_UDP;
    at[7] = env->ttl;
    memcpy(at + 8, env->src->byte, 16);
    memcpy(at + 24, env->dst->byte, 16);
    return at + PROTO_IPV6_BYTES;
}

/* IP or GRH, and UDP; `end` is the byte after the packet. */
static uint8_t *put_network(uint8_t *at, const struct envelope *env, const uint8_t *end)
{
    uint32_t ip_bytes = env->net == PKT_NET_IPV4 ? PROTO_IPV4_BYTES : PROTO_IPV6_BYTES;
    at = put_ip(at, env, (uint32_t)(end - at) - ip_bytes);
    if (env->net == PKT_NET_V1) return at;
    store_be16(at, env->sport);
    store_be16(at + 2, env->dport);
    store_be16(at + 4, (uint16_t)(end - at));
    store_be16(at + 6, env->udp_checksum);
    return at + PROTO_UDP_BYTES;
}

static uint8_t *put_tunnel(uint8_t *at, const struct pkt_outer *outer, const uint8_t *end)
{
    struct envelope env = outer_envelope(outer);
    at = put_ethernet(at, &env, ethertype_of(env.net));
    at = put_network(at, &env, end);
    store_be32(at, (uint32_t)PROTO_VXLAN_FLAG_VNI << 24);
    store_be32(at + 4, outer->vni << 8);
    return at + PROTO_VXLAN_BYTES;
}

static uint8_t *put_bth(uint8_t *at, const struct pkt *pkt, const struct pkt_cold *cold)
{
    unsigned flags = pkt->flags;
    at[0] = pkt->opcode;
    at[1] = (uint8_t)((flags & PKT_SOLICITED ? 0x80 : 0) | (flags & PKT_MIGRATED ? 0x40 : 0) | pkt->pad << 4);
    store_be16(at + 2, cold->pkey);
    at[4] = (uint8_t)((flags & PKT_FECN ? 0x80 : 0) | (flags & PKT_BECN ? 0x40 : 0) | cold->resv8a);
    store_be24(at + 5, pkt->dest_qp);
    at[8] = (uint8_t)((flags & PKT_ACK_REQUEST ? 0x80 : 0) | cold->resv7);
    store_be24(at + 9, pkt->psn);
    return at + PROTO_BTH_BYTES;
}

static uint8_t *put_extended(uint8_t *at, const struct pkt *pkt, const struct pkt_cold *cold)
{
    unsigned flags = opcode_info(pkt->opcode)->flags;
    if (flags & OP_DETH) {
        store_be32(at, pkt->ud.qkey);
        store_be32(at + 4, pkt->src_qp);
        at += 8;
    }
    if (flags & (OP_RETH | OP_ATOMICETH)) {
        store_be64(at, pkt->rdma.va);
        store_be32(at + 8, pkt->rdma.rkey);
        at += 12;
    }
    if (flags & OP_RETH) {
        store_be32(at, pkt->rdma.dma_bytes);
        at += 4;
    }
    if (flags & OP_ATOMICETH) {
        store_be64(at, cold->swap);
        store_be64(at + 8, cold->compare);
        at += 16;
    }
    if (flags & OP_AETH) {
        store_be32(at, (uint32_t)pkt->ack.syndrome << 24 | pkt->ack.msn);
        at += 4;
    }
    if (flags & OP_ATOMICACKETH) {
        store_be64(at, pkt->ack.original);
        at += 8;
    }
    if (flags & (OP_IMMDT | OP_IETH)) {
        store_be32(at, pkt->imm);
        at += 4;
    }
    return at;
}

static void put_mac_control(uint8_t *at, const struct pkt *pkt)
{
    if (pkt->kind == PKT_PAUSE) {
        store_be16(at, PROTO_MAC_CONTROL_PAUSE);
        store_be16(at + 2, pkt->quanta[0]);
        return;
    }
    store_be16(at, PROTO_MAC_CONTROL_PFC);
    store_be16(at + 2, pkt->pfc_enable);
    for (int i = 0; i < 8; i++)
        store_be16(at + 4 + 2 * i, pkt->quanta[i]);
}

int codec_header_bytes(const struct pkt *pkt, const struct pkt_cold *cold)
{
    return record_valid(pkt, cold) ? (int)header_bytes(pkt, cold) : -EINVAL;
}

/* Payload, pad and ICRC, behind the headers. */
static void put_body(uint8_t *frame, const struct pkt *pkt, const uint8_t *payload, struct codec_layout *layout)
{
    uint8_t *at = frame + layout->payload_at;
    if (payload)
        memcpy(at, payload, pkt->payload_bytes);
    else
        memset(at, 0, pkt->payload_bytes);
    memset(at + pkt->payload_bytes, 0, pkt->pad);
    layout->icrc_at = (uint16_t)(layout->payload_at + pkt->payload_bytes + pkt->pad);
    store_le32(frame + layout->icrc_at, icrc_compute(frame, layout));
}

/* From the Ethernet header at `at` to the ICRC. */
static void put_roce(uint8_t *frame, uint8_t *at, const uint8_t *end, const struct pkt *pkt,
                     const struct pkt_cold *cold, const struct pkt_int *record, const uint8_t *payload,
                     struct codec_layout *layout)
{
    struct envelope env = inner_envelope(pkt, cold);
    at = put_ethernet(at, &env, ethertype_of(env.net));
    layout->l3_at = (uint16_t)(at - frame);
    at = put_network(at, &env, end);
    if (env.net != PKT_NET_V1) layout->udp_at = (uint16_t)(at - frame - PROTO_UDP_BYTES);
    at += telemetry_bytes(pkt, cold);
    layout->bth_at = (uint16_t)(at - frame);
    if (codec_has_telemetry(layout)) {
        memset(at - CODEC_TELEMETRY_BYTES, 0, CODEC_TELEMETRY_BYTES);
        if (record) codec_telemetry_write(frame, layout, record);
        store_be16(frame + layout->udp_at + 6, env.udp_checksum); /* the record's, whatever the telemetry is */
    }
    at = put_extended(put_bth(at, pkt, cold), pkt, cold);
    layout->payload_at = (uint16_t)(at - frame);
    put_body(frame, pkt, payload, layout);
    CHECK(frame + layout->icrc_at + PROTO_ICRC_BYTES == end);
}

int codec_emit_frame(const struct pkt *pkt, const struct pkt_cold *cold, const struct pkt_int *record,
                     const uint8_t *payload, uint8_t *frame, size_t cap, struct codec_layout *ret_layout)
{
    if (!record_valid(pkt, cold)) return -EINVAL;
    uint32_t length = header_bytes(pkt, cold);
    if (pkt->kind == PKT_ROCE) length += pkt->payload_bytes + pkt->pad + PROTO_ICRC_BYTES;
    if (length > cap) return -ENOBUFS;

    const uint8_t *end = frame + length;
    uint8_t *at = frame;
    *ret_layout = (struct codec_layout){0};
    if (pkt->flags & PKT_TUNNEL) at = put_tunnel(at, &cold->outer, end);
    uint32_t tags = vlan_bytes(cold->vlan);
    if (tags) ret_layout->tag_at = (uint16_t)(at - frame + 12 + tags - 2);
    if (pkt->kind == PKT_ROCE) {
        put_roce(frame, at, end, pkt, cold, record, payload, ret_layout);
    } else {
        struct envelope env = inner_envelope(pkt, cold);
        put_mac_control(put_ethernet(at, &env, PROTO_ETHERTYPE_MAC_CONTROL), pkt);
    }
    return (int)length;
}

int codec_emit(const struct pkt *pkt, const struct pkt_cold *cold, const uint8_t *payload, uint8_t *frame, size_t cap)
{
    struct codec_layout layout;
    return codec_emit_frame(pkt, cold, NULL, payload, frame, cap, &layout);
}

struct pkt codec_carried(const struct pkt *pkt)
{
    struct pkt carried;
    bool tagged = pkt->flags & PKT_TAGGED, roce = pkt->kind == PKT_ROCE;
    uint32_t missing = pkt->flags & PKT_CUT ? pkt->missing : 0; /* else it is somebody's word */
    unsigned headers = roce ? opcode_info(pkt->opcode)->flags & OP_HEADERS & ~missing : 0;
    memset(&carried, 0, sizeof carried);
    carried.kind = pkt->kind;
    carried.opcode = pkt->kind == PKT_ROCE || pkt->kind == PKT_PFC ? pkt->opcode : 0; /* pfc_enable lies there too */
    carried.flags = pkt->flags & (uint16_t)~PKT_STRAY;
    if (!roce) carried.flags &= PKT_TAGGED | PKT_TUNNEL | PKT_CUT;
    carried.pcp = tagged ? pkt->pcp : 0;
    carried.frame_bytes = pkt->frame_bytes;
    if (pkt->kind == PKT_PFC) memcpy(carried.quanta, pkt->quanta, sizeof carried.quanta);
    if (pkt->kind == PKT_PAUSE) carried.quanta[0] = pkt->quanta[0];
    if (pkt->kind == PKT_PFC || pkt->kind == PKT_PAUSE) return carried;
    carried.tos = pkt->tos;
    carried.ttl = pkt->ttl;
    carried.net = pkt->net;
    carried.sport = pkt->net == PKT_NET_V1 ? 0 : pkt->sport;
    if (!roce) return carried;
    carried.pad = pkt->pad;
    carried.dest_qp = pkt->dest_qp;
    carried.psn = pkt->psn;
    carried.payload_bytes = pkt->payload_bytes;
    carried.missing = missing;
    if (headers & OP_DETH) carried.ud.qkey = pkt->ud.qkey;
    if (headers & OP_DETH) carried.src_qp = pkt->src_qp;
    if (headers & (OP_RETH | OP_ATOMICETH)) carried.rdma.va = pkt->rdma.va;
    if (headers & (OP_RETH | OP_ATOMICETH)) carried.rdma.rkey = pkt->rdma.rkey;
    if (headers & OP_RETH) carried.rdma.dma_bytes = pkt->rdma.dma_bytes;
    if (headers & OP_ATOMICACKETH) carried.ack.original = pkt->ack.original;
    if (headers & OP_AETH) carried.ack.msn = pkt->ack.msn;
    if (headers & OP_AETH) carried.ack.syndrome = pkt->ack.syndrome;
    if (headers & (OP_IMMDT | OP_IETH)) carried.imm = pkt->imm;
    return carried;
}

int codec_emit_bth(const struct pkt *pkt, const struct pkt_cold *cold, uint8_t *out, size_t cap)
{
    if (pkt->kind != PKT_ROCE || pkt->flags & PKT_CUT || !bth_valid(pkt, cold)) return -EINVAL;
    uint32_t bytes = PROTO_BTH_BYTES + opcode_info(pkt->opcode)->header_bytes;
    if (bytes > cap) return -ENOBUFS;
    uint8_t *end = put_extended(put_bth(out, pkt, cold), pkt, cold);
    CHECK(end == out + bytes);
    return (int)bytes;
}

int codec_emit_outer(const struct pkt *pkt, const struct pkt_cold *cold, uint32_t bytes, uint8_t *out, size_t cap)
{
    struct envelope env = inner_envelope(pkt, cold);
    if (pkt->kind != PKT_ROCE || !envelope_valid(&env) || !tags_valid(cold->vlan)) return -EINVAL;
    if (telemetry_bytes(pkt, cold)) return -EINVAL;
    uint32_t length = PROTO_ETHERNET_BYTES + vlan_bytes(cold->vlan) + network_bytes(pkt->net);
    if (bytes > UINT16_MAX - PROTO_IPV6_BYTES - PROTO_UDP_BYTES) return -EINVAL;
    if (length > cap) return -ENOBUFS;
    uint8_t *at = put_ethernet(out, &env, ethertype_of(env.net));
    at = put_network(at, &env, out + length + bytes);
    CHECK(at == out + length);
    return (int)length;
}

void codec_grh_emit(const struct pkt_envelope *envelope, uint32_t bytes, uint8_t out[CODEC_GRH_BYTES])
{
    struct envelope env = {.src = &envelope->src,
                           .dst = &envelope->dst,
                           .flow_label = envelope->flow_label & BITS_20,
                           .ip_id = envelope->ip_id,
                           .ip_frag = PROTO_IPV4_DF,
                           .net = envelope->net,
                           .tos = envelope->tos,
                           .ttl = envelope->ttl};
    uint32_t unused = env.net == PKT_NET_IPV4 ? CODEC_GRH_BYTES - PROTO_IPV4_BYTES : 0;
    memset(out, 0, unused);
    put_ip(out + unused, &env, bytes + (env.net == PKT_NET_V1 ? 0 : PROTO_UDP_BYTES));
}
