/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands out: counters that should be 0, and are not.
 *
 * No cause is named here.  Of one look nobody knows when a counter grew; of two it is known what grew, and what did not
 * is old.  Pauses that grew are what PFC does, as long as the port stood still for less time than the rules allow.
 */
#include <math.h>
#include <stdlib.h>

#include "diagnose/answer/standing.h"
#include "diagnose/nics_int.h"

#define SHARE_MUCH 1e-6 /* of packets: a count of less is a small one, whatever it is */

enum {
#define STANDING(counter, family, of, few, ask, means) RANK_##counter,
#include "diagnose/answer/standing.def"
#undef STANDING
};
const struct standing_info standing_info[EVIDENCE_COUNTERS] = {
#define STANDING(counter, family, of, few, ask, means)                                                                 \
    [EVIDENCE_##counter] = {STANDING_##family, RANK_##counter, EVIDENCE_##of, few, DIAGNOSE_NEED_##ask, means},
#include "diagnose/answer/standing.def"
#undef STANDING
};

bool standing_counts(const struct diagnose_standing *standing)
{
    return standing->event || standing->grew || standing->value->looks < 2;
}

/* Packets of the same priority, else of the port; what was lost is not among them. */
double standing_share(const struct diagnose *diagnose, const struct evidence_value *value, uint64_t count, bool grew)
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

static double cleared_s(const struct evidence *evidence, uint32_t object)
{
    const struct evidence_value *said = NULL;

    if (evidence->object[object].scope == EVIDENCE_PORT) {
        said = port_find(evidence, object, EVIDENCE_CLEARED_S);
        if (!said) said = port_find(evidence, evidence_device_of(evidence, object), EVIDENCE_UPTIME_S);
    }
    return said ? (double)said->last : NAN;
}

/* Symbols that arrived wrong on a line with FEC, which put all of them right: every fast line has them. */
static bool is_put_right(const struct evidence *evidence, const struct evidence_value *value)
{
    const struct evidence_value *lost =
        value->counter == EVIDENCE_SYMBOL_ERRORS ? port_find(evidence, value->object, EVIDENCE_FEC_UNCORRECTED) : NULL;

    return lost && !lost->last && port_find(evidence, value->object, EVIDENCE_FEC_CORRECTED);
}

static bool stands_out(const struct diagnose *diagnose, const struct evidence_value *value,
                       struct diagnose_standing *ret)
{
    const struct standing_info *info = &standing_info[value->counter];
    bool twice = value->looks > 1, counts = evidence_counters[value->counter].kind == EVIDENCE_COUNT;

    if (info->family == STANDING_NOT || !value->last || is_put_right(diagnose->evidence, value)) return false;
    bool grew = twice && counts && value->grown;
    uint64_t count = grew ? value->grown : value->last;
    if (!grew && count <= info->few) return false;
    if (grew && is_usual(diagnose, value)) return false;
    *ret = (struct diagnose_standing){
        .value = value,
        .count = count,
        .grew = grew || !counts,
        .share = standing_share(diagnose, value, count, grew),
        .cleared_s = cleared_s(diagnose->evidence, value->object),
        .means = info->means,
    };
    return true;
}

/* What a log says that harms nobody by itself. */
static bool is_harmless(const struct evidence_event *event)
{
    return event->kind == EVIDENCE_EVENT_LINK_CAME_UP || event->kind == EVIDENCE_EVENT_PORT_SHUT;
}

/* What follows from another event. */
static bool is_aftermath(const struct evidence_event *event)
{
    return event->kind == EVIDENCE_EVENT_FLUSHED || event->kind == EVIDENCE_EVENT_DISCONNECTED ||
           event->kind == EVIDENCE_EVENT_STORM_ENDED;
}

bool standing_is_logged(const struct diagnose *diagnose, const struct evidence_value *value)
{
    if (value->counter != EVIDENCE_RETRY_EXCEEDED && value->counter != EVIDENCE_LINK_DOWN &&
        value->counter != EVIDENCE_RNR_NAKS)
        return false;
    return diagnose->logs && value->file < diagnose->evidence->files && diagnose->logs[value->file];
}

/* What logs say, what grew, then what is a large share, then by the order of the list. */
static int worse(const void *a, const void *b)
{
    const struct diagnose_standing *one = a, *two = b;
    bool said[2] = {one->event != NULL, two->event != NULL};
    bool counts[2] = {standing_counts(one), standing_counts(two)};
    bool small[2] = {one->share < SHARE_MUCH, two->share < SHARE_MUCH};

    if (said[0] != said[1]) return said[0] ? -1 : 1;
    if (said[0] && is_aftermath(one->event) != is_aftermath(two->event)) return is_aftermath(one->event) ? 1 : -1;
    if (said[0]) return one->event < two->event ? -1 : one->event > two->event;
    const struct standing_info *first = &standing_info[one->value->counter];
    const struct standing_info *second = &standing_info[two->value->counter];
    if (counts[0] != counts[1]) return counts[0] ? -1 : 1;
    if (small[0] != small[1]) return small[0] ? 1 : -1;
    if (first->rank != second->rank) return first->rank < second->rank ? -1 : 1;
    if (one->share != two->share && !isnan(one->share) && !isnan(two->share)) return one->share > two->share ? -1 : 1;
    if (one->count != two->count) return one->count > two->count ? -1 : 1;
    return one->value < two->value ? -1 : one->value > two->value;
}

/* Values and events that causes have for evidence: a bit of each. */
struct used {
    bool *value, *event;
};

static void use(const struct diagnose *diagnose, const struct diagnose_evidence *row, const struct used *used)
{
    const struct evidence *evidence = diagnose->evidence;

    if (row->event) used->event[row->event - 1] = true;
    for (unsigned c = 0; !row->event && c < EVIDENCE_COUNTERS; c++) {
        if (row->counter != evidence_counters[c].name) continue;
        const struct evidence_value *value =
            evidence_find(evidence, row->object, row->priority, (enum evidence_counter)c);
        if (value) used->value[value - evidence->value] = true;
    }
}

static bool find_used(struct diagnose *diagnose, struct used *used)
{
    used->value = DIAGNOSE_NEW(diagnose, bool, diagnose->evidence->values + 1u);
    used->event = DIAGNOSE_NEW(diagnose, bool, diagnose->evidence->events + 1u);
    if (!used->value || !used->event) return false;
    for (uint32_t i = 0; i < diagnose->findings; i++)
        for (uint32_t e = 0; diagnose->finding[i].severity > DIAGNOSE_INFO && e < diagnose->finding[i].evidences; e++)
            use(diagnose, &diagnose->finding[i].evidence[e], used);
    return true;
}

static void add(struct diagnose *diagnose, const struct diagnose_standing *standing)
{
    if (MORE(diagnose, diagnose->standing, diagnose->standings)) diagnose->standing[diagnose->standings++] = *standing;
}

void standing_find(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    struct used used;

    if (evidence->exact || !find_used(diagnose, &used)) return;
    diagnose->logs = DIAGNOSE_NEW(diagnose, bool, evidence->files + 1u);
    for (uint32_t i = 0; diagnose->logs && i < evidence->events; i++)
        if (evidence->event[i].file < evidence->files) diagnose->logs[evidence->event[i].file] = true;
    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (used.event[i] || is_harmless(event)) continue;
        add(diagnose, &(struct diagnose_standing){.event = event,
                                                  .count = event->count,
                                                  .share = NAN,
                                                  .cleared_s = NAN,
                                                  .means = evidence_events[event->kind].what});
    }
    for (uint32_t i = 0; i < evidence->values; i++) {
        struct diagnose_standing standing;
        if (!used.value[i] && !standing_is_logged(diagnose, &evidence->value[i]) &&
            stands_out(diagnose, &evidence->value[i], &standing))
            add(diagnose, &standing);
    }
    if (diagnose->standings) qsort(diagnose->standing, diagnose->standings, sizeof diagnose->standing[0], worse);
}
