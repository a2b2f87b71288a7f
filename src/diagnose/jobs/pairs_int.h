/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of ends that logs name, and which event was first.  Private to the rules of src/diagnose. */
#ifndef ROCELAB_DIAGNOSE_PAIRS_INT_H
#define ROCELAB_DIAGNOSE_PAIRS_INT_H

#include "diagnose/rule_int.h"

#define PAIR_END 160

/* All events of a kind: what is common to all of them. */
struct pairs {
    const struct evidence_event *first; /* NULL: there is none */
    uint32_t pairs;                     /* different ones */
    uint64_t count;
    bool adapter, host, rail; /* of the ends that say it: one adapter, one host, adapters of one name */
    bool to, peer;            /* of the others: one end, one host */
};
void pairs_of(struct pairs *pairs, const struct evidence *evidence, unsigned kind);
/* The two ends of an event, as a sentence has them. */
void pair_ends(const struct diagnose *diagnose, const struct evidence_event *event, char near[PAIR_END],
               char far[PAIR_END]);
/* What they have in common, as the end of a sentence; "": there is one. */
void pairs_common(const struct diagnose *diagnose, const struct pairs *pairs, char *text, size_t size);
/* The finding's ends and rows. */
void finding_pairs(struct diagnose *diagnose, struct diagnose_finding *finding, const struct pairs *pairs);

/* By their clocks, else by their lines in one text; false: nobody knows. */
bool event_before(const struct evidence_event *a, const struct evidence_event *b);
/* The first of a kind; NULL: none. */
const struct evidence_event *event_first(const struct evidence *evidence, unsigned kind);

#endif
