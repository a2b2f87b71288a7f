/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a fabric a system's configuration cannot say (unsupported.def).
 */
#ifndef ROCELAB_CONFIG_UNSUPPORTED_H
#define ROCELAB_CONFIG_UNSUPPORTED_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct fabric_node;

enum config_unsupported {
#define UNSUPPORTED(id, what, instead) CONFIG_UNSUPPORTED_##id,
#include "config/unsupported.def"
#undef UNSUPPORTED
    CONFIG_UNSUPPORTED_COUNT
};

struct config_can { /* what the system has words for */
    bool port_maps; /* maps may differ from port to port */
    bool queue_map, group_map;
    bool one_queue_map; /* ... of the whole switch, whatever port_maps says */
    bool port_lossless; /* a class may be lossless on some ports only */
    bool pfc_none;      /* a lossless class may be without PFC, all of them on a port together */
    bool pfc_any;       /* any priorities may pause */
    bool pfc_one_way;   /* pauses are only sent, or only obeyed */
    bool pfc_obey_all;  /* all are obeyed, some are sent */
    bool pfc_auto, pause_all;
    bool alpha, xoff; /* thresholds that follow the free buffer; fixed ones */
    bool alpha_one;   /* one alpha for all lossless groups, as config_one_alpha() has it; headroom is computed */
    bool class_xoff;  /* of each class its own */
    bool reserved, limit, pool, buffer;
    bool watched; /* single priorities */
    bool restore, action, shutdown;
    bool ecn_percent;                                 /* thresholds of marking are parts of a buffer */
    bool strict_below;                                /* a strict queue below one that shares */
    uint32_t mtu_least, mtu_most;                     /* frames of the fabric ... */
    uint32_t mtu_hole[2];                             /* ... but not from this one to below that one */
    uint32_t step_ms;                                 /* of detect and restore; 0: a poll */
    uint32_t poll_ms[2], detect_ms[2], restore_ms[2]; /* least and most */
    uint32_t polls_least;                             /* in either of the two times */
    uint32_t detect_polls, restore_polls;             /* the most of them; 0: any number */
    uint64_t rate_step_bps;
    bool (*hash)(const struct fabric_switch *sw); /* its fields can be said; NULL: any can */
    bool (*param)(const char *name); /* an adapter's tools set this of its congestion control; NULL: none */
    uint8_t balances; /* bits of enum sw_balance_kind, beside ECMP; gaps of flowlets are whole microseconds */
};

struct config_unsupported_list {
    uint32_t ports[CONFIG_UNSUPPORTED_COUNT]; /* that are concerned; 0: it is not lost */
    uint32_t first[CONFIG_UNSUPPORTED_COUNT]; /* of them, into the fabric's */
};

/* The alpha that all lossless groups of a switch have, as the number n of 2^(n - 7), at most 2^3; -1: they differ, or
 * it is another. */
#define CONFIG_ALPHA_ONE 7
#define CONFIG_ALPHA_MOST 10
int config_one_alpha(const struct fabric *fabric, const struct fabric_node *node);
/* What is lost of a switch or a host. */
void config_unsupported_list(const struct config_format *format, const struct fabric *fabric, uint32_t node,
                             struct config_unsupported_list *ret);
struct config_loss { /* what the fabric says, and what holds instead */
    const char *what, *instead;
};
extern const struct config_loss config_losses[CONFIG_UNSUPPORTED_COUNT];

#endif
