/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual lanes and credits of a fabric, and its subnet manager: `vls`, `sl-to-vl`, `vl-arbitration`, `credits`, `sm`;
 * and the virtual channels of Ethernet links with credits: `cbfc`.
 * Part of fabric.h.
 */
#ifndef ROCELAB_FABRIC_LANES_H
#define ROCELAB_FABRIC_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "fabric/words.h"
#include "switch/lanes.h"

struct fabric_lanes {
    uint64_t vls;            /* 0: the system has no credits */
    bool cbfc;               /* of Ethernet: a lane is a priority, and its queue's scheduler serves it */
    uint8_t used;            /* bit v: lane v has credits */
    uint8_t block_extra;     /* a credit has 64 << this bytes */
    uint8_t vl_of[SW_PRIOS]; /* by service level, which is a class's priority */
    struct sw_arbitration arbitration;
    uint64_t switch_bytes, nic_bytes; /* the receive buffer of a port and lane */
    ps_t reaction_ps;                 /* of either end to a flow-control packet: PHY and FEC */
    ps_t lifetime_ps;                 /* at the head of a queue to a switch; 0: for ever */
    ps_t host_lifetime_ps;            /* to a host */
    uint8_t fecn_threshold;           /* 0 (nothing is marked) to 15 (most is) */
    uint16_t fecn_rate;               /* one in so many more packets; 0: all */
    uint16_t fecn_blocks;             /* of packets at least so long */
    struct fabric_at credits_at, vls_at, map_at, arbitration_at;
    bool mapped, arbitrated; /* the file says it */
};

struct fabric_sm {   /* what happens when links fail */
    ps_t reroute_ps; /* from the failure to new tables everywhere; UINT64_MAX: by the number of ports */
    bool shield;     /* switches choose among their own ports at once */
    ps_t shield_ps;  /* after so long */
};

#endif
