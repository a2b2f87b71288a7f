/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a plan as text: what the file overrides, the rows phase by phase, the verdict.
 */
#include "cli/validate_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "report/diagnosis/diagnosis.h"
#include "validate/measured/measured.h"

#define INDENT 10

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

/* Behind INDENT columns, in lines as wide as the terminal. */
static void print_below(const char *text, const struct text_style *style, FILE *out)
{
    char plain[2 * VALIDATE_TEXT];
    size_t length = strnlen(text, sizeof plain - 1);

    for (size_t i = 0; i < length; i++)
        plain[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    plain[length] = '\0';
    fprintf(out, "%*s", INDENT, "");
    text_wrap(out, style, INDENT, INDENT + 2, plain);
}

static void print_row(const struct validate_row *row, const struct text_style *style, FILE *out)
{
    char number[VALIDATE_NUMBER], time[TEXT_COUNT], text[2 * VALIDATE_TEXT];

    fputs("  ", out);
    text_colour(out, style, colours[row->verdict]);
    fprintf(out, "%-7s", validate_verdict_names[row->verdict]);
    text_colour(out, style, TEXT_PLAIN);
    fprintf(out, " %s%s", validate_tests[row->test].name, row->subject[0] ? ": " : "");
    text_outside(out, style, row->subject);
    if (row->ns) fprintf(out, "  [%s]", text_ns(row->ns, time));
    fputc('\n', out);
    if (isnan(row->value))
        snprintf(text, sizeof text, "%s", row->formula);
    else
        snprintf(text, sizeof text, "%s %s", validate_number(row->unit, row->value, number), row->formula);
    if (row->formula[0]) print_below(text, style, out);
    if (row->why[0]) print_below(row->why, style, out);
    if (row->source[0]) print_below(row->source, style, out);
}

static void print_end(const struct validate *validate, FILE *out)
{
    uint32_t failed = validate_count(validate, VALIDATE_FAIL), warned = validate_count(validate, VALIDATE_WARN);
    const struct text_style style = cli_style();
    bool all = true;

    for (int p = 1; p <= VALIDATE_PHASES; p++)
        all = all && validate->phase[p];
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
            text_colour(out, &style, TEXT_BOLD);
            fprintf(out, "Phase %d, %s", phase, validate_phase_names[phase]);
            text_colour(out, &style, TEXT_PLAIN);
            fputc('\n', out);
        }
        print_row(row, &style, out);
    }
    if (validate->measured && !quiet) diagnose_text_remarks(out, &validate->measured->evidence, &style);
    print_end(validate, out);
}
