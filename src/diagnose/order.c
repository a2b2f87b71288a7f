/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which finding explains which: causes before consequences.
 *
 * Rules stand in rules.def in the order physical, loss, deadlock and storm, roots of pauses, control loop, hosts.  A
 * finding is the consequence of another where that rule can have it for a consequence at all (below), and the two
 * touch: the same cable or links that share a load, a culprit among the other's victims, or mostly the same victims.
 * Settings that are wrong (D09 to D11, D15, D16) and bad hardware are nobody's consequence, but for CNPs that a line
 * which loses frames may have lost; wrong bits that a program makes on purpose (D21) are.  Congestion control that
 * holds senders back (D22) is the last that explains: of an incast whose port it leaves unused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "diagnose/graph_int.h"
#include "diagnose/nics_int.h"

#define VICTIMS_SHARED 0.5
#define VICTIMS_ALL 0.9
#define RESENT_LOADS 0.25 /* of all packets: so many sent again are a load of their own */

#define RULES(...)                                                                                                     \
    {                                                                                                                  \
        __VA_ARGS__, DIAGNOSE_RULES                                                                                    \
    }
static const struct {
    uint8_t cause;
    uint8_t can[12]; /* what it can have for consequences; ends with DIAGNOSE_RULES */
} table[] = {
    {DIAGNOSE_D21, RULES(DIAGNOSE_D13, DIAGNOSE_D14, DIAGNOSE_D12, DIAGNOSE_D18)},
    {DIAGNOSE_D32, RULES(DIAGNOSE_D19, DIAGNOSE_D14, DIAGNOSE_D12, DIAGNOSE_D18)},
    {DIAGNOSE_D33, RULES(DIAGNOSE_D14, DIAGNOSE_D17, DIAGNOSE_D18)},
    {DIAGNOSE_D13,
     RULES(DIAGNOSE_D14, DIAGNOSE_D05, DIAGNOSE_D04, DIAGNOSE_D11, DIAGNOSE_D12, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D19,
     RULES(DIAGNOSE_D14, DIAGNOSE_D05, DIAGNOSE_D07, DIAGNOSE_D11, DIAGNOSE_D12, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D06, RULES(DIAGNOSE_D12, DIAGNOSE_D24, DIAGNOSE_D14, DIAGNOSE_D05, DIAGNOSE_D04, DIAGNOSE_D07,
                         DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D37, RULES(DIAGNOSE_D14, DIAGNOSE_D05, DIAGNOSE_D07, DIAGNOSE_D18)},
    {DIAGNOSE_D08, RULES(DIAGNOSE_D14, DIAGNOSE_D12, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D24, RULES(DIAGNOSE_D14, DIAGNOSE_D12, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D34, RULES(DIAGNOSE_D14)},
    {DIAGNOSE_D35, RULES(DIAGNOSE_D14, DIAGNOSE_D36)},
    {DIAGNOSE_D36, RULES(DIAGNOSE_D14)},
    {DIAGNOSE_D14,
     RULES(DIAGNOSE_D34, DIAGNOSE_D07, DIAGNOSE_D05, DIAGNOSE_D11, DIAGNOSE_D12, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D16, RULES(DIAGNOSE_D14, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D01, RULES(DIAGNOSE_D08, DIAGNOSE_D14, DIAGNOSE_D03, DIAGNOSE_D04, DIAGNOSE_D05, DIAGNOSE_D07,
                         DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D02, RULES(DIAGNOSE_D12, DIAGNOSE_D08, DIAGNOSE_D14, DIAGNOSE_D04, DIAGNOSE_D05, DIAGNOSE_D07,
                         DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D03, RULES(DIAGNOSE_D12, DIAGNOSE_D24, DIAGNOSE_D14, DIAGNOSE_D04, DIAGNOSE_D05, DIAGNOSE_D07,
                         DIAGNOSE_D18, DIAGNOSE_D22, DIAGNOSE_D23)},
    {DIAGNOSE_D26, RULES(DIAGNOSE_D04, DIAGNOSE_D05, DIAGNOSE_D07, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D04, RULES(DIAGNOSE_D14, DIAGNOSE_D05, DIAGNOSE_D07, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D05, RULES(DIAGNOSE_D14, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D07, RULES(DIAGNOSE_D14, DIAGNOSE_D05, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D15, RULES(DIAGNOSE_D24, DIAGNOSE_D08, DIAGNOSE_D14, DIAGNOSE_D12, DIAGNOSE_D18, DIAGNOSE_D22)},
    {DIAGNOSE_D12, RULES(DIAGNOSE_D04, DIAGNOSE_D07, DIAGNOSE_D22)},
    {DIAGNOSE_D10, RULES(DIAGNOSE_D22)},
    {DIAGNOSE_D11, RULES(DIAGNOSE_D22)},
    {DIAGNOSE_D22, RULES(DIAGNOSE_D04, DIAGNOSE_D18)},
    {DIAGNOSE_D23, RULES(DIAGNOSE_D18)},
};

static bool can_explain(unsigned cause, unsigned rule)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        for (size_t k = 0; table[i].cause == cause && table[i].can[k] != DIAGNOSE_RULES; k++)
            if (table[i].can[k] == rule) return true;
    return false;
}

static bool on_cable(const struct evidence *evidence, uint32_t a, uint32_t b)
{
    if (a == EVIDENCE_NONE || b == EVIDENCE_NONE) return false;
    return a == b || evidence->object[a].peer == b || evidence_device_of(evidence, b) == a ||
           evidence_device_of(evidence, a) == b;
}

static bool in_list(const struct evidence *evidence, const uint32_t *list, uint32_t count, uint32_t object)
{
    for (uint32_t i = 0; i < count; i++)
        if (on_cable(evidence, list[i], object)) return true;
    return false;
}

/* Links of one switch that share a load. */
static bool are_siblings(const struct diagnose *diagnose, uint32_t a, uint32_t b)
{
    uint32_t device = siblings_device(diagnose, a);

    return device != EVIDENCE_NONE && device == siblings_device(diagnose, b);
}

/* Timers that ran out without any hop that drops: whatever makes packets wait explains them. */
static bool only_waited(const struct diagnose_finding *finding)
{
    return finding->rule == DIAGNOSE_D14 && finding->severity == DIAGNOSE_WARNING &&
           finding->confidence == DIAGNOSE_WEAK;
}

/* Victims of a cause are marked with its number. */
static bool same_victims(const uint32_t *mark, uint32_t cause, const struct diagnose_finding *finding)
{
    uint32_t shared = 0;

    for (uint32_t i = 0; i < finding->victims; i++)
        shared += mark[finding->victim[i]] == cause + 1;
    return shared && shared >= VICTIMS_SHARED * finding->victims;
}

static bool holds_by_victims(const struct diagnose_finding *cause)
{
    return cause->rule == DIAGNOSE_D01 || cause->rule == DIAGNOSE_D02 || cause->rule == DIAGNOSE_D03 ||
           cause->rule == DIAGNOSE_D10 || cause->rule == DIAGNOSE_D11;
}

/* All of the finding's victims but few are the cause's. */
static bool has_victims_of(const struct evidence *evidence, const struct diagnose_finding *cause,
                           const struct diagnose_finding *finding)
{
    uint32_t shared = 0;

    if (cause->victims < VICTIMS_ALL * finding->victims) return false;
    for (uint32_t i = 0; i < finding->victims; i++)
        shared += in_list(evidence, cause->victim, cause->victims, finding->victim[i]);
    return finding->victims && shared >= VICTIMS_ALL * finding->victims;
}

/* A link that is down, elsewhere: it needs no other reason. */
static bool is_lost_elsewhere(const struct evidence *evidence, const struct diagnose_finding *cause,
                              const struct diagnose_finding *finding)
{
    uint32_t at = finding->culprit;

    if (finding->rule != DIAGNOSE_D14 || at == EVIDENCE_NONE || evidence->object[at].scope != EVIDENCE_PORT)
        return false;
    return link_is_down(evidence, at) && !on_cable(evidence, cause->culprit, at);
}

static bool loses(const struct diagnose_finding *cause)
{
    return cause->rule == DIAGNOSE_D13 || cause->rule == DIAGNOSE_D14 || cause->rule == DIAGNOSE_D16 ||
           cause->rule == DIAGNOSE_D19 || cause->rule == DIAGNOSE_D08;
}

static bool loads_all(const struct diagnose *diagnose)
{
    const uint64_t *total = diagnose->total;

    return total[EVIDENCE_TX_DATA_PACKETS] &&
           (double)total[EVIDENCE_RETRANSMITTED] >= RESENT_LOADS * (double)total[EVIDENCE_TX_DATA_PACKETS];
}

static bool touch(const struct diagnose *diagnose, const struct diagnose_finding *cause,
                  const struct diagnose_finding *finding)
{
    const struct evidence *evidence = diagnose->evidence;

    if (cause->culprit == EVIDENCE_NONE || finding->culprit == EVIDENCE_NONE) return false;
    if (only_waited(finding)) return true;
    if (cause->rule == DIAGNOSE_D12) return loads_all(diagnose);
    if (cause->rule == DIAGNOSE_D21) return true;                                   /* its peers have what it lost */
    if (finding->rule == DIAGNOSE_D14 && cause->rule >= DIAGNOSE_D03) return false; /* a path that is gone */
    /* Whom it holds back may be an incast's receiver too: only the ports that it leaves unused are its doing. */
    if (cause->rule == DIAGNOSE_D22 && finding->rule == DIAGNOSE_D04 && !finding->rests) return false;
    if (cause->rule == DIAGNOSE_D22)
        return on_cable(evidence, cause->culprit, finding->culprit) ||
               in_list(evidence, cause->also, cause->alsos, finding->culprit);
    if (finding->rule == DIAGNOSE_D22 && cause->rule == DIAGNOSE_D04)
        return cause->disturbs && on_cable(evidence, cause->culprit, finding->culprit);
    /* Who sends again what was lost waits for its window, too. */
    if (finding->rule == DIAGNOSE_D22 && loses(cause) && has_victims_of(evidence, cause, finding)) return true;
    /* Of what is held back many are victims of something: only pauses and lost CNPs hold back by victims alone. */
    if (finding->rule == DIAGNOSE_D22 && !holds_by_victims(cause))
        return on_cable(evidence, cause->culprit, finding->culprit) ||
               are_siblings(diagnose, cause->culprit, finding->culprit);
    /* Pauses of the class do not stop what a neighbour has put into another. */
    uint32_t peer = evidence->object[finding->culprit].peer;
    if ((cause->rule == DIAGNOSE_D15 || cause->rule == DIAGNOSE_D19) && peer != EVIDENCE_NONE &&
        evidence_device_of(evidence, peer) == cause->culprit)
        return true;
    return on_cable(evidence, cause->culprit, finding->culprit) ||
           in_list(evidence, cause->victim, cause->victims, finding->culprit) ||
           (cause->rule == DIAGNOSE_D01 && in_list(evidence, cause->also, cause->alsos, finding->culprit)) ||
           are_siblings(diagnose, cause->culprit, finding->culprit);
}

/* Before whom a finding stands: what harms, then by the order of the rules, then who has more victims.  Causes and
 * consequences are told apart afterwards. */
static int before(const void *a, const void *b)
{
    const struct diagnose_finding *one = a, *two = b;
    bool info[2] = {one->severity == DIAGNOSE_INFO, two->severity == DIAGNOSE_INFO};

    if (info[0] != info[1]) return info[0] ? 1 : -1;
    if (one->rule != two->rule) return one->rule < two->rule ? -1 : 1;
    if (one->victims != two->victims) return one->victims > two->victims ? -1 : 1;
    return one->culprit < two->culprit ? -1 : one->culprit > two->culprit;
}

/* To what explains all of it.  Of two that would explain each other the first is the cause, the other follows. */
static void explained_by(struct diagnose *diagnose, uint32_t finding)
{
    uint32_t *of = &diagnose->finding[finding].consequence_of;

    for (uint32_t steps = 0; *of != EVIDENCE_NONE; steps++) {
        uint32_t next = diagnose->finding[*of].consequence_of;
        if (next == EVIDENCE_NONE) return;
        *of = steps < DIAGNOSE_RULES ? next : EVIDENCE_NONE;
    }
}

static void explain(struct diagnose *diagnose)
{
    uint32_t *mark = DIAGNOSE_NEW(diagnose, uint32_t, diagnose->evidence->objects + 1u);

    for (uint32_t i = 0; mark && i < diagnose->findings; i++) {
        const struct diagnose_finding *cause = &diagnose->finding[i];
        if (cause->severity == DIAGNOSE_INFO || only_waited(cause)) continue;
        for (uint32_t v = 0; v < cause->victims; v++)
            mark[cause->victim[v]] = i + 1;
        for (uint32_t j = 0; j < diagnose->findings; j++) {
            struct diagnose_finding *finding = &diagnose->finding[j];
            if (j == i || finding->consequence_of != EVIDENCE_NONE || !can_explain(cause->rule, finding->rule))
                continue;
            bool by_victims = cause->rule != DIAGNOSE_D22 && cause->rule != DIAGNOSE_D12 &&
                              (finding->rule != DIAGNOSE_D22 || holds_by_victims(cause));
            bool gone = finding->rule == DIAGNOSE_D14 && cause->rule >= DIAGNOSE_D03 && !only_waited(finding);
            if (is_lost_elsewhere(diagnose->evidence, cause, finding)) continue;
            if (finding->rule == DIAGNOSE_D11) {
                if (finding->strays) finding->consequence_of = i;
                continue;
            }
            bool same = by_victims && !gone && same_victims(mark, i, finding);
            if (same || touch(diagnose, cause, finding)) finding->consequence_of = i;
        }
    }
    for (uint32_t j = 0; j < diagnose->findings; j++)
        explained_by(diagnose, j);
}

/* Causes, in their order, then consequences. */
static void causes_first(struct diagnose *diagnose)
{
    uint32_t count = diagnose->findings, at = 0;
    struct diagnose_finding *sorted = DIAGNOSE_NEW(diagnose, struct diagnose_finding, count + 1u);
    uint32_t *place = DIAGNOSE_NEW(diagnose, uint32_t, count + 1u);

    if (!sorted || !place) return;
    for (int consequences = 0; consequences < 2; consequences++)
        for (uint32_t i = 0; i < count; i++) {
            if ((diagnose->finding[i].consequence_of != EVIDENCE_NONE) != consequences) continue;
            place[i] = at;
            sorted[at++] = diagnose->finding[i];
        }
    CHECK(at == count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(sorted[i].consequence_of == EVIDENCE_NONE || place[sorted[i].consequence_of] < i);
        diagnose->finding[i] = sorted[i];
        if (sorted[i].consequence_of != EVIDENCE_NONE)
            diagnose->finding[i].consequence_of = place[sorted[i].consequence_of];
    }
}

static bool has_row(const struct diagnose_finding *finding, uint32_t rows, const struct diagnose_evidence *row)
{
    for (uint32_t i = 0; i < rows; i++) {
        const struct diagnose_evidence *has = &finding->evidence[i];
        if (has->object == row->object && has->priority == row->priority && !strcmp(has->counter, row->counter))
            return true;
    }
    return false;
}

/* A rule that names a cable twice, for two reasons, is one finding with the evidence of both. */
static void merge(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t kept = 0;

    for (uint32_t j = 0; j < diagnose->findings; j++) {
        struct diagnose_finding *two = &diagnose->finding[j], *one = NULL;
        for (uint32_t i = 0; i < kept && !one; i++) {
            uint32_t first = diagnose->finding[i].culprit, second = two->culprit;
            if (diagnose->finding[i].rule != two->rule || first == EVIDENCE_NONE || second == EVIDENCE_NONE) continue;
            if (first == second || evidence->object[first].peer == second) one = &diagnose->finding[i];
        }
        if (!one) {
            diagnose->finding[kept++] = *two;
            continue;
        }
        for (uint32_t i = 0; i < two->victims; i++)
            finding_victim(diagnose, one, two->victim[i]);
        uint32_t rows = one->evidences;
        for (uint32_t i = 0; i < two->evidences; i++)
            if (!has_row(one, rows, &two->evidence[i])) finding_row(diagnose, one, &two->evidence[i]);
    }
    diagnose->findings = kept;
}

void order_findings(struct diagnose *diagnose)
{
    if (!diagnose->findings) return;
    qsort(diagnose->finding, diagnose->findings, sizeof diagnose->finding[0], before);
    merge(diagnose);
    explain(diagnose);
    causes_first(diagnose);
}
