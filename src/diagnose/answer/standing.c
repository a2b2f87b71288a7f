/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands out: counters that should be 0, and are not.
 *
 * No cause is named here.  Of one look nobody knows when a counter grew; of two it is known what grew, and what did not
 * is old.  Pauses that grew are what PFC does, as long as the port stood still for less time than the rules allow.
 */
#include <math.h>
#include <stdlib.h>

#include "diagnose/answer/standing_int.h"
#include "diagnose/nics_int.h"

#define SHARE_MUCH 1e-6 /* of packets: a count of less is a small one, whatever it is */

enum {
#define STANDING(counter, family, of, few, ask, means) RANK_##counter,
#include "diagnose/answer/standing.def"
#undef STANDING
};
const struct standing_info standing_info[EVIDENCE_COUNTERS] = {
#define STANDING(counter, family, of, few, ask, means)                                                                 \
    [EVIDENCE_##counter] = {STANDING_##family, RANK_##counter, EVIDENCE_##of, few, means},
#include "diagnose/answer/standing.def"
#undef STANDING
};

bool standing_counts(const struct diagnose_standing *standing)
{
    return standing->grew || standing->value->looks < 2;
}

/* Packets of the same priority, else of the port; what was lost is not among them. */
static double share_of(const struct diagnose *diagnose, const struct evidence_value *value, uint64_t count, bool grew)
{
    const struct standing_info *info = &standing_info[value->counter];

    if (info->of == EVIDENCE_NONE) return NAN;
    const struct evidence_value *packets =
        evidence_find(diagnose->evidence, value->object, value->priority, (enum evidence_counter)info->of);
    if (!packets) return NAN;
    double all = (double)(grew ? packets->grown : packets->last) + (double)count;
    return all > 0 ? (double)count / all : NAN;
}

static bool is_pause(unsigned counter)
{
    return counter == EVIDENCE_RX_PAUSE_NS || counter == EVIDENCE_TX_PAUSE_NS || counter == EVIDENCE_RX_PAUSE_FRAMES ||
           counter == EVIDENCE_TX_PAUSE_FRAMES;
}

/* PFC at work: the port stood still, or held its peer up, for less of the time than any rule minds. */
static bool is_usual(const struct diagnose *diagnose, const struct evidence_value *value)
{
    bool received = value->counter == EVIDENCE_RX_PAUSE_NS || value->counter == EVIDENCE_RX_PAUSE_FRAMES;

    if (!is_pause(value->counter) || value->priority >= EVIDENCE_PRIORITIES) return false;
    struct share share = received ? share_paused(diagnose, value->object, value->priority)
                                  : share_pausing(diagnose, value->object, value->priority);
    return share.known && !share.since_boot && share.value < diagnose->limits.paused_share;
}

static bool stands_out(const struct diagnose *diagnose, const struct evidence_value *value,
                       struct diagnose_standing *ret)
{
    const struct standing_info *info = &standing_info[value->counter];
    bool twice = value->looks > 1, counts = evidence_counters[value->counter].kind == EVIDENCE_COUNT;

    if (info->family == STANDING_NOT || !value->last) return false;
    bool grew = twice && counts && value->grown;
    uint64_t count = grew ? value->grown : value->last;
    if (!grew && count <= info->few) return false;
    if (grew && is_usual(diagnose, value)) return false;
    *ret = (struct diagnose_standing){
        .value = value,
        .count = count,
        .grew = grew || !counts,
        .share = share_of(diagnose, value, count, grew),
        .means = info->means,
    };
    return true;
}

/* What grew, then what is a large share, then by the order of the list. */
static int worse(const void *a, const void *b)
{
    const struct diagnose_standing *one = a, *two = b;
    const struct standing_info *first = &standing_info[one->value->counter];
    const struct standing_info *second = &standing_info[two->value->counter];
    bool counts[2] = {standing_counts(one), standing_counts(two)};
    bool small[2] = {one->share < SHARE_MUCH, two->share < SHARE_MUCH};

    if (counts[0] != counts[1]) return counts[0] ? -1 : 1;
    if (small[0] != small[1]) return small[0] ? 1 : -1;
    if (first->rank != second->rank) return first->rank < second->rank ? -1 : 1;
    if (one->share != two->share && !isnan(one->share) && !isnan(two->share)) return one->share > two->share ? -1 : 1;
    if (one->count != two->count) return one->count > two->count ? -1 : 1;
    return one->value < two->value ? -1 : one->value > two->value;
}

void standing_find(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; !evidence->exact && i < evidence->values; i++) {
        struct diagnose_standing standing;
        if (!stands_out(diagnose, &evidence->value[i], &standing)) continue;
        if (MORE(diagnose, diagnose->standing, diagnose->standings))
            diagnose->standing[diagnose->standings++] = standing;
    }
    if (diagnose->standings) qsort(diagnose->standing, diagnose->standings, sizeof diagnose->standing[0], worse);
}
