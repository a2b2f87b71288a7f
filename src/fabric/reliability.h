/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often parts fail, how long a repair takes, and what a job does about it.  Part of fabric.h.
 */
#ifndef ROCELAB_FABRIC_RELIABILITY_H
#define ROCELAB_FABRIC_RELIABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "fabric/words.h"

enum rate_part {
#define RATE(id, name, failures_ppm, repair_s, basis, source) RATE_##id,
#include "fabric/rates.def"
#undef RATE
    RATE_PARTS
};
enum rate_basis { RATE_PUBLISHED, RATE_DERIVED, RATE_ASSUMED };
extern const char *const rate_basis_names[];

struct rate_info { /* a row of rates.def */
    const char *name;
    uint64_t failures_ppm;
    uint32_t repair_s;
    enum rate_basis basis;
    const char *source;
};
extern const struct rate_info rate_infos[RATE_PARTS];

struct fabric_rate {
    uint64_t failures_ppm; /* of one part, a year */
    ps_t repair_ps;
    struct fabric_at at; /* line 0: as rates.def has it */
};

struct fabric_reliability {
    ps_t checkpoint_ps; /* between two of them */
    ps_t write_ps;      /* for which a job stands still for one */
    ps_t restart_ps;    /* from a failure to the first step after it, without the steps that are done again */
    bool spares;        /* a host that fails is replaced at once; else the job waits for its repair */
    struct fabric_rate rate[RATE_PARTS];
};

struct loader;
void reliability_load(struct loader *loader); /* `reliability:` */

#endif
