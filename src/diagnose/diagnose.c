/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the rules, and what findings are made of. */
#include "diagnose/diagnose.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "diagnose/answer/standing.h"
#include "diagnose/nics_int.h"

#define MEMORY (512u << 20)
#define TEXT 400
#define ROWS_COMPARED 16  /* so far back a row that is there already is looked for */
#define FINDINGS_MOST 256 /* of a rule: thousands of them have one cause that no rule knows, and nobody reads them */

const struct diagnose_rule diagnose_rules[DIAGNOSE_RULES] = {
#define RULE(id, severity, owner, runbook, cause, why, fix, seen, culprit)                                             \
    {#id, DIAGNOSE_##severity, #owner, #runbook, cause, why, fix, seen, culprit},
#include "diagnose/rules.def"
#undef RULE
};

static void (*const function[DIAGNOSE_RULES])(struct diagnose *diagnose) = {
#define RULE(id, severity, owner, runbook, cause, why, fix, seen, culprit) rule_##id,
#include "diagnose/rules.def"
#undef RULE
};

/* Counters without which a rule has nothing to say: one of them has to be above 0 somewhere. */
static const struct {
    uint8_t rule;
    uint8_t any[9]; /* ends with 0, which is a counter of pauses that no rule here is of */
} needs[] = {
    {DIAGNOSE_D21,
     {EVIDENCE_FAULT_LOST, EVIDENCE_FAULT_CORRUPTED, EVIDENCE_FAULT_REORDERED, EVIDENCE_FAULT_DUPLICATED,
      EVIDENCE_FAULT_DELAYED, EVIDENCE_FAULT_MARKED}},
    {DIAGNOSE_D13,
     {EVIDENCE_CRC_ERRORS, EVIDENCE_FEC_UNCORRECTED, EVIDENCE_LINE_LOST, EVIDENCE_PRE_FEC_BER, EVIDENCE_SEQUENCE_NAKS,
      EVIDENCE_OUT_OF_SEQUENCE, EVIDENCE_TEMPERATURE, EVIDENCE_SYMBOL_ERRORS}},
    {DIAGNOSE_D19, {EVIDENCE_LINK_DOWN}},
    {DIAGNOSE_D24, {EVIDENCE_QUEUE_DROPS, EVIDENCE_GROUP_DROPS}},
    {DIAGNOSE_D16, {EVIDENCE_MTU_DROPS}},
    {DIAGNOSE_D31, {EVIDENCE_WATCHDOG_DETECTED}},
    {DIAGNOSE_D10, {EVIDENCE_NP_MARKED}},
    {DIAGNOSE_D28, {EVIDENCE_SOFTWARE_NS, EVIDENCE_CORES_IDLE_NS}},
};
_Static_assert(EVIDENCE_RX_PAUSE_FRAMES == 0, "ends a list of needs");

const struct diagnose_limit diagnose_limits[] = {
#define LIMIT(name, value, rules, of) {#name, value, rules, of},
#include "diagnose/limits.def"
#undef LIMIT
};
const uint32_t diagnose_limit_count = sizeof diagnose_limits / sizeof diagnose_limits[0];

const char *const diagnose_severity_names[] = {"info", "warning", "critical"};
const char *const diagnose_confidence_names[] = {"weak", "strong", "exact"};

const char *diagnose_runbook_title(const char *id)
{
    static const struct {
        const char *id, *title;
    } runbook[] = {
#define RUNBOOK(id, team, title) {#id, title},
#include "diagnose/runbooks.def"
#undef RUNBOOK
    };

    for (size_t i = 0; i < sizeof runbook / sizeof runbook[0]; i++)
        if (!strcmp(runbook[i].id, id)) return runbook[i].title;
    return "";
}

void *diagnose_alloc(struct diagnose *diagnose, size_t count, size_t size, size_t align)
{
    void *piece = arena_alloc(&diagnose->arena, count, size, align);

    if (!piece) diagnose->full = true;
    return piece;
}

const char *diagnose_keep(struct diagnose *diagnose, const char *text)
{
    const char *kept = arena_strndup(&diagnose->arena, text, strlen(text));

    if (!kept) diagnose->full = true;
    return kept;
}

bool diagnose_more(struct diagnose *diagnose, void *array, uint32_t count, size_t size)
{
    void **at = array, *grown;

    if (count & (count - 1)) return true; /* grown at 0, 1, 2, 4, ... */
    grown = diagnose_alloc(diagnose, count ? 2 * (size_t)count : 1, size, 16);
    if (!grown) return false;
    if (count) memcpy(grown, *at, count * size);
    *at = grown;
    return true;
}

/* Whether a rule may have one more; the first that may not be is said. */
static bool one_more(struct diagnose *diagnose, enum diagnose_rule_id rule)
{
    if (diagnose->found[rule] > FINDINGS_MOST) return false;
    if (diagnose->found[rule]++ < FINDINGS_MOST) return true;
    missing_add(diagnose, "%s was found in more than %u places: the rest is left out", diagnose_rules[rule].id,
                FINDINGS_MOST);
    return false;
}

struct diagnose_finding *finding_new(struct diagnose *diagnose, enum diagnose_rule_id rule, uint32_t culprit,
                                     unsigned priority, const char *what, ...)
{
    char text[TEXT];
    va_list arguments;

    va_start(arguments, what);
    vsnprintf(text, sizeof text, what, arguments);
    va_end(arguments);
    CHECK(rule < DIAGNOSE_RULES && (culprit == EVIDENCE_NONE || culprit < diagnose->evidence->objects));
    CHECK(priority < EVIDENCE_PRIORITIES || priority == EVIDENCE_NO_PRIORITY);
    if (!one_more(diagnose, rule)) return NULL;
    const char *kept = diagnose_keep(diagnose, text);
    if (!kept || !MORE(diagnose, diagnose->finding, diagnose->findings)) return NULL;
    struct diagnose_finding *finding = &diagnose->finding[diagnose->findings++];
    *finding = (struct diagnose_finding){
        .rule = (uint8_t)rule,
        .severity = diagnose_rules[rule].severity,
        .confidence = diagnose->evidence->looks > 1 || diagnose->evidence->exact ? DIAGNOSE_STRONG : DIAGNOSE_WEAK,
        .culprit = culprit,
        .priority = (uint8_t)priority,
        .what = kept,
        .consequence_of = EVIDENCE_NONE,
    };
    return finding;
}

static bool has(const uint32_t *list, uint32_t count, uint32_t object)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == object) return true;
    return false;
}

/* Adds what a list does not have.  Thousands of NICs suffer alike: that a list has it is marked, not looked for. */
static void add_once(struct diagnose *diagnose, uint32_t **list, uint32_t *count, uint32_t object)
{
    uint32_t objects = diagnose->evidence->objects;

    if (object >= objects) return;
    if (!diagnose->mark.stamp) diagnose->mark.stamp = DIAGNOSE_NEW(diagnose, uint32_t, objects);
    if (!diagnose->mark.stamp) return;
    if (!*count || *list != diagnose->mark.list || *count != diagnose->mark.count) {
        diagnose->mark.now++;
        for (uint32_t i = 0; i < *count; i++)
            diagnose->mark.stamp[(*list)[i]] = diagnose->mark.now;
    }
    if (diagnose->mark.stamp[object] != diagnose->mark.now && diagnose_more(diagnose, list, *count, sizeof **list)) {
        (*list)[(*count)++] = object;
        diagnose->mark.stamp[object] = diagnose->mark.now;
    }
    diagnose->mark.list = *list;
    diagnose->mark.count = *count;
}

void finding_victim(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t object)
{
    if (finding) add_once(diagnose, &finding->victim, &finding->victims, object);
}

void finding_not_victims(struct diagnose_finding *finding)
{
    uint32_t kept = 0;

    if (!finding) return;
    for (uint32_t i = 0; i < finding->victims; i++) {
        uint32_t object = finding->victim[i];
        if (object != finding->culprit && !has(finding->also, finding->alsos, object)) finding->victim[kept++] = object;
    }
    finding->victims = kept;
}

void finding_also(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t object)
{
    if (finding) add_once(diagnose, &finding->also, &finding->alsos, object);
}

void finding_row(struct diagnose *diagnose, struct diagnose_finding *finding, const struct diagnose_evidence *row)
{
    if (!finding) return;
    CHECK(row->object < diagnose->evidence->objects && row->counter && row->unit);
    for (uint32_t i = finding->evidences, back = 0; i > 0 && back < ROWS_COMPARED; back++) {
        const struct diagnose_evidence *one = &finding->evidence[--i];
        if (one->object == row->object && one->priority == row->priority && !strcmp(one->counter, row->counter)) return;
    }
    if (MORE(diagnose, finding->evidence, finding->evidences)) finding->evidence[finding->evidences++] = *row;
}

/* A count of one look is of all the time since boot, also where others were looked at twice. */
static bool is_since_boot(const struct evidence_value *value)
{
    return value && value->looks < 2 && evidence_counters[value->counter].kind == EVIDENCE_COUNT;
}

/* States that are a fault themselves, whenever it began.  An MTU is one where the other end's, its threshold, is
 * larger.  What a log says of failures is of the job that wrote it, and not since boot. */
static bool is_now(const struct diagnose *diagnose, const struct evidence_value *value, double threshold)
{
    if (diagnose->evidence->exact || value->looks > 1 || evidence_counters[value->counter].scope >= EVIDENCE_JOB)
        return true;
    switch (value->counter) {
    case EVIDENCE_PFC_ON: /* off, where it is on at other ports: most priorities have it off everywhere */
        return value->priority == EVIDENCE_NO_PRIORITY ||
               diagnose->counters[EVIDENCE_PFC_ON].priorities >> value->priority & 1;
    case EVIDENCE_LINK_UP:
    case EVIDENCE_RATE:
    case EVIDENCE_PRE_FEC_BER:
    case EVIDENCE_TEMPERATURE:
    case EVIDENCE_PCI_STALLED:
    case EVIDENCE_WATCHDOG_ON:
    case EVIDENCE_RX_PAUSED_NOW:
    case EVIDENCE_TX_PAUSED_NOW:
    case EVIDENCE_RETRY_EXCEEDED:
        return true;
    case EVIDENCE_MTU:
        return (double)value->last < threshold;
    default:
        return false;
    }
}

void finding_number(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t object, unsigned priority,
                    const char *name, const char *unit, double number, double threshold,
                    const struct evidence_value *from)
{
    if (finding && !diagnose->evidence->exact && is_since_boot(from)) finding->confidence = DIAGNOSE_WEAK;
    if (finding && from) *(is_now(diagnose, from, threshold) ? &finding->now : &finding->old) = true;
    finding_row(diagnose, finding,
                &(struct diagnose_evidence){
                    .object = object,
                    .priority = (uint8_t)priority,
                    .counter = name,
                    .unit = unit,
                    .value = number,
                    .threshold = threshold,
                    .file = from ? from->file : EVIDENCE_NONE,
                    .line = from ? from->line : 0,
                });
}

void finding_counter(struct diagnose *diagnose, struct diagnose_finding *finding, const struct evidence_value *value,
                     double threshold)
{
    if (!value) return;
    const struct evidence_counter_info *info = &evidence_counters[value->counter];
    double number = info->kind == EVIDENCE_COUNT ? (double)value->grown : value->real;
    finding_number(diagnose, finding, value->object, value->priority, info->name, info->unit, number, threshold, value);
}

void finding_event(struct diagnose *diagnose, struct diagnose_finding *finding, const struct evidence_event *event)
{
    if (!finding || !event || event->object == EVIDENCE_NONE) return;
    finding->now = true; /* a log says when */
    finding_row(diagnose, finding,
                &(struct diagnose_evidence){.object = event->object,
                                            .priority = event->priority,
                                            .counter = evidence_events[event->kind].name,
                                            .unit = "",
                                            .value = event->count,
                                            .file = event->file,
                                            .line = event->line,
                                            .event = (uint32_t)(event - diagnose->evidence->event) + 1});
}

void missing_add(struct diagnose *diagnose, const char *what, ...)
{
    char text[TEXT];
    va_list arguments;

    va_start(arguments, what);
    vsnprintf(text, sizeof text, what, arguments);
    va_end(arguments);
    for (uint32_t i = 0; i < diagnose->missings; i++)
        if (!strcmp(diagnose->missing[i], text)) return;
    const char *kept = diagnose_keep(diagnose, text);
    if (kept && MORE(diagnose, diagnose->missing, diagnose->missings)) diagnose->missing[diagnose->missings++] = kept;
}

enum diagnose_severity diagnose_worst(const struct diagnose *diagnose)
{
    enum diagnose_severity worst = DIAGNOSE_INFO;

    for (uint32_t i = 0; i < diagnose->findings; i++)
        if (diagnose->finding[i].severity > worst) worst = (enum diagnose_severity)diagnose->finding[i].severity;
    return worst;
}

/* Whether a row of what may be old is a share of packets that no burst of years ago leaves. */
static bool is_large(const struct diagnose *diagnose, const struct diagnose_evidence *row)
{
    const struct evidence *evidence = diagnose->evidence;

    for (unsigned c = 0; !row->event && c < EVIDENCE_COUNTERS; c++) {
        if (row->counter != evidence_counters[c].name) continue;
        const struct evidence_value *value =
            evidence_find(evidence, row->object, row->priority, (enum evidence_counter)c);
        bool line = standing_info[c].family == STANDING_LINE;
        double share = value && value->looks < 2 ? standing_share(diagnose, value, value->last, false) : 0;
        if (share > 0 && (double)value->last < diagnose->limits.old_least) return false;
        if (c == EVIDENCE_LINK_DOWN) return value && (double)value->last >= diagnose->limits.old_flaps;
        if (isnan(share)) return c == EVIDENCE_CRC_ERRORS && (double)value->last >= diagnose->limits.old_errors_least;
        return share >= (line ? diagnose->limits.old_errors : diagnose->limits.old_loss);
    }
    return false;
}

/* Stays, and says what it is: weak, and of all the time since the counters were cleared. */
static bool stays(struct diagnose *diagnose, struct diagnose_finding *finding)
{
    char text[TEXT + 64];
    bool large = false;

    if (finding->now || !finding->old) return true;
    for (uint32_t e = 0; e < finding->evidences; e++)
        large |= is_large(diagnose, &finding->evidence[e]);
    if (!large) return false;
    snprintf(text, sizeof text, "%s; all that since the counters were cleared", finding->what);
    const char *kept = diagnose_keep(diagnose, text);
    if (kept) finding->what = kept;
    finding->confidence = DIAGNOSE_WEAK;
    if (finding->severity > DIAGNOSE_WARNING) finding->severity = DIAGNOSE_WARNING;
    return true;
}

/* Logs alone, and what jobs say: a second look at them would say the same. */
static bool only_said(const struct evidence *evidence)
{
    for (uint32_t i = 0; i < evidence->values; i++)
        if (evidence_counters[evidence->value[i].counter].scope < EVIDENCE_JOB) return false;
    return evidence->events != 0;
}

/* Of one look no rate is known: what a counter says may be years old, and is a finding only where it is a large share
 * of all that was ever sent. */
static void leave_out_old(struct diagnose *diagnose)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < diagnose->findings; i++)
        if (stays(diagnose, &diagnose->finding[i])) diagnose->finding[kept++] = diagnose->finding[i];
    if (kept < diagnose->findings ||
        (diagnose->evidence->looks < 2 && !diagnose->evidence->exact && !only_said(diagnose->evidence)))
        missing_add(diagnose,
                    "a second look, ten seconds later: one look gives no rates, and its counters may be years old");
    diagnose->findings = kept;
}

static bool is_worth_asking(const struct diagnose *diagnose, unsigned rule)
{
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        if (needs[i].rule != rule || diagnose->evidence->events) continue; /* a log may say it too */
        for (const uint8_t *counter = needs[i].any; *counter; counter++)
            if (diagnose->counters[*counter].positive) return true;
        return false;
    }
    return true;
}

void diagnose_run(struct diagnose *diagnose, const struct evidence *evidence, const struct diagnose_baseline *baseline)
{
    *diagnose = (struct diagnose){.evidence = evidence, .answer = DIAGNOSE_NOT_ENOUGH, .because = "memory ran out"};
    arena_init(&diagnose->arena, MEMORY);
    diagnose->limits = diagnose_said;
    sum_counters(diagnose);
    graph_build(diagnose);
    if (diagnose->full) return; /* rules rely on the graph */
    for (uint32_t i = 0; i < DIAGNOSE_RULES; i++)
        if (i != DIAGNOSE_D20 && is_worth_asking(diagnose, i)) function[i](diagnose);
    leave_out_old(diagnose);
    order_findings(diagnose);
    training_judge(diagnose, baseline);
    rule_D20(diagnose);
    standing_find(diagnose);
    answer_choose(diagnose);
}

void diagnose_release(struct diagnose *diagnose)
{
    arena_release(&diagnose->arena);
    *diagnose = (struct diagnose){0};
}
