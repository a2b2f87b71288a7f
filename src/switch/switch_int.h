/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch's insides: what a switch is in memory, and what its files offer each other.
 *
 * One block of memory: struct sw, then arrays by port.  What a packet touches is kept in few
 * cache lines: the port's masks (16 bytes), the ledger of the priority group it came in by (32),
 * the queue it leaves by (64), and the compiled rules of the ports (profile, shared by all ports
 * with the same configuration).  All that only pauses and the watchdog need is in sw_port_slow.
 *
 * The books are in cells.  A priority group holds `held` cells of reserve and shared pool (the reserve is the
 * first part of it, so it needs no number of its own) and `headroom` cells beside it:
 *     shared of a PG = held above reserved;   shared_used = their sum;   headroom_used = the sum of headroom.
 */
#ifndef ROCELAB_SWITCH_SWITCH_INT_H
#define ROCELAB_SWITCH_SWITCH_INT_H

#include "base/check.h"
#include "base/credit.h"
#include "record/event.h"
#include "switch/switch.h"

#define SW_NO_PORT UINT32_MAX
#define SW_ALPHA_BITS 20 /* thresholds are free cells * alpha, alpha in fixed point */
#define SW_ALPHA_MAX 2048u
#define SW_CELL_MAX 32768u
#define SW_LINE 64u

/* The compiled form of sw_pg_config; threshold = fixed + (free * alpha >> SW_ALPHA_BITS), one of them 0. */
struct sw_pg_rule {
    uint32_t reserved, fixed, alpha;
    uint32_t xon_offset, headroom;
    uint8_t lossless;
    uint8_t spare;
    uint16_t prios; /* bit p: priority p is in this group and PFC is sent for it */
    uint8_t spares[8];
};

/* The compiled form of sw_queue_config. */
struct sw_queue_rule {
    uint64_t mark_in_above, mark_out_above; /* ECN min where marking happens, UINT64_MAX elsewhere */
    uint64_t mark_min, mark_max;
    uint64_t mark_slope;         /* probability a byte above min, 2^48 = 1 */
    uint32_t limit, limit_alpha; /* cells (UINT32_MAX: none), and as in sw_pg_rule (0: none) */
    int32_t weight;
    struct sw_trim trim;
    uint32_t spare[2];
};

struct sw_profile { /* a port configuration, compiled */
    uint8_t dscp_to_tc[64];
    uint8_t pcp_to_tc[SW_PRIOS];
    uint8_t queue_of[SW_PRIOS], pg_of[SW_PRIOS]; /* by tc, which is also the priority */
    uint32_t mtu_bytes;                          /* UINT32_MAX: any */
    uint8_t trust_pcp;
    uint16_t strict;  /* bit q */
    uint16_t limited; /* bit q: some egress limit */
    uint16_t pfc_rx;
    uint16_t watched; /* bit q: the watchdog looks at it */
    uint16_t pause_quanta;
    struct sw_pg_rule pg[SW_PRIOS];
    struct sw_queue_rule queue[SW_PRIOS];
    const struct sw_port_config *config; /* what it was compiled from */
};

struct sw_port { /* what each packet meets: masks of queues or of priority groups */
    const struct sw_profile *profile;
    uint16_t filled; /* queues that hold packets */
    uint16_t paused; /* queues that may not send */
    uint16_t refuse; /* queues that take no arrivals (watchdog, port down) */
    uint16_t xoff;   /* priority groups in XOFF */
};
_Static_assert(sizeof(struct sw_port) == 16, "found with a shift");
_Static_assert(SW_PRIOS <= 16, "masks have a bit for each");

struct sw_pg { /* ledger of an ingress priority group, in cells */
    uint32_t held, headroom;
    uint32_t total_max, headroom_max;
    uint64_t rx_packets, rx_bytes;
};

struct sw_queue {
    pkt_t head, tail;
    uint64_t bytes;
    uint32_t cells;
    int32_t deficit;
    uint64_t bytes_max;
    uint64_t tx_packets, tx_bytes;
    uint64_t marked;
    uint64_t spare;
};

struct sw_port_slow {
    uint64_t rate_bps;    /* that pauses are measured by */
    uint16_t storm;       /* queues the watchdog acts on */
    uint16_t told;        /* priorities the peer was told to pause */
    uint16_t paused_prio; /* priorities the peer paused */
    uint8_t turn;         /* the weighted queue whose turn it is */
    bool down;
    bool kick_owed;
    uint64_t line_bytes; /* sent so far, with all that a frame takes of the line; telemetry.c */
    ps_t refresh_at, poll_at;
    ps_t told_since[SW_PRIOS];
    ps_t paused_since[SW_PRIOS], paused_until[SW_PRIOS]; /* by priority; counted up to `since` ... */
    ps_t paused_from[SW_PRIOS];                          /* ... but paused from here on */
    ps_t storm_since[SW_PRIOS];                          /* by queue: counted up to here */
    ps_t pause_seen[SW_PRIOS];                           /* last XOFF received */
    ps_t stuck_since[SW_PRIOS];                          /* by queue; PS_NEVER: not */
};

struct sw_lane { /* a port and virtual lane: both halves of its credits */
    struct credit_tx tx;
    struct credit_rx rx;
    ps_t waits_since; /* packets wait, and there are no credits; PS_NEVER: not.  Counted up to here ... */
    ps_t head_since;  /* ... but the head waits from here on */
};

struct sw_arbiter {        /* of a port: where it stands in its tables */
    uint8_t at[2], picked; /* enum arb_table */
    bool others_wait;      /* picked from the high table while lanes of the low one were ready */
    int32_t weight_left[2];
    int32_t high_left; /* until the low table has a turn */
};

struct sw_lanes { /* of a port */
    bool armed;   /* the timer runs */
    ps_t tick_at;
    struct sw_arbiter arbiter;
    uint8_t drops[SW_PRIOS];      /* at the head, one after the other */
    ps_t stalled_until[SW_PRIOS]; /* PS_NEVER: not stalled */
};

struct sw_credits {
    struct sw_lane *lane;   /* [port * SW_PRIOS + vl] */
    struct sw_lanes *lanes; /* [port] */
    uint32_t packet_blocks, added_bytes, block_extra;
    uint8_t vls;
};

struct sw {
    /* hot */
    struct sw_port *port;
    struct sw_pg *pg;       /* [port * SW_PRIOS + pg] */
    struct sw_queue *queue; /* [port * SW_PRIOS + queue] */
    const struct sw_routes *routes;
    uint32_t shared_size, shared_used;
    uint32_t headroom_size, headroom_used; /* pool; UINT32_MAX when dedicated */
    uint64_t cell_inverse;                 /* ceil(2^32 / cell) */
    uint32_t cell_bytes;
    uint16_t ports;
    ps_t deadline;
    uint64_t hash_seed;
    uint64_t hash_node_mask, hash_flow_mask;
    struct rng rng;
    struct sw_balancer *balancer; /* NULL: ECMP */
    struct sw_voqs *voqs;         /* NULL: output queues in shared memory */
    struct sw_credits *credits;   /* NULL: pauses */
    /* cold */
    const struct sw_config *config;
    struct sw_port_slow *slow;
    ps_t *due; /* [port] when sw_tick has work there; may be early */
    struct sw_port_counters *counters;
    struct sw_profile *profile;
    uint32_t profiles;
    uint16_t blamed; /* the egress port of the packet being admitted, for pauses it causes; SW_NO_CAUSE: none is */
    bool blamed_paused;
};

_Static_assert(sizeof(struct sw_lane) == SW_LINE, "a lane is one cache line");
_Static_assert(sizeof(struct sw_queue) == SW_LINE, "a queue is one cache line");
_Static_assert(sizeof(struct sw_pg) * 2 == SW_LINE, "two ledgers in a cache line");
_Static_assert(sizeof(struct sw_port) == 16, "four ports in a cache line");
_Static_assert(sizeof(struct sw_pg_rule) == 32 && sizeof(struct sw_queue_rule) == 64, "indexed by a shift");

static inline struct sw_pg *sw_pg_at(const struct sw *sw, uint32_t port, uint32_t pg)
{
    return &sw->pg[port * SW_PRIOS + pg];
}

static inline struct sw_queue *sw_queue_at(const struct sw *sw, uint32_t port, uint32_t queue)
{
    return &sw->queue[port * SW_PRIOS + queue];
}

/* Exact for frames below 64 KiB and cells up to SW_CELL_MAX. */
static inline uint32_t sw_cells(const struct sw *sw, uint32_t bytes)
{
    return (uint32_t)((bytes + sw->cell_bytes - 1) * sw->cell_inverse >> 32);
}

static inline void sw_due(struct sw *sw, uint32_t port, ps_t at)
{
    if (at < sw->due[port]) sw->due[port] = at;
    if (at < sw->deadline) sw->deadline = at;
}

/* What happened at a port and priority, for whoever watches. */
static inline void sw_note(const struct sw *sw, enum record_event_kind kind, uint32_t port, uint32_t prio, uint64_t a,
                           uint32_t b, ps_t now)
{
    record_note(
        sw->config->events,
        (struct record_event){
            .at = now, .a = a, .b = b, .port = (uint16_t)port, .priority = (uint8_t)prio, .kind = (uint8_t)kind});
}

/* profile.c */
uint32_t sw_profiles_count(const struct sw_config *config);
void sw_profiles_compile(struct sw *sw);

/* mmu.c; cells that a PG holds of the shared pool, and may hold while `free` of it are unused */
static inline uint32_t mmu_shared(const struct sw_pg *pg, const struct sw_pg_rule *rule)
{
    return pg->held > rule->reserved ? pg->held - rule->reserved : 0;
}

static inline uint64_t mmu_threshold(const struct sw_pg_rule *rule, uint32_t free)
{
    return rule->fixed + ((uint64_t)free * rule->alpha >> SW_ALPHA_BITS);
}

/* Would `over` cells above the reserve, `cells` of them new or fewer, leave the group below its threshold? */
static inline bool mmu_below(const struct sw *sw, const struct sw_pg_rule *rule, uint32_t over, uint32_t cells)
{
    uint32_t part = over < cells ? over : cells;
    uint32_t free = sw->shared_size - sw->shared_used;
    return part <= free && over < mmu_threshold(rule, free - part);
}

/* The way of nearly all packets: admits one that stays below the threshold, and so has no one to pause.  False, and
 * nothing changed, for the others: mmu_admit() decides. */
static inline bool mmu_admit_quiet(struct sw *sw, struct sw_pg *pg, const struct sw_pg_rule *rule, uint32_t cells)
{
    uint32_t held = pg->held + cells;
    if (held > rule->reserved) {
        uint32_t over = held - rule->reserved;
        if (!mmu_below(sw, rule, over, cells)) return false;
        sw->shared_used += over < cells ? over : cells;
    }
    pg->held = held;
    if (held + pg->headroom > pg->total_max) pg->total_max = held + pg->headroom;
    return true;
}
/* SW_DROPS when admitted, or why not. */
enum sw_drop mmu_admit(struct sw *sw, struct sw_pg *pg, const struct sw_pg_rule *rule, uint32_t cells);
bool mmu_egress_full(const struct sw *sw, const struct sw_queue *queue, const struct sw_queue_rule *rule,
                     uint32_t cells);

/* Empties headroom first, then the pool, then the reserve. */
static inline void mmu_release(struct sw *sw, struct sw_pg *pg, const struct sw_pg_rule *rule, uint32_t cells)
{
    if (__builtin_expect(pg->headroom != 0, 0)) {
        uint32_t part = cells < pg->headroom ? cells : pg->headroom;
        pg->headroom -= part;
        sw->headroom_used -= part;
        cells -= part;
    }
    CHECK(pg->held >= cells);
    uint32_t over = mmu_shared(pg, rule);
    sw->shared_used -= cells < over ? cells : over;
    pg->held -= cells;
}
bool mmu_must_pause(const struct sw *sw, const struct sw_pg *pg, const struct sw_pg_rule *rule);
bool mmu_may_resume(const struct sw *sw, const struct sw_pg *pg, const struct sw_pg_rule *rule);

/* pfc.c */
void pfc_xoff(struct sw *sw, uint32_t port, uint32_t pg, ps_t now, struct sw_io *io);
void pfc_xon(struct sw *sw, uint32_t port, uint32_t pg, ps_t now, struct sw_io *io);
/* Looks at every PG in XOFF of every port, after many releases at once; one frame a port. */
void pfc_review(struct sw *sw, ps_t now, struct sw_io *io);
/* A link that came up: its peer knows of no pause, so what its groups still hold is judged anew; one frame. */
void pfc_renew(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io);
/* Voids what either side told the other. */
void pfc_forget(struct sw *sw, uint32_t port, ps_t now);
/* Works out which queues may not send from paused_prio and the watchdog; asks for the port where that lets some go. */
void pfc_apply(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io);
void pfc_set_rate(struct sw *sw, uint32_t port, uint64_t rate_bps);
ps_t pfc_tick(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io); /* the next one wanted */
void sw_kick(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io);

/* credit.c */
size_t credit_bytes(const struct sw_config *config);
struct sw_credits *credit_init(void *memory, const struct sw_config *config); /* NULL: none, and no memory */
const char *credit_problem(const struct sw_config *config);
static inline struct sw_lane *lane_at(const struct sw *sw, uint32_t port, uint32_t vl)
{
    return &sw->credits->lane[port * SW_PRIOS + vl];
}
/* Blocks of a packet as the line counts them. */
static inline uint32_t lane_blocks(const struct sw *sw, uint32_t frame_bytes)
{
    return credit_blocks_of(frame_bytes + sw->credits->added_bytes, sw->credits->block_extra);
}
/* Would freeing these blocks be worth a word, or start the timer? */
static inline bool lane_tells(const struct sw *sw, uint32_t port, const struct sw_lane *lane, uint32_t blocks)
{
    struct credit_rx after = lane->rx;

    credit_freed(&after, blocks);
    return credit_tells(&after, sw->credits->packet_blocks) || !sw->credits->lanes[port].armed;
}
void credit_start(struct sw *sw);
/* ... after which words go out, or the timer starts. */
void lane_free_tells(struct sw *sw, uint32_t port, uint32_t vl, ps_t now, struct sw_io *io);
/* A packet of so many blocks, which came in by the port and lane, has left the buffer, or was never in it. */
static inline void lane_freed(struct sw *sw, uint32_t port, uint32_t vl, uint32_t blocks, ps_t now, struct sw_io *io)
{
    struct sw_lane *lane = lane_at(sw, port, vl);

    credit_freed(&lane->rx, blocks);
    if (__builtin_expect(!sw->credits->lanes[port].armed || credit_tells(&lane->rx, sw->credits->packet_blocks), 0))
        lane_free_tells(sw, port, vl, now, io);
}
void lane_sent_dry(struct sw *sw, uint32_t port, uint32_t vl, ps_t now);
/* A packet was sent. */
static inline void lane_sent(struct sw *sw, uint32_t port, uint32_t vl, uint32_t blocks, ps_t now)
{
    struct sw_lane *lane = lane_at(sw, port, vl);

    CHECK(!credit_dry(&lane->tx, blocks));
    credit_sent(&lane->tx, blocks);
    sw->credits->lanes[port].drops[vl] = 0;
    if (lane->head_since != PS_NEVER) lane->head_since = now;
    if (__builtin_expect(!sw->credits->lanes[port].armed || credit_dry(&lane->tx, sw->credits->packet_blocks), 0))
        lane_sent_dry(sw, port, vl, now);
}
/* A packet left a long queue: marked (FECN) where the lane is the root of its congestion. */
void credit_mark(struct sw *sw, uint32_t port, uint32_t vl, struct pkt *pkt, uint32_t blocks, ps_t now);
/* A packet was queued: if the lane is dry it waits from now on. */
void lane_queued(struct sw *sw, uint32_t port, uint32_t vl, ps_t now);
/* A packet that was dropped on arrival: it came and went. */
void lane_refused(struct sw *sw, uint32_t port, uint32_t vl, uint32_t blocks, ps_t now, struct sw_io *io);
void credit_link(struct sw *sw, uint32_t port, bool up, ps_t now, struct sw_io *io);
ps_t credit_tick(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io); /* the next one wanted */
void credit_settle(struct sw *sw, uint32_t port, ps_t now);
void credit_audit(const struct sw *sw, uint32_t port);

/* arbitrate.c: which of the lanes in `ready` (two or more); a packet of one left */
uint32_t arbitrate(const struct sw_arbitration *tables, struct sw_arbiter *arbiter, uint32_t ready);
void arbitrated(const struct sw_arbitration *tables, struct sw_arbiter *arbiter, uint32_t blocks);
void arbiter_init(const struct sw_arbitration *tables, struct sw_arbiter *arbiter);

/* ecn.c: is a packet to be marked at this queue length, above the min of the curve? */
bool ecn_mark(struct sw *sw, const struct sw_queue_rule *rule, uint64_t bytes);

/* sched.c: which of the queues in `ready` (two or more), and what to note when `bytes` of it were taken off */
uint32_t sched_pick(const struct sw_profile *profile, struct sw_queue *queue, uint32_t ready, uint8_t *ret_turn);
static inline void sched_sent(const struct sw_port *port, struct sw_queue *queue, uint32_t ready, uint32_t bytes)
{
    if (!(port->profile->strict & ready)) queue->deficit -= (int32_t)bytes;
}

/* route.c: a member of the group; the port of a packet, or SW_NO_PORT */
static inline uint32_t route_hash(const struct sw *sw, const struct pkt *pkt)
{
    uint64_t nodes = ((uint64_t)pkt->dst_node << 32 | pkt->src_node) & sw->hash_node_mask;
    uint64_t flow = ((uint64_t)pkt->dest_qp << 32 | pkt->sport) & sw->hash_flow_mask;
    uint64_t hash = (sw->hash_seed ^ nodes) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 32 ^ flow) * UINT64_C(0xD6E8FEB86659FD93);
    hash = (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)(hash >> 32);
}

static inline uint32_t route_member(const struct sw *sw, const struct sw_group *group, const struct pkt *pkt)
{
    if (group->count == 0) return SW_NO_PORT;
    uint32_t member = group->count == 1 ? 0 : (uint32_t)((uint64_t)route_hash(sw, pkt) * group->count >> 32);
    return sw->routes->port[group->first + member];
}
static inline uint32_t route_port(const struct sw *sw, const struct pkt *pkt)
{
    const struct sw_routes *routes = sw->routes;
    uint32_t edge = routes->edge_of[pkt->dst_node], port;
    if (edge == routes->own_edge) {
        port = routes->local_port[pkt->dst_node];
    } else {
        uint16_t group = routes->group_of[edge];
        if (group == UINT16_MAX) return SW_NO_PORT;
        port = route_member(sw, &routes->group[group], pkt);
    }
    return port < sw->ports ? port : SW_NO_PORT;
}
void route_init(struct sw *sw);

/* balance.c */
const char *balance_problem(const struct sw_balance *rule); /* NULL: none */
size_t balance_bytes(const struct sw_balance *rule);
struct sw_balancer *balance_init(void *memory, const struct sw_balance *rule); /* NULL: ECMP, and no memory */
void balance_forget(struct sw_balancer *balancer);                             /* other groups from here on */
uint32_t balance_level(uint64_t bytes, uint32_t quantum_bytes);                /* 0 to 7 */
/* As route_port(), in a switch that may have a balancer. */
uint32_t route_balanced(struct sw *sw, const struct pkt *pkt, uint32_t tc, ps_t now);

/* voq.c; a head that is not alone in its port's queues has SW_MORE for its next */
#define SW_MORE (PKT_NONE - 1)
struct sw_crossing;
size_t voq_bytes(const struct sw_config *config);
struct sw_voqs *voq_init(void *memory, const struct sw_config *config); /* NULL: none, and no memory */
/* Behind a head: into the queue of its ingress port. */
void voq_push(struct sw *sw, const struct sw_crossing *crossing, pkt_t id, ps_t now, struct sw_io *io);
uint64_t voq_length(const struct sw *sw, uint32_t out, uint32_t queue, uint32_t in);
bool voq_over(const struct sw *sw, const struct sw_pg *pg); /* one of the group's is too long */
/* The head left, and others wait: the one whose turn it is becomes the head. */
void voq_refill(struct sw *sw, struct sw_queue *queue, struct pkt *hot, ps_t now);
/* Whether the port's next packet is still being read from deep memory: it is kicked when it is there. */
bool voq_reading(struct sw *sw, uint32_t port, ps_t now);
ps_t voq_tick(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io); /* when to be called again; PS_NEVER: not */
/* All packets of a queue, whatever the architecture: from its head on. */
pkt_t sw_queued_next(const struct sw *sw, const struct pkt *hot, uint32_t port, uint32_t queue, pkt_t id);

/* watchdog.c */
void watchdog_arm(struct sw *sw, uint32_t port, ps_t now);
void watchdog_forget(struct sw *sw, uint32_t port, ps_t now); /* the link went down or came up: no storm */
ps_t watchdog_tick(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io);

/* switch.c: what the pieces in crossing.h call rarely */
/* Counted at `port` under `prio` (its PG or its queue), and gone. */
void sw_drop(struct sw *sw, uint32_t port, uint32_t prio, enum sw_drop why, pkt_t id, ps_t now, struct sw_io *io);
void sw_mark(struct sw *sw, const struct sw_queue_rule *rule, struct sw_queue *queue, uint64_t bytes, struct pkt *pkt,
             ps_t now);
/* The way of a packet that reaches a threshold: SW_DROPS when admitted, or why not. */
enum sw_drop sw_admit(struct sw *sw, uint32_t in, uint32_t pg_index, uint32_t cells, ps_t now, struct sw_io *io);
/* trim.c: the switch has no room for a packet that is to leave by `out`: trimmed and queued where its queue says so
 * (true), else dropped, and counted at `port` under `prio`. */
bool sw_refuse(struct sw *sw, uint32_t out, uint32_t port, uint32_t prio, enum sw_drop why, pkt_t id, ps_t now,
               struct sw_io *io);
/* raise.c: the class of what turns from down to up, from here on; true: the queue takes no arrivals, and the packet is
 * gone. */
struct sw_crossing;
bool sw_cross_raise(struct sw *sw, struct sw_crossing *crossing, pkt_t id, ps_t now, struct sw_io *io);
void sw_flush(struct sw *sw, uint32_t port, uint32_t queue, enum sw_drop why, ps_t now, struct sw_io *io);
void sw_drop_head(struct sw *sw, uint32_t port, uint32_t queue, enum sw_drop why, ps_t now, struct sw_io *io);

/* flood.c: a packet for an endpoint whose port is not known ... */
bool sw_floods(const struct sw *sw, const struct pkt *pkt);
/* ... goes to every port that is up but the one it came by.  Answers how many copies there are; 0: it was dropped. */
uint32_t sw_flood(struct sw *sw, uint16_t in, pkt_t id, ps_t now, struct sw_io *io);

/* telemetry.c: a packet leaves; a pause frame does */
void sw_note_hop(struct sw *sw, uint32_t port, pkt_t id, ps_t now, struct sw_io *io);
void sw_note_pause(struct sw *sw, uint32_t port);

#endif
