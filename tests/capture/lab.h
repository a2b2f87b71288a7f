/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bench for the capture analysis: packets are made with codec_emit() and given to it one by one, with a
 * clock the test moves.  Include after <cmocka.h>.
 */
#ifndef ROCELAB_TESTS_TELEMETRY_LAB_H
#define ROCELAB_TESTS_TELEMETRY_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "packet/mad.h"

#define LAB_FRAME 4608
#define LAB_START_NS 1700000000000000000ULL

struct lab {
    struct capture *capture;
    uint64_t now_ns; /* of the next packet; each packet moves it by step_ns */
    uint64_t step_ns;
    uint64_t number; /* of the last packet */
    uint32_t ip_id;  /* of the last packet made */
    uint8_t frame[LAB_FRAME];
    uint32_t frame_bytes;
    bool one_ip_id; /* every packet with the same IP identification, as many adapters do */
    bool damage;    /* flips a payload or header bit of the next packet after its ICRC was computed */
};

/* One end's way to the other. */
struct way {
    uint8_t src, dst; /* hosts: 10.0.0.src */
    uint32_t dst_qp;
    uint16_t sport; /* 0: 49152 */
    uint8_t ecn;
    uint32_t src_qp; /* UD */
    bool tunnel;     /* in VXLAN */
    uint32_t vni;
    uint8_t outer_ecn;
};

void lab_open(struct lab *lab, const struct capture_options *options);
void lab_close(struct lab *lab);
void lab_finish(struct lab *lab);

void lab_put(struct lab *lab, struct pkt *pkt, struct pkt_cold *cold, const uint8_t *payload);
/* What is in lab->frame: the packet made last, once more. */
void lab_raw(struct lab *lab, uint32_t link_type, uint32_t captured, uint32_t length);
/* A request: its payload, or for READ the length asked for; `ack` asks for an ACK. */
void lab_request(struct lab *lab, const struct way *way, uint8_t opcode, uint32_t psn, uint32_t bytes, bool ack);
/* The First of a WRITE: payload and the length of all. */
void lab_write_first(struct lab *lab, const struct way *way, uint32_t psn, uint32_t payload, uint32_t dma_bytes);
void lab_ack(struct lab *lab, const struct way *way, uint32_t psn, uint32_t msn);
void lab_nak(struct lab *lab, const struct way *way, uint32_t psn, uint8_t syndrome);
void lab_response(struct lab *lab, const struct way *way, uint8_t opcode, uint32_t psn, uint32_t payload);
void lab_cnp(struct lab *lab, const struct way *way);
void lab_pfc(struct lab *lab, uint8_t port, uint8_t enable, uint16_t quanta);
void lab_pause(struct lab *lab, uint8_t port, uint16_t quanta);
void lab_cm(struct lab *lab, const struct way *way, const struct cm_msg *msg);

const struct capture_direction *lab_forward(const struct lab *lab, size_t connection);
const struct capture_direction *lab_reverse(const struct lab *lab, size_t connection);
/* The finding with this id, or NULL. */
const struct capture_finding *lab_finding(const struct lab *lab, const char *id);

#endif
