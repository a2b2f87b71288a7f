/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KIND `mixed`: a little of everything that a RoCE capture can hold, each thing in a function of its
 * own.  A round plays all of them on one connection; connections take turns and differ in how their
 * packets are wrapped (IPv4, IPv6, RoCEv1, VLAN, VXLAN).  The path MTU is 1024.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "gen.h"
#include "packet/mad.h"
#include "packet/opcode.h"

#define MTU 1024
#define CNP_TOS (48 << 2)
#define ACK_SYNDROME 0x1f /* credits not limited */
#define RNR_SYNDROME 0x2e /* RNR NAK, timer 14: 1.28 ms */
#define NAK_SEQUENCE 0x60
#define NAK_ACCESS 0x62
#define GSI_QKEY 0x80010000u

static void request(struct gen *gen, const struct gen_connection *c, uint8_t opcode, uint32_t psn, uint32_t bytes,
                    uint32_t message_bytes, unsigned flags, unsigned how)
{
    struct pkt pkt;
    struct pkt_cold cold;
    gen_packet(c, 0, opcode, psn, &pkt, &cold);
    gen_set_payload(&pkt, bytes);
    pkt.flags |= (uint8_t)flags;
    if (opcode_info(opcode)->flags & (OP_RETH | OP_ATOMICETH)) {
        pkt.rdma.va = 0x7f0000000000;
        pkt.rdma.rkey = c->end[1].qpn ^ 0x55aa00;
        pkt.rdma.dma_bytes = opcode_info(opcode)->flags & OP_RETH ? message_bytes : 0;
    }
    if (opcode_info(opcode)->flags & OP_ATOMICETH) {
        cold.swap = 1;
        cold.compare = opcode == OPCODE_RC_COMPARE_SWAP ? 2 : 0;
    }
    if (opcode_info(opcode)->flags & OP_IMMDT) pkt.imm = 0xcafe;
    gen_put(gen, &pkt, &cold, NULL, how);
}

static void response(struct gen *gen, const struct gen_connection *c, uint8_t opcode, uint32_t psn, uint8_t syndrome,
                     uint32_t bytes)
{
    struct pkt pkt;
    struct pkt_cold cold;
    gen_packet(c, 1, opcode, psn, &pkt, &cold);
    gen_set_payload(&pkt, bytes);
    if (opcode_info(opcode)->flags & OP_AETH) {
        pkt.ack.syndrome = syndrome;
        pkt.ack.msn = c->msn & 0xffffff;
    }
    if (opcode_info(opcode)->flags & OP_ATOMICACKETH) pkt.ack.original = 41;
    gen_put(gen, &pkt, &cold, NULL, 0);
}

/* Packets [from, to) of a WRITE of `packets` whose first PSN is psn. */
static void write_part(struct gen *gen, const struct gen_connection *c, uint32_t psn, uint32_t packets, uint32_t from,
                       uint32_t to, unsigned how)
{
    for (uint32_t i = from; i < to; i++) {
        bool first = i == 0, last = i == packets - 1;
        uint8_t opcode = first && last ? OPCODE_RC_WRITE_ONLY
                         : first       ? OPCODE_RC_WRITE_FIRST
                         : last        ? OPCODE_RC_WRITE_LAST
                                       : OPCODE_RC_WRITE_MIDDLE;
        request(gen, c, opcode, psn + i, last ? 333 : MTU, (packets - 1) * MTU + 333, last ? PKT_ACK_REQUEST : 0, how);
    }
}

static void done(struct gen *gen, struct gen_connection *c, uint32_t psns)
{
    c->psn += psns;
    c->msn++;
    response(gen, c, OPCODE_RC_ACK, c->psn - 1, ACK_SYNDROME, 0);
}

static void writes_and_sends(struct gen *gen, struct gen_connection *c)
{
    write_part(gen, c, c->psn, 5, 0, 5, 0);
    done(gen, c, 5);
    write_part(gen, c, c->psn, 1, 0, 1, 0);
    done(gen, c, 1);
    request(gen, c, OPCODE_RC_SEND_ONLY_IMM, c->psn, 64, 0, PKT_ACK_REQUEST | PKT_SOLICITED, 0);
    done(gen, c, 1);
    request(gen, c, OPCODE_RC_SEND_FIRST, c->psn, MTU, 0, 0, 0);
    request(gen, c, OPCODE_RC_SEND_LAST, c->psn + 1, 517, 0, PKT_ACK_REQUEST, GEN_CUT);
    done(gen, c, 2);
}

static void read_and_atomic(struct gen *gen, struct gen_connection *c)
{
    request(gen, c, OPCODE_RC_READ_REQUEST, c->psn, 0, 3 * MTU, 0, 0);
    c->msn++;
    response(gen, c, OPCODE_RC_READ_RESPONSE_FIRST, c->psn, ACK_SYNDROME, MTU);
    response(gen, c, OPCODE_RC_READ_RESPONSE_MIDDLE, c->psn + 1, 0, MTU);
    response(gen, c, OPCODE_RC_READ_RESPONSE_LAST, c->psn + 2, ACK_SYNDROME, MTU);
    c->psn += 3; /* a READ takes as many PSNs as it has responses */
    for (unsigned i = 0; i < 2; i++) {
        request(gen, c, i ? OPCODE_RC_COMPARE_SWAP : OPCODE_RC_FETCH_ADD, c->psn, 0, 0, 0, 0);
        c->msn++;
        response(gen, c, OPCODE_RC_ATOMIC_ACK, c->psn, ACK_SYNDROME, 0);
        c->psn++;
    }
}

/* The third of six packets is lost: behind the place of capture (so it is in the file), or before it. */
static void loss(struct gen *gen, struct gen_connection *c, bool behind)
{
    write_part(gen, c, c->psn, 6, 0, 2, 0);
    if (behind) write_part(gen, c, c->psn, 6, 2, 3, 0);
    write_part(gen, c, c->psn, 6, 3, 6, 0);
    response(gen, c, OPCODE_RC_ACK, c->psn + 2, NAK_SEQUENCE, 0);
    write_part(gen, c, c->psn, 6, 2, 3, behind ? GEN_AGAIN : 0);
    write_part(gen, c, c->psn, 6, 3, 6, GEN_AGAIN);
    done(gen, c, 6);
}

static void receiver_not_ready(struct gen *gen, struct gen_connection *c)
{
    request(gen, c, OPCODE_RC_SEND_ONLY, c->psn, 100, 0, PKT_ACK_REQUEST, 0);
    response(gen, c, OPCODE_RC_ACK, c->psn, RNR_SYNDROME, 0);
    gen->time_ns += 1280000;
    request(gen, c, OPCODE_RC_SEND_ONLY, c->psn, 100, 0, PKT_ACK_REQUEST, GEN_AGAIN);
    done(gen, c, 1);
}

/* Marked on the way, and answered by a CNP. */
static void congestion(struct gen *gen, struct gen_connection *c)
{
    struct pkt pkt;
    struct pkt_cold cold;
    for (unsigned i = 0; i < 4; i++) {
        gen_packet(c, 0, OPCODE_RC_WRITE_ONLY, c->psn++, &pkt, &cold);
        pkt.tos |= PKT_ECN_CE;
        pkt.rdma.dma_bytes = 512;
        gen_set_payload(&pkt, 512);
        gen_put(gen, &pkt, &cold, NULL, 0);
        c->msn++;
        if (i % 2 == 1) continue;
        gen_packet(c, 1, OPCODE_CNP, 0, &pkt, &cold);
        pkt.flags |= PKT_BECN;
        pkt.tos = CNP_TOS;
        gen_set_payload(&pkt, 16);
        static const uint8_t reserved[16];
        gen_put(gen, &pkt, &cold, reserved, 0);
    }
    response(gen, c, OPCODE_RC_ACK, c->psn - 1, ACK_SYNDROME, 0);
}

/* XOFF, 5 us later XON, for priority 3; an 802.3x PAUSE. */
static void pauses(struct gen *gen)
{
    struct pkt pkt = {.kind = PKT_PFC, .pfc_enable = 1 << 3};
    struct pkt_cold cold = {.dmac = {0x01, 0x80, 0xc2, 0, 0, 1}, .smac = {2, 2, 0, 0, 0, 1}};
    pkt.quanta[3] = 0xffff;
    gen_put(gen, &pkt, &cold, NULL, 0);
    gen->time_ns += 5000;
    pkt.quanta[3] = 0;
    gen_put(gen, &pkt, &cold, NULL, 0);
    pkt = (struct pkt){.kind = PKT_PAUSE};
    pkt.quanta[0] = 100;
    gen_put(gen, &pkt, &cold, NULL, 0);
}

/* A queue pair that writes where it may not. */
static void access_error(struct gen *gen, const struct gen_connection *c, uint32_t round)
{
    struct gen_connection own = *c;
    own.end[0].qpn = 0x400000 + round;
    own.end[1].qpn = 0xc00000 + round;
    request(gen, &own, OPCODE_RC_WRITE_ONLY, own.psn, 256, 256, PKT_ACK_REQUEST, 0);
    response(gen, &own, OPCODE_RC_ACK, own.psn, NAK_ACCESS, 0);
}

/* UD between QPs of its own: three good, one damaged on the way, one whose headers are. */
static void datagrams(struct gen *gen, const struct gen_connection *c, uint32_t round)
{
    struct gen_connection own = *c;
    own.end[0].qpn = 0x300000 + round;
    own.end[1].qpn = 0xb00000 + round;
    for (uint32_t i = 0; i < 5; i++) {
        struct pkt pkt;
        struct pkt_cold cold;
        gen_packet(&own, 0, OPCODE_UD_SEND_ONLY, i, &pkt, &cold);
        pkt.src_qp = own.end[0].qpn;
        pkt.ud.qkey = 0x11111111;
        gen_set_payload(&pkt, 200 + i);
        bool plain = own.net == PKT_NET_IPV4 && !own.vni && !own.tci;
        gen_put(gen, &pkt, &cold, NULL, i == 3 ? GEN_BAD_ICRC : i == 4 && plain ? GEN_MALFORMED : 0);
    }
}

static void others(struct gen *gen)
{
    static const uint8_t arp[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0,  1, 0x08, 0x06,
                                    0,    1,    8,    0,    6,    4,    0, 1, 2, 0, 0,  0, 0,    1,
                                    10,   0,    0,    1,    0,    0,    0, 0, 0, 0, 10, 1, 0,    1};
    gen_put_raw(gen, arp, sizeof(arp));
}

static struct cm_msg message(uint16_t attribute, uint32_t local_id, uint32_t remote_id)
{
    struct cm_msg msg = {.local_id = local_id, .remote_id = remote_id};
    msg.mad = (struct mad){.base_version = 1, .mgmt_class = MAD_CLASS_CM, .class_version = 2, .method = 3};
    msg.mad.attribute = attribute;
    msg.mad.tid = (uint64_t)local_id << 32 | attribute;
    return msg;
}

static void put_cm(struct gen *gen, const struct gen_connection *c, unsigned from, const struct cm_msg *msg)
{
    struct gen_connection gsi = *c;
    gsi.end[0].qpn = gsi.end[1].qpn = 1;
    struct pkt pkt;
    struct pkt_cold cold;
    gen_packet(&gsi, from, OPCODE_UD_SEND_ONLY, gen->gsi_psn++, &pkt, &cold);
    pkt.src_qp = 1;
    pkt.ud.qkey = GSI_QKEY;
    gen_set_payload(&pkt, MAD_BYTES);
    uint8_t payload[MAD_BYTES];
    int rc = cm_emit(msg, payload);
    CHECK(rc == 0);
    gen_put(gen, &pkt, &cold, payload, 0);
}

static struct cm_msg connect_request(const struct gen_connection *c, uint32_t id)
{
    struct cm_msg msg = message(CM_REQ, id, 0);
    msg.service_id = 0x0000000001060000 | 18515; /* RDMA_PS_TCP and the port of perftest */
    msg.ca_guid = 0x0200000000000001;
    msg.qpn = c->end[0].qpn;
    msg.starting_psn = c->psn & 0xffffff;
    msg.pkey = 0xffff;
    msg.responder_resources = msg.initiator_depth = 16;
    msg.remote_cm_timeout = msg.local_cm_timeout = 20;
    msg.retry_count = msg.rnr_retry_count = 7;
    msg.mtu = 3; /* 1024 */
    msg.max_cm_retries = 15;
    msg.primary = (struct cm_path){
        .local_lid = 0xffff,
        .remote_lid = 0xffff,
        .local_gid = c->end[0].addr,
        .remote_gid = c->end[1].addr,
        .hop_limit = 64,
        .local_ack_timeout = 14,
    };
    return msg;
}

static void set_up(struct gen *gen, struct gen_connection *c, uint32_t i)
{
    struct cm_msg msg = connect_request(c, 0x1000 + i);
    put_cm(gen, c, 0, &msg);
    msg = message(CM_REP, 0x2000 + i, 0x1000 + i);
    msg.qpn = c->end[1].qpn;
    msg.starting_psn = rng_u32(&gen->rng) & 0xffffff;
    msg.responder_resources = msg.initiator_depth = 16;
    msg.rnr_retry_count = 7;
    put_cm(gen, c, 1, &msg);
    msg = message(CM_RTU, 0x1000 + i, 0x2000 + i);
    put_cm(gen, c, 0, &msg);
}

static void tear_down(struct gen *gen, struct gen_connection *c, uint32_t i)
{
    struct cm_msg msg = message(CM_DREQ, 0x1000 + i, 0x2000 + i);
    msg.qpn = c->end[1].qpn;
    put_cm(gen, c, 0, &msg);
    msg = message(CM_DREP, 0x2000 + i, 0x1000 + i);
    put_cm(gen, c, 1, &msg);
}

/* Nobody listens at that port. */
static void refused(struct gen *gen, const struct gen_connection *c, uint32_t i)
{
    struct gen_connection own = *c;
    own.end[0].qpn = 0x500000 + i;
    struct cm_msg msg = connect_request(&own, 0x3000 + i);
    put_cm(gen, &own, 0, &msg);
    msg = message(CM_REJ, 0, 0x3000 + i);
    msg.reason = 8; /* invalid service id */
    put_cm(gen, &own, 1, &msg);
}

static void wrap_differently(struct gen_connection *c, uint32_t i)
{
    static const uint8_t nets[] = {PKT_NET_IPV4, PKT_NET_IPV6, PKT_NET_V1};
    c->net = nets[i % 3];
    c->tci = i / 3 % 2 ? 3 << 13 | 100 : 0;
    c->vni = i / 6 % 2 ? 5000 : 0;
}

void gen_mixed(struct gen *gen)
{
    struct gen_connection *all = calloc(gen->connections, sizeof(*all));
    CHECK(all);
    for (uint32_t i = 0; i < gen->connections; i++) {
        wrap_differently(&all[i], i);
        gen_connect(gen, &all[i], i);
        if (i == 0) all[i].psn = 0xfffffd; /* wraps soon */
        set_up(gen, &all[i], i);
    }
    refused(gen, &all[0], 0);
    for (uint32_t round = 0; gen->expect.packets < gen->packets; round++) {
        struct gen_connection *c = &all[round % gen->connections];
        writes_and_sends(gen, c);
        read_and_atomic(gen, c);
        loss(gen, c, true);
        loss(gen, c, false);
        receiver_not_ready(gen, c);
        congestion(gen, c);
        pauses(gen);
        access_error(gen, c, round);
        datagrams(gen, c, round);
        others(gen);
    }
    for (uint32_t i = 0; i < gen->connections; i++)
        tear_down(gen, &all[i], i);
    free(all);
}
