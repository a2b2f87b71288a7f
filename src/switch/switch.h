/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch: a machine without I/O.
 *
 * It is given a packet that has wholly arrived and passed the forwarding pipeline (sw_rx), asked
 * for the next packet when a port is free (sw_tx), told of a pause (sw_pause) and called at the
 * deadline it named (sw_tick).  It answers the port to ask, the pause frames to send and the next deadline.
 * It reads no clock, allocates nothing, uses no floating point.
 *
 * Life of a packet: trust -> traffic class -> (priority group, queue); route -> port; MMU admission
 * (reserve, shared by threshold, headroom); ECN mark; queue; scheduler; MMU release.
 */
#ifndef ROCELAB_SWITCH_SWITCH_H
#define ROCELAB_SWITCH_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/time.h"
#include "packet/pkt.h"
#include "packet/pktpool.h"

#define SW_PRIOS 8 /* 802.1 priorities = traffic classes */
#define SW_DROPPED UINT16_MAX

enum sw_trust { SW_TRUST_DSCP, SW_TRUST_PCP };
enum sw_mark { SW_MARK_ENQUEUE, SW_MARK_DEQUEUE };

struct sw_ecn { /* marking curve of a queue, on its own bytes */
    bool on;
    uint32_t min_bytes, max_bytes;
    uint32_t probability_ppm; /* at max; above max every ECT packet is marked */
};

struct sw_queue_config {
    struct sw_ecn ecn;
    bool strict;                   /* above all weighted queues; among strict ones the higher index first */
    uint32_t weight;               /* bytes a round, deficit weighted round robin */
    uint64_t limit_bytes;          /* egress limit of this queue (tail drop of lossy classes); UINT64_MAX: none */
    uint32_t alpha_num, alpha_den; /* dynamic egress limit, alpha * free shared; num 0: none */
};

struct sw_pg_config {        /* ingress priority group: one for each priority */
    bool lossless;           /* PFC is sent for it */
    uint32_t reserved_bytes; /* guaranteed */
    bool dynamic;            /* threshold = alpha * (shared size - shared used), else static */
    uint32_t alpha_num, alpha_den;
    uint64_t static_bytes;     /* xoff threshold when not dynamic */
    uint32_t xon_offset_bytes; /* resume when headroom is empty and shared + offset <= threshold (offset at least
                                * a cell), or shared is 0 */
    uint32_t headroom_bytes;   /* above xoff; dedicated, or this PG's cap on the shared headroom pool */
};

/* Shared by all ports that are configured alike. */
struct sw_port_config {
    uint8_t trust; /* enum sw_trust */
    uint8_t dscp_to_tc[64], pcp_to_tc[8];
    uint8_t tc_to_queue[SW_PRIOS], tc_to_pg[SW_PRIOS];
    uint8_t pfc_rx;        /* bit p: honours pauses for priority p */
    uint8_t pfc_tx;        /* bit p: sends them */
    uint16_t pause_quanta; /* in frames sent, 65535 as a rule */
    uint32_t mtu_bytes;    /* larger frames are dropped; 0: any */
    struct sw_queue_config queue[SW_PRIOS];
    struct sw_pg_config pg[SW_PRIOS];
};

struct sw_watchdog {
    bool on, drop; /* act: drop what is queued and arrives, or forward against the pause */
    ps_t poll_ps, detect_ps, restore_ps;
};

struct sw_config {
    uint16_t ports;
    uint32_t cell_bytes;          /* buffer granularity; 1: bytes */
    uint64_t buffer_bytes;        /* all of it; shared is what reserves and headroom leave */
    uint64_t headroom_pool_bytes; /* > 0: headroom is a shared pool of this size; 0: dedicated */
    uint8_t mark;                 /* enum sw_mark */
    bool refresh_pauses;          /* as 802.1Qbb; false: one XOFF, one XON, and pauses do not expire (hpcc-ns3) */
    uint64_t seed;                /* ECMP and marking */
    struct sw_watchdog watchdog;
    const struct sw_port_config *const *port; /* [ports] */
    const uint64_t *rate_bps;                 /* [ports] */
};

/* Routes, shared read-only tables built by fabric.  Destinations are endpoints (NIC ports). */
struct sw_group {   /* equal- or weighted-cost next hops */
    uint32_t first; /* into port[] */
    uint16_t count;
};
struct sw_routes {
    const uint32_t *place_of;   /* [endpoint] the edge it hangs on */
    const uint16_t *local_port; /* [endpoint] the port, where place_of == own place */
    uint32_t own_place;         /* UINT32_MAX for a switch without endpoints */
    const uint16_t *group_of;   /* [place] -> group index; UINT16_MAX: no route */
    const struct sw_group *group;
    const uint16_t *port;
    uint8_t hash_fields; /* SW_HASH_* */
};
#define SW_HASH_SRC 1u
#define SW_HASH_DST 2u
#define SW_HASH_SPORT 4u
#define SW_HASH_QP 8u

struct sw_pause_out { /* a PFC frame to send */
    uint16_t port;
    uint8_t enable;  /* priorities it speaks of */
    uint16_t quanta; /* 0: resume */
};

#define SW_PAUSES_MAX 64
struct sw_io { /* what a call needs and answers; the caller owns it and empties pauses, kicks */
    struct pktpool *pool;
    uint32_t pauses, kicks;
    struct sw_pause_out pause[SW_PAUSES_MAX];
    uint16_t kick[SW_PAUSES_MAX]; /* ports to ask again (a pause ended) */
    ps_t deadline;                /* set by every call: the earliest sw_tick wanted, PS_NEVER: none.  Not after
                                   * now: the lists were full; empty them and call sw_tick again. */
};

struct sw; /* opaque: switch_int.h */

/* NULL, or what is wrong with the configuration (sw_init CHECKs that nothing is). */
const char *sw_config_problem(const struct sw_config *config);
size_t sw_memory_bytes(const struct sw_config *config);
/* Memory is zeroed, cache-line aligned, and outlives the switch.  Config and routes are kept by pointer. */
struct sw *sw_init(void *memory, const struct sw_config *config, const struct sw_routes *routes);

/* The port the packet was queued on, or SW_DROPPED (counted with its reason, packet given back to the pool). */
uint16_t sw_rx(struct sw *sw, uint16_t in, pkt_t id, ps_t now, struct sw_io *io);
/* The next packet of a free port; PKT_NONE: nothing may go now (empty or paused). */
pkt_t sw_tx(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io);
/* A PFC frame arrived on port. */
void sw_pause(struct sw *sw, uint16_t port, uint8_t enable, const uint16_t quanta[8], ps_t now, struct sw_io *io);
void sw_tick(struct sw *sw, ps_t now, struct sw_io *io);
/* Down: what is queued there is dropped, what arrives for it too, pauses in both directions are void. */
void sw_port_state(struct sw *sw, uint16_t port, bool up, ps_t now, struct sw_io *io);
/* Other routes from here on; packets already queued stay where they are. */
void sw_set_routes(struct sw *sw, const struct sw_routes *routes);

/* Counters: switch/counters.def yields the struct and the names; per port, and per port and priority. */
#include "switch/counters.h"
/* Brought up to date by this call; the same address each time.  Pauses that still hold count from sw_settle on. */
const struct sw_port_counters *sw_port_counters(const struct sw *sw, uint16_t port);
/* Counts the pauses that still hold, up to now: before the counters are read at the end of a run or an interval. */
void sw_settle(struct sw *sw, ps_t now);
uint64_t sw_queue_bytes(const struct sw *sw, uint16_t port, uint8_t queue);
/* What the MMU holds, in bytes of whole cells: of an ingress priority group, and its headroom part. */
uint64_t sw_pg_bytes(const struct sw *sw, uint16_t port, uint8_t pg);
uint64_t sw_pg_headroom_bytes(const struct sw *sw, uint16_t port, uint8_t pg);
uint64_t sw_shared_bytes(const struct sw *sw); /* size of the shared pool */
uint64_t sw_shared_used(const struct sw *sw);
uint8_t sw_paused(const struct sw *sw, uint16_t port);  /* bit p: the peer paused priority p */
uint8_t sw_pausing(const struct sw *sw, uint16_t port); /* bit p: the peer was told to pause priority p */
/* CHECKs the books: sums over queues == sums over PGs == pool use. */
void sw_audit(const struct sw *sw);

#endif
