/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EOS profiles and interfaces as they are read.  Private to eos*.c.
 */
#ifndef ROCELAB_CONFIG_EOS_EOS_INT_H
#define ROCELAB_CONFIG_EOS_EOS_INT_H

#include "config/lines/importing.h"

#define EOS_PRIOS 8
#define EOS_KBYTE 1000u
#define EOS_MTU_LEAST 576u
#define EOS_MTU_MOST 9214u   /* what EOS calls the jumbo frame ... */
#define EOS_FRAME_MOST 9216u /* ... that other systems call this */

#define EOS_NS_PER_MS 1000000u
#define EOS_CNP_DSCP 48u /* with which adapters send CNPs unless they are told otherwise */
#define EOS_RATE_STEP 1000000000u
/* Times of the watchdog that the command line takes. */
#define EOS_TIMER_LEAST_MS 10u
#define EOS_TIMER_MOST_MS 60000u
#define EOS_POLL_LEAST_MS 5u
#define EOS_POLL_MOST_MS 30000u

enum eos_trust { EOS_TRUST_UNSAID, EOS_TRUST_DSCP, EOS_TRUST_COS, EOS_TRUST_NONE };

struct eos_queue {
    bool round_robin, strict, ecn, drop, counted, guaranteed;
    uint32_t share_ppm, line, sched_line, share_line, ecn_line;
    uint32_t shape_percent, shape_line; /* 0: it may send all it has */
    uint64_t min_bytes, max_bytes;
    uint32_t probability_ppm;
};

struct eos_policy {
    struct lines_named;
    uint8_t dscp_to_tc[64], cos_to_tc[8];
    uint32_t dscp_line[64], cos_line[8]; /* 0: no class of the policy takes it */
    uint32_t match_line;                 /* of a class that takes best effort by its DSCP; 0: none */
    uint32_t unknown_line;               /* of a class that is not defined; 0: none */
};

struct eos_qos { /* of a profile; of an interface: its own lines over its profile's */
    enum eos_trust trust;
    uint32_t trust_line;
    const struct eos_policy *policy;
    uint8_t usual_cos, usual_dscp; /* of packets of a port that trusts nothing */
    bool pfc, watch_off, watch_on;
    uint8_t no_drop; /* priorities */
    uint32_t pfc_line, no_drop_line[EOS_PRIOS], watch_line;
    uint64_t timeout_ns, recovery_ns, poll_ns; /* of the port's timer; 0: not said */
    uint32_t timer_line;
    struct eos_queue queue[EOS_PRIOS];
};

struct eos_profile {
    struct lines_named;
    struct eos_qos qos;
};

struct eos_watchdog {
    uint64_t timeout_ns, recovery_ns, poll_ns;
    const char *action; /* of the fabric file; NULL: the default, shutdown */
    uint32_t timeout_line, recovery_line, poll_line, action_line;
};

struct eos_class;
struct eos {
    union {
        struct lines_import;
        struct lines_import lines_in;
    };
    uint32_t cell_bytes; /* of the chip; 0: not known */
    uint8_t dscp_to_tc[64], cos_to_tc[8], tc_to_queue[EOS_PRIOS];
    uint32_t dscp_line[64], cos_line[8], queue_line[EOS_PRIOS];
    struct eos_watchdog watchdog;
    bool all;                          /* `show running-config all`: what is there by default too */
    bool routed, down;                 /* ports are, unless they say otherwise */
    uint32_t down_line, mtu, mtu_line; /* of `interface defaults`; 0: not said */
    bool unguaranteed;                 /* a watched queue without guaranteed bandwidth was told */
    bool marks;                        /* some queue of some port */
    uint32_t unmarked_line;            /* of the first port that should and does not */
    uint32_t policy_line;              /* of a policy-map that ports with PFC take; 0: none */
    uint32_t off_line;                 /* of `priority-flow-control all off`; 0: not said */
    struct eos_class *classes;
    struct eos_policy *policies;
    struct eos_profile *profiles;
};

struct eos_port {
    struct lines_port;
    uint32_t rate_gbps;
    struct eos_qos qos;
    bool own, profiled; /* QoS lines of its own; a profile */
    bool down_said;
    uint32_t home_line;    /* of its port-channel, where trust that is missing would stand; 0: its own */
    uint32_t profile_line; /* of the profile that it has; 0: none */
    uint32_t applied_line; /* where it takes the profile; 0: nowhere */
    uint32_t unknown_line; /* of one that is not defined; 0: none */
};

/* A line of a profile or of an interface; true: it was one of QoS. */
bool eos_qos_line(struct eos *eos, struct eos_qos *qos, struct line *line);
void eos_profiles(struct eos *eos);
/* Access lists, class-maps and policy-maps (policy.c). */
void eos_policies(struct eos *eos);
/* NULL and a note (MAP007) where it is not defined. */
const struct eos_policy *eos_policy(struct eos *eos, const char *name, uint32_t line);
void eos_policies_unused(struct eos *eos);
/* NULL and a note (MAP007) where it is not defined. */
const struct eos_profile *eos_profile(struct eos *eos, const char *name, uint32_t line);
/* What is wrong in QoS that a port has, by its profile and its own lines together: watchdog without guaranteed
 * bandwidth, ECN that is not counted. */
void eos_judge(struct eos *eos, const struct eos_qos *qos);
bool eos_watchdog_on(const struct eos *eos, const struct eos_qos *qos);

void eos_say_port(struct eos *eos, const struct eos_port *as);
void eos_say_watchdog(struct eos *eos, const struct eos_port *port, uint32_t ports);
int eos_import(struct config_set *set, const struct config_text *text);
int eos_emit(const struct config_emit *emit);

/* EOS's words for the fields of the ECMP hash are known for its chip. */
bool eos_hashes(const struct fabric_switch *sw);

#endif
