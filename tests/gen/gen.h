/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the synthetic captures are made with: a clock, a file, a random stream, and connections whose
 * two ends know their addresses and PSNs.  Every frame goes through codec_emit() and gen_put(),
 * which also keeps count of what was put in.
 */
#ifndef ROCELAB_TESTS_GEN_H
#define ROCELAB_TESTS_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "packet/capfile/capfile.h"
#include "packet/pkt.h"

/* What `rocelab capture` must find: the names of its JSON. */
#define GEN_EXPECT_LIST(X)                                                                                             \
    X(packets)                                                                                                         \
    X(roce_packets)                                                                                                    \
    X(icrc_errors)                                                                                                     \
    X(malformed)                                                                                                       \
    X(retransmitted)                                                                                                   \
    X(naks)                                                                                                            \
    X(rnr_naks)                                                                                                        \
    X(cnps)                                                                                                            \
    X(ecn_marked)                                                                                                      \
    X(pfc_frames)

struct gen_expect {
#define X(name) uint64_t name;
    GEN_EXPECT_LIST(X)
#undef X
};

#define GEN_FRAME_MAX 4608
#define GEN_PAYLOAD_MAX 4096
#define GEN_CONNECTIONS_MAX (1u << 22)

struct gen {
    struct capwriter *writer;
    struct rng rng;
    uint64_t time_ns;
    uint64_t packets;     /* how many were asked for; mixed ends its round */
    uint32_t connections; /* how many were asked for */
    uint32_t gsi_psn;     /* of all that is sent to QP 1 */
    struct gen_expect expect;
    uint8_t payload[2 * GEN_PAYLOAD_MAX]; /* random; packets take theirs at different places */
    uint8_t frame[GEN_FRAME_MAX];
};

struct gen_end {
    struct pkt_addr addr;
    uint8_t mac[6];
    uint32_t qpn;
};

struct gen_connection {
    struct gen_end end[2]; /* [0] asks, [1] answers */
    uint32_t psn, msn;     /* next request; messages completed */
    uint32_t vni;          /* 0: not tunnelled */
    uint16_t tci;          /* 0: not tagged */
    uint16_t sport;
    uint8_t net;
};

/* How a packet is put into the file. */
#define GEN_AGAIN 0x01u     /* counts as retransmitted: its PSN is in the file already */
#define GEN_BAD_ICRC 0x02u  /* a payload bit is flipped after the ICRC was computed */
#define GEN_MALFORMED 0x04u /* its BTH claims transport version 1; untagged IPv4 only */
#define GEN_CUT 0x08u       /* as with a snap length of 160 bytes */

/* The i-th connection between 64 clients and 64 servers; QP numbers follow from i, PSNs are random. */
void gen_connect(struct gen *gen, struct gen_connection *connection, uint32_t i);
/* A packet that end `from` sends to the other, all but opcode-specific fields set. */
void gen_packet(const struct gen_connection *connection, unsigned from, uint8_t opcode, uint32_t psn, struct pkt *ret,
                struct pkt_cold *ret_cold);
void gen_set_payload(struct pkt *pkt, uint32_t bytes);
void gen_put(struct gen *gen, const struct pkt *pkt, const struct pkt_cold *cold, const uint8_t *payload, unsigned how);
/* A frame that is none of ours. */
void gen_put_raw(struct gen *gen, const uint8_t *frame, uint32_t bytes);

void gen_mixed(struct gen *gen);

#endif
