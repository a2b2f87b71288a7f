/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one NVUE import: profiles and ports.  Private to src/config/nvue.
 */
#ifndef ROCELAB_CONFIG_NVUE_READ_H
#define ROCELAB_CONFIG_NVUE_READ_H

#include "config/nvue/nvue_int.h"

#define KINDS 5
enum kind { MAPPING, QUEUES, SCHEDULER, MARKING, PFC };
extern const char *const nvue_kinds[KINDS]; /* their names */

struct curve {
    bool on;
    int64_t min, max, probability;
    uint32_t line, min_line, max_line; /* the last two 0: as the first */
};

struct profile { /* of one kind; only that kind's members count */
    const char *name;
    uint8_t kind;
    uint32_t line;
    bool pcp; /* trusted */
    uint8_t dscp[64], pcp_to[8];
    uint32_t dscp_line[64];
    uint8_t queue[FABRIC_PRIOS];
    bool strict[FABRIC_PRIOS], scheduled[FABRIC_PRIOS];
    int64_t weight[FABRIC_PRIOS];
    uint32_t scheduled_line[FABRIC_PRIOS], weight_line[FABRIC_PRIOS]; /* 0: the profile's own */
    struct curve curve[FABRIC_PRIOS];
    unsigned priorities;
    bool rx, tx;
    int64_t xoff, xon, buffer, cable;                                /* -1: not said */
    uint32_t pfc_line, xoff_line, xon_line, buffer_line, cable_line; /* 0: the profile's own */
};

struct port {
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
    struct profile *profile;
    uint32_t profiles, profiles_room;
    struct port *port;
    uint32_t ports, ports_room;
    int64_t poll, robustness;
    uint32_t poll_line, robustness_line; /* 0: not said */
    uint64_t work;                       /* of WORK_MOST */
    const char *seen[64];                /* sections that are not read, told once each */
    uint32_t seens;
};

/* import.c */
struct origin nvue_at(const struct nvue *in, uint32_t line);
/* Finds; adds where `line` is not 0; else NULL. */
struct profile *nvue_profile(struct nvue *in, enum kind kind, const char *name, uint32_t line);
/* say.c */
void nvue_say_port(struct nvue *in, uint32_t p);
void nvue_say_watchdog(struct nvue *in);

#endif
