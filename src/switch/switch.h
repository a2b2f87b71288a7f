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
#define SW_FLOODED (UINT16_MAX - 1)

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
    uint8_t unwatched;     /* bit p: the watchdog does not look at priority p here */
    bool pause_all;        /* 802.3x: a pause stops all priorities, in both directions; pfc_rx says whether obeyed */
    uint16_t pause_quanta; /* in frames sent, 65535 as a rule */
    uint32_t mtu_bytes;    /* larger frames are dropped; 0: any */
    struct sw_queue_config queue[SW_PRIOS];
    struct sw_pg_config pg[SW_PRIOS];
};

struct sw_watchdog {
    bool on, drop; /* act: drop what is queued and arrives, or forward against the pause */
    ps_t poll_ps, detect_ps, restore_ps;
};

struct sw_raise {         /* what comes from above and goes back up goes on in the next lossless class */
    const uint8_t *above; /* [ports] the other end is above this switch */
    uint8_t dscp[64];     /* of the next class; its own where there is none */
};

/* How one of several next hops is chosen; balance.c.  ECMP (the hash of the flow) needs nothing of this. */
enum sw_balance_kind { SW_ECMP, SW_FLOWLET, SW_ADAPTIVE, SW_SPRAY, SW_PIN };
enum sw_pin_by { SW_PIN_BY_DST, SW_PIN_BY_SRC, SW_PIN_BY_HASH };
#define SW_PIN_ANY UINT32_MAX
#define SW_PINS_MAX 65536u
#define SW_FLOWS_MAX (1u << 20)
struct sw_pin {        /* a flow goes by this port */
    uint32_t src, dst; /* endpoints; src SW_PIN_ANY: of all */
    uint32_t qp;       /* of the destination; SW_PIN_ANY: all */
    uint16_t port;
};
struct sw_balance {
    uint8_t kind;           /* enum sw_balance_kind */
    bool round_robin;       /* spray: each flow in turn, not at random */
    bool by_flowlet;        /* adaptive: a flow moves only after a gap */
    uint8_t pin_by;         /* enum sw_pin_by: what no pin names */
    uint8_t hysteresis;     /* adaptive: levels, below 8; 0: a flow has no memory */
    uint32_t quantum_bytes; /* adaptive: queues below are of level 0; each next level is twice as long */
    uint32_t table;         /* flows remembered, a power of two */
    ps_t gap_ps;            /* flowlets */
    uint64_t seed;          /* of draws; the hash has its own */
    const struct sw_pin *pin;
    uint32_t pins;
};

struct sw_voq_config { /* virtual output queues; voq.c */
    bool on;
    uint32_t credit_bytes;
    uint64_t xoff_bytes;    /* of a lossless one: its peer is paused; 0: by the group's threshold alone */
    uint64_t on_chip_bytes; /* 0: all memory is on the chip */
    uint64_t deep_bps;      /* the deep memory is read no faster; 0: no limit */
};

struct sw_line {          /* what a frame takes of the line */
    uint16_t least_bytes; /* it is padded to this */
    uint16_t added_bytes; /* preamble, FCS, gap */
    uint16_t pause_bytes; /* a pause frame, with all that */
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
    struct sw_balance balance;
    struct sw_voq_config voq;
    bool forgets_ports;           /* routes may name SW_FLOOD_PORT */
    bool telemetry;               /* what leaves is told what the switch sees; the pool has room for it */
    struct sw_line line;          /* telemetry.c */
    bool drop_unknown;            /* lossless packets for an endpoint whose port is unknown are dropped, not flooded */
    const struct sw_raise *raise; /* NULL: no class is raised */
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
    const uint16_t *wired_port; /* [endpoint] as local_port, but nothing is ever forgotten; NULL: local_port */
    uint32_t own_place;         /* UINT32_MAX for a switch without endpoints */
    const uint16_t *group_of;   /* [place] -> group index; UINT16_MAX: no route */
    const struct sw_group *group;
    const uint16_t *port;
    uint8_t hash_fields; /* SW_HASH_* */
};
#define SW_FLOOD_PORT (UINT16_MAX - 1) /* in local_port: unknown, so flooded; with sw_config.forgets_ports */
#define SW_HASH_SRC 1u
#define SW_HASH_DST 2u
#define SW_HASH_SPORT 4u
#define SW_HASH_QP 8u

struct sw_pause_out { /* a PFC frame to send */
    uint16_t port;
    uint8_t enable;  /* priorities it speaks of */
    uint16_t quanta; /* 0: resume */
    uint16_t cause;  /* XOFF: where the packet that crossed the threshold is to leave; SW_NO_CAUSE: a repetition */
    bool passed_on;  /* that queue was paused itself */
};
#define SW_NO_CAUSE UINT16_MAX

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

/*
 * The port the packet was queued on; SW_DROPPED (counted with its reason, packet given back to the pool); SW_FLOODED:
 * copies of it are queued on several ports, and all are to be asked.  For a switch that forgets ports the pool holds a
 * free packet for each port.
 */
uint16_t sw_rx(struct sw *sw, uint16_t in, pkt_t id, ps_t now, struct sw_io *io);
/* The next packet of a free port; PKT_NONE: nothing may go now (empty or paused). */
pkt_t sw_tx(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io);
/* The same of a switch that is SW_SIMPLE. */
pkt_t sw_tx_simple(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io);

/* How much of sw_rx() and sw_tx() a switch needs: for callers that inline the rest away (crossing.h). */
enum sw_form {
    SW_SIMPLE,   /* hashes, and has output queues in shared memory */
    SW_FORWARDS, /* may have a balancer, or virtual output queues */
    SW_WHOLE,    /* may flood, raise classes, or write telemetry: sw_rx() and sw_tx() alone will do */
};
enum sw_form sw_form(const struct sw_config *config);

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
uint16_t sw_paused(const struct sw *sw, uint16_t port);  /* bit p: the peer paused priority p */
uint16_t sw_pausing(const struct sw *sw, uint16_t port); /* bit p: the peer was told to pause priority p */

/*
 * waits.c: for whoever looks for deadlocks, over all switches at one moment.  `stuck` is [ports], bit q: queue q of
 * that port.  sw_stuck_cells() counts what stuck queues hold by the group it came in by, [ports * SW_PRIOS], in
 * cells.
 */
uint16_t sw_waiting(const struct sw *sw, uint16_t port); /* bit q: queue q holds packets and may not send */
uint16_t sw_waiting_prios(const struct sw *sw, uint16_t port, uint8_t queue); /* bit p: priority p holds queue up */
ps_t sw_paused_from(const struct sw *sw, uint16_t port, uint8_t prio);        /* when the pause that holds began */
void sw_stuck_cells(const struct sw *sw, const struct pkt *hot, const uint16_t *stuck, uint32_t *ret_cells);
/* Would the peer of port `in` be let go on with `prio` if all that is not stuck had left? */
bool sw_would_resume(const struct sw *sw, uint16_t in, uint8_t prio, const uint32_t *cells);
/* Does the queue hold packets that came in by that port and priority's group? */
bool sw_queue_holds(const struct sw *sw, const struct pkt *hot, uint16_t port, uint8_t queue, uint16_t in,
                    uint8_t prio);
/* CHECKs the books: sums over queues == sums over PGs == pool use. */
void sw_audit(const struct sw *sw);

#endif
