/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a switch is told before it runs: ports, queues, priority groups, balancing, watchdog, routes.
 *
 * Plain values, apart from the machine: a fabric (src/fabric) holds the same structs, with what only people and checks
 * need beside them, so that a field is added here and nowhere else.
 */
#ifndef ROCELAB_SWITCH_CONFIG_H
#define ROCELAB_SWITCH_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "switch/lanes.h"

struct record_ring;

enum sw_trust { SW_TRUST_DSCP, SW_TRUST_PCP };
enum sw_mark { SW_MARK_ENQUEUE, SW_MARK_DEQUEUE };

struct sw_ecn { /* marking curve of a queue, on its own bytes */
    bool on;
    uint64_t min_bytes, max_bytes;
    uint32_t probability_ppm; /* at max; above max every ECT packet is marked */
};

struct sw_trim {           /* what a queue has no room for is cut down to its headers and goes on as these say */
    uint16_t bytes;        /* that are left of the frame; 0: it is dropped whole */
    uint8_t dscp;          /* from then on, of another class ... */
    uint8_t last_hop_dscp; /* ... where the next to get it is its receiver; the same: no difference is made */
};

struct sw_queue_config {
    struct sw_ecn ecn;
    struct sw_trim trim;
    bool strict;                   /* above all weighted queues; among strict ones the higher index first */
    uint32_t weight_bytes;         /* a round, deficit weighted round robin */
    uint64_t limit_bytes;          /* egress limit of this queue (tail drop of lossy classes); UINT64_MAX: none */
    uint32_t alpha_num, alpha_den; /* dynamic egress limit, alpha * free shared; num 0: none */
};

struct sw_pg_config {        /* ingress priority group: one for each priority */
    bool lossless;           /* PFC is sent for it */
    uint64_t reserved_bytes; /* guaranteed */
    bool dynamic;            /* threshold = alpha * (shared size - shared used), else static */
    uint32_t alpha_num, alpha_den;
    uint64_t static_bytes;     /* xoff threshold when not dynamic */
    uint64_t xon_offset_bytes; /* resume when headroom is empty and shared + offset <= threshold (offset at least
                                * a cell), or shared is 0 */
    uint64_t headroom_bytes;   /* above xoff; dedicated, or this PG's cap on the shared headroom pool */
};

struct sw_port_rules {
    uint8_t trust; /* enum sw_trust */
    uint8_t dscp_to_tc[64], pcp_to_tc[8];
    uint8_t tc_to_queue[SW_PRIOS], tc_to_pg[SW_PRIOS];
    uint8_t pfc_rx;        /* bit p: honours pauses for priority p */
    uint8_t pfc_tx;        /* bit p: sends them */
    bool pause_all;        /* 802.3x: a pause stops all priorities, in both directions; pfc_rx says whether obeyed */
    uint16_t pause_quanta; /* in frames sent, 65535 as a rule */
    uint32_t mtu_bytes;    /* larger frames are dropped; 0: any */
};

/* Shared by all ports that are configured alike. */
struct sw_port_config {
    union {
        struct sw_port_rules rules;
        struct sw_port_rules; /* the same */
    };
    uint8_t unwatched; /* bit p: the watchdog does not look at priority p here */
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

/* Credits instead of pauses (credit.c): queue and group of a packet are its virtual lane. */
struct sw_credit_port {
    uint32_t own_blocks;  /* of the buffer of each lane: what this end promises */
    uint32_t peer_blocks; /* what the other end promises; 0: nothing is plugged in */
    uint32_t calm_blocks; /* credit_rx.calm */
    ps_t skew_ps;         /* a word overtakes packets that were sent so much earlier: their forwarding latency */
    ps_t lifetime_ps;     /* a packet that waits longer at the head of its queue is dropped; 0: never */
    ps_t period_ps;       /* of the timer that tells and says; 0: CREDIT_PERIOD */
    bool says_nothing;    /* of what was sent: the line loses nothing */
};
struct sw_credit_config {
    uint8_t vls;            /* 0: no credits */
    uint8_t used;           /* bit v: lane v has any; 0: all of them */
    uint8_t block_extra;    /* blocks of CREDIT_BLOCK_BYTES << this */
    uint16_t packet_blocks; /* of the largest packet */
    uint16_t added_bytes;   /* of the line that count with a packet: VCRC */
    /* Congestion: what leaves a longer queue than this is marked, if the lane has credits for more (it is the root of
     * the congestion, and no victim). */
    uint64_t mark_bytes;                      /* UINT64_MAX: nothing is marked */
    uint16_t mark_rate;                       /* one in so many more packets, on average; 0: all */
    uint16_t mark_blocks;                     /* of packets at least so long */
    const struct sw_credit_port *port;        /* [ports] */
    const struct sw_arbitration *arbitration; /* NULL: the port's scheduler serves lanes as it serves queues */
};
#define SW_STALL_DROPS 7 /* packets dropped at the head of a lane, one after the other: it stalls ... */
#define SW_STALL_LIVES 8 /* ... for so many lifetimes */

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
    struct sw_credit_config credit;
    bool refuses_newest;          /* a full queue refuses its newest packet as often as the arriving one (uet-htsim) */
    bool forgets_ports;           /* routes may name SW_FLOOD_PORT */
    bool telemetry;               /* what leaves is told what the switch sees; the pool has room for it */
    struct sw_line line;          /* telemetry.c */
    bool drop_unknown;            /* lossless packets for an endpoint whose port is unknown are dropped, not flooded */
    const struct sw_raise *raise; /* NULL: no class is raised */
    const struct sw_port_config *const *port; /* [ports] */
    const uint64_t *rate_bps;                 /* [ports] */
    struct record_ring *events;               /* where events are noted (record/event.h); NULL: nowhere */
};

/* Routes, shared read-only tables built by fabric.  Destinations are endpoints (NIC ports). */
struct sw_group {   /* equal- or weighted-cost next hops */
    uint32_t first; /* into port[] */
    uint16_t count;
};
struct sw_routes {
    const uint32_t *edge_of;    /* [endpoint] the edge it hangs on */
    const uint16_t *local_port; /* [endpoint] the port, where edge_of == own edge */
    const uint16_t *wired_port; /* [endpoint] as local_port, but nothing is ever forgotten; NULL: local_port */
    uint32_t own_edge;          /* UINT32_MAX for a switch without endpoints */
    const uint16_t *group_of;   /* [edge] -> group index; UINT16_MAX: no route */
    const struct sw_group *group;
    const uint16_t *port;
    uint8_t hash_fields; /* SW_HASH_* */
};
#define SW_FLOOD_PORT (UINT16_MAX - 1) /* in local_port: unknown, so flooded; with sw_config.forgets_ports */
#define SW_HASH_SRC 1u
#define SW_HASH_DST 2u
#define SW_HASH_SPORT 4u
#define SW_HASH_QP 8u

#endif
