/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fabric has of its own where a point says nothing.  Private to src/tune.
 */
#ifndef ROCELAB_TUNE_OWN_H
#define ROCELAB_TUNE_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "nic/cc/cc.h"
#include "switch/config.h"

struct fabric;
struct fabric_pg;

struct tune_own { /* what the file says of a class, as it is resolved, and of adapters */
    struct sw_ecn ecn;
    const struct fabric_pg *pg;
    uint64_t per_bps; /* 0: thresholds are the same at each rate */
    struct cc_config cc;
    bool cc_known;
};
void tune_read_own(const struct fabric *fabric, uint32_t of_class, struct tune_own *ret);

#endif
