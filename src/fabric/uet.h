/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `uet:` in the file says: Ultra Ethernet's settings, the same for all hosts.  Part of fabric.h.
 */
#ifndef ROCELAB_FABRIC_UET_H
#define ROCELAB_FABRIC_UET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

enum fabric_uet_control { FABRIC_UET_NSCC = 1, FABRIC_UET_RCCC = 2, FABRIC_UET_BOTH = 3 };
enum fabric_uet_policy { FABRIC_UET_OBLIVIOUS, FABRIC_UET_BITMAP, FABRIC_UET_REPS, FABRIC_UET_MIXED };

struct fabric_uet {
    uint8_t control; /* enum fabric_uet_control */
    uint8_t policy;  /* enum fabric_uet_policy */
    bool ordered;    /* ROD */
    bool trimming;   /* switches trim what they cannot hold */
    bool infer_loss, oversubscribed;
    bool retries_given;
    uint8_t retries;
    uint8_t data_less, control_less; /* bytes that the file's headers have less than the standard ones */
    uint8_t last_hop_dscp;           /* of what the last switch trimmed; 255: it is not told apart */
    uint32_t paths;
    uint32_t ack_bytes;
    uint32_t control_class; /* FABRIC_NONE: that of the data */
    ps_t base_rtt_ps;       /* 0: as the fabric has it */
    ps_t rto_ps;            /* 0: the model's */
};

/* uet.c: reads it, when classes are read. */
struct loader;
void uet_load(struct loader *loader);

#endif
