/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A diagnosis for people: what was found, causes first, what follows from each indented below it; then the jobs, what
 * is missing, what was looked at.  Names come from outside: every line goes through text_outside().
 */
#include "report/diagnosis/diagnosis.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_SHOWN 8
#define CAUSES_SHOWN 20
#define EXPLAINED_SHOWN 8
#define ROWS_SHOWN 8
#define REMARKS_SHOWN 20
#define UNKNOWNS_SHOWN 5
#define STANDINGS_SHOWN 8
#define INDENT 4
#define SECONDS_MOST 1e10 /* longer is a folder whose name is no time */
#define LINE 2048
#define NUMBER 48

struct page {
    FILE *out;
    const struct text_style *style;
    const struct diagnose *diagnose;
};

/* A paragraph; what is longer than LINE is cut. */
__attribute__((format(printf, 3, 4))) static void say(const struct page *page, unsigned indent, const char *format, ...)
{
    char text[LINE], *clean = NULL;
    size_t size = 0;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    FILE *memory = open_memstream(&clean, &size);
    if (!memory) return;
    text_outside(memory, page->style, text);
    fclose(memory);
    fprintf(page->out, "%*s", (int)indent, "");
    text_wrap(page->out, page->style, indent, indent + 2, clean);
    free(clean);
}

static const char *name_of(const struct page *page, uint32_t object)
{
    return object == EVIDENCE_NONE ? "?" : page->diagnose->evidence->object[object].name;
}

/* A value in its unit: shares as per cent, times and bytes with three digits. */
static const char *quantity(double value, const char *unit, char buf[NUMBER])
{
    char text[TEXT_COUNT];
    bool large = value >= 0 && value < 1e18;

    if (isnan(value))
        snprintf(buf, NUMBER, "?");
    else if (!strcmp(unit, "share"))
        snprintf(buf, NUMBER, "%.3g%%", value * 100);
    else if (!strcmp(unit, "ns") && large)
        snprintf(buf, NUMBER, "%s", text_ns((uint64_t)value, text));
    else if (!strcmp(unit, "bytes") && large)
        snprintf(buf, NUMBER, "%s", text_bytes((uint64_t)value, text));
    else if (!strcmp(unit, "b/s") && large)
        snprintf(buf, NUMBER, "%.4gG", value / 1e9);
    else if (value == floor(value) && large)
        snprintf(buf, NUMBER, "%s%s%s", text_count((uint64_t)value, text), *unit ? " " : "", unit);
    else
        snprintf(buf, NUMBER, "%.4g%s%s", value, *unit ? " " : "", unit);
    return buf;
}

static const char *priority_text(uint8_t priority, char buf[24])
{
    buf[0] = '\0';
    if (priority != EVIDENCE_NO_PRIORITY) snprintf(buf, 24, " priority %u", priority);
    return buf;
}

static void list(const struct page *page, unsigned indent, const char *title, const uint32_t *object, uint32_t count)
{
    char text[LINE];
    size_t used = 0;

    if (!count) return;
    for (uint32_t i = 0; i < count && i < NAMES_SHOWN && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "", name_of(page, object[i]));
    if (count > NAMES_SHOWN)
        say(page, indent, "%s: %s and %u more", title, text, count - NAMES_SHOWN);
    else
        say(page, indent, "%s: %s", title, text);
}

/* What a log says: of whom, between whom, in its own words, how often. */
static void event_row(const struct page *page, unsigned indent, const struct evidence_event *event)
{
    const struct evidence *evidence = page->diagnose->evidence;
    const char *from = event->from, *to = event->to, *detail = event->detail;
    char text[LINE / 2] = "", count[TEXT_COUNT], priority[24];
    size_t used = 0;

    if (event->object != EVIDENCE_NONE)
        used = (size_t)snprintf(text, sizeof text, "%s%s ", name_of(page, event->object),
                                priority_text(event->priority, priority));
    used += (size_t)snprintf(text + used, sizeof text - used, "%s", evidence_events[event->kind].name);
    if (event->count > 1)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s times", text_count(event->count, count));
    if (from || to)
        used += (size_t)snprintf(text + used, sizeof text - used, ", %s%s%s%s", from ? "from " : "", from ? from : "",
                                 to ? from ? " to " : "to " : "", to ? to : "");
    snprintf(text + used, sizeof text - used, ": %s%s%s", detail ? "\"" : "",
             detail ? detail : evidence_events[event->kind].what, detail ? "\"" : "");
    if (event->file < evidence->files)
        say(page, indent, "%s  %s:%u", text, evidence->file[event->file], event->line);
    else
        say(page, indent, "%s", text);
}

static void evidence_row(const struct page *page, unsigned indent, const struct diagnose_evidence *row)
{
    const struct evidence *evidence = page->diagnose->evidence;
    char value[NUMBER], limit[NUMBER], priority[24], place[LINE / 2] = "";

    if (row->event) {
        event_row(page, indent, &evidence->event[row->event - 1]);
        return;
    }
    if (row->file != EVIDENCE_NONE && row->line)
        snprintf(place, sizeof place, "  %s:%u", evidence->file[row->file], row->line);
    else if (row->file != EVIDENCE_NONE)
        snprintf(place, sizeof place, "  %s", evidence->file[row->file]);
    say(page, indent, "%s%s %s %s (limit %s)%s", name_of(page, row->object), priority_text(row->priority, priority),
        row->counter, quantity(row->value, row->unit, value), quantity(row->threshold, row->unit, limit), place);
}

static void title(const struct page *page, unsigned indent, const struct diagnose_finding *finding)
{
    static const enum text_colour colour[] = {TEXT_DIM, TEXT_YELLOW, TEXT_RED};
    const struct diagnose_rule *rule = &diagnose_rules[finding->rule];
    char priority[24];

    text_colour(page->out, page->style, colour[finding->severity]);
    say(page, indent, "%s %s: %s, %s%s (%s)", diagnose_severity_names[finding->severity], rule->id, rule->cause,
        finding->between ? finding->between : name_of(page, finding->culprit),
        priority_text(finding->priority, priority), diagnose_confidence_names[finding->confidence]);
    text_colour(page->out, page->style, TEXT_PLAIN);
}

static void finding_text(const struct page *page, unsigned indent, const struct diagnose_finding *finding)
{
    const struct diagnose_rule *rule = &diagnose_rules[finding->rule];

    title(page, indent, finding);
    say(page, indent + INDENT, "%s.", finding->what);
    list(page, indent + INDENT, "victims", finding->victim, finding->victims);
    list(page, indent + INDENT, "also", finding->also, finding->alsos);
    for (uint32_t i = 0; i < finding->evidences && i < ROWS_SHOWN; i++)
        evidence_row(page, indent + INDENT, &finding->evidence[i]);
    if (finding->evidences > ROWS_SHOWN)
        say(page, indent + INDENT, "and %u more counters; --json has them", finding->evidences - ROWS_SHOWN);
    say(page, indent + INDENT, "owner: %s team; runbook %s, %s (docs/runbooks/%s.md)", rule->owner, rule->runbook,
        diagnose_runbook_title(rule->runbook), rule->runbook);
}

/* Causes in their order, each followed by what it explains. */
static void findings(const struct page *page)
{
    const struct diagnose *diagnose = page->diagnose;

    uint32_t causes = 0;

    for (uint32_t i = 0; i < diagnose->findings; i++) {
        if (diagnose->finding[i].consequence_of != EVIDENCE_NONE || causes++ >= CAUSES_SHOWN) continue;
        finding_text(page, 0, &diagnose->finding[i]);
        uint32_t explained = 0;
        for (uint32_t j = 0; j < diagnose->findings; j++) {
            if (diagnose->finding[j].consequence_of != i) continue;
            if (!explained) say(page, INDENT, "explains:");
            if (explained++ < EXPLAINED_SHOWN) finding_text(page, 2 * INDENT, &diagnose->finding[j]);
        }
        if (explained > EXPLAINED_SHOWN)
            say(page, 2 * INDENT, "and %u more; --json has them", explained - EXPLAINED_SHOWN);
        fputc('\n', page->out);
    }
    if (causes > CAUSES_SHOWN) say(page, 0, "And %u more findings; --json has them.", causes - CAUSES_SHOWN);
}

static void training(const struct page *page)
{
    const struct diagnose *diagnose = page->diagnose;

    for (uint32_t i = 0; i < diagnose->trainings; i++)
        if (diagnose->training[i].verdict)
            say(page, 0, "%s: %s", name_of(page, diagnose->training[i].job), diagnose->training[i].verdict);
    if (diagnose->acquitted)
        say(page, 0, "The network is not the cause: a job is slow, and no counter of the network explains it.");
}

/* The first line: which of the three answers it is. */
static void answer(const struct page *page)
{
    static const enum text_colour colour[DIAGNOSE_ANSWERS] = {TEXT_GREEN, TEXT_RED, TEXT_YELLOW};
    const struct diagnose *diagnose = page->diagnose;
    const struct diagnose_finding *first = diagnose->finding;
    uint32_t more = 0;

    for (uint32_t i = 1; i < diagnose->findings; i++)
        more += diagnose->finding[i].severity > DIAGNOSE_INFO && diagnose->finding[i].consequence_of == EVIDENCE_NONE;
    text_colour(page->out, page->style, colour[diagnose->answer]);
    if (diagnose->answer != DIAGNOSE_CAUSE) {
        say(page, 0, "answer: %s: %s", diagnose->answer == DIAGNOSE_CLEAR ? "clear" : "not enough", diagnose->because);
    } else {
        char others[32] = "";
        if (more) snprintf(others, sizeof others, ", and %u more", more);
        say(page, 0, "answer: %s: %s, %s (%s)%s", diagnose_not_network(diagnose) ? "not the network" : "cause",
            diagnose_rules[first->rule].cause, name_of(page, first->culprit),
            diagnose_confidence_names[first->confidence], others);
    }
    text_colour(page->out, page->style, TEXT_PLAIN);
    fputc('\n', page->out);
}

/* " 5 hours ago", or nothing. */
static const char *ago(double seconds, char buf[NUMBER])
{
    static const struct {
        double seconds;
        const char *word;
    } units[] = {{86400 * 7, "weeks"}, {86400, "days"}, {3600, "hours"}, {60, "minutes"}, {1, "seconds"}};

    buf[0] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (seconds >= 2 * units[i].seconds) {
            snprintf(buf, NUMBER, " %.0f %s ago", seconds / units[i].seconds, units[i].word);
            break;
        }
    return buf;
}

static void standing_row(const struct page *page, const struct diagnose_standing *standing)
{
    const struct evidence *evidence = page->diagnose->evidence;
    const struct evidence_value *value = standing->value;
    char number[NUMBER], cleared[NUMBER], priority[24], share[48] = "";

    if (standing->event) {
        event_row(page, INDENT, standing->event);
        return;
    }
    const struct evidence_counter_info *info = &evidence_counters[value->counter];
    if (standing->share > 0) snprintf(share, sizeof share, ", %.3g%% of the packets", standing->share * 100);
    say(page, INDENT, "%s%s %s %s%s%s%s: %s  %s:%u", name_of(page, value->object),
        priority_text(value->priority, priority), info->name, quantity((double)standing->count, info->unit, number),
        info->kind != EVIDENCE_COUNT ? " now"
        : standing->grew             ? " between the looks"
        : value->looks > 1           ? " since it was cleared, none between the looks"
                                     : " since it was cleared",
        value->looks < 2 ? ago(standing->cleared_s, cleared) : "", share, standing->means, evidence->file[value->file],
        value->line);
}

/* What logs say, and counters that should be 0, the worst first. */
static void standings(const struct page *page)
{
    const struct diagnose *diagnose = page->diagnose;
    char count[TEXT_COUNT];

    if (!diagnose->standings) return;
    say(page, 0, "stands out:");
    for (uint32_t i = 0; i < diagnose->standings && i < STANDINGS_SHOWN; i++)
        standing_row(page, &diagnose->standing[i]);
    if (diagnose->standings > STANDINGS_SHOWN)
        say(page, INDENT, "and %s more; --json has them", text_count(diagnose->standings - STANDINGS_SHOWN, count));
    fputc('\n', page->out);
}

/* Commands to type, where; what no command is known for in words. */
static void asks(const struct page *page)
{
    const struct diagnose *diagnose = page->diagnose;

    for (uint32_t i = 0; i < diagnose->asks; i++) {
        const struct diagnose_ask *ask = &diagnose->ask[i];
        const char *device = ask->device ? ask->device : "the job's hosts";
        if (ask->command)
            say(page, 0, "to decide, on %s: %s  (%s)", device, ask->command, ask->why);
        else
            say(page, 0, "to decide, of %s: %s", device, ask->why);
    }
    if (diagnose->asks) fputc('\n', page->out);
}

/* Lines that no reader took: where they begin, the first of them. */
static void unknowns(const struct page *page, const struct evidence *evidence)
{
    uint32_t left_out = evidence->unknowns_left_out;

    for (uint32_t i = 0; i < evidence->unknowns; i++) {
        const struct evidence_unknown *unknown = &evidence->unknown[i];
        char more[48] = "", count[TEXT_COUNT];
        if (i >= UNKNOWNS_SHOWN) {
            left_out += evidence->unknowns - i;
            break;
        }
        if (unknown->lines > 1)
            snprintf(more, sizeof more, " and %s line%s more", text_count(unknown->lines - 1, count),
                     text_plural(unknown->lines - 1));
        say(page, 0, "note: not understood%s%s: %s:%u: \"%s\"%s", unknown->reader ? " by " : "",
            unknown->reader ? unknown->reader : "",
            unknown->file < evidence->files ? evidence->file[unknown->file] : "?", unknown->line, unknown->text, more);
    }
    if (left_out)
        say(page, 0, "note: and %u more places like these%s", left_out,
            evidence->unknowns_left_out ? "" : "; --json has them");
}

/* What was not understood, and what lacks. */
static void remarks(const struct page *page, const struct evidence *evidence)
{
    uint32_t left_out = evidence->remarks_left_out;

    for (uint32_t i = 0; i < evidence->remarks; i++) {
        const struct evidence_remark *remark = &evidence->remark[i];
        if (i >= REMARKS_SHOWN) {
            left_out += evidence->remarks - i;
            break;
        }
        if (remark->file == EVIDENCE_NONE)
            say(page, 0, "note: %s", remark->text);
        else if (!remark->line)
            say(page, 0, "note: %s: %s", evidence->file[remark->file], remark->text);
        else
            say(page, 0, "note: %s:%u: %s", evidence->file[remark->file], remark->line, remark->text);
    }
    if (left_out)
        say(page, 0, "note: and %u more like these%s", left_out, evidence->remarks_left_out ? "" : "; --json has them");
    unknowns(page, evidence);
}

void diagnose_text_remarks(FILE *out, const struct evidence *evidence, const struct text_style *style)
{
    remarks(&(struct page){out, style, NULL}, evidence);
}

static void missing(const struct page *page)
{
    const struct diagnose *diagnose = page->diagnose;

    for (uint32_t i = 0; i < diagnose->missings; i++)
        say(page, 0, "missing: %s", diagnose->missing[i]);
    remarks(page, diagnose->evidence);
}

struct diagnose_seen diagnose_seen(const struct evidence *evidence)
{
    struct diagnose_seen seen = {.seconds = evidence_seconds(evidence)};

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (!evidence->object[device].looked_at) continue;
        seen.devices++;
        seen.hosts += evidence_is_host(evidence, device);
        EVIDENCE_EACH_PORT(evidence, device, port) seen.ports++;
    }
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job) seen.jobs++;
    return seen;
}

static void looked_at(const struct page *page)
{
    const struct evidence *evidence = page->diagnose->evidence;
    struct diagnose_seen seen = diagnose_seen(evidence);
    char time[TEXT_COUNT], jobs[32] = "";
    double span_ns = seen.seconds < SECONDS_MOST ? seen.seconds * 1e9 : SECONDS_MOST * 1e9;

    if (seen.jobs) snprintf(jobs, sizeof jobs, ", %u job%s", seen.jobs, text_plural(seen.jobs));
    if (evidence->looks > 1 && seen.seconds > 0)
        say(page, 0, "Read %u device%s with %u port%s%s, %u times in %s.", seen.devices, text_plural(seen.devices),
            seen.ports, text_plural(seen.ports), jobs, evidence->looks, text_ns((uint64_t)span_ns, time));
    else if (evidence->looks > 1 && evidence->untimed)
        say(page, 0, "Read %u device%s with %u port%s%s, %u times; how long was between them is not said.",
            seen.devices, text_plural(seen.devices), seen.ports, text_plural(seen.ports), jobs, evidence->looks);
    else
        say(page, 0, "Read %u device%s with %u port%s%s, once: counters are since they were cleared.", seen.devices,
            text_plural(seen.devices), seen.ports, text_plural(seen.ports), jobs);
    if (page->diagnose->full || evidence->full) say(page, 0, "Memory ran out: the answer is incomplete.");
    if (evidence->unread) say(page, 0, "Not everything could be read: the answer is incomplete.");
}

void diagnose_text(FILE *out, const struct diagnose_report *report, const struct text_style *style, bool quiet)
{
    const struct page page = {out, style, report->diagnose};

    if (quiet) {
        for (uint32_t i = 0; i < report->diagnose->findings; i++)
            if (report->diagnose->finding[i].consequence_of == EVIDENCE_NONE)
                title(&page, 0, &report->diagnose->finding[i]);
        if (report->diagnose->answer == DIAGNOSE_NOT_ENOUGH) answer(&page);
        return;
    }
    answer(&page);
    findings(&page);
    const struct evidence *evidence = report->diagnose->evidence;
    bool kept = !report->diagnose->full && !evidence->full;
    standings(&page);
    asks(&page);
    training(&page);
    if (kept) missing(&page);
    looked_at(&page);
}

void diagnose_text_rule(FILE *out, const struct text_style *style, uint32_t id)
{
    const struct page page = {out, style, NULL};
    const struct diagnose_rule *rule = &diagnose_rules[id];

    say(&page, 0, "%s: %s (%s)", rule->id, rule->cause, diagnose_severity_names[rule->severity]);
    say(&page, INDENT, "%s", rule->why);
    say(&page, INDENT, "Seen: %s.", rule->seen);
    say(&page, INDENT, "Culprit: %s.", rule->culprit);
    say(&page, INDENT, "Fix: %s", rule->fix);
    for (uint32_t i = 0; i < diagnose_limit_count; i++)
        if (strstr(diagnose_limits[i].rules, rule->id))
            say(&page, INDENT, "%s = %g: %s", diagnose_limits[i].name, diagnose_limits[i].value, diagnose_limits[i].of);
    say(&page, INDENT, "owner: %s team; runbook %s, %s (docs/runbooks/%s.md)", rule->owner, rule->runbook,
        diagnose_runbook_title(rule->runbook), rule->runbook);
}

void diagnose_text_rules(FILE *out, const struct text_style *style)
{
    const struct page page = {out, style, NULL};

    for (uint32_t i = 0; i < DIAGNOSE_RULES; i++) {
        const struct diagnose_rule *rule = &diagnose_rules[i];
        fprintf(out, "%s  %-8s  %s\n", rule->id, diagnose_severity_names[rule->severity], rule->cause);
        say(&page, 15, "%s; culprit: %s", rule->seen, rule->culprit);
    }
}
