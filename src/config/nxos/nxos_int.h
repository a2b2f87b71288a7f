/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NX-OS policies as they are read.  Private to nxos*.c.
 */
#ifndef ROCELAB_CONFIG_NXOS_NXOS_INT_H
#define ROCELAB_CONFIG_NXOS_NXOS_INT_H

#include "config/lines/importing.h"

#define NXOS_PRIOS 8
#define NXOS_KBYTE 1000u
#define NXOS_MTU_LEAST 576u
#define NXOS_MTU_MOST 9216u
#define NXOS_ROCE_FRAME 4178u      /* a RoCEv2 packet with 4096 bytes, with its headers */
#define NXOS_RATE_LEAST 100000000u /* bits a second that `speed` has a number for */
#define NXOS_UNSAID UINT64_MAX
/* Of the watchdog: the interval, and how many of them until a queue is stuck and until it is let go. */
#define NXOS_POLL_LEAST_MS 100u
#define NXOS_POLL_MOST_MS 1000u
#define NXOS_SHUTDOWNS_MOST 10u
#define NXOS_RESTORES_MOST 100u

enum nxos_type { NXOS_QOS, NXOS_NETWORK, NXOS_QUEUING, NXOS_OTHER };

struct nxos_class { /* class-map, of a type */
    struct lines_named;
    bool all; /* match-all */
    uint64_t dscps;
    uint8_t cos, groups; /* matched */
    bool by_dscp, by_cos;
    uint32_t match_line; /* of the last that could be read */
};

struct nxos_queue {
    uint32_t share_ppm, share_line;
    bool remaining;           /* the share is of what the fixed ones leave */
    bool strict, detect, ecn; /* detect: random-detect is there */
    bool noted;
    uint64_t min_bytes, max_bytes;
    uint32_t probability_ppm, ecn_line;
    uint64_t buffer_bytes, pause_bytes, resume_bytes; /* NXOS_UNSAID */
    uint32_t pause_line;
    uint32_t line; /* of its class; 0: the policy has none */
};

struct nxos_policy { /* of a type */
    struct lines_named;
    /* qos */
    bool by_dscp, by_cos;
    uint8_t cnp_group; /* of a class that is called after CNPs; 0: there is none */
    uint8_t dscp_to_tc[64], cos_to_tc[8];
    uint32_t dscp_line[64], cos_line[8];
    uint32_t among_line[64];         /* what its class matches, where others are in it too; 0: it is alone */
    uint32_t group_line[NXOS_PRIOS]; /* what a class matches that leads to this qos-group; 0: none */
    uint32_t rest_line;              /* of the qos-group that class-default sets; 0: none */
    uint32_t unknown_line;           /* of a class that is not defined; 0: none */
    uint32_t cos_only_line;          /* what a class matches that leaves DSCPs out; 0: none */
    uint8_t rest;
    bool bridged; /* it is on a port that is not routed */
    /* network-qos */
    uint8_t lossless, pfc;      /* qos-groups; priorities that are paused */
    uint8_t paused[NXOS_PRIOS]; /* the priority of a lossless qos-group */
    uint8_t fcoe;               /* qos-groups, by the name of their class */
    uint8_t named;              /* qos-groups that network-qos speaks of */
    uint32_t lossless_line[NXOS_PRIOS], class_line[NXOS_PRIOS];
    uint32_t elsewhere_line;                        /* of a class that pauses another priority than its own; 0: none */
    uint32_t mtu[NXOS_PRIOS], mtu_line[NXOS_PRIOS]; /* 0: not said */
    bool own_classes;                               /* of the user: small platforms have them, and no built-in ones */
    /* queuing */
    struct nxos_queue queue[NXOS_PRIOS];
};

enum pfc_mode { PFC_UNSAID, PFC_OFF, PFC_ON, PFC_AUTO };

struct nxos_port { /* of an interface, or of a port-channel */
    struct lines_port;
    uint32_t home_line; /* where what is missing would stand: of its port-channel, if it has one, or its own */
    enum pfc_mode pfc;
    uint32_t pfc_line, rate_mbps, watch_line;
    bool watch;
    struct nxos_policy *qos, *out, *in;
    uint32_t qos_line, out_line, in_line;
    uint32_t qos_missing, out_missing; /* lines of policies that are not defined; 0: none */
};

struct nxos_time {
    uint32_t value, line; /* line 0: not said */
};

struct nxos_watchdog {
    bool on;
    uint32_t line;
    struct nxos_time poll_ms, shutdowns, restores, fixed;
};

struct nxos_breakout {
    uint64_t module, ports[4]; /* bits */
    uint32_t lanes, rate_mbps, line;
    struct nxos_breakout *next;
};

struct nxos {
    union {
        struct lines_import;
        struct lines_import lines_in;
    };
    struct nxos_class *classes;
    struct nxos_policy *policies;
    struct nxos_policy *network, *queuing_out, *queuing_in, *qos; /* of system qos; NULL: the default */
    struct nxos_watchdog watchdog;
    struct nxos_breakout *breakouts;
    uint32_t breakouts_read;
    uint32_t network_line; /* of the policy of type network-qos; 0: none is applied */
    uint32_t queuing_line; /* of that of type queuing, for what leaves; 0: none is applied */
    uint32_t system_line;  /* of `system qos`; 0: there is none */
    uint32_t down_line;    /* ports that are bridged are down unless they say otherwise; 0: up */
    bool routed;           /* ports are, unless they say otherwise */
    bool network_mtu;      /* frames of bridged ports are as large as network-qos says */
    bool missing;          /* the policy that was last asked for */
    bool pauses;           /* a port that is up */
    uint32_t mtu_most;     /* of such ports */
    uint32_t noted;        /* the line of the last reference that led nowhere: ranges of interfaces say it once */
};

/* Reads class-maps and policy-maps; notes what is wrong with them. */
void nxos_policies(struct nxos *nxos);
/* A policy by name, marked used; NULL and a note (MAP007) where it is not defined; NULL for the built-in ones. */
struct nxos_policy *nxos_policy(struct nxos *nxos, enum nxos_type type, const char *name, uint32_t line, uint32_t port);
/* What was defined and is not used anywhere. */
void nxos_unused(struct nxos *nxos);
/* `qos-group` of a built-in class of network-qos or queuing: c-8q-nq3, c-out-8q-q3, c-in-q-default; -1: not one. */
int nxos_builtin(const char *name, enum nxos_type type);

/* Reads what is of the whole switch; before interfaces. */
void nxos_system(struct nxos *nxos);
void nxos_say_watchdog(struct nxos *nxos);
/* How the cage of a port is broken out, and the port's lane in it (0: the name is the cage's own); NULL: it is not. */
const struct nxos_breakout *nxos_breakout(const struct nxos *nxos, const char *name, uint32_t *ret_lane);
/* Rules that rest on a policy of this type, which is not in the text, are not judged. */
void nxos_unknown(struct nxos *nxos, uint32_t line, enum nxos_type type, uint32_t port);
void nxos_judge_groups(struct nxos *nxos); /* after all ports */
void nxos_judge_mtu(struct nxos *nxos);    /* after all ports */
void nxos_say_port(struct nxos *nxos, const struct nxos_port *port);
bool nxos_is_os10(const char *text, size_t length);
int nxos_import(struct config_set *set, const struct config_text *text);
int nxos_emit(const struct config_emit *emit);

#endif
