/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a line is divided into: priorities, and virtual lanes with their arbitration.
 */
#ifndef ROCELAB_SWITCH_LANES_H
#define ROCELAB_SWITCH_LANES_H

#include <stdint.h>

#define SW_PRIOS 8 /* 802.1 priorities = traffic classes */

#define SW_ARB_MAX 64 /* entries of a table */
struct sw_arb_entry {
    uint8_t vl, weight; /* in blocks; 0: the entry is skipped */
};
struct sw_arbitration { /* of virtual lanes; arbitrate.c */
    uint8_t highs, lows;
    uint8_t high_limit; /* x 4 KiB of the high table while the low one waits; 0: one packet; 255: no limit */
    struct sw_arb_entry high[SW_ARB_MAX], low[SW_ARB_MAX];
};

#endif
