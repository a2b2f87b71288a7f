/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on a run: what became of it (outcome.h), then what src/diagnose finds in its evidence, the same as
 * `rocelab diagnose` finds in the run's own document, which has the counters and the runbooks, too.
 */
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"
#include "fabric/fabric.h"
#include "report/diagnosis/outcome.h"
#include "report/diagnosis/run_evidence.h"
#include "report/rows/rows.h"
#include "report/sim_report.h"

#define OUTCOMES_SHOWN 4
#define CAUSES_SHOWN 8
#define NAMES_SHOWN 6
#define INDENT 4
#define LINE 2048

/* A run, judged. */
struct sim_verdict {
    struct evidence evidence;
    struct diagnose diagnose;
    struct outcomes outcomes;
};

void sim_verdict_free(struct sim_verdict *judged)
{
    if (!judged) return;
    outcomes_release(&judged->outcomes);
    diagnose_release(&judged->diagnose);
    evidence_release(&judged->evidence);
    free(judged);
}

static bool judge(const struct sim_report *report, struct sim_verdict *ret)
{
    if (!evidence_init(&ret->evidence) || !run_evidence(&ret->evidence, report)) return false;
    evidence_finish(&ret->evidence, NULL);
    diagnose_run(&ret->diagnose, &ret->evidence, NULL);
    const struct diagnose_limits *limits = &ret->diagnose.limits;
    return !ret->diagnose.full && outcomes_make(report, limits->ideal_ratio, limits->exposed_least, &ret->outcomes);
}

/* What was judged before, or is now; NULL: not enough memory. */
static struct sim_verdict *judged_of(const struct sim_report *report)
{
    if (report->verdict && *report->verdict) return *report->verdict;
    struct sim_verdict *judged = calloc(1, sizeof *judged);
    if (judged && !judge(report, judged)) {
        sim_verdict_free(judged);
        return NULL;
    }
    if (report->verdict) *report->verdict = judged;
    return judged;
}

static void done_with(const struct sim_report *report, struct sim_verdict *judged)
{
    if (!report->verdict) sim_verdict_free(judged);
}

static const char *name_of(const struct sim_verdict *judged, uint32_t object)
{
    return object == EVIDENCE_NONE ? "?" : judged->evidence.object[object].name;
}

/* --- text --- */

/* Names in it are the file's. */
static void print_sentence(FILE *out, const struct text_style *style, unsigned at, const char *text)
{
    char clean[LINE];

    snprintf(clean, sizeof clean, "%s", text);
    for (char *c = clean; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    text_wrap(out, style, at, INDENT, clean);
}

static void print_below(FILE *out, const struct text_style *style, const char *text)
{
    fprintf(out, "%*s", INDENT, "");
    print_sentence(out, style, INDENT, text);
}

static int print_word(FILE *out, const struct text_style *style, enum outcome_severity severity, const char *id)
{
    static const enum text_colour colour[] = {TEXT_GREEN, TEXT_PLAIN, TEXT_YELLOW, TEXT_RED};
    static const char *const word[] = {"ok", "info", "warning", "critical"};
    int at = 2;

    fputs("  ", out);
    text_colour(out, style, colour[severity]);
    at += fprintf(out, "%s%s%s", word[severity], *id ? " " : "", id);
    text_colour(out, style, TEXT_PLAIN);
    return at;
}

static void print_outcomes(FILE *out, const struct sim_verdict *judged, const struct text_style *style)
{
    const struct outcomes *outcomes = &judged->outcomes;
    char text[LINE];

    for (uint32_t i = 0; i < outcomes->count && i < OUTCOMES_SHOWN; i++) {
        const struct outcome_kind *kind = &outcome_kind[outcomes->list[i].id];
        int at = print_word(out, style, kind->severity, "");
        snprintf(text, sizeof text, " %s: %s.", kind->title, outcomes->list[i].what);
        fputc(' ', out);
        print_sentence(out, style, (unsigned)at + 1, text + 1);
    }
    if (outcomes->count > OUTCOMES_SHOWN) fprintf(out, "  and %u more\n", outcomes->count - OUTCOMES_SHOWN);
}

static void print_names(FILE *out, const struct sim_verdict *judged, const struct text_style *style, const char *title,
                        const uint32_t *object, uint32_t count)
{
    char text[LINE];
    size_t used = (size_t)snprintf(text, sizeof text, "%s: ", title);

    if (!count) return;
    for (uint32_t i = 0; i < count && i < NAMES_SHOWN && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "", name_of(judged, object[i]));
    if (used < sizeof text && count > NAMES_SHOWN)
        used += (size_t)snprintf(text + used, sizeof text - used, " and %u more", count - NAMES_SHOWN);
    if (used < sizeof text) snprintf(text + used, sizeof text - used, ".");
    print_below(out, style, text);
}

/* Rule and culprit of what follows from it. */
static void print_consequences(FILE *out, const struct sim_verdict *judged, const struct text_style *style,
                               uint32_t cause)
{
    const struct diagnose *diagnose = &judged->diagnose;
    char text[LINE] = "Explains: ";
    size_t used = strlen(text);
    uint32_t count = 0;

    for (uint32_t i = 0; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        if (finding->consequence_of != cause || count++ >= NAMES_SHOWN || used >= sizeof text) continue;
        const struct diagnose_rule *rule = &diagnose_rules[finding->rule];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s, %s, at %s", count > 1 ? "; " : "", rule->id,
                                 rule->cause, name_of(judged, finding->culprit));
    }
    if (!count) return;
    if (used < sizeof text && count > NAMES_SHOWN)
        used += (size_t)snprintf(text + used, sizeof text - used, " and %u more", count - NAMES_SHOWN);
    if (used < sizeof text) snprintf(text + used, sizeof text - used, ".");
    print_below(out, style, text);
}

/* Of what does no harm the numbers alone. */
static void print_finding(FILE *out, const struct sim_verdict *judged, const struct text_style *style, uint32_t number)
{
    const struct diagnose_finding *finding = &judged->diagnose.finding[number];
    const struct diagnose_rule *rule = &diagnose_rules[finding->rule];
    char text[LINE];
    int at = print_word(out, style, (enum outcome_severity)(finding->severity + OUTCOME_INFO), rule->id);

    snprintf(text, sizeof text, ", %s: %s.", rule->cause, finding->what);
    fputs(", ", out);
    print_sentence(out, style, (unsigned)at + 2, text + 2);
    if (finding->severity != DIAGNOSE_INFO) {
        print_below(out, style, rule->why);
        snprintf(text, sizeof text, "Fix: %s", rule->fix);
        print_below(out, style, text);
        print_names(out, judged, style, "Victims", finding->victim, finding->victims);
    }
    print_consequences(out, judged, style, number);
}

void sim_text_verdict(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    struct sim_verdict *judged = judged_of(report);
    uint32_t causes = 0;

    if (judged && judged->outcomes.count + judged->diagnose.findings) {
        text_heading(out, &options->style, "VERDICT");
        print_outcomes(out, judged, &options->style);
        for (uint32_t i = 0; i < judged->diagnose.findings; i++)
            if (judged->diagnose.finding[i].consequence_of == EVIDENCE_NONE && causes++ < CAUSES_SHOWN)
                print_finding(out, judged, &options->style, i);
        if (causes > CAUSES_SHOWN) fprintf(out, "  and %u more findings\n", causes - CAUSES_SHOWN);
    }
    done_with(report, judged);
}

bool sim_verdict_warns(const struct sim_report *report)
{
    struct sim_verdict *judged = judged_of(report);
    bool warns = judged && diagnose_worst(&judged->diagnose) > DIAGNOSE_INFO;

    done_with(report, judged);
    return warns;
}

/* --- as values --- */

/* The codes that findings had before; NULL: they had none. */
static const char *alias_of(const struct diagnose_finding *finding, const struct evidence *evidence)
{
    static const char *const alias[DIAGNOSE_RULES] = {
        [DIAGNOSE_D01] = "V-DEADLOCK",       [DIAGNOSE_D02] = "V-STORM",
        [DIAGNOSE_D03] = "V-SLOW-RECEIVER",  [DIAGNOSE_D04] = "V-INCAST",
        [DIAGNOSE_D05] = "V-UNEVEN",         [DIAGNOSE_D06] = "V-SLOW-LINK",
        [DIAGNOSE_D07] = "V-OVERSUBSCRIBED", [DIAGNOSE_D08] = "V-HEADROOM",
        [DIAGNOSE_D09] = "V-PAUSE-FIRST",    [DIAGNOSE_D10] = "V-NO-CNP",
        [DIAGNOSE_D11] = "V-CNP-LOST",       [DIAGNOSE_D12] = "V-REORDER",
        [DIAGNOSE_D13] = "V-LINK-ERRORS",    [DIAGNOSE_D14] = "V-ROUTE",
        [DIAGNOSE_D15] = "V-CLASS",          [DIAGNOSE_D16] = "V-MTU",
        [DIAGNOSE_D17] = "V-STRAGGLER",      [DIAGNOSE_D19] = "V-LINK-DOWN",
        [DIAGNOSE_D24] = "V-DROPS",          [DIAGNOSE_D31] = "V-WATCHDOG",
    };

    if (finding->rule == DIAGNOSE_D05 && finding->culprit != EVIDENCE_NONE) {
        if (evidence->object[finding->culprit].scope == EVIDENCE_DEVICE) return "V-POLARISED";
        if (finding->severity == DIAGNOSE_INFO) return "V-COLLISIONS";
    }
    return alias[finding->rule];
}

/* Names of objects, in an array that is used again. */
static struct sim_names names_of(const struct sim_verdict *judged, const char **into, const uint32_t *object,
                                 uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        into[i] = name_of(judged, object[i]);
    return (struct sim_names){.name = into, .count = count};
}

static void tell_outcome(const struct sim_report *report, const struct outcome *outcome, sim_finding_call *call,
                         void *context)
{
    static const char *const severity[] = {"ok", "info", "warning", "critical"};
    const struct outcome_kind *kind = &outcome_kind[outcome->id];
    char name[sizeof outcome->object / sizeof outcome->object[0]][FABRIC_NAME];
    const char *object[sizeof name / sizeof name[0]];

    for (uint32_t i = 0; i < outcome->objects; i++)
        object[i] = fabric_port_name(report->fabric, outcome->object[i], name[i]);
    const struct sim_finding finding = {
        .id = kind->name,
        .alias = kind->alias,
        .severity = severity[kind->severity],
        .job = outcome->job == FABRIC_NONE ? NULL : report->fabric->job[outcome->job].name,
        .title = kind->title,
        .what = outcome->what,
        .objects = {.name = object, .count = outcome->objects},
    };
    call(context, &finding);
}

/* The job that is the culprit is not among the objects. */
static bool tell_finding(const struct sim_verdict *judged, const struct diagnose_finding *from, sim_finding_call *call,
                         void *context)
{
    const struct diagnose_rule *rule = &diagnose_rules[from->rule];
    const struct evidence *evidence = &judged->evidence;
    bool culprit = from->culprit != EVIDENCE_NONE;
    bool of_job = culprit && evidence->object[from->culprit].scope == EVIDENCE_JOB;
    const char **name = calloc(from->alsos + from->victims + 2u, sizeof *name);

    if (name == NULL) return false;
    uint32_t first = culprit && !of_job;
    if (first) name[0] = name_of(judged, from->culprit);
    names_of(judged, name + first, from->also, from->alsos);
    const struct sim_finding finding = {
        .id = rule->id,
        .alias = alias_of(from, evidence),
        .severity = diagnose_severity_names[from->severity],
        .job = of_job ? name_of(judged, from->culprit) : NULL,
        .title = rule->cause,
        .what = from->what,
        .caused = true,
        .why = rule->why,
        .advice = rule->fix,
        .objects = {.name = name, .count = first + from->alsos},
        .victims = names_of(judged, name + first + from->alsos, from->victim, from->victims),
        .confidence = diagnose_confidence_names[from->confidence],
        .consequence_of =
            from->consequence_of == EVIDENCE_NONE ? SIM_FINDING_NONE : judged->outcomes.count + from->consequence_of,
    };
    call(context, &finding);
    free(name);
    return true;
}

bool sim_findings(const struct sim_report *report, sim_finding_call *call, void *context)
{
    struct sim_verdict *judged = judged_of(report);
    bool good = judged != NULL;

    for (uint32_t i = 0; good && i < judged->outcomes.count; i++)
        tell_outcome(report, &judged->outcomes.list[i], call, context);
    for (uint32_t i = 0; good && i < judged->diagnose.findings; i++)
        good = tell_finding(judged, &judged->diagnose.finding[i], call, context);
    done_with(report, judged);
    return good;
}

/* --- JSON --- */

static void jout_names(struct jout *jout, const char *key, const struct sim_names *names)
{
    jout_open(jout, key, '[');
    for (uint32_t i = 0; i < names->count; i++)
        jout_text(jout, NULL, names->name[i]);
    jout_close(jout);
}

static void json_finding(void *context, const struct sim_finding *finding)
{
    struct jout *jout = context;

    jout_open_line(jout, NULL, '{');
#include "report/rows/finding.def"
    jout_close(jout);
}

void sim_json_verdict(struct jout *jout, const struct sim_report *report)
{
    jout_open(jout, "verdict", '[');
    if (!sim_findings(report, json_finding, jout)) jout->failed = true;
    jout_close(jout);
}
