/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of TCP share: one line, and configurations.  Include after <cmocka.h>.
 */
#ifndef ROCELAB_TESTS_TCP_RIG_H
#define ROCELAB_TESTS_TCP_RIG_H

#include "line.h"

static struct line line;

/* Both sides alike, one connection. */
static inline void rig_start(struct tcp_config config)
{
    line_init(&line, (struct tcp_config[2]){config, config}, 1);
    line_connect(&line, false, true);
}

static inline int rig_tear_down(void **state)
{
    (void)state;
    line_release(&line);
    return 0;
}

/* An ACK a segment, no bursts: what is easiest to count. */
static inline struct tcp_config rig_plain(enum tcp_cc cc)
{
    struct tcp_config config = tcp_config_default(0, 1500);

    config.cc = (uint8_t)cc;
    config.ack_every = 1;
    config.burst_bytes = 0;
    return config;
}

static inline struct tcp_counters *rig_counters(int side)
{
    return tcp_counters(line.tcp[side]);
}

/* Data segments are numbered in the order they are sent. */
static uint64_t rig_lost_from, rig_lost_to, rig_lost_again;
static inline bool rig_lose_numbers(struct line *l, int from, struct pkt *p, ps_t now)
{
    (void)now;
    if (from != 0 || p->opcode != PKT_TCP_DATA) return true;
    uint32_t number = l->count++;
    if (rig_lost_again && number == rig_lost_again) return false;
    return number < rig_lost_from || number >= rig_lost_to;
}
static inline void rig_lose(uint64_t from, uint64_t to, uint64_t again)
{
    rig_lost_from = from;
    rig_lost_to = to;
    rig_lost_again = again;
    line.filter = rig_lose_numbers;
}

#endif
