/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on a run, printed: the worst findings first, a few lines each; JSON has all of them.
 */
#include "fabric/fabric.h"
#include "report/sim_report.h"
#include "report/verdict/verdict.h"

#define FINDINGS_SHOWN 8
#define INDENT 4

/* Names in it are the file's. */
static void print_sentence(FILE *out, const struct text_style *style, unsigned at, const char *text)
{
    char clean[VERDICT_TEXT + 2];
    int length = snprintf(clean, sizeof(clean), "%s.", text);

    for (int i = 0; i < length; i++)
        if ((unsigned char)clean[i] < ' ' || clean[i] == 0x7f) clean[i] = '?';
    text_wrap(out, style, at, INDENT, clean);
}

static void print_finding(FILE *out, const struct verdict_finding *finding, const struct text_style *style)
{
    static const enum text_colour colour[] = {TEXT_GREEN, TEXT_PLAIN, TEXT_YELLOW, TEXT_RED};
    const struct verdict_kind *kind = &verdict_kind[finding->id];
    int at = 2;

    fputs("  ", out);
    text_colour(out, style, colour[finding->severity]);
    at += fprintf(out, "%s %s", verdict_severity_name[finding->severity], kind->name);
    text_colour(out, style, TEXT_PLAIN);
    at += fprintf(out, ", %s: ", kind->title);
    print_sentence(out, style, (unsigned)at, finding->what);
    if (finding->why[0] == '\0') return;
    fprintf(out, "%*s", INDENT, "");
    print_sentence(out, style, INDENT, finding->why);
}

void sim_text_verdict(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    struct verdict verdict;

    if (verdict_make(report, &verdict) != 0) return;
    if (verdict.findings) {
        text_colour(out, &options->style, TEXT_BOLD);
        fputs("\nVERDICT\n", out);
        text_colour(out, &options->style, TEXT_PLAIN);
    }
    for (uint32_t i = 0; i < verdict.findings && i < FINDINGS_SHOWN; i++)
        print_finding(out, &verdict.finding[i], &options->style);
    if (verdict.findings > FINDINGS_SHOWN) fprintf(out, "  and %u more\n", verdict.findings - FINDINGS_SHOWN);
    verdict_release(&verdict);
}

void sim_json_verdict(struct jout *jout, const struct sim_report *report)
{
    const struct fabric *fabric = report->fabric;
    struct verdict verdict;
    char name[FABRIC_NAME];

    jout_open(jout, "verdict", '[');
    if (verdict_make(report, &verdict) != 0) {
        verdict = (struct verdict){0};
        jout->failed = true;
    }
    for (uint32_t i = 0; i < verdict.findings; i++) {
        const struct verdict_finding *finding = &verdict.finding[i];
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "id", verdict_kind[finding->id].name);
        jout_text(jout, "severity", verdict_severity_name[finding->severity]);
        if (finding->job == FABRIC_NONE)
            jout_null(jout, "job");
        else
            jout_text(jout, "job", fabric->job[finding->job].name);
        jout_text(jout, "title", verdict_kind[finding->id].title);
        jout_text(jout, "what", finding->what);
        jout_text(jout, "why", finding->why);
        jout_open(jout, "objects", '[');
        for (uint32_t o = 0; o < finding->objects; o++)
            jout_text(jout, NULL, fabric_port_name(fabric, finding->object[o], name));
        jout_close(jout);
        jout_close(jout);
    }
    jout_close(jout);
    verdict_release(&verdict);
}
