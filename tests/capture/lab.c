/* SPDX-License-Identifier: Apache-2.0 */
/* The bench of lab.h. */
#include "lab.h"

#include <string.h>

#include "base/check.h"
#include "packet/codec.h"
#include "packet/opcode.h"

void lab_open(struct lab *lab, const struct capture_options *options)
{
    static const struct capture_options plain = {.max_connections = 64};
    *lab = (struct lab){.now_ns = LAB_START_NS, .step_ns = 100};
    lab->capture = capture_new(options ? options : &plain);
    CHECK(lab->capture != NULL);
}

void lab_close(struct lab *lab)
{
    capture_free(lab->capture);
}

void lab_finish(struct lab *lab)
{
    capture_finish(lab->capture);
}

void lab_raw(struct lab *lab, uint32_t link_type, uint32_t captured, uint32_t length)
{
    struct capfile_record record = {
        .data = lab->frame,
        .captured = captured,
        .length = length,
        .number = ++lab->number,
        .time_ns = lab->now_ns,
        .link_type = link_type,
    };
    capture_record(lab->capture, &record);
    lab->now_ns += lab->step_ns;
}

void lab_put(struct lab *lab, struct pkt *pkt, struct pkt_cold *cold, const uint8_t *payload)
{
    if (!cold->ip_id && !lab->one_ip_id)
        cold->ip_id = (uint16_t)++lab->ip_id; /* two packets with the same bytes are a copy */
    int bytes = codec_emit(pkt, cold, payload, lab->frame, sizeof lab->frame);
    CHECK(bytes > 0);
    if (lab->damage) lab->frame[bytes - 5] ^= 0x10;
    lab->damage = false;
    lab->frame_bytes = (uint32_t)bytes;
    lab_raw(lab, 1, lab->frame_bytes, lab->frame_bytes);
}

static void make(const struct way *way, uint8_t opcode, uint32_t psn, struct pkt *pkt, struct pkt_cold *cold)
{
    *pkt = (struct pkt){
        .kind = PKT_ROCE,
        .opcode = opcode,
        .tos = way->ecn,
        .ttl = 64,
        .net = PKT_NET_IPV4,
        .dest_qp = way->dst_qp,
        .src_qp = way->src_qp,
        .psn = psn & 0xffffff,
        .sport = way->sport ? way->sport : 49152,
    };
    *cold = (struct pkt_cold){
        .src = pkt_addr_ipv4(10u << 24 | way->src),
        .dst = pkt_addr_ipv4(10u << 24 | way->dst),
        .pkey = 0xffff,
        .dport = 4791,
        .smac = {2, 0, 0, 0, 0, way->src},
        .dmac = {2, 0, 0, 0, 0, way->dst},
    };
    if (!way->tunnel) return;
    pkt->flags |= PKT_TUNNEL;
    cold->outer = (struct pkt_outer){
        .src = pkt_addr_ipv4(192u << 24 | way->src),
        .dst = pkt_addr_ipv4(192u << 24 | way->dst),
        .vni = way->vni,
        .sport = 50000,
        .net = PKT_NET_IPV4,
        .tos = way->outer_ecn,
        .ttl = 64,
    };
}

static void set_payload(struct pkt *pkt, uint32_t bytes)
{
    pkt->payload_bytes = (uint16_t)bytes;
    pkt->pad = (uint8_t)(-bytes & 3);
}

void lab_request(struct lab *lab, const struct way *way, uint8_t opcode, uint32_t psn, uint32_t bytes, bool ack)
{
    struct pkt pkt;
    struct pkt_cold cold;
    unsigned flags = opcode_info(opcode)->flags;
    make(way, opcode, psn, &pkt, &cold);
    if (ack) pkt.flags |= PKT_ACK_REQUEST;
    if (flags & OP_RETH) pkt.rdma.dma_bytes = bytes;
    if (flags & OP_PAYLOAD) set_payload(&pkt, bytes);
    lab_put(lab, &pkt, &cold, NULL);
}

void lab_write_first(struct lab *lab, const struct way *way, uint32_t psn, uint32_t payload, uint32_t dma_bytes)
{
    struct pkt pkt;
    struct pkt_cold cold;
    make(way, OPCODE_RC_WRITE_FIRST, psn, &pkt, &cold);
    set_payload(&pkt, payload);
    pkt.rdma.dma_bytes = dma_bytes;
    lab_put(lab, &pkt, &cold, NULL);
}

static void answer(struct lab *lab, const struct way *way, uint8_t opcode, uint32_t psn, uint8_t syndrome, uint32_t msn,
                   uint32_t payload)
{
    struct pkt pkt;
    struct pkt_cold cold;
    make(way, opcode, psn, &pkt, &cold);
    if (opcode_info(opcode)->flags & OP_AETH) {
        pkt.ack.syndrome = syndrome;
        pkt.ack.msn = msn;
    }
    set_payload(&pkt, payload);
    lab_put(lab, &pkt, &cold, NULL);
}

void lab_ack(struct lab *lab, const struct way *way, uint32_t psn, uint32_t msn)
{
    answer(lab, way, OPCODE_RC_ACK, psn, 0x1f, msn, 0);
}

void lab_nak(struct lab *lab, const struct way *way, uint32_t psn, uint8_t syndrome)
{
    answer(lab, way, OPCODE_RC_ACK, psn, syndrome, 0, 0);
}

void lab_response(struct lab *lab, const struct way *way, uint8_t opcode, uint32_t psn, uint32_t payload)
{
    answer(lab, way, opcode, psn, 0x1f, 0, payload);
}

void lab_cnp(struct lab *lab, const struct way *way)
{
    struct pkt pkt;
    struct pkt_cold cold;
    make(way, OPCODE_CNP, 0, &pkt, &cold);
    pkt.flags |= PKT_BECN;
    set_payload(&pkt, 16);
    lab_put(lab, &pkt, &cold, NULL);
}

void lab_pfc(struct lab *lab, uint8_t port, uint8_t enable, uint16_t quanta)
{
    struct pkt pkt = {.kind = PKT_PFC, .pfc_enable = enable};
    struct pkt_cold cold = {.smac = {2, 0, 0, 0, 9, port}, .dmac = {1, 0x80, 0xc2, 0, 0, 1}};
    for (unsigned i = 0; i < 8; i++)
        if (enable & 1u << i) pkt.quanta[i] = quanta;
    lab_put(lab, &pkt, &cold, NULL);
}

void lab_pause(struct lab *lab, uint8_t port, uint16_t quanta)
{
    struct pkt pkt = {.kind = PKT_PAUSE};
    struct pkt_cold cold = {.smac = {2, 0, 0, 0, 9, port}, .dmac = {1, 0x80, 0xc2, 0, 0, 1}};
    pkt.quanta[0] = quanta;
    lab_put(lab, &pkt, &cold, NULL);
}

void lab_cm(struct lab *lab, const struct way *way, const struct cm_msg *msg)
{
    struct pkt pkt;
    struct pkt_cold cold;
    uint8_t payload[MAD_BYTES];
    struct way gsi = *way;
    gsi.dst_qp = gsi.src_qp = 1;
    make(&gsi, OPCODE_UD_SEND_ONLY, 0, &pkt, &cold);
    pkt.ud.qkey = 0x80010000;
    set_payload(&pkt, MAD_BYTES);
    CHECK(cm_emit(msg, payload) == 0);
    lab_put(lab, &pkt, &cold, payload);
}

const struct capture_direction *lab_forward(const struct lab *lab, size_t connection)
{
    return capture_connection(lab->capture, connection).forward;
}

const struct capture_direction *lab_reverse(const struct lab *lab, size_t connection)
{
    return capture_connection(lab->capture, connection).reverse;
}

const struct capture_finding *lab_finding(const struct lab *lab, const char *id)
{
    for (size_t i = 0; i < capture_findings(lab->capture); i++)
        if (strcmp(capture_finding(lab->capture, i)->id, id) == 0) return capture_finding(lab->capture, i);
    return NULL;
}
