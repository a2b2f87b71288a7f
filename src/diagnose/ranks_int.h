/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a job as numbers: medians, and who is far from them.  Private to the rules of src/diagnose.
 */
#ifndef ROCELAB_DIAGNOSE_RANKS_INT_H
#define ROCELAB_DIAGNOSE_RANKS_INT_H

#include "diagnose/rule_int.h"

struct numbers {
    uint32_t *object; /* ranks, or what else the numbers are of */
    double *value;
    uint32_t count;
    double median, deviation; /* deviation: 1.4826 times the median distance from the median */
};
/* The job's ranks: from EVIDENCE_NONE on, EVIDENCE_NONE at the end. */
uint32_t rank_next(struct diagnose *diagnose, uint32_t job, uint32_t after);
#define RANKS_EACH(diagnose, job, id)                                                                                  \
    for (uint32_t id = rank_next(diagnose, job, EVIDENCE_NONE); id != EVIDENCE_NONE; id = rank_next(diagnose, job, id))
/* A counter of the job's ranks, those that have it.  Memory is the diagnosis'. */
struct numbers ranks_of(struct diagnose *diagnose, uint32_t job, enum evidence_counter counter);
/* Fills in median and deviation. */
void numbers_settle(struct diagnose *diagnose, struct numbers *numbers);
/* Index of the largest (or smallest) of them; count: there is none. */
uint32_t numbers_most(const struct numbers *numbers, bool smallest);
/* A finding that blames the network and is worse than information: any but those inside of hosts. */
bool finding_is_network(const struct diagnose_finding *finding);
/* Some finding so far is one. */
bool network_found(const struct diagnose *diagnose);
/* The one host of all ranks that say theirs, so many; EVIDENCE_NONE: several, or none. */
uint32_t ranks_host(struct diagnose *diagnose, uint32_t job, uint64_t *ret_count);
/* A job's mean step; 0: nobody says it. */
double step_ns(const struct diagnose *diagnose, uint32_t job);

#endif
