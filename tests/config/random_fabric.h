/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random fabrics with per-port exceptions, and their comparison after a way through a system's configuration.
 */
#ifndef ROCELAB_TESTS_CONFIG_RANDOM_FABRIC_H
#define ROCELAB_TESTS_CONFIG_RANDOM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "fabric/fabric.h"

struct random_limits { /* what the system can express; zero: it cannot */
    bool host;         /* adapters are drawn, and switches left as they are */
    bool alpha;        /* powers of two */
    bool static_xoff;
    bool limit; /* of queues */
    bool reserved, headroom, xon;
    bool static_headroom; /* headroom and xon go with a fixed xoff */
    bool pfc;             /* priorities that pause may differ from the lossless classes */
    bool port_lossless;   /* a class may be lossless on some ports only */
    bool pfc_asym;        /* obey all priorities, pause some */
    bool pcp;             /* trust pcp, and its map */
    bool port_maps;       /* maps may differ from port to port */
    bool port_ecn;        /* thresholds may differ from port to port */
    bool port_mtu;
    bool port_pfc;
    bool queue_map, queue_map_one; /* one for all ports */
    bool group_map;
    bool headroom_pool, buffer;
    bool watchdog, watchdog_times, watchdog_action;
    bool cable, rate;
    bool lossy_ecn; /* marking outside of lossless classes */
    bool fec, up, pfc_auto, pause_all, quanta;
    bool watched;      /* the watchdog may be off on a port ... */
    bool watched_some; /* ... or on some of its priorities */
    bool shutdown;     /* as the watchdog's action */
    bool polls;        /* of other lengths than 100 ms */
    bool fractions;    /* shares, probabilities and alpha that are no whole numbers */
    bool odd_links;    /* rates that are no whole Gb/s, lengths that are no whole metres */
    bool headroom_for; /* headroom for another cable or frame than the port's */
    bool model;
    bool crowded;          /* leaves have more ports than cages, which are split */
    bool hash;             /* without the source port, now and then */
    const char *port_name; /* of printf, with a number: some ports have names; NULL: none */
    bool strict_top;       /* strict classes have the highest priorities */
    bool strict_none;
    uint32_t mtu_most;       /* of ports; 0: 9216 */
    uint32_t ecn_step_bytes; /* thresholds are multiples */
    uint32_t lossless_most;  /* classes */
    uint32_t time_step_ms;   /* of the watchdog */
    uint32_t detect_most_ms; /* 0: 3200 */
    uint32_t balances;       /* of flowlet, spray, adaptive, the first so many; 0: hashing alone */
};

extern const struct random_limits random_all; /* everything, whether a system can say it or not */

/* A fabric file; the caller frees it. */
char *random_fabric(uint64_t seed, const struct random_limits *limits);

/* config -> import -> load, for every switch (or host, as the format is) of the fabric.  Compares what `limits` allow;
 * fails the test with seed, device, port and field. */
void round_trip(const struct config_format *format, uint64_t seed, const struct random_limits *limits, bool comments);
/* The same with a fabric of random_all.  What comes back otherwise must have been named (config/unsupported.h). */
void round_trip_losses(const struct config_format *format, uint64_t seed);
/* Both, trips() times each. */
void round_trips(const struct config_format *format, const struct random_limits *limits);

#endif
