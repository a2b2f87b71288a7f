/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value and its criterion become a row: formula, limit, verdict; and the texts that rows and jobs are made of.
 *
 * A row is written as a line of fields with tabs between them; texts have neither tabs nor ends of lines.  run.c reads
 * them back.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/units.h"
#include "fabric/fabric.h"
#include "report/text.h"
#include "validate/case.h"

#define TINY 1e-9 /* of a value: what arithmetic with doubles may add */

const char *const validate_phase_names[VALIDATE_PHASES + 1] = {
    "", "laboratory", "baseline", "synthetic", "AI workload", "failures", "operational"};
const char *const validate_level_names[VALIDATE_LEVELS] = {"quick", "default", "full"};
const char *const validate_verdict_names[VALIDATE_VERDICTS] = {"pass", "warn", "fail", "skipped"};
const char *const validate_unit_names[VALIDATE_UNITS] = {"count", "ratio", "bits_per_second", "picoseconds", "bytes"};

const char *validate_number(enum validate_unit unit, double value, char buf[VALIDATE_NUMBER])
{
    static const enum unit_kind kinds[VALIDATE_UNITS] = {
        [VALIDATE_RATE] = UNIT_RATE, [VALIDATE_TIME] = UNIT_TIME, [VALIDATE_BYTES] = UNIT_SIZE};
    char text[UNIT_TEXT], count[TEXT_COUNT];

    if (isnan(value))
        snprintf(buf, VALIDATE_NUMBER, "-");
    else if (isinf(value))
        snprintf(buf, VALIDATE_NUMBER, "never");
    else if (unit == VALIDATE_RATIO)
        snprintf(buf, VALIDATE_NUMBER, "%.*f", value > 0 && value < 0.01 ? 6 : 3, value);
    else if (value < 0 || value > 1e18)
        snprintf(buf, VALIDATE_NUMBER, "%g", value);
    else if (unit == VALIDATE_COUNT)
        snprintf(buf, VALIDATE_NUMBER, "%s", text_count((uint64_t)value, count));
    else
        snprintf(buf, VALIDATE_NUMBER, "%s", unit_format_short(kinds[unit], (uint64_t)(value + 0.5), 4, text));
    return buf;
}

const char *validate_criterion_text(enum criterion which, uint64_t value, char buf[VALIDATE_NUMBER])
{
    char text[UNIT_TEXT];

    if (value == CRITERION_UNSAID)
        snprintf(buf, VALIDATE_NUMBER, "not said");
    else if (criterion_infos[which].unit == CRITERION_UNIT_RATIO && value >= 1000000)
        snprintf(buf, VALIDATE_NUMBER, "%g", (double)value / 1e6);
    else
        snprintf(buf, VALIDATE_NUMBER, "%s",
                 unit_format(criterion_infos[which].unit == CRITERION_UNIT_RATIO  ? UNIT_SHARE
                             : criterion_infos[which].unit == CRITERION_UNIT_TIME ? UNIT_TIME
                                                                                  : UNIT_COUNT,
                             value, text));
    return buf;
}

/* --- texts of a test: pieces of its arena, which ends with its process --- */

const char *case_text(const struct validate_case *of, const char *format, ...)
{
    va_list arguments, again;

    va_start(arguments, format);
    va_copy(again, arguments);
    size_t bytes = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    char *text = ARENA_NEW(of->arena, char, bytes);
    vsnprintf(text, bytes, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

const char *case_number(const struct validate_case *of, enum validate_unit unit, double value)
{
    return validate_number(unit, value, ARENA_NEW(of->arena, char, VALIDATE_NUMBER));
}

const char *case_endpoint(const struct validate_case *of, uint32_t endpoint)
{
    return case_port(of, of->fabric->endpoint[endpoint].port);
}

const char *case_port(const struct validate_case *of, uint32_t port)
{
    return fabric_port_name(of->fabric, port, ARENA_NEW(of->arena, char, FABRIC_NAME));
}

const char *case_list(const struct validate_case *of, const uint32_t *endpoint, uint32_t count)
{
    size_t room = (size_t)count * (FABRIC_NAME + 4) + 3, used = 1;
    char *list = ARENA_NEW(of->arena, char, room), name[FABRIC_NAME];

    list[0] = '[';
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(list + used, room - used, "%s\"%s\"", i ? ", " : "",
                                 fabric_port_name(of->fabric, of->fabric->endpoint[endpoint[i]].port, name));
    list[used] = ']';
    return list;
}

FILE *case_open(struct validate_case *of)
{
    CHECK(of->writing == NULL);
    of->writing = open_memstream(&of->written, &of->written_bytes);
    CHECK(of->writing);
    return of->writing;
}

const char *case_close(struct validate_case *of)
{
    CHECK(fclose(of->writing) == 0);
    const char *text = arena_strndup(of->arena, of->written, of->written_bytes);
    free(of->written);
    of->writing = NULL;
    return text;
}

/* --- rows --- */

/* Without what would end a field. */
static void put_text(FILE *to, const char *text)
{
    for (uint32_t i = 0; text[i] && i + 1 < VALIDATE_TEXT; i++)
        fputc((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i], to);
}

struct verdict {
    enum validate_verdict verdict;
    enum criterion criterion;
    enum validate_unit unit;
    double value, limit;
    const struct validate_finding *of; /* NULL: there is none, and nothing that a baseline keeps */
};

static void put_row(struct validate_case *of, const struct verdict *verdict, const char *subject, const char *formula,
                    const char *why)
{
    const struct validate_finding *finding = verdict->of;

    fprintf(of->rows, "%d\t%d\t%d\t%a\t%a\t%" PRIu64 "\t%" PRIu64 "\t", verdict->verdict, verdict->criterion,
            verdict->unit, verdict->value, verdict->limit, finding ? finding->ranks : 0, finding ? finding->bytes : 0);
    put_text(of->rows, finding && finding->source ? finding->source : "");
    fputc('\t', of->rows);
    put_text(of->rows, finding && finding->job ? finding->job : "");
    fputc('\t', of->rows);
    put_text(of->rows, subject);
    fputc('\t', of->rows);
    put_text(of->rows, formula);
    fputc('\t', of->rows);
    put_text(of->rows, why);
    fputc('\n', of->rows);
    of->count++;
}

static double scale_of(enum criterion_unit unit)
{
    return unit == CRITERION_UNIT_RATIO ? 1e-6 : 1;
}

static double limit_of(const struct validate_case *of, const struct validate_finding *finding, enum criterion which)
{
    const struct fabric_criteria *criteria = &of->fabric->operations.criteria;

    return (double)criteria->value[which] * scale_of(criterion_infos[which].unit) *
           (finding->base > 0 ? finding->base : 1);
}

static bool holds(enum criterion which, double value, double limit)
{
    double slack = TINY * (fabs(limit) > 1 ? fabs(limit) : 1);

    if (isnan(value)) return false;
    return criterion_infos[which].bound == CRITERION_BOUND_LEAST ? value >= limit - slack : value <= limit + slack;
}

static void write_formula(const struct validate_case *of, const struct validate_finding *finding, double limit,
                          char formula[VALIDATE_TEXT])
{
    const struct fabric_criteria *criteria = &of->fabric->operations.criteria;
    const struct criterion_info *info = &criterion_infos[finding->criterion];
    char value[VALIDATE_NUMBER], product[VALIDATE_NUMBER], warn[VALIDATE_NUMBER];
    int used = snprintf(formula, VALIDATE_TEXT, "%s %s", info->bound == CRITERION_BOUND_LEAST ? ">=" : "<=",
                        validate_criterion_text(finding->criterion, criteria->value[finding->criterion], value));

    if (finding->of && used < VALIDATE_TEXT)
        used += snprintf(formula + used, (size_t)(VALIDATE_TEXT - used), " x %s = %s", finding->of,
                         validate_number(finding->unit, limit, product));
    if (finding->warn && used < VALIDATE_TEXT)
        used += snprintf(formula + used, (size_t)(VALIDATE_TEXT - used), ", warning up to %s",
                         validate_criterion_text(finding->warn, criteria->value[finding->warn], warn));
    if (criteria->at[finding->criterion].line && used < VALIDATE_TEXT)
        snprintf(formula + used, (size_t)(VALIDATE_TEXT - used), " (%s of the file, line %u)", info->name,
                 criteria->at[finding->criterion].line);
}

void validate_judge(struct validate_case *of, const struct validate_finding *finding)
{
    struct verdict verdict = {
        .criterion = finding->criterion, .unit = finding->unit, .value = finding->value, .limit = NAN, .of = finding};
    char formula[VALIDATE_TEXT];

    if (of->fabric->operations.criteria.value[finding->criterion] == CRITERION_UNSAID) {
        verdict.verdict = VALIDATE_SKIPPED;
        snprintf(formula, sizeof formula, "validate: {%s: ...}", criterion_infos[finding->criterion].name);
        put_row(of, &verdict, finding->subject, formula, "the file does not say how much is allowed");
        return;
    }
    if (finding->unjudged) {
        verdict.verdict = VALIDATE_SKIPPED;
        put_row(of, &verdict, finding->subject, finding->of, finding->unjudged);
        baseline_judge(of, finding);
        return;
    }
    verdict.limit = limit_of(of, finding, finding->criterion);
    write_formula(of, finding, verdict.limit, formula);
    if (holds(finding->criterion, finding->value, verdict.limit))
        verdict.verdict = VALIDATE_PASS;
    else if (finding->warn && holds(finding->warn, finding->value, limit_of(of, finding, finding->warn)))
        verdict.verdict = VALIDATE_WARN;
    else
        verdict.verdict = finding->excuse ? VALIDATE_SKIPPED : VALIDATE_FAIL;
    const char *why = verdict.verdict == VALIDATE_SKIPPED ? finding->excuse : finding->why;
    put_row(of, &verdict, finding->subject, formula, verdict.verdict != VALIDATE_PASS && why ? why : "");
    baseline_judge(of, finding);
}

void validate_tell(struct validate_case *of, enum validate_verdict verdict, const char *subject, const char *formula,
                   const char *why, ...)
{
    const struct verdict told = {.verdict = verdict, .value = NAN, .limit = NAN};
    char text[VALIDATE_TEXT];
    va_list arguments;

    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    put_row(of, &told, subject, formula, text);
}

__attribute__((format(printf, 3, 0))) static void put_skipped(struct validate_case *of, const char *subject,
                                                              const char *why, va_list arguments)
{
    const struct verdict told = {.verdict = VALIDATE_SKIPPED, .value = NAN, .limit = NAN};
    char text[VALIDATE_TEXT];

    vsnprintf(text, sizeof text, why, arguments);
    put_row(of, &told, subject, "", text);
}

void validate_skip(struct validate_case *of, const char *subject, const char *why, ...)
{
    va_list arguments;

    va_start(arguments, why);
    put_skipped(of, subject, why, arguments);
    va_end(arguments);
}

bool validate_skip_if(struct validate_case *of, bool lacking, const char *subject, const char *why, ...)
{
    va_list arguments;

    va_start(arguments, why);
    if (lacking) put_skipped(of, subject, why, arguments);
    va_end(arguments);
    return lacking;
}

void validate_leave(struct validate_case *of, const struct validate_finding *finding, const char *why, ...)
{
    const struct criterion_info *info = &criterion_infos[finding->criterion];
    const struct verdict left = {.verdict = VALIDATE_SKIPPED,
                                 .criterion = finding->criterion,
                                 .unit = finding->unit,
                                 .value = finding->value,
                                 .limit = NAN,
                                 .of = finding};
    char text[VALIDATE_TEXT], formula[VALIDATE_TEXT], value[VALIDATE_NUMBER];
    va_list arguments;

    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    snprintf(
        formula, sizeof formula, "%s %s x the baseline's", info->bound == CRITERION_BOUND_LEAST ? ">=" : "<=",
        validate_criterion_text(finding->criterion, of->fabric->operations.criteria.value[finding->criterion], value));
    put_row(of, &left, finding->subject, formula, text);
}
