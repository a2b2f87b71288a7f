/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the topics of suggest share.  Private to src/check.
 */
#ifndef ROCELAB_CHECK_SUGGEST_INT_H
#define ROCELAB_CHECK_SUGGEST_INT_H

#include "check/rule.h"
#include "check/suggest.h"

struct suggest_kind { /* ports that are alike in all that a formula reads */
    uint32_t port, ports;
    uint8_t role;
    bool to_switch;
    uint32_t fan_in;
    uint64_t shared;
};
struct suggest_kinds {
    struct suggest_kind kind[SUGGEST_KINDS];
    uint32_t kinds, left_out;
};

void suggest_find_kinds(const struct fabric *fabric, struct suggest_kinds *ret);
/* A row of a kind of ports, with what all rows have; NULL without memory. */
struct suggest_row *suggest_row_add(struct suggest *suggest, enum suggest_topic topic, const struct suggest_kind *kind,
                                    const char *key, const char *rules);
/* After the numbers are there: `possible` and `inside`. */
void suggest_row_judge(struct suggest_row *row);
__attribute__((format(printf, 2, 3))) const char *suggest_print(struct suggest *suggest, const char *format, ...);
/* A line of a role, and of each device and port of it for which the file says the same path itself. */
void suggest_line_add(struct suggest *suggest, uint8_t role, const char *path, const char *value);
/* `classes.NAME.KEY` */
const char *suggest_class_path(struct suggest *suggest, unsigned tc, const char *key);
bool suggest_cabled(const struct fabric *fabric, uint32_t port);
/* A round trip over the longest path of the fabric without congestion, links between sites left out. */
ps_t suggest_round_trip(const struct fabric *fabric, uint64_t rate_bps);
/* What the curve of this port would best be: begins where a round trip is held, ends at four times that. */
uint64_t suggest_wanted_min(const struct fabric *fabric, uint32_t port);
#define SUGGEST_CURVE 4

void suggest_ecn(struct suggest *suggest, const struct suggest_kinds *kinds);
void suggest_headroom(struct suggest *suggest, const struct suggest_kinds *kinds);
void suggest_buffers(struct suggest *suggest, const struct suggest_kinds *kinds);
void suggest_watchdog(struct suggest *suggest, const struct suggest_kinds *kinds);

#endif
