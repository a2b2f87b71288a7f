/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggested values as text and as JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/plan/suggest.h"
#include "fabric/names.h"
#include "report/json_out.h"
#include "report/rows/rows.h"
#include "report/text.h"

#define FINDINGS_SHOWN 10
#define FORMULA_INDENT 8

static bool same_place(const struct suggest_row *a, const struct suggest_row *b)
{
    return a->topic == b->topic && a->role == b->role && strcmp(a->example, b->example) == 0 &&
           (!b->class_name || a->class_name == b->class_name);
}

static void print_head(const struct suggest_row *row, const struct text_style *style, FILE *out)
{
    char rate[UNIT_TEXT], cable[UNIT_TEXT];

    fprintf(out, "  %s, %u %s%s", row->role, row->ports, row->to ? "port" : "switch",
            row->ports == 1 ? "" : (row->to ? "s" : "es"));
    if (row->to)
        fprintf(out, " to %s, %s, %s", row->to, unit_format(UNIT_RATE, row->rate_bps, rate),
                unit_format(UNIT_LENGTH, row->cable_mm, cable));
    if (row->model) fprintf(out, ", %s", row->model);
    fputs(" (", out);
    text_outside(out, style, row->example);
    fputc(')', out);
    if (row->class_name) {
        fputs(", class ", out);
        text_outside(out, style, row->class_name);
    }
    fputc('\n', out);
}

static void print_row(const struct suggest_row *row, const struct text_style *style, FILE *out)
{
    char value[UNIT_TEXT], least[UNIT_TEXT], most[UNIT_TEXT], today[UNIT_TEXT];
    const char *from = suggest_short(row, row->least, least), *to = suggest_short(row, row->most, most);

    fprintf(out, "    %-16s", row->key);
    if (row->possible)
        fprintf(out, " %s", suggest_text(row, row->value, value));
    else if (row->least == SUGGEST_NO_VALUE || row->most == SUGGEST_NO_VALUE)
        fputs(" no value satisfies the rules", out);
    else
        fprintf(out, " no value satisfies the rules: at least %s, at most %s", from, to);
    if (!row->possible)
        ;
    else if (row->least == SUGGEST_NO_VALUE && row->most == SUGGEST_NO_VALUE)
        ;
    else if (row->least == SUGGEST_NO_VALUE)
        fprintf(out, " (at most %s)", to);
    else if (row->most == SUGGEST_NO_VALUE)
        fprintf(out, " (at least %s)", from);
    else
        fprintf(out, " (%s to %s)", from, to);
    fprintf(out, "; the file: %s%s, ", row->assumed ? "none, check takes " : "",
            row->today == SUGGEST_NO_VALUE ? "none" : suggest_text(row, row->today, today));
    text_colour(out, style, row->inside ? TEXT_GREEN : TEXT_RED);
    fputs(row->inside ? "inside" : "outside", out);
    text_colour(out, style, TEXT_PLAIN);
    fprintf(out, " [%s]\n%*s", row->rules, FORMULA_INDENT, "");
    text_wrap(out, style, FORMULA_INDENT, FORMULA_INDENT, row->formula);
}

static int by_path(const void *a, const void *b)
{
    const struct suggest_line *left = a, *right = b;

    return strcmp(left->path, right->path);
}

/* Words of the path that the line before has already opened. */
static size_t shared_words(const char *path, const char *before)
{
    size_t same = 0;

    for (size_t i = 0; path[i] && path[i] == before[i]; i++)
        if (path[i] == '.') same = i + 1;
    return same;
}

/* Paths as nested YAML; `line` is in order of the paths. */
static void print_lines(const struct suggest_line *line, uint32_t lines, const struct text_style *style, FILE *out)
{
    const char *before = "";

    for (uint32_t l = 0; l < lines; l++) {
        const char *path = line[l].path, *at = path + shared_words(path, before);
        int depth = 1;
        for (const char *c = path; c < at; c++)
            depth += *c == '.';
        while (*at) {
            size_t length = strcspn(at, ".");
            char word[FABRIC_NAME];
            snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
            fprintf(out, "%*s", 2 * depth++, "");
            text_outside(out, style, word);
            at += length;
            if (*at == 0) fprintf(out, ": %s\n", line[l].value);
            if (*at++ == '.')
                fputs(":\n", out);
            else
                break;
        }
        before = path;
    }
}

static void print_unfit(const struct cli_suggested *suggested, const struct text_style *style, FILE *out)
{
    fputs("What does not fit:\n", out);
    for (uint32_t e = 0; e < suggested->unfit.count; e++) {
        fputs("  ", out);
        text_outside(out, style, suggested->unfit.error[e].text);
        fputc('\n', out);
    }
}

static void print_proof(const struct cli_suggested *suggested, const struct text_style *style, FILE *out)
{
    uint32_t shown = 0;

    const char *with = suggested->suggest.lines ? "With these lines" : "With the file as it is";

    if (suggested->left == 0) {
        fprintf(out, "%s `check` finds nothing about marking, pauses, headroom, buffers or the watchdog.\n", with);
        return;
    }
    fprintf(out, "%s `check` finds:\n", with);
    for (uint32_t f = 0; f < suggested->check.findings; f++) {
        const struct check_finding *finding = &suggested->check.finding[f];
        if (!cli_suggest_counts(finding)) continue;
        if (shown++ == FINDINGS_SHOWN) break;
        fprintf(out, "  %s[%s]: ", check_severity_names[finding->severity], check_rules[finding->rule].id);
        text_outside(out, style, finding->message);
        fputc('\n', out);
    }
    if (suggested->left > FINDINGS_SHOWN) fprintf(out, "  and %u more\n", suggested->left - FINDINGS_SHOWN);
}

static bool impossible(const struct suggest *suggest)
{
    for (uint32_t r = 0; r < suggest->rows; r++)
        if (!suggest->row[r].possible) return true;
    return false;
}

void cli_suggest_text(const struct cli_suggested *suggested, FILE *out)
{
    static const char *const about[SUGGEST_TOPICS] = {
#define X(id, word, text) word ": " text,
        SUGGEST_TOPIC_LIST(X)
#undef X
    };
    const struct suggest *suggest = &suggested->suggest;
    struct text_style style = cli_style();

    for (uint32_t r = 0; r < suggest->rows; r++) {
        const struct suggest_row *row = &suggest->row[r], *before = r ? row - 1 : NULL;
        if (!before || before->topic != row->topic) fprintf(out, "%s%s\n", r ? "\n" : "", about[row->topic]);
        if (!before || !same_place(before, row)) print_head(row, &style, out);
        print_row(row, &style, out);
    }
    if (suggest->left_out) fprintf(out, "\n%u ports of further kinds are not listed.\n", suggest->left_out);
    if (impossible(suggest))
        fputs(
            "\nWhere no value satisfies the rules no line is printed: another value has to change first. For marking\n"
            "alone, `rocelab suggest all` computes it for pause thresholds and buffers that fit.\n",
            out);
    if (suggest->lines || !impossible(suggest))
        fputs(suggest->lines ? "\nFor the fabric file:\n" : "\nNo line of the fabric file has to change.\n", out);
    if (suggest->lines) qsort(suggest->line, suggest->lines, sizeof *suggest->line, by_path);
    print_lines(suggest->line, suggest->lines, &style, out);
    fputc('\n', out);
    if (suggested->proved)
        print_proof(suggested, &style, out);
    else
        print_unfit(suggested, &style, out);
}

static void number(struct jout *jout, const char *key, uint64_t value)
{
    jout_known(jout, key, value, value != SUGGEST_NO_VALUE);
}

static void json_row(struct jout *jout, const struct suggest_row *row)
{
    static const char *const units[] = {[SUGGEST_SIZE] = "bytes",
                                        [SUGGEST_TIME] = "ps",
                                        [SUGGEST_SHARE] = "ppm",
                                        [SUGGEST_LENGTH] = "mm",
                                        [SUGGEST_COUNT] = "count",
                                        [SUGGEST_FRACTION] = "ppm",
                                        [SUGGEST_PRIORITIES] = "priorities"};

    jout_open_line(jout, NULL, '{');
#include "report/rows/suggest_value.def"
    jout_close(jout);
}

void cli_suggest_json(const struct cli_suggested *suggested, FILE *out)
{
    const struct suggest *suggest = &suggested->suggest;
    struct jout *jout = jout_begin(out, "suggest");

    jout_text(jout, "file", suggested->path);
    JOUT_LIST(jout, "values", r, suggest->rows, json_row(jout, &suggest->row[r]));
    jout_u64(jout, "ports_left_out", suggest->left_out);
    jout_open(jout, "lines", '[');
    for (uint32_t l = 0; l < suggest->lines; l++) {
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "path", suggest->line[l].path);
        jout_text(jout, "value", suggest->line[l].value);
        jout_close(jout);
    }
    jout_close(jout);
    if (!suggested->proved)
        JOUT_LIST(jout, "does_not_fit", e, suggested->unfit.count,
                  jout_text(jout, NULL, suggested->unfit.error[e].text));
    jout_open(jout, "findings_left", '[');
    for (uint32_t f = 0; f < suggested->check.findings; f++) {
        const struct check_finding *finding = &suggested->check.finding[f];
        if (!cli_suggest_counts(finding)) continue;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "rule", check_rules[finding->rule].id);
        jout_text(jout, "severity", check_severity_names[finding->severity]);
        jout_text(jout, "message", finding->message);
        jout_close(jout);
    }
    jout_close(jout);
    jout_end(jout);
}
