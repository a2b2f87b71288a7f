/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on a run: what became of it (outcome.h), then what src/diagnose finds in its evidence, the same as
 * `rocelab diagnose` finds in the run's own document, which has the counters and the runbooks, too.
 */
#include <string.h>

#include "diagnose/diagnose.h"
#include "fabric/fabric.h"
#include "report/diagnosis/outcome.h"
#include "report/diagnosis/run_evidence.h"
#include "report/sim_report.h"

#define OUTCOMES_SHOWN 4
#define CAUSES_SHOWN 8
#define NAMES_SHOWN 6
#define INDENT 4
#define LINE 2048

/* A run, judged. */
struct judged {
    struct evidence evidence;
    struct diagnose diagnose;
    struct outcomes outcomes;
};

static bool judge(const struct sim_report *report, struct judged *ret)
{
    *ret = (struct judged){0};
    if (!evidence_init(&ret->evidence) || !run_evidence(&ret->evidence, report)) return false;
    evidence_finish(&ret->evidence, NULL);
    diagnose_run(&ret->diagnose, &ret->evidence, NULL);
    const struct diagnose_limits *limits = &ret->diagnose.limits;
    return !ret->diagnose.full && outcomes_make(report, limits->ideal_ratio, limits->exposed_least, &ret->outcomes);
}

static void release(struct judged *judged)
{
    outcomes_release(&judged->outcomes);
    diagnose_release(&judged->diagnose);
    evidence_release(&judged->evidence);
}

static const char *name_of(const struct judged *judged, uint32_t object)
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

static void print_outcomes(FILE *out, const struct judged *judged, const struct text_style *style)
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

static void print_names(FILE *out, const struct judged *judged, const struct text_style *style, const char *title,
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
static void print_consequences(FILE *out, const struct judged *judged, const struct text_style *style, uint32_t cause)
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
static void print_finding(FILE *out, const struct judged *judged, const struct text_style *style, uint32_t number)
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
    struct judged judged;
    uint32_t causes = 0;

    if (judge(report, &judged) && judged.outcomes.count + judged.diagnose.findings) {
        text_colour(out, &options->style, TEXT_BOLD);
        fputs("\nVERDICT\n", out);
        text_colour(out, &options->style, TEXT_PLAIN);
        print_outcomes(out, &judged, &options->style);
        for (uint32_t i = 0; i < judged.diagnose.findings; i++)
            if (judged.diagnose.finding[i].consequence_of == EVIDENCE_NONE && causes++ < CAUSES_SHOWN)
                print_finding(out, &judged, &options->style, i);
        if (causes > CAUSES_SHOWN) fprintf(out, "  and %u more findings\n", causes - CAUSES_SHOWN);
    }
    release(&judged);
}

bool sim_verdict_warns(const struct sim_report *report)
{
    struct judged judged;
    bool warns = judge(report, &judged) && diagnose_worst(&judged.diagnose) > DIAGNOSE_INFO;

    release(&judged);
    return warns;
}

/* --- JSON --- */

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

static void json_job(struct jout *jout, const char *name)
{
    if (name)
        jout_text(jout, "job", name);
    else
        jout_null(jout, "job");
}

static void json_outcome(struct jout *jout, const struct fabric *fabric, const struct outcome *outcome)
{
    static const char *const severity[] = {"ok", "info", "warning", "critical"};
    const struct outcome_kind *kind = &outcome_kind[outcome->id];
    char name[FABRIC_NAME];

    jout_open_line(jout, NULL, '{');
    jout_text(jout, "id", kind->name);
    jout_text(jout, "alias", kind->alias);
    jout_text(jout, "severity", severity[kind->severity]);
    json_job(jout, outcome->job == FABRIC_NONE ? NULL : fabric->job[outcome->job].name);
    jout_text(jout, "title", kind->title);
    jout_text(jout, "what", outcome->what);
    jout_open(jout, "objects", '[');
    for (uint32_t i = 0; i < outcome->objects; i++)
        jout_text(jout, NULL, fabric_port_name(fabric, outcome->object[i], name));
    jout_close(jout);
    jout_close(jout);
}

static void json_names(struct jout *jout, const struct judged *judged, const uint32_t *object, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        jout_text(jout, NULL, name_of(judged, object[i]));
}

static void json_finding(struct jout *jout, const struct judged *judged, const struct diagnose_finding *finding)
{
    const struct diagnose_rule *rule = &diagnose_rules[finding->rule];
    const struct evidence *evidence = &judged->evidence;
    bool of_job = finding->culprit != EVIDENCE_NONE && evidence->object[finding->culprit].scope == EVIDENCE_JOB;

    jout_open_line(jout, NULL, '{');
    jout_text(jout, "id", rule->id);
    jout_text(jout, "alias", alias_of(finding, evidence));
    jout_text(jout, "severity", diagnose_severity_names[finding->severity]);
    json_job(jout, of_job ? name_of(judged, finding->culprit) : NULL);
    jout_text(jout, "title", rule->cause);
    jout_text(jout, "what", finding->what);
    jout_text(jout, "why", rule->why);
    jout_text(jout, "advice", rule->fix);
    jout_open(jout, "objects", '[');
    if (!of_job) json_names(jout, judged, &finding->culprit, finding->culprit != EVIDENCE_NONE);
    json_names(jout, judged, finding->also, finding->alsos);
    jout_close(jout);
    jout_open(jout, "victims", '[');
    json_names(jout, judged, finding->victim, finding->victims);
    jout_close(jout);
    jout_text(jout, "confidence", diagnose_confidence_names[finding->confidence]);
    if (finding->consequence_of == EVIDENCE_NONE)
        jout_null(jout, "consequence_of");
    else
        jout_u64(jout, "consequence_of", judged->outcomes.count + finding->consequence_of);
    jout_close(jout);
}

void sim_json_verdict(struct jout *jout, const struct sim_report *report)
{
    struct judged judged;

    jout_open(jout, "verdict", '[');
    if (!judge(report, &judged)) jout->failed = true;
    for (uint32_t i = 0; i < judged.outcomes.count; i++)
        json_outcome(jout, report->fabric, &judged.outcomes.list[i]);
    for (uint32_t i = 0; i < judged.diagnose.findings; i++)
        json_finding(jout, &judged, &judged.diagnose.finding[i]);
    jout_close(jout);
    release(&judged);
}
