/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a plan as JSON and as JUnit XML.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/judge/validate_print.h"
#include "fabric/fabric.h"
#include "report/diagnosis/diagnosis.h"
#include "report/json_out.h"
#include "report/rows/rows.h"
#include "validate/measured/measured.h"

static void json_row(struct jout *jout, const struct validate_row *row)
{
    const struct validate_test *test = &validate_tests[row->test];

    jout_open(jout, NULL, '{');
#include "report/rows/validate_row.def"
    jout_close(jout);
}

static void json_overrides(struct jout *jout, const struct fabric_criteria *criteria)
{
    jout_open(jout, "overrides", '[');
    for (int c = 1; c < CRITERIA; c++) {
        char said[VALIDATE_NUMBER], usual[VALIDATE_NUMBER];
        if (criteria->at[c].line == 0) continue;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "criterion", criterion_infos[c].name);
        jout_text(jout, "value", validate_criterion_text((enum criterion)c, criteria->value[c], said));
        jout_text(jout, "instead_of", validate_criterion_text((enum criterion)c, criterion_infos[c].value, usual));
        jout_u64(jout, "line", criteria->at[c].line);
        jout_close(jout);
    }
    jout_close(jout);
}

bool validate_print_json(const void *context, FILE *out)
{
    const struct validate *validate = context;
    struct jout *jout = jout_begin(out, "validate");
    char digest[24];

    snprintf(digest, sizeof digest, "%016" PRIx64, validate_digest(validate));
#include "report/rows/validate.def"
    jout_open_line(jout, "phases", '[');
    for (uint32_t p = 1; p <= VALIDATE_PHASES; p++)
        if (validate->phase[p]) jout_u64(jout, NULL, p);
    jout_close(jout);
    jout_open_line(jout, "verdicts", '{');
    for (int v = 0; v < VALIDATE_VERDICTS; v++)
        jout_u64(jout, validate_verdict_names[v], validate_count(validate, (enum validate_verdict)v));
    jout_close(jout);
    json_overrides(jout, &validate->fabric->operations.criteria);
    JOUT_LIST(jout, "rows", i, validate->rows, json_row(jout, &validate->row[i]));
    if (validate->measured) diagnose_json_remarks(jout, &validate->measured->evidence);
    if (validate->measured) diagnose_json_unknowns(jout, &validate->measured->evidence);
    jout_end(jout);
    return true;
}

static void junit_source(const struct validate_row *row, FILE *out)
{
    if (row->source[0]) fputs("; ", out);
    text_xml(out, row->source);
}

static void junit_row(const struct validate_row *row, FILE *out)
{
    char number[VALIDATE_NUMBER];

    fprintf(out, "    <testcase classname=\"rocelab.validate.phase%u\" name=\"", validate_tests[row->test].phase);
    text_xml(out, validate_tests[row->test].name);
    if (row->subject[0]) fputs(": ", out);
    text_xml(out, row->subject);
    fprintf(out, "\" time=\"%.3f\">\n", (double)row->ns / 1e9);
    if (row->verdict == VALIDATE_FAIL || row->verdict == VALIDATE_SKIPPED) {
        fputs(row->verdict == VALIDATE_FAIL ? "      <failure message=\"" : "      <skipped message=\"", out);
        if (!isnan(row->value)) fprintf(out, "%s ", validate_number(row->unit, row->value, number));
        text_xml(out, row->formula);
        if (row->formula[0] && row->why[0]) fputs(": ", out);
        text_xml(out, row->why);
        junit_source(row, out);
        fputs("\"/>\n", out);
    }
    if (row->verdict == VALIDATE_PASS || row->verdict == VALIDATE_WARN) {
        fprintf(out, "      <system-out>%s: ", validate_verdict_names[row->verdict]);
        if (!isnan(row->value)) fprintf(out, "%s ", validate_number(row->unit, row->value, number));
        text_xml(out, row->formula);
        if (row->why[0]) fputs("; ", out);
        text_xml(out, row->why);
        junit_source(row, out);
        fputs("</system-out>\n", out);
    }
    fputs("    </testcase>\n", out);
}

void validate_print_junit(const struct validate *validate, FILE *out)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"rocelab validate: ", out);
    text_xml(out, validate->path);
    fprintf(out, "\" tests=\"%u\" failures=\"%u\" skipped=\"%u\">\n", validate->rows,
            validate_count(validate, VALIDATE_FAIL), validate_count(validate, VALIDATE_SKIPPED));
    for (uint32_t i = 0; i < validate->rows; i++)
        junit_row(&validate->row[i], out);
    fputs("  </testsuite>\n</testsuites>\n", out);
}
