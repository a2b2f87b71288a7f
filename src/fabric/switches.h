/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes, and what ports and switches are set to.  Part of fabric.h.
 *
 * What a switch is told is the switch's own structs, held as they are; beside them stands what only people, checks and
 * other systems' configurations need.
 */
#ifndef ROCELAB_FABRIC_SWITCHES_H
#define ROCELAB_FABRIC_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "fabric/nodes.h"
#include "switch/config.h"

_Static_assert(FABRIC_PRIOS == SW_PRIOS, "the same priorities");
#define FABRIC_UNLIMITED UINT64_MAX

struct fabric_class {
    const char *name;
    uint64_t dscps;   /* bit d: DSCP d is of this class; 0 for the class of everything else */
    uint8_t dscp;     /* that NICs send; 0 when none is named */
    uint8_t priority; /* 802.1p, traffic class, queue and priority group unless maps say otherwise */
    uint8_t system;   /* enum fabric_system: the fabric's, or its own */
    bool lossless, strict;
    uint32_t share_ppm; /* 0: strict, or nothing said */
    struct fabric_at at;
};

struct fabric_queue {
    union {
        struct sw_queue_config sw;
        struct sw_queue_config; /* the same: ECN is for this port's rate (`per` is applied), weights follow share */
    };
    uint32_t share_ppm;
};

struct fabric_pg {
    union {
        struct sw_pg_config sw;
        struct sw_pg_config; /* the same */
    };
    bool headroom_given;
};

struct fabric_settings { /* of a port, resolved; ports configured alike share one */
    union {
        struct sw_port_rules sw;
        struct sw_port_rules; /* the same */
    };
    uint8_t lossless;                                 /* bit p: priority p is lossless */
    bool pfc_auto;                                    /* PFC is negotiated (DCBX), not forced */
    uint8_t watched;                                  /* bit p: the watchdog, where it is on, looks at priority p */
    uint8_t fec;                                      /* enum fabric_fec */
    uint32_t headroom_cable_mm, headroom_frame_bytes; /* that the headroom was chosen for; 0: the port's own */
    struct fabric_queue queue[FABRIC_PRIOS];
    struct fabric_pg pg[FABRIC_PRIOS];
};

struct fabric_watchdog {
    union {
        struct sw_watchdog sw;
        struct sw_watchdog; /* the same */
    };
    bool shutdown; /* it would shut the port down; simulated as drop, which is then set too */
    bool assumed;  /* the file says nothing: check and config take what operators have, a run has none */
};

static inline bool fabric_watchdog_runs(const struct fabric_watchdog *watchdog)
{
    return watchdog->on && !watchdog->assumed;
}

struct fabric_balance {
    union {
        struct sw_balance sw; /* the seed is the run's */
        struct sw_balance;    /* the same */
    };
    const struct fabric_at *pin_at; /* [pins] where the file has them */
};

struct fabric_switch {
    const char *model;
    uint64_t buffer_bytes;
    uint32_t cell_bytes;
    ps_t latency_ps;
    bool cut_through, mark_at_dequeue, refresh_pauses;
    bool raise_bounce;            /* what turns from down to up goes on in the next lossless class */
    bool drop_unknown;            /* lossless frames for an endpoint whose port is forgotten are dropped, not flooded */
    uint64_t headroom_pool_bytes; /* 0: headroom is dedicated */
    uint8_t hash_fields;
    bool weighted; /* ECMP in proportion to rates */
    struct fabric_balance balance;
    struct sw_voq_config voq;
    uint64_t hash_seed;
    uint8_t nos;                                     /* enum fabric_nos */
    bool bridged;                                    /* frames are switched by address and flooded, not routed */
    uint64_t reserved_sum_bytes, headroom_sum_bytes; /* over its cabled ports */
    struct fabric_watchdog watchdog;
};

#endif
