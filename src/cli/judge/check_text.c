/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as text: one line for each cause (check_fold.c), with the names of the other ports.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/ends.h"
#include "cli/judge/check.h"
#include "report/fold.h"

/* `[PFC006]` and the place in colours, as compilers do. */
static void print_place(const struct check_input *input, const struct check_finding *finding,
                        const struct text_style *style, FILE *out)
{
    static const enum text_colour colours[] = {TEXT_DIM, TEXT_YELLOW, TEXT_RED};

    text_colour(out, style, TEXT_BOLD);
    text_outside(out, style, check_file(input, finding));
    fputc(':', out);
    if (finding->line) fprintf(out, "%u:%u:", finding->line, finding->column);
    text_colour(out, style, TEXT_PLAIN);
    fputc(' ', out);
    text_colour(out, style, colours[finding->severity]);
    fprintf(out, "%s[%s]:", check_severity_names[finding->severity], check_rules[finding->rule].id);
    text_colour(out, style, TEXT_PLAIN);
    fputc(' ', out);
    text_outside(out, style, finding->message);
}

static void print_cause(const struct check_input *input, const struct check_cause *cause, FILE *out)
{
    const struct check_finding *first = &input->check.finding[cause->finding[0]];
    const struct text_style style = cli_style();
    const char **name = cause->count > 1 ? malloc(cause->count * sizeof(*name)) : NULL;
    uint32_t names = 0, also = check_also(input, cause);

    print_place(input, first, &style, out);
    for (uint32_t c = 1; c < cause->count; c++) {
        const struct check_finding *finding = &input->check.finding[cause->finding[c]];
        bool here = finding->device && first->device && strcmp(finding->device, first->device) == 0;
        bool again = finding->port && first->port && strcmp(finding->port, first->port) == 0; /* of another class */
        if (name && finding->port && here && !again) name[names++] = finding->port;
    }
    if (also) fprintf(out, " (and %u more like it%s", also, names ? ": " : "");
    fold_names(out, &style, name, names);
    fputs(also ? ")\n" : "\n", out);
    free(name);
}

struct counts {
    uint32_t of[CHECK_ERROR + 1];
};

static void print_causes(const struct check_input *input, bool quiet, FILE *out, struct counts *counts)
{
    for (uint32_t c = 0; c < input->causes; c++) {
        const struct check_finding *first = &input->check.finding[input->cause[c].finding[0]];
        if (first->ignored) continue;
        counts->of[first->severity]++;
        if (!quiet || first->severity != CHECK_INFO) print_cause(input, &input->cause[c], out);
    }
}

static void print_subject(const struct check_input *input, FILE *out)
{
    const struct text_style style = cli_style();
    char buf[CHECK_SUBJECT];

    text_outside(out, &style, check_subject(input, buf));
}

#define ASSUMED_ALIKE 1024u /* notes looked at for one that assumes the same of another device */

static bool assumes_the_same(const struct config_note *a, const struct config_note *b)
{
    return !a->rule && !b->rule && a->assumed && b->assumed && !a->port && !b->port && a->device && b->device &&
           strcmp(a->message, b->message) == 0;
}

/* What was assumed of many devices alike is said once: of how many, 0 where it has been said already. */
static uint32_t devices_alike(const struct config_set *set, uint32_t note, const char **ret_name)
{
    const struct config_note *as = &set->note[note];
    uint32_t names = 0;

    for (uint32_t n = note; n-- > 0 && note - n < ASSUMED_ALIKE;)
        if (assumes_the_same(&set->note[n], as)) return 0;
    for (uint32_t n = note; n < set->notes && n - note < ASSUMED_ALIKE; n++)
        if (assumes_the_same(&set->note[n], as)) ret_name[names++] = set->note[n].device;
    return names;
}

static void print_note(const struct config_set *set, uint32_t n, bool all, FILE *out)
{
    const struct text_style style = cli_style();
    const struct config_note *note = &set->note[n];
    const char *name[ASSUMED_ALIKE];
    bool fold = note->assumed && !note->port && note->device && !all;
    uint32_t names = fold ? devices_alike(set, n, name) : 0;

    if (fold && !names) return;
    if (!note->at.line && !note->assumed) fputs("not read: ", out); /* the whole file */
    text_outside(out, &style, set->path[note->at.source]);
    if (note->at.line || note->assumed)
        fprintf(out, ":%u: %s", note->at.line, note->assumed ? "assumed" : "not understood");
    if (names > 1) {
        fputs(" of ", out);
        fold_names(out, &style, name, names);
    }
    fputs(": ", out);
    text_outside(out, &style, note->message);
    fputc('\n', out);
}

static void print_not_understood(const struct check_input *input, bool quiet, bool all, FILE *out)
{
    const struct config_set *set = check_set(input);
    uint32_t count = 0;

    for (uint32_t n = 0; set && n < set->notes; n++) {
        if (set->note[n].rule) continue;
        count += !set->note[n].assumed;
        if (!quiet) print_note(set, n, all, out);
    }
    if (!count || !quiet) return;
    print_subject(input, out);
    fprintf(out, ": %u line%s not understood\n", count, text_plural(count));
}

void check_print_text(const struct check_input *input, bool quiet, bool all, FILE *out)
{
    const struct check *check = &input->check;
    struct counts counts = {{0}};
    uint32_t ignored = 0;

    for (uint32_t f = 0; f < check->findings; f++)
        ignored += check->finding[f].ignored != NULL;
    print_causes(input, quiet, out, &counts);
    print_not_understood(input, quiet, all, out);
    if (quiet) return;
    check_unjudged_text(input, out);
    bool whole = !cli_ends_text(check_set(input), NULL, out);
    const uint32_t *of = counts.of;
    print_subject(input, out);
    fprintf(out, ": %u error%s, %u warning%s, %u info%s", of[CHECK_ERROR], text_plural(of[CHECK_ERROR]),
            of[CHECK_WARNING], text_plural(of[CHECK_WARNING]), of[CHECK_INFO], text_plural(of[CHECK_INFO]));
    if (ignored) fprintf(out, ", %u ignored", ignored);
    if (check->states > 1 && whole) /* of cables that nobody knows nothing is proven */
        fprintf(out, "; deadlock proof covers %llu routing states", (unsigned long long)check->states);
    fputc('\n', out);
}
