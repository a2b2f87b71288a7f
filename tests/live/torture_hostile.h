/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets made by hand, right or wrong in any field, for tests that play a hostile peer.
 */
#ifndef ROCELAB_TESTS_LIVE_TORTURE_HOSTILE_H
#define ROCELAB_TESTS_LIVE_TORTURE_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/pkt.h"

struct hostile {
    uint8_t opcode, flags;
    uint32_t dest_qp, psn;
    uint32_t payload_bytes;
    uint8_t payload; /* what it is filled with */
    uint64_t va;
    uint32_t rkey, dma_bytes;
    uint64_t swap, compare;
    uint32_t imm, qkey, src_qp;
    uint8_t syndrome;
    uint32_t msn;
    uint16_t pkey; /* 0: the right one */
    struct pkt_addr src, dst;
    uint16_t sport;
    bool wrong_icrc;
};

/* BTH .. ICRC as a sender of ours would (IP identification 0); answers the length. */
uint32_t hostile_build(const struct hostile *h, uint8_t *out, uint32_t cap);

#endif
