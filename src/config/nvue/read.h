/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one NVUE import: profiles and ports.  Private to src/config/nvue.
 */
#ifndef ROCELAB_CONFIG_NVUE_READ_H
#define ROCELAB_CONFIG_NVUE_READ_H

#include "config/nvue/nvue_int.h"

#define KINDS 7
enum kind { MAPPING, QUEUES, SCHEDULER, MARKING, PFC, PAUSE, REMARK };
extern const char *const nvue_kinds[KINDS]; /* their names */

struct nvue_curve {
    bool on;
    int64_t min, max, probability;
    bool met;                                       /* anything was said of it */
    uint32_t line, min_line, max_line, chance_line; /* but the first 0: as the first */
};

struct nvue_profile { /* of one kind; only that kind's members count */
    const char *name;
    uint8_t kind;
    uint32_t line;
    bool pcp;   /* trusted */
    bool fixed; /* nothing is: all packets get the priority `fixed_to` */
    uint8_t fixed_to;
    uint32_t trust_line; /* 0: the profile's own */
    uint8_t dscp[64], pcp_to[8];
    uint32_t dscp_line[64];
    uint64_t dscp_named; /* bits: those that a line maps */
    uint8_t queue[FABRIC_PRIOS];
    uint32_t queue_line[FABRIC_PRIOS]; /* 0: the profile's own */
    bool strict[FABRIC_PRIOS], scheduled[FABRIC_PRIOS];
    int64_t weight[FABRIC_PRIOS];
    uint32_t scheduled_line[FABRIC_PRIOS], weight_line[FABRIC_PRIOS]; /* 0: the profile's own */
    struct nvue_curve curve[FABRIC_PRIOS];
    unsigned priorities;
    bool rx, tx;
    uint32_t rx_line, tx_line; /* 0: not said */
    bool rewrites;             /* DSCPs, by its line `rewrite` */
    uint32_t rewrite_line;
    uint8_t remark[FABRIC_PRIOS];       /* the DSCP that packets of a priority leave with */
    uint32_t remark_line[FABRIC_PRIOS]; /* 0: not said */
    int64_t xoff, xon, buffer, cable;   /* -1: not said */
    uint32_t pfc_line, xoff_line, xon_line, buffer_line, cable_line; /* 0: the profile's own */
};

struct nvue_pool { /* qos traffic-pool */
    const char *name;
    int64_t percent; /* -1: not said */
    unsigned priorities;
    uint32_t percent_line, priorities_line; /* 0: not said */
};
#define POOLS 16

#define BROKEN_MOST 1024u /* cages; no switch has more */

struct broken { /* a cage that is broken out: its ports are NAMEs0 and so on, and NAME is none */
    const char *name;
    unsigned ports;
    const char *rate; /* of each, NULL: not said */
    uint32_t line;
};

struct nvue_port {
    uint32_t first;                   /* line that speaks of it, of it alone if there is one */
    bool shared;                      /* that line is of a range */
    bool mentioned;                   /* by more than its cage's breakout */
    const struct nvue_profile *dscps; /* its map, where it trusts DSCPs */
    uint32_t watchdog_line;           /* 0: not said */
    const char *profile[KINDS];
    uint32_t line[KINDS];
    bool watchdog, off;
    unsigned pfc;
};

struct nvue {
    struct config_set *set;
    const struct config_text *text;
    struct arena *arena;
    struct nvue_facts facts;
    uint32_t device;
    struct nvue_profile *profile;
    uint32_t profiles, profiles_room;
    struct nvue_port *port;
    uint32_t ports, ports_room;
    int64_t poll, robustness;
    uint32_t poll_line, robustness_line; /* 0: not said */
    uint64_t work;                       /* of WORK_MOST */
    unsigned hash_off;                   /* bits: source, destination and source port are not in the hash */
    uint32_t hash_line;                  /* 0: nothing is said of it */
    bool adaptive, adaptive_ports;       /* adaptive routing: of the switch, and of any port */
    uint32_t adaptive_line;
    struct nvue_pool pool[POOLS];
    uint32_t pools;
    struct broken *broken;
    uint32_t brokens, brokens_room;
    uint16_t broken_order[BROKEN_MOST]; /* their numbers, by name */
    uint32_t lossy_line;    /* of `qos roce` in a lossy mode, 0: none: what turns PFC off where no profile does */
    uint32_t roce_off_line; /* of `qos roce` that is disabled; 0: it is not */
    bool pfc_listed;        /* `pfc_list` was looked for */
    uint32_t pfc_list;      /* the line of a list of ports that all PFC is from; 0: of several, or of few ports */
    bool roce, whole;       /* `qos roce` is on; the switch has a name, so that what is not here is not set */
    char alpha[16];         /* of lossless groups, as a fabric file has it; "" not said */
    uint32_t alpha_line;
    char lossy_alpha[FABRIC_PRIOS][16]; /* of queues */
    uint32_t lossy_alpha_line[FABRIC_PRIOS];
    const char *seen[64]; /* sections that are not read, told once each */
    uint32_t seens;
};

/* profiles.c */
/* Finds; adds where `line` is not 0; else NULL. */
struct nvue_profile *nvue_profile(struct nvue *in, enum kind kind, const char *name, uint32_t line);
bool nvue_number(const char *text, int64_t *ret);
bool nvue_value(struct nvue *in, const struct nvue_fact *fact, uint32_t word, int64_t low, int64_t high, int64_t *ret);
uint64_t nvue_bits(const char *text, unsigned below); /* `0,3-5` */
struct nvue_port *nvue_port(struct nvue *in, const char *name, uint32_t line, uint32_t *ret);
/* pools.c */
bool nvue_read_pool(struct nvue *in, const struct nvue_fact *fact);   /* qos traffic-pool ... */
bool nvue_read_buffer(struct nvue *in, const struct nvue_fact *fact); /* qos advance-buffer-config ... */
void nvue_judge_pools(struct nvue *in);
/* breakout.c */
void nvue_find_breakouts(struct nvue *in);                                 /* before the interfaces are read */
const struct broken *nvue_broken(const struct nvue *in, const char *name); /* NULL: it is a port */
void nvue_add_broken(struct nvue *in);                                     /* after them: ports nothing speaks of */
/* meaning.c */
void nvue_say_port(struct nvue *in, uint32_t p);
void nvue_judge_maps(struct nvue *in); /* after all ports */
void nvue_say_watchdog(struct nvue *in);

#endif
