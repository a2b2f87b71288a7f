/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One endpoint with a source and a sink, for tests that play the other side by hand: what it sends is looked at, what
 * it receives is made here.
 */
#ifndef ROCELAB_TESTS_UET_LONE_H
#define ROCELAB_TESTS_UET_LONE_H

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "uet/uet.h"

#define LONE_SOURCE 17u
#define LONE_SINK 18u
#define LONE_DEPTH 8u
#define LONE_PACKETS 2048u

struct lone {
    struct uet *uet;
    struct uet_config config;
    struct uet_source *source;
    struct uet_sink *sink;
    struct pktpool pool;
    void *memory[3];
};

/* 100 Gb/s and 12 us: 150,000 B under way, the reference, so `a` is 1; packets of 4,096 B with 64 of header. */
static inline struct uet_config lone_config(enum uet_control control)
{
    struct uet_config c = uet_config_default(UET_HTSIM, control, true, 4032, 100000000000, 12 * PS_US);

    c.ends = 4;
    c.first_number = LONE_SOURCE;
    c.endpoint = 1;
    c.trimmed_last_dscp = 12;
    return c;
}

static inline void *lone_memory(size_t bytes)
{
    return memset(aligned_alloc(64, lines_up(bytes)), 0, lines_up(bytes));
}

static inline void lone_open(struct lone *lone, const struct uet_config *config)
{
    struct uet_peer there = {.node = 2, .number = 40, .owner = 3, .depth = LONE_DEPTH, .prio = 3};

    *lone = (struct lone){.config = *config};
    lone->pool = (struct pktpool){.hot = lone_memory(LONE_PACKETS * sizeof(struct pkt)),
                                  .free = malloc(LONE_PACKETS * sizeof(uint32_t)),
                                  .free_count = LONE_PACKETS,
                                  .free_capacity = LONE_PACKETS};
    for (uint32_t i = 0; i < LONE_PACKETS; i++)
        lone->pool.free[i] = i;
    lone->memory[0] = lone_memory(uet_memory_bytes(config));
    lone->memory[1] = lone_memory(uet_source_bytes(config, LONE_DEPTH));
    lone->memory[2] = lone_memory(uet_sink_bytes(config, LONE_DEPTH));
    lone->uet = uet_init(lone->memory[0], config);
    lone->source = uet_open_source(lone->uet, LONE_SOURCE, &there, lone->memory[1]);
    lone->sink = uet_open_sink(lone->uet, LONE_SINK, &there, true, lone->memory[2]);
}

static inline void lone_close(struct lone *lone)
{
    for (int i = 0; i < 3; i++)
        free(lone->memory[i]);
    free(lone->pool.hot);
    free(lone->pool.free);
}

/* What leaves now; false: nothing. */
static inline bool lone_tx(struct lone *lone, ps_t now, struct pkt *ret)
{
    pkt_t id = uet_tx(lone->uet, now, &lone->pool);

    if (id == PKT_NONE) return false;
    *ret = lone->pool.hot[id];
    pktpool_put(&lone->pool, id);
    (void)uet_audit(lone->uet, &lone->pool);
    return true;
}

static inline uint32_t lone_tx_all(struct lone *lone, ps_t now)
{
    struct pkt pkt;
    uint32_t count = 0;

    while (lone_tx(lone, now, &pkt))
        count++;
    return count;
}

static inline void lone_rx(struct lone *lone, struct pkt pkt, ps_t now)
{
    pkt_t id = pktpool_get(&lone->pool);

    pkt.kind = PKT_UET;
    pkt.src_node = 2;
    pkt.dst_node = 1;
    lone->pool.hot[id] = pkt;
    uet_rx(lone->uet, id, now, &lone->pool);
    (void)uet_audit(lone->uet, &lone->pool);
}

/* An ACK of the packet `psn`: all before `next` are here, which makes so many bytes. */
static inline void lone_ack(struct lone *lone, uint32_t psn, uint32_t next, uint32_t bytes, uint16_t flags, ps_t now)
{
    lone_rx(lone,
            (struct pkt){.opcode = PKT_UET_ACK,
                         .dest_qp = LONE_SOURCE,
                         .psn = psn,
                         .imm = next,
                         .flags = flags,
                         .uet = {.bytes = bytes, .base = 1}},
            now);
}

static inline void lone_nack(struct lone *lone, uint32_t psn, uint16_t flags, ps_t now)
{
    lone_rx(lone, (struct pkt){.opcode = PKT_UET_NACK, .dest_qp = LONE_SOURCE, .psn = psn, .flags = flags}, now);
}

static inline void lone_data(struct lone *lone, uint32_t psn, uint16_t flags, bool ce, ps_t now)
{
    lone_rx(lone,
            (struct pkt){.opcode = PKT_UET_DATA,
                         .dest_qp = LONE_SINK,
                         .psn = psn,
                         .flags = flags,
                         .imm = psn + 100,
                         .sport = (uint16_t)(psn + 7),
                         .tos = ce ? PKT_ECN_CE : PKT_ECN_ECT0,
                         .payload_bytes = flags & PKT_TRIMMED ? 0 : lone->config.payload_bytes,
                         .frame_bytes = 64},
            now);
}

#endif
