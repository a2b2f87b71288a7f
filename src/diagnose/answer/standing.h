/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What standing.def says of a counter.  Private to src/diagnose.
 */
#ifndef ROCELAB_DIAGNOSE_ANSWER_STANDING_H
#define ROCELAB_DIAGNOSE_ANSWER_STANDING_H

#include "diagnose/rule_int.h"

enum standing_family { STANDING_NOT, STANDING_LINE, STANDING_DROPS, STANDING_LOSS, STANDING_PAUSES, STANDING_ASIDE };
struct standing_info {
    uint8_t family; /* enum standing_family; STANDING_NOT: the counter may be anything */
    uint8_t rank;   /* the worse the smaller */
    uint32_t of;    /* enum evidence_counter that counts the packets; EVIDENCE_NONE: of none */
    uint8_t few;
    uint8_t ask; /* enum diagnose_need: what decides */
    const char *means;
};
extern const struct standing_info standing_info[EVIDENCE_COUNTERS];
/* Of the packets of its priority, else of its port; NaN: their number is not known, or it is no share of them. */
double standing_share(const struct diagnose *diagnose, const struct evidence_value *value, uint64_t count, bool grew);
/* Whether it keeps the answer from being "clear": it was said, it grew, or nobody knows whether it still does. */
bool standing_counts(const struct diagnose_standing *standing);
/* What a log's lines were counted for: its events say it in words. */
bool standing_is_logged(const struct diagnose *diagnose, const struct evidence_value *value);

#endif
