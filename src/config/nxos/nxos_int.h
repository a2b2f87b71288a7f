/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NX-OS policies as they are read.  Private to nxos*.c.
 */
#ifndef ROCELAB_CONFIG_NXOS_NXOS_INT_H
#define ROCELAB_CONFIG_NXOS_NXOS_INT_H

#include "config/config.h"
#include "config/lines.h"

#define NXOS_PRIOS 8
#define NXOS_KBYTE 1000u
#define NXOS_MTU_LEAST 576u
#define NXOS_MTU_MOST 9216u
#define NXOS_RATE_LEAST 100000000u /* bits a second that `speed` has a number for */
#define NXOS_UNSAID UINT64_MAX

enum nxos_type { NXOS_QOS, NXOS_NETWORK, NXOS_QUEUING, NXOS_OTHER };

struct nxos_class { /* class-map */
    enum nxos_type type;
    const char *name;
    uint32_t line;
    bool all; /* match-all */
    uint64_t dscps;
    uint8_t cos, groups; /* matched */
    bool by_dscp, by_cos, used;
    struct nxos_class *next;
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
};

struct nxos_policy {
    enum nxos_type type;
    const char *name;
    uint32_t line;
    bool used;
    /* qos */
    bool by_dscp, by_cos;
    uint8_t dscp_to_tc[64], cos_to_tc[8];
    uint32_t dscp_line[64], cos_line[8];
    /* network-qos */
    uint8_t lossless, pfc; /* qos-groups; priorities that are paused */
    uint8_t named;         /* qos-groups that network-qos speaks of */
    uint32_t lossless_line[NXOS_PRIOS];
    /* queuing */
    struct nxos_queue queue[NXOS_PRIOS];
    struct nxos_policy *next;
};

struct nxos {
    struct config_set *set;
    const struct config_text *text;
    struct lines lines;
    uint32_t device;
    struct nxos_class *classes;
    struct nxos_policy *policies;
    struct nxos_policy *network, *queuing_out, *queuing_in, *qos; /* of system qos; NULL: the default */
    uint32_t noted; /* the line of the last reference that led nowhere: ranges of interfaces say it once */
};

#define NXOS_AT(nxos, line_) CONFIG_AT((nxos)->text, (line_))
/* Reads class-maps and policy-maps; notes what is wrong with them. */
void nxos_policies(struct nxos *nxos);
/* A policy by name, marked used; NULL and a note (MAP007) where it is not defined; NULL for the built-in ones. */
struct nxos_policy *nxos_policy(struct nxos *nxos, enum nxos_type type, const char *name, uint32_t line, uint32_t port);
/* What was defined and is not used anywhere. */
void nxos_unused(struct nxos *nxos);
/* `qos-group` of a built-in class of network-qos or queuing: c-8q-nq3, c-out-8q-q3, c-in-q-default; -1: not one. */
int nxos_builtin(const char *name, enum nxos_type type);

bool nxos_is_os10(const char *text, size_t length);
int nxos_import(struct config_set *set, const struct config_text *text);
int nxos_emit(const struct config_emit *emit);

#endif
