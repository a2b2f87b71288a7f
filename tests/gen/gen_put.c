/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames into the file.  The clock advances by the time each frame takes at 100 Gb/s, preamble and gap
 * included, as on one saturated port.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "gen.h"
#include "packet/codec.h"
#include "packet/opcode.h"

#define DATA_TOS (26 << 2 | PKT_ECN_ECT0)
#define CUT_BYTES 160
#define ETHERNET_MIN 60
#define BTH_VERSION_AT 43 /* untagged IPv4 */

static void end_of(struct gen_end *end, uint32_t network, uint32_t host, uint32_t qpn, uint8_t net)
{
    end->addr = pkt_addr_ipv4(10u << 24 | network << 16 | host);
    if (net != PKT_NET_IPV4) {
        static const uint8_t prefix[12] = {0xfd, 0x00, 0x0c, 0xe1};
        memcpy(end->addr.byte, prefix, sizeof(prefix));
    }
    memcpy(end->mac, (const uint8_t[]){2, 0, 0, (uint8_t)network, (uint8_t)(host >> 8), (uint8_t)host}, 6);
    end->qpn = qpn;
}

void gen_connect(struct gen *gen, struct gen_connection *connection, uint32_t i)
{
    uint8_t net = connection->net ? connection->net : PKT_NET_IPV4;
    connection->net = net;
    end_of(&connection->end[0], 0, 1 + i % 64, 0x000100 + i, net);
    end_of(&connection->end[1], 1, 1 + i / 64 % 64, 0x800000 + i, net);
    connection->psn = rng_u32(&gen->rng) & 0xffffff;
    connection->msn = 0;
    connection->sport = (uint16_t)(0xc000 | (rng_u32(&gen->rng) & 0x3fff));
}

static void set_tunnel(const struct gen_connection *connection, unsigned from, struct pkt *pkt, struct pkt_cold *cold)
{
    const struct gen_end *src = &connection->end[from], *dst = &connection->end[!from];
    pkt->flags |= PKT_TUNNEL;
    cold->outer = (struct pkt_outer){
        .src = pkt_addr_ipv4(172u << 24 | 16u << 16 | src->mac[5]),
        .dst = pkt_addr_ipv4(172u << 24 | 17u << 16 | dst->mac[5]),
        .vni = connection->vni,
        .ip_frag = 0x4000,
        .sport = connection->sport,
        .net = PKT_NET_IPV4,
        .tos = DATA_TOS,
        .ttl = 64,
    };
    memcpy(cold->outer.dmac, (const uint8_t[]){2, 1, 0, 0, 0, dst->mac[5]}, 6);
    memcpy(cold->outer.smac, (const uint8_t[]){2, 1, 0, 0, 0, src->mac[5]}, 6);
}

void gen_packet(const struct gen_connection *connection, unsigned from, uint8_t opcode, uint32_t psn, struct pkt *ret,
                struct pkt_cold *ret_cold)
{
    const struct gen_end *src = &connection->end[from], *dst = &connection->end[!from];
    *ret = (struct pkt){
        .kind = PKT_ROCE,
        .opcode = opcode,
        .flags = PKT_MIGRATED,
        .tos = DATA_TOS,
        .ttl = 64,
        .net = connection->net,
        .dest_qp = dst->qpn,
        .psn = psn & 0xffffff,
        .sport = connection->net == PKT_NET_V1 ? 0 : connection->sport,
    };
    *ret_cold = (struct pkt_cold){.src = src->addr, .dst = dst->addr, .pkey = 0xffff};
    if (connection->net != PKT_NET_V1) ret_cold->dport = 4791;
    if (connection->net == PKT_NET_IPV4) ret_cold->ip_frag = 0x4000;
    memcpy(ret_cold->smac, src->mac, 6);
    memcpy(ret_cold->dmac, dst->mac, 6);
    if (connection->tci) {
        ret->flags |= PKT_TAGGED;
        ret->pcp = (uint8_t)(connection->tci >> 13);
        ret_cold->vlan[0] = (struct pkt_vlan){.tpid = 0x8100, .tci = connection->tci};
    }
    if (connection->vni) set_tunnel(connection, from, ret, ret_cold);
}

void gen_set_payload(struct pkt *pkt, uint32_t bytes)
{
    CHECK(bytes <= GEN_PAYLOAD_MAX);
    pkt->payload_bytes = (uint16_t)bytes;
    pkt->pad = (uint8_t)(-bytes & 3);
}

static void count(struct gen_expect *expect, const struct pkt *pkt, unsigned how)
{
    expect->packets++;
    if (how & GEN_MALFORMED) {
        expect->malformed++;
        return;
    }
    if (pkt->kind == PKT_PFC) expect->pfc_frames++;
    if (pkt->kind != PKT_ROCE) return;
    expect->roce_packets++;
    if (how & GEN_AGAIN) expect->retransmitted++;
    if (how & GEN_BAD_ICRC) expect->icrc_errors++;
    if ((pkt->tos & PKT_ECN_MASK) == PKT_ECN_CE) expect->ecn_marked++;
    if (pkt->opcode == OPCODE_CNP) expect->cnps++;
    if (pkt->opcode == OPCODE_RC_ACK) {
        expect->naks += aeth_kind(pkt->ack.syndrome) == AETH_NAK;
        expect->rnr_naks += aeth_kind(pkt->ack.syndrome) == AETH_RNR_NAK;
    }
}

static void write_frame(struct gen *gen, uint32_t captured, uint32_t length)
{
    int rc = capwriter_write(gen->writer, gen->time_ns, gen->frame, captured, length);
    if (rc < 0) {
        fprintf(stderr, "gen_capture: %s\n", strerror(-rc));
        exit(1);
    }
    gen->time_ns += (length + 24) * 8 / 100; /* 4 bytes FCS, 8 preamble, 12 gap */
}

void gen_put(struct gen *gen, const struct pkt *pkt, const struct pkt_cold *cold, const uint8_t *payload, unsigned how)
{
    if (!payload) payload = gen->payload + (gen->expect.packets * 64 & (GEN_PAYLOAD_MAX - 1));
    int bytes = codec_emit(pkt, cold, payload, gen->frame, sizeof(gen->frame));
    CHECK(bytes > 0);
    if (how & GEN_BAD_ICRC) gen->frame[bytes - 5] ^= 0x40;
    if (how & GEN_MALFORMED) gen->frame[BTH_VERSION_AT] |= 1;
    for (; bytes < ETHERNET_MIN; bytes++)
        gen->frame[bytes] = 0;
    count(&gen->expect, pkt, how);
    uint32_t length = (uint32_t)bytes;
    write_frame(gen, how & GEN_CUT && length > CUT_BYTES ? CUT_BYTES : length, length);
}

void gen_put_raw(struct gen *gen, const uint8_t *frame, uint32_t bytes)
{
    CHECK(bytes <= GEN_FRAME_MAX);
    memcpy(gen->frame, frame, bytes);
    gen->expect.packets++;
    write_frame(gen, bytes, bytes);
}
