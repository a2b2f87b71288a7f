/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a plan as text: what the file overrides, the rows phase by phase, the verdict.
 */
#include "cli/judge/validate_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "fabric/fabric.h"
#include "report/diagnosis/diagnosis.h"
#include "validate/measured/measured.h"

#define INDENT 10
#define LEAST_NS 1000000 /* that a test took, and is worth to be told */

static const enum text_colour colours[VALIDATE_VERDICTS] = {
    [VALIDATE_PASS] = TEXT_GREEN,
    [VALIDATE_WARN] = TEXT_YELLOW,
    [VALIDATE_FAIL] = TEXT_RED,
    [VALIDATE_SKIPPED] = TEXT_DIM,
};

static void print_overrides(const struct validate *validate, FILE *out)
{
    const struct fabric_criteria *criteria = &validate->fabric->operations.criteria;

    for (int c = 1; c < CRITERIA; c++) {
        char said[VALIDATE_NUMBER], usual[VALIDATE_NUMBER];
        if (criteria->at[c].line == 0) continue;
        fprintf(out, "override, line %u: %s %s instead of %s: %s\n", criteria->at[c].line, criterion_infos[c].name,
                validate_criterion_text((enum criterion)c, criteria->value[c], said),
                validate_criterion_text((enum criterion)c, criterion_infos[c].value, usual), criterion_infos[c].about);
    }
}

/* From column INDENT on, in lines as wide as the terminal. */
static void print_wrapped(const char *text, const struct text_style *style, FILE *out)
{
    char *plain = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&plain, &length);

    text_outside(to, style, text);
    fclose(to);
    text_wrap(out, style, INDENT, INDENT + 2, plain);
    free(plain);
}

static void print_below(const char *text, const struct text_style *style, FILE *out)
{
    fprintf(out, "%*s", INDENT, "");
    print_wrapped(text, style, out);
}

/* "point-rate: 391G >= 95% x ... = 372G": the key is what a file says to replace the criterion. */
static void print_criterion(const struct validate_row *row, const struct text_style *style, FILE *out)
{
    char number[VALIDATE_NUMBER], text[2 * VALIDATE_TEXT];
    bool judged = row->criterion != CRITERION_NONE && row->verdict != VALIDATE_SKIPPED;

    if (isnan(row->value))
        snprintf(text, sizeof text, "%s", row->formula);
    else
        snprintf(text, sizeof text, "%s%s%s %s", judged ? criterion_infos[row->criterion].name : "", judged ? ": " : "",
                 validate_number(row->unit, row->value, number), row->formula);
    print_below(text, style, out);
}

static void print_row(const struct validate_row *row, const struct text_style *style, FILE *out)
{
    char time[TEXT_COUNT], text[2 * VALIDATE_TEXT];
    bool named = row->subject[0] != '\0', timed = row->ns >= LEAST_NS;

    fputs("  ", out);
    text_colour(out, style, colours[row->verdict]);
    fprintf(out, "%-7s", validate_verdict_names[row->verdict]);
    text_colour(out, style, TEXT_PLAIN);
    fputc(' ', out);
    snprintf(text, sizeof text, "%s%s%s%s%s%s", validate_tests[row->test].name, named ? ": " : "", row->subject,
             timed ? " [" : "", timed ? text_ns(row->ns, time) : "", timed ? "]" : "");
    print_wrapped(text, style, out);
    if (row->formula[0]) print_criterion(row, style, out);
    if (row->why[0]) print_below(row->why, style, out);
    if (row->source[0]) print_below(row->source, style, out);
}

/* Phases in which every row was skipped: nothing failed there, and nothing was shown. */
static void print_unjudged(const struct validate *validate, FILE *out)
{
    uint32_t count = 0;

    for (int p = 1; p <= VALIDATE_PHASES; p++) {
        bool judged = !validate->phase[p];
        for (uint32_t i = 0; i < validate->rows && !judged; i++)
            judged = validate_tests[validate->row[i].test].phase == p && validate->row[i].verdict != VALIDATE_SKIPPED;
        if (!judged) fprintf(out, "%s%d", count++ ? ", " : "Nothing could be judged in phase ", p);
    }
    if (count) fputc('\n', out);
}

static void print_end(const struct validate *validate, FILE *out)
{
    uint32_t failed = validate_count(validate, VALIDATE_FAIL), warned = validate_count(validate, VALIDATE_WARN);
    const struct text_style style = cli_style();
    bool all = true;

    for (int p = 1; p <= VALIDATE_PHASES; p++)
        all = all && validate->phase[p];
    if (!validate->measured) print_unjudged(validate, out);
    text_outside(out, &style, validate->fabric->name);
    fputs(": ", out);
    text_colour(out, &style, failed ? TEXT_RED : TEXT_GREEN);
    fputs(failed               ? "not accepted"
          : validate->measured ? "what was measured passes"
          : all                ? "accepted"
                               : "the phases asked for pass",
          out);
    text_colour(out, &style, TEXT_PLAIN);
    if (validate->measured) {
        fputs(" (measured, ", out);
        text_outside(out, &style, validate->measured->path);
        fprintf(out, "): %u pass, %u warn, %u fail, %u skipped\n", validate_count(validate, VALIDATE_PASS), warned,
                failed, validate_count(validate, VALIDATE_SKIPPED));
        return;
    }
    fprintf(out, " (%s): %u pass, %u warn, %u fail, %u skipped; seed %" PRIu64 ", digest %016" PRIx64 "\n",
            validate_level_names[validate->level], validate_count(validate, VALIDATE_PASS), warned, failed,
            validate_count(validate, VALIDATE_SKIPPED), validate->seed, validate_digest(validate));
}

void validate_print_text(const struct validate *validate, bool quiet, FILE *out)
{
    const struct text_style style = cli_style();
    int phase = 0;

    print_overrides(validate, out);
    for (uint32_t i = 0; i < validate->rows; i++) {
        const struct validate_row *row = &validate->row[i];
        if (quiet && (row->verdict == VALIDATE_PASS || row->verdict == VALIDATE_SKIPPED)) continue;
        if (validate_tests[row->test].phase != phase) {
            phase = validate_tests[row->test].phase;
            text_in(out, &style, TEXT_BOLD, "Phase %d, %s", phase, validate_phase_names[phase]);
            fputc('\n', out);
        }
        print_row(row, &style, out);
    }
    if (validate->measured && !quiet) diagnose_text_remarks(out, &validate->measured->evidence, &style);
    print_end(validate, out);
}
