/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch with credits on the bench of lab.h: four ports, two lanes of four packets each.  Include after lab.h.
 */
#ifndef ROCELAB_TESTS_SWITCH_LANES_H
#define ROCELAB_TESTS_SWITCH_LANES_H

#include "base/credit.h"
#include "switch/crossing.h"

#define VLS 2u
#define BLOCKS 260u /* four packets */
#define PACKET 65u
#define FULL 4122u /* bytes with VCRC: 65 blocks */
#define VCRC 2u
#define PORTS 4u
#define LATENCY (300 * PS_NS)
#define WORD_LATENCY (100 * PS_NS)

static struct lab lab;
static struct sw_credit_port ports[LAB_PORTS];
static struct sw_arbitration tables;

static inline void lanes_defaults(void)
{
    lab_defaults(&lab, PORTS);
    for (uint32_t i = 0; i < SW_PRIOS; i++) {
        lab.plain.tc_to_queue[i] = lab.plain.tc_to_pg[i] = (uint8_t)(i % VLS);
        lab.plain.pg[i] = (struct sw_pg_config){.reserved_bytes = i < VLS ? BLOCKS * 64 : 0};
    }
    lab.plain.pfc_rx = lab.plain.pfc_tx = 0;
    for (uint32_t i = 0; i < PORTS; i++)
        ports[i] =
            (struct sw_credit_port){.own_blocks = BLOCKS, .peer_blocks = BLOCKS, .skew_ps = LATENCY - WORD_LATENCY};
    tables = (struct sw_arbitration){.lows = 2, .low = {{0, 64}, {1, 64}}};
    lab.config.cell_bytes = 64;
    lab.config.buffer_bytes = PORTS * VLS * BLOCKS * 64 + 4096;
    lab.config.credit = (struct sw_credit_config){.vls = VLS,
                                                  .packet_blocks = PACKET,
                                                  .added_bytes = VCRC,
                                                  .mark_bytes = UINT64_MAX,
                                                  .port = ports,
                                                  .arbitration = &tables};
}

#endif
