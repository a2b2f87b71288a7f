/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The swarm's parts: plans (a random fabric as text), the watch (what must hold, looked at from outside) and coverage.
 *
 * The watch sees every call that the simulator's glue makes to a switch, an adapter, a line or the workload: the linker
 * puts it in between (--wrap), so the tree under test is the tree as shipped.  It keeps its own account of what is
 * where and compares.
 */
#ifndef ROCELAB_TESTS_SWARM_SWARM_H
#define ROCELAB_TESTS_SWARM_SWARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "engine/engine_int.h"
#include "nic/nic_int.h"
#include "sim/sim_int.h"
#include "switch/switch_int.h"

/* ---- plans ---- */

#define PLAN_TEXT 8192
struct plan { /* what a seed stands for */
    uint64_t seed;
    char text[PLAN_TEXT];
    size_t used;
    uint32_t hosts, gpus;
    uint32_t leaf_hosts, uplinks, spines; /* ports of leaf0 to hosts and to other switches; switches named spine */
    uint64_t headroom_bytes;              /* of each lossless class; 0: as the loader works it out */
    bool verbs;                           /* WRITEs of the workload become other verbs on their way to the adapter */
    bool late_receives;                   /* receives are posted again only after a while */
    bool psn_wraps;                       /* PSNs begin shortly before they wrap */
    bool loses;                           /* some link loses packets */
    bool periodic;                        /* every Nth packet */
    bool goes_down;                       /* some link is down for a while */
    bool storm;                           /* somebody pauses without end, for a while */
    bool watched;                         /* a watchdog may drop: only a timer brings that back */
    bool short_headroom;                  /* a lossless class may have less headroom than the formula says */
    bool pool;                            /* headroom is a pool, which may be smaller than all together want */
    bool go_back_0;
    bool sprays; /* packets of a flow may change places on their way */
    bool slow_receiver;
    bool acks_apart;    /* ACKs have a class of their own, until a READ comes */
    bool controlled;    /* some congestion control: rates may fall low */
    bool unreliable;    /* some connections are UC or UD */
    bool shared;        /* an adapter's queue pairs share their receives */
    bool slow_line;     /* a line is slower for a while */
    bool bare;          /* model hpcc-ns3: frames alone on the line, whole nanoseconds */
    bool v1;            /* system rocev1: longer headers, no marks, one path for all queue pairs of a pair */
    bool lossy_job;     /* a job runs in a class that may drop */
    bool hasty;         /* the acknowledgement timer is shorter than queues are long */
    bool early;         /* adaptive retransmission: so may the first timeouts be */
    bool eager;         /* a NAK is said again within a round trip */
    bool timers;        /* there is an acknowledgement timer */
    bool switch_storm;  /* the storm comes from a switch */
    bool heavy;         /* many packets at a time */
    bool only_routes;   /* a large fabric, loaded and looked at, not run */
    bool after;         /* some job waits for another */
    bool bad_day;       /* plan_bad.c has drawn something */
    bool routes_move;   /* routes follow what fails or is withdrawn, late: packets may go round, and overtake */
    bool endless;       /* somebody pauses and never stops */
    bool drains_slowly; /* a receiver becomes slow, for a while or for good */
    bool ecn_differs;   /* one switch marks otherwise */
    bool pfc_missing;   /* at one port pauses are not sent, or not obeyed */
    bool unwatched;     /* switches do what the watch does not follow: judged at the end alone */
    bool floods;        /* an edge forgets a port */
    bool misrouted;     /* a switch has a wrong route: loops, and deadlocks */
    ps_t until;         /* longest virtual time */
};
/* `attempt` grows when the loader refused: buffers grow with it. */
void plan_make(struct plan *plan, uint64_t seed, unsigned attempt);
/* Whether all jobs end, and well, whatever happens in it. */
bool plan_must_end(const struct plan *plan);

/* ---- failures ---- */

/* Says which invariant broke, prints the seed and the fabric, ends the program. */
__attribute__((noreturn, format(printf, 2, 3))) void swarm_fail(const char *invariant, const char *format, ...);
#define HOLDS(condition, invariant, ...)                                                                               \
    do {                                                                                                               \
        if (__builtin_expect(!(condition), 0)) swarm_fail(invariant, __VA_ARGS__);                                     \
    } while (0)

/* ---- unwatched.c: what must hold of a run that was not watched, by its counters alone ---- */

void unwatched_check(struct sim *sim, const struct sim_result *result, const struct plan *plan);

/* ---- the watch ---- */

#define SWARM_PACKETS (1u << 17)

struct lane_item {
    uint32_t what; /* a packet, or a pause; LANE_GONE: lost on the way */
    ps_t at;       /* when it must arrive */
};
#define LANE_GONE UINT32_MAX
struct lane { /* a FIFO that grows */
    struct lane_item *item;
    uint32_t head, tail, size;
};
void lane_push(struct lane *lane, uint32_t what, ps_t at);

struct line {                       /* the sending half of a port */
    uint64_t rate_bps, quantum_bps; /* the second: of pauses, whatever becomes of the line */
    ps_t fraction; /* what rounding may make of a time here: 0 where a byte is a whole number of picoseconds */
    ps_t free_at, latency, reaction;
    bool cut, down, was_down;
    bool forever;  /* pauses of this port do not expire */
    uint32_t loss; /* faults that lose packets here */
    struct lane data, pause;
    ps_t paused_until[8]; /* of this port, by pauses that arrived at it */
    ps_t paused_from[8];  /* since when without a break; PS_NEVER: not paused */
    ps_t paused_sum[8], xoff_seen[8];
    /* what the other end was told by this one */
    uint8_t told;
    ps_t told_at[8], told_from[8], told_sum[8]; /* last frame; first of this pause; all before */
    bool stops;                                 /* the port's line rate was changed at some time */
    struct {                                    /* counted here, to be compared with what the product counted */
        uint64_t frames, bytes, line_bytes, pauses, came, came_bytes, pauses_came, marked;
        uint64_t xoff[8], xon[8], xoff_came[8], xon_came[8];
    } count;
};

enum where { AT_ADAPTER, ON_LINE, IN_HANDS, IN_QUEUE };
struct packet_watch {
    uint8_t where;
    uint32_t at;    /* line, or switch << 16 | port << 3 | queue */
    uint64_t order; /* of sending, in its flow */
};

struct queue_watch {
    struct lane fifo;
    uint64_t bytes, cells, most; /* cells: bytes of whole ones */
    ps_t filled_at;              /* when it was last empty */
};

struct port_watch {
    uint64_t pg_bytes[8];
    struct queue_watch queue[8];
    /* fairness: bytes since the set of ready queues last changed */
    uint8_t ready;
    uint64_t served[8];
};

struct switch_watch {
    const struct sw_config *config;
    struct port_watch *port;
    uint32_t first_port; /* fabric's */
};

struct request {             /* a posted work request */
    uint32_t first, packets; /* PSNs, counted from the connection's first */
    uint64_t bytes, stream;  /* stream: of all requests before */
    uint64_t tag;
    uint8_t verb;
    bool fenced;
};

struct end_watch { /* of a connection: what is paced */
    ps_t start;
    uint64_t rate_bps; /* the highest since */
    uint32_t bytes;
    bool sent;
};

struct pair_watch { /* a connection */
    struct request *request;
    uint32_t posted, completed, room;
    uint32_t psns, base; /* PSNs given out; the first on the wire */
    uint8_t *there;      /* [psn] request packet seen by the receiver (1), response by the sender (2) */
    uint32_t there_room;
    uint32_t acked, high; /* by ACKs that arrived at the sender; highest PSN sent + 1 */
    uint64_t received;    /* messages announced to the receiver */
    uint32_t atomics_done;
    uint32_t prefix, mtu; /* requests before have all arrived */
    uint32_t top;         /* none from here up has */
    uint32_t refused;     /* what rnr_until is about */
    uint64_t timeouts;    /* of the requester's adapter, when it last sent */
    ps_t last_cnp[2], rnr_until;
    bool has_cnp[2], failed;
    uint8_t transport; /* enum nic_transport */
    bool rewinds;      /* a NAK asked for PSN `rewind`, and nothing was sent since */
    uint32_t rewind;
    bool whole;              /* UC: the message in progress has lost nothing */
    uint32_t next;           /* UC: PSN that continues it */
    struct end_watch end[2]; /* requester's, responder's */
    /* the responder as the rules have it; not with selective repeat */
    uint32_t expected, unacked;
    bool asked, silent, unsure, untracked; /* a NAK was sent; an RNR NAK; `unacked` may be less; the QP failed */
    ps_t ask_again;
    /* the requester: the oldest packet that is not acknowledged */
    uint32_t tries, since_ask, last_psn;
    bool was_told; /* something but the timer may have made it go back */
    ps_t tried_at, moved_at;
    uint32_t in_row; /* repeats by the timer since something was acknowledged */
    /* what waits for the software of the two ends: tags, and when they are due */
    struct lane posts, sents, comes;
};

struct flow_watch { /* order of arrival, by connection, direction and class */
    uint64_t sent[2][8], arrived[2][8];
};

struct watch {
    struct sim *sim;
    const struct fabric *fabric;
    const struct plan *plan;
    struct line *line; /* [fabric port] */
    struct packet_watch *packet;
    struct switch_watch *sw;
    struct pair_watch *pair;
    struct flow_watch *flow;
    uint32_t *window_packets;       /* [pair] */
    uint32_t *first_pair, *pair_at; /* by endpoint and queue pair: connection << 1 | receives */
    uint32_t pairs;
    uint64_t *repeated, *payload; /* [endpoint] request packets sent again; bytes of data sent */
    uint64_t *outrun;             /* [endpoint] its packets that came when a gap was too far behind others */
    uint64_t *shared_received;    /* [endpoint] messages that took a shared receive */
    uint64_t on_line, queued;     /* packets */
    uint64_t uc_packets, ud_packets, unreliable_lost, shared_taken;
    bool selective;
    uint64_t rewinds_checked, lossless_checked;
    uint64_t paced, windows_checked, marks_checked, fair_checked, strict_checked;
    uint64_t xons, xoffs, renewals, naks_due, acks_due, timeouts, cnps_due, detected, restored, forms, excused;
    uint64_t reads_limited, fences, ring_bytes, followers, failures, egress_checked, software_waits;
    uint32_t *owner; /* [packet] the audit that last found it free */
    uint32_t audits;
    double *bucket, *bucket_slack; /* [endpoint] what a slow receiver holds; a byte for each packet may be rounded */
    ps_t *bucket_at;
};
extern struct watch *watching; /* NULL: look away */

void watch_begin(struct watch *watch, struct sim *sim, const struct plan *plan);
/* Books that must balance at any time between windows. */
void watch_audit(struct watch *watch);
void watch_end(struct watch *watch, const struct sim_result *result);
void watch_free(struct watch *watch);

/* watch_line.c */
uint32_t line_of_switch(const struct watch *watch, uint32_t sw, uint32_t port);
uint32_t line_of_nic(const struct watch *watch, uint32_t endpoint);
void line_rate(const struct watch *watch, struct line *line, uint64_t rate_bps); /* from now on */
ps_t line_time(uint64_t rate_bps, uint64_t bytes);
void line_send(struct watch *watch, uint32_t line, const struct pkt *pkt, pkt_t id, ps_t now);
void line_arrive(struct watch *watch, uint32_t line, pkt_t id, ps_t now);
void line_pause_arrives(struct watch *watch, uint32_t to, uint8_t enable, uint16_t quanta, ps_t now);
void line_paused(struct watch *watch, uint32_t port, uint8_t enable, uint16_t quanta, ps_t now);

/* watch_switch.c */
uint32_t watch_find_switch(const struct watch *watch, const struct sw *sw);
void watch_slope(void);
void switch_flushed(struct watch *watch, pkt_t id);

/* watch_pfc.c: a pause frame is about to be sent; what a switch does about a queue that stands still */
void pfc_told(struct watch *watch, uint32_t node, uint32_t port, uint8_t enable, uint16_t quanta, ps_t now);
void pfc_audit(struct watch *watch);
void receiver_took(struct watch *watch, const struct nic *nic, uint32_t bytes, ps_t now);
bool group_full(const struct watch *watch, uint32_t sw, uint16_t port, uint8_t pg);
bool group_may_go(const struct watch *watch, uint32_t sw, uint16_t port, uint8_t pg);
bool group_must_stop(const struct watch *watch, uint32_t sw, uint16_t port, uint8_t pg);

/* watch_nic.c */
#define THERE_REQUEST 1u
#define THERE_RESPONSE 2u
uint32_t connection_of(const struct watch *watch, uint32_t endpoint, uint32_t qpn, bool *ret_receives);
const struct request *request_of(const struct pair_watch *pair, uint32_t psn);

/* watch_form.c: what a packet looks like */
void check_form(struct watch *watch, uint32_t index, bool to_receiver, const struct pkt *pkt);

/* watch_pair.c: when the two ends of a connection speak */
struct seen { /* a packet that an adapter was given, and what it made of it */
    const struct nic *nic;
    const struct pkt *pkt;
    const struct nic_counters *before, *after;
    ps_t now;
    uint64_t rate_before;
};
void pair_request_came(struct watch *watch, uint32_t index, uint32_t psn, const struct seen *seen);
void pair_request_goes(struct watch *watch, uint32_t index, uint32_t psn, ps_t now);
void pair_begins(struct watch *watch, uint32_t index, const struct request *request, uint32_t psn);
void pair_moved(struct pair_watch *pair, ps_t now);
void pair_failed(struct watch *watch, uint32_t index, ps_t now);
void pair_paced(struct watch *watch, const struct nic *nic, uint32_t index, bool receives, const struct pkt *pkt,
                ps_t now);
void pair_rate(struct watch *watch, const struct nic *nic, uint32_t index, bool receives);
void pair_notified(struct watch *watch, uint32_t index, bool receives, const struct seen *seen);

/* watch_routes.c: every way through a fabric that was loaded */
void routes_check(const struct fabric *fabric, uint64_t seed);
void routes_chosen(uint32_t members, uint32_t which);
void routes_shares(void);

/* watch_work.c: jobs */
void work_check(struct watch *watch, const struct sim_result *result);
void work_posted(struct watch *watch, uint32_t connection);

/* watch_software.c: what a host's software takes */
void software_posts(struct watch *watch, uint32_t connection, uint32_t tag, ps_t now);
bool software_sent(struct watch *watch, uint32_t connection, uint32_t tag, ps_t now); /* seen before, by the adapter */
void software_came(struct watch *watch, uint32_t connection, uint32_t word, ps_t now);
void request_completed(struct watch *watch, uint32_t connection, uint32_t tag, bool good, ps_t now); /* watch_nic.c */

/* watch_counts.c: what is reported */
void counts_check(struct watch *watch, const struct sim_result *result);

/* ---- coverage ---- */

void cover_add(const struct sim *sim, const struct sim_result *result, const struct plan *plan,
               const struct watch *watch);
void cover_run(bool threads, bool tiles);
void cover_loop(void);
void cover_unwatched(const struct sim *sim, const struct sim_result *result, const struct plan *plan);
void cover_routes(void);
/* Prints the table; the number of required lines that are 0. */
unsigned cover_print(void);

#endif
