/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of the simulator leaves behind, as plain data: filled in by src/sim, printed by src/report.
 *
 * A result is a picture of one moment and holds all it shows: no pointer leads into a machine, and the simulation may
 * run on or be gone.  Names alone are the fabric's.
 */
#ifndef ROCELAB_SIM_SIM_RESULT_H
#define ROCELAB_SIM_SIM_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histo.h"
#include "base/time.h"
#include "jobs/training.h"
#include "nic/counters.h"
#include "node/endpoint.h"
#include "node/llr.h"
#include "observe/sample.h"
#include "switch/counters.h"
#include "tcp/counters.h"
#include "uet/counters.h"

enum sim_state {
    SIM_RUNNING,
    SIM_DONE,     /* every job has ended */
    SIM_UNTIL,    /* the time asked for was reached */
    SIM_STUCK,    /* jobs are unfinished and nothing will ever happen */
    SIM_DEADLOCK, /* queues wait for each other in a circle, and nothing will break it */
    SIM_FAILED,   /* jobs were given up, and every other one has ended */
};
struct sim_job {
    const char *name;
    uint32_t job, repetition, ranks;
    uint64_t bytes;
    ps_t start, end; /* PS_NEVER: not reached */
    ps_t failed_at;  /* given up: a queue pair of its collectives failed, or the job it waits for did; PS_NEVER: not */
    ps_t ideal_ps;   /* no network of these lines could be faster: expected/roofline.c; PS_NEVER: not known */
    ps_t inside_ps;  /* of it, of a collective: what the links between the GPUs of a host take at least */
    ps_t
        sharp_ps; /* InfiniBand's allreduce by a ring: with reduction in the switches, by the same; PS_NEVER: no such */
    uint64_t bus_num, bus_den;
    bool failed; /* it was, or a flow of it: its bytes over its time are no bandwidth */
    bool collective;
    uint8_t algorithm, protocol; /* of a collective, as run: enum fabric_algorithm, fabric_protocol */
    uint32_t first_from, froms;  /* into sim_result.end: who sends; of collectives and training all who take part */
    uint32_t first_to, tos;      /* who is sent to; of those none.  Repetitions that are alike have the same places */
};

struct sim_training_group { /* ranks that do something together: tp, cp, dp, pp, ep, edp, all, p2p */
    uint32_t size;
    uint64_t operations, bytes; /* in a step, of the rank with most */
    ps_t busy_ps;               /* in a step, a rank, the mean: something of it was under way */
    ps_t exposed_ps;            /* of it the rank waited for it */
    ps_t exposed_most_ps;       /* of the rank that waited longest */
};

/* With more waits than this, those of some ranks alone: that waited longest, and that waited least, whom the others may
 * have waited for. */
#define SIM_WAITS_MOST 100000u
#define SIM_WAITS_RANKS 64u
struct sim_training { /* steps of compute and communication */
    uint32_t job;     /* into sim_result.job */
    uint32_t steps, steps_ended;
    ps_t *step_ps; /* [steps_ended] */
    ps_t mean_ps;  /* of those; 0: none has ended */
    ps_t compute_ps, exposed_ps;
    ps_t compute_most_ps; /* of the rank that computed longest ... */
    uint32_t slowest;     /* ... its number, and the GPU it is on */
    uint32_t slowest_gpu;
    uint32_t idle_ppm;
    struct sim_training_group group[FABRIC_GROUPS];
    ps_t *wait_ps; /* [wait_steps * listed] that ranks waited for communication */
    uint32_t wait_steps, listed;
    uint32_t *rank;        /* [listed] which ranks; NULL: all */
    ps_t *rank_compute_ps; /* [listed] that a rank computed in a step, the mean */
};

struct sim_flow {
    uint32_t id, src, dst; /* endpoints */
    uint32_t job;
    uint32_t connection; /* flows of one number go in order */
    uint64_t bytes;
    ps_t start, fct_ps;      /* PS_NEVER: not reached */
    ps_t ideal_ps;           /* alone in the fabric */
    ps_t waited_ps;          /* of fct_ps, for flows before it on its connection */
    uint64_t acked_bytes;    /* by the end of the run: all of them where it is completed */
    uint64_t goodput_bps;    /* of those, from its start to its end, or the run's */
    uint64_t resent_packets; /* by its connection, which may have other flows */
    uint32_t first_hop;      /* into sim_result.hop: the ports it leaves by with the routes of now, its host's first */
    uint32_t hops;           /* 0: there is no way, or not one alone */
    bool failed;
};

struct sim_port { /* of switches and hosts, by the fabric's numbers */
    uint32_t port;
    uint64_t line_bytes; /* sent, gaps included */
    uint32_t utilisation_ppm;
    uint64_t frames;      /* sent, pauses included */
    uint64_t pauses_sent; /* PFC frames */
    uint64_t
        pauses_received; /* of a switch's port frames; of a host's a frame counts once for each priority it names */
    bool has_infiniband; /* it is of a fabric of InfiniBand: */
    struct observe_infiniband infiniband;
    uint64_t credits_sent, credits_received; /* flow-control words */
    ps_t paused_ps;                          /* paused, or with packets and no credits: sum over priorities */
    uint64_t ecn_marked;                     /* switch ports */
    uint64_t queue_max_bytes;                /* longest queue; switch ports */
    uint64_t drops;                          /* all reasons; a host's are its adapter's */
    uint64_t lost_bytes;                     /* of what was lost */
    uint64_t lost;                     /* on the wire: sent and corrupted or dropped, or arrived when it was down */
    bool up;                           /* the link works now */
    uint64_t rate_bps;                 /* that it has now: less where lanes are lost */
    uint64_t downs, crc_errors;        /* times the link went down; packets that arrived here with wrong bits */
    uint64_t celsius, pre_fec_ber;     /* of the optic, the second in 10^-18; 0: nothing sets them */
    const struct llr_counters *llr;    /* into sim_result.llr_counters; NULL: no link-level retry */
    uint32_t mtu_bytes;                /* largest frame of a switch's port; 0: any, or a host's */
    uint8_t pfc_sends, pfc_obeys;      /* bit p; switch ports */
    const struct sw_port_counters *sw; /* into sim_result.sw_counters; NULL: a host's */
    uint32_t thresholds;               /* into sim_result.thresholds; UINT32_MAX: a host's */
};

struct sim_threshold { /* of an egress queue and of the ingress group of the same number, as its switch has them */
    bool ecn, pauses;  /* the queue marks; the group pauses its peer */
    bool dynamic;      /* at pause_alpha times what is free of the shared buffer, else at pause_bytes */
    uint64_t ecn_min_bytes, ecn_max_bytes;
    uint32_t ecn_probability_ppm;
    uint32_t alpha_num, alpha_den;
    uint64_t pause_bytes;
    uint64_t voq_pause_bytes; /* a virtual output queue pauses at this too; 0: none does */
    uint64_t headroom_bytes, reserved_bytes;
};
struct sim_thresholds { /* shared by all ports that have the same */
    struct sim_threshold prio[8];
};

struct sim_nic {
    uint32_t endpoint;
    struct endpoint_counters common;     /* of any transport */
    const struct nic_counters *counters; /* RoCE's and InfiniBand's, into sim_result.nic_counters; NULL: of another */
    uint32_t connections;                /* from it to adapters behind other switches */
    ps_t software_ps;                    /* something of it waited for its host's software for so long */
    bool has_tcp;                        /* TCP's or iWARP's: */
    struct tcp_counters tcp;
    bool has_uet; /* Ultra Ethernet's: */
    struct uet_counters uet;
    const struct histo *rtt_ns; /* of its packets, into sim_result.rtt_ns; NULL: not asked for */
};

struct sim_failure {         /* the first work request that was completed with an error */
    ps_t at;                 /* PS_NEVER: none was */
    uint32_t src, dst;       /* endpoints */
    uint32_t qpn;            /* of src */
    bool retries;            /* they were used up; else the peer refused */
    bool reachable;          /* src had a way to dst when the run ended */
    bool src_down, dst_down; /* their links were, when the run ended */
    uint32_t retry;          /* how many it had */
    uint64_t acked_bytes;    /* payload of this queue pair that had been acknowledged */
};

struct sim_stall {     /* a run that is stuck: whose requests will never complete */
    uint32_t pairs;    /* queue pairs that have some; 0: none */
    uint32_t src, dst; /* endpoints of the first; one whose link is down before others */
    uint32_t qpn;      /* of src */
    uint32_t requests; /* in its queue */
    bool down;         /* the link of src is */
    bool paused;       /* src is, the class of this queue pair */
};

struct sim_wait { /* a queue that may not send */
    uint32_t port;
    uint8_t priority;
};

struct sim_deadlock {
    ps_t closed;           /* when the last pause of the circle took effect */
    ps_t seen;             /* when it was looked for and found */
    ps_t ended;            /* when it was looked for and found no more; PS_NEVER: it holds to the end */
    uint32_t waits, stuck; /* queues in the circle; in all that can never send, the circle's too */
    struct sim_wait *wait; /* each waits for the next, the last for the first */
};

struct sim_pause { /* a port that paused its peer, because of one of its switch's queues */
    uint32_t port;
    uint32_t cause; /* the port whose queue it was; UINT32_MAX: the pauser is a host */
    uint8_t priority;
    uint64_t count;    /* pauses begun */
    ps_t time_ps;      /* the peer was told to pause for */
    ps_t passed_on_ps; /* of it, begun while the queue was paused itself */
};

struct sim_fault_seen { /* a fault that has begun */
    ps_t at, until;     /* PS_NEVER: it holds to the end */
    uint8_t kind;       /* enum fabric_fault_kind */
    uint32_t node;
    uint32_t port;    /* FABRIC_NONE: the whole node */
    const char *text; /* as the file has it, or as it was given; the fabric's */
};

#define SIM_ROUTES_MAX 65536u /* the first so many are kept */
struct sim_route_change {     /* a switch has got new routes */
    ps_t at;
    uint32_t node;
    uint32_t change; /* number of what they follow, from 1: all switches' of one number belong together */
};

#define SIM_TIER_EMPTIES 8
struct sim_tier {             /* links from switches of one role to those of another: how evenly they were used */
    uint8_t from, to;         /* enum fabric_role */
    uint8_t balance;          /* enum sw_balance_kind of the senders */
    uint8_t alike;            /* the role whose hash is the same, where links stay empty for it; UINT8_MAX: none */
    uint32_t switches, links; /* of switches that sent anything there */
    uint32_t mean_milli, worst_milli;          /* the fullest link over the mean, mean over switches and worst */
    uint32_t expected_milli;                   /* the mean that an ideal hash would give; 0: not known */
    uint32_t expected_most_milli;              /* the most of any trial: chance explains that much; 0: not known */
    uint32_t used_milli, expected_used_milli;  /* share of links that carried a tenth of the mean */
    uint32_t empties, empty[SIM_TIER_EMPTIES]; /* with `alike`: the first ports that stayed empty */
};

struct sim_result {
    enum sim_state state;
    bool nothing_left; /* nothing will ever happen again: to go on would change nothing */
    ps_t virtual_ps;
    uint64_t packet_hops, digest, windows;
    uint64_t packets_live, packets_on_links, packets_peak;
    ps_t window_ps, great_window_ps;
    uint32_t jobs, flows, ports, nics;
    struct sim_job *job;
    struct sim_flow *flow;
    struct sim_port *port;
    struct sim_nic *nic;
    /* The machines' counters when the result was read. */
    struct sw_port_counters *sw_counters; /* of switches' ports, in the order of `port` */
    struct llr_counters *llr_counters;    /* of ports with link-level retry, in the order of `port` */
    struct nic_counters *nic_counters;    /* [nics], where they have them */
    struct histo *rtt_ns;                 /* [nics]; NULL: not asked for */
    struct sim_thresholds *thresholds;    /* of switches' ports, each set once */
    uint32_t threshold_sets;
    uint64_t work_failed; /* work requests completed with an error */
    struct sim_failure failure;
    struct sim_stall stall;
    uint32_t *end; /* endpoints of jobs */
    uint32_t *hop; /* ports of flows' ways */
    uint32_t deadlocks, pauses, trainings;
    struct sim_training *training;
    struct sim_deadlock *deadlock;
    struct sim_pause *pause;
    uint32_t faults, routes; /* both by time */
    uint64_t routes_left_out;
    struct sim_fault_seen *fault;
    struct sim_route_change *route;
    uint32_t tiers; /* sim_imbalance() */
    struct sim_tier *tier;
};
const char *sim_status_name(unsigned status); /* of a work request that has failed: enum nic_status */

/* For time series: what a port holds and has sent by now. */
struct sim_sample {
    uint64_t queue_bytes, line_bytes;
    ps_t paused_ps;
    uint16_t paused; /* bit p */
};
struct sim_connection_sample {
    uint32_t src, dst; /* endpoints */
    uint64_t acked_bytes;
};

#endif
