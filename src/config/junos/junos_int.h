/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Junos class of service and interfaces as they are read.  Private to src/config/junos.
 */
#ifndef ROCELAB_CONFIG_JUNOS_JUNOS_INT_H
#define ROCELAB_CONFIG_JUNOS_JUNOS_INT_H

#include "config/config.h"
#include "config/junos/tree.h"

#define JUNOS_PRIOS 8u
#define JUNOS_MTU_LEAST 256u
#define JUNOS_MTU_MOST 9216u
#define JUNOS_MTU_DEFAULT 1514u
#define JUNOS_INET_OVER 18u /* of a frame over the packet that `family inet mtu` counts */
#define JUNOS_CABLE_DEFAULT_M 100u
/* The watchdog: a poll, the polls until a queue is stalled, the time until it is served again. */
#define JUNOS_POLL_DEFAULT_MS 100u
#define JUNOS_POLL_LEAST_MS 100u
#define JUNOS_POLL_MOST_MS 1000u
#define JUNOS_POLLS_DEFAULT 2u
#define JUNOS_POLLS_LEAST 2u
#define JUNOS_POLLS_MOST 10u
#define JUNOS_RECOVERY_DEFAULT_MS 200u
#define JUNOS_RECOVERY_LEAST_MS 200u
#define JUNOS_RECOVERY_MOST_MS 10000u
#define JUNOS_ALPHA_ONE 7u /* the dynamic-threshold that is an alpha of 1; each more is twice as much */
#define JUNOS_ALPHA_MOST 10u
#define JUNOS_RATE_STEP 1000000000u
/* What a queue may hold on a chip of which nobody knows it. */
#define JUNOS_QUEUE_BYTES 10000000u

#define JUNOS_CLASSES 32u
#define JUNOS_NAMED 4096u /* of profiles, schedulers, classifiers, each: eight for every port of the largest switch */
#define JUNOS_POINTS 32u
#define JUNOS_ADDRESSES 4u /* of a port; further ones name no link */

struct junos_class { /* a forwarding class */
    const char *name;
    uint32_t line, queue_line, priority_line;
    int queue;    /* 8 and above carry no unicast */
    int priority; /* in pauses; -1: not said */
    bool no_loss, configured, used;
    int tc; /* -1: none yet */
};

struct junos_named { /* begins a thing that others name */
    const char *name;
    uint32_t line;
    bool used;
};

struct junos_classifier {
    struct junos_named;
    bool ieee;
    int8_t class[64]; /* into classes; -1: what nothing names, best effort */
    uint32_t at[64];
};

struct junos_profile { /* of drops */
    struct junos_named;
    uint32_t fill_line, fills, chances;
    uint32_t fill[JUNOS_POINTS], chance[JUNOS_POINTS], fill_at[JUNOS_POINTS], chance_at[JUNOS_POINTS];
};

struct junos_scheduler {
    struct junos_named;
    uint32_t rate_line, strict_line, ecn_line, drop_line;
    uint32_t percent; /* 0: not said */
    uint64_t shaped;  /* to so many bits a second; 0: not */
    uint32_t shaped_percent, shaped_line;
    int alpha; /* buffer-dynamic-threshold; -1: not said */
    bool strict, ecn;
    const struct junos_profile *drop;
};

struct junos_map { /* a scheduler map */
    struct junos_named;
    const struct junos_scheduler *scheduler[JUNOS_CLASSES];
    uint32_t at[JUNOS_CLASSES];
};

struct junos_pauses { /* a congestion notification profile */
    struct junos_named;
    uint32_t input_line, output_line, cable_line, mru_line, watch_line;
    bool watch, output;
    uint64_t dscps; /* that are paused for */
    uint8_t prios;
    uint32_t dscp_line[64], prio_line[8];
    uint32_t cable_m, mru;
    uint8_t queues[JUNOS_PRIOS]; /* that stand still when this priority is paused: bits */
    uint32_t queue_line[JUNOS_PRIOS], point_line[JUNOS_PRIOS];
    uint32_t poll_ms, polls, recovery_ms, poll_line, polls_line, recovery_line, action_line;
    bool forward;
};

struct junos_binding { /* what `class-of-service interfaces` says of a port; a name of a thing and its line */
    const char *pauses, *map, *dscp, *ieee, *rewrite, *fixed;
    uint32_t pauses_line, map_line, dscp_line, ieee_line, rewrite_line, fixed_line, line;
};

struct junos_port {
    const char *name, *lag, *fec, *described;
    uint32_t line, mtu, mtu_line, rate_gbps, rate_line, fec_line, down_line, described_line, pause_line, lag_line;
    uint32_t inet_mtu, inet_line;
    uint32_t ghost_line; /* an entry of class of service, of an interface that is not there, has what this one lacks */
    uint32_t channels;   /* it is broken out into so many */
    bool down, routed, in_use, bridged;
    bool unwritten; /* class of service speaks of it, and `interfaces` does not */
    const struct junos_node *address[JUNOS_ADDRESSES];
    uint32_t addresses;
    uint32_t id; /* in the set */
    struct junos_binding cos;
};

struct junos {
    struct config_set *set;
    const struct config_text *text;
    struct arena *arena;
    struct junos_tree tree;
    uint32_t device;
    struct junos_class class[JUNOS_CLASSES];
    uint32_t classes;
    struct junos_classifier *classifier;
    struct junos_profile *profile;
    struct junos_scheduler *scheduler;
    struct junos_map *map;
    struct junos_pauses *pauses;
    uint32_t classifiers, profiles, schedulers, maps, pauseses;
    uint32_t named; /* room for each of them */
    struct junos_port *port;
    uint32_t ports;
    bool unsized; /* marks by per cent of a queue, and that is told */
    uint32_t alpha_line;
    int alpha; /* dynamic-threshold of the lossless partition that comes in; -1: not said */
    /* Of the partitions that go out, by lossless. */
    uint32_t egress_percent[2];
    bool egress_said[2];
    int egress_alpha[2]; /* -1: not said */
};

/* class-of-service, but for its interfaces (cos.c, schedule.c); `cos` NULL: there is none. */
void junos_cos(struct junos *in, struct junos_node *cos);
void junos_schedules(struct junos *in, struct junos_node *cos);
void junos_buffers(struct junos *in, struct junos_node *cos);
/* The class of this name; -1: none, with a note where a line refers to it. */
int junos_class_find(struct junos *in, const char *name, uint32_t line);
/* Of a list of things the first of this name, which is used by that; NULL: there is none. */
void *junos_use(void *list, uint32_t count, size_t size, const char *name);
#define JUNOS_USE(list, count, name) junos_use(list, count, sizeof *(list), name)
void junos_undefined(struct junos *in, uint32_t line, const char *what, const char *name); /* MAP007 */
/* A number of the word from low to high; else a note and false. */
bool junos_number(struct junos *in, const struct junos_node *node, uint32_t low, uint32_t high, uint32_t *ret);
/* A code point by bits, by name or by alias; `bits` 6 or 3.  False and a note: it is none. */
bool junos_code_point(struct junos *in, const struct junos_node *node, unsigned bits, unsigned *ret);
/* interfaces, chassis, and what class of service says of ports (ports.c, bind.c). */
void junos_ports(struct junos *in, struct junos_node *cos);
struct junos_node *junos_cos_interfaces(struct junos *in, struct junos_node *cos); /* NULL: it speaks of none */
void junos_bind(struct junos *in, struct junos_node *cos);
void junos_traffic_classes(struct junos *in); /* gives every class its number in the fabric */
void junos_chip(struct junos *in);            /* chip.c */
void junos_say(struct junos *in);             /* meaning.c */
void junos_judge(struct junos *in);           /* judge.c: what is wrong whichever port has it */
void junos_routes(struct junos *in);          /* routes.c: whether equal paths are used, and by what */
void junos_unread(struct junos *in);          /* unread.c: what nobody dealt with */

int junos_import(struct config_set *set, const struct config_text *text);
/* --- what a queue may hold (buffer.c) --- */
struct junos_parts { /* per cent of the shared buffer */
    unsigned headroom, lossless, lossy;
};
struct junos_parts junos_parts_of(const struct fabric_switch *sw); /* as they are written */
/* What a queue may hold in what is written for this switch; in the text that is read, 0: its chip is not known. */
uint64_t junos_queue_written(const struct fabric_switch *sw, bool lossless);
uint64_t junos_queue_read(const struct junos *in, bool lossless, const struct junos_scheduler *by);
/* The fill levels of a curve, whole per cent, and back. */
void junos_fill(uint64_t queue, const struct sw_ecn *ecn, unsigned ret[2]);
uint64_t junos_fill_bytes(uint64_t queue, unsigned percent);
/* `own`: the levels, and what the queue may hold by the text, 0: not known, then as it is written. */
bool junos_same_marking(const struct fabric_switch *sw, bool lossless, const char *own, const struct sw_ecn *approved,
                        struct sw_ecn *io_running);
int junos_emit_braces(const struct config_emit *emit);
int junos_emit_commands(const struct config_emit *emit);
int junos_fix(const struct fix *fix); /* `set` and `delete` */

#endif
