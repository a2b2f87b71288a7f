/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as text.
 *
 * Of configurations, findings of one file that say the same of its ports are one line, at the first of their places,
 * with the names of the others: a wrong policy is one thing to mend, whatever the number of ports that have it.  Two
 * findings say the same where their words differ only in names (of ports and devices), not in values.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/ends.h"
#include "report/fold.h"

struct cause { /* a finding, and what it is folded by */
    uint64_t shape;
    uint32_t finding;
};

/* `Ethernet1/5`, `spine2`, `leaf0:3`: begins with a letter and has a digit.  A value begins with the digit. */
static bool is_name(const char *word, size_t length)
{
    bool letter = length && ((word[0] >= 'a' && word[0] <= 'z') || (word[0] >= 'A' && word[0] <= 'Z'));

    for (size_t i = 0; letter && i < length; i++)
        if (word[i] >= '0' && word[i] <= '9') return true;
    return false;
}

static uint64_t hash_add(uint64_t hash, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211ull;
    return (hash ^ 0xff) * 1099511628211ull;
}

/* classes: names in quotes count too; else they are left out as those of ports are. */
static uint64_t shape_of(const struct check_input *input, const struct check_finding *finding, bool classes)
{
    const char *file = check_file(input, finding);
    uint64_t hash = 14695981039346656037ull + finding->rule * 4u + finding->severity;

    hash = hash_add(hash, file, strlen(file));
    for (const char *word = finding->message; *word; word += strspn(word, " ,;:()")) {
        size_t length = strcspn(word, " ,;()");
        bool name = is_name(word, length) || (!classes && word[0] == '\'');
        hash = hash_add(hash, name ? "@" : word, name ? 1 : length);
        word += length;
    }
    return hash;
}

static int by_shape(const void *x, const void *y)
{
    const struct cause *a = x, *b = y;

    if (a->shape != b->shape) return a->shape < b->shape ? -1 : 1;
    return a->finding < b->finding ? -1 : a->finding > b->finding;
}

static int by_finding(const void *x, const void *y)
{
    const struct cause *a = *(const struct cause *const *)x, *b = *(const struct cause *const *)y;

    return a->finding < b->finding ? -1 : a->finding > b->finding;
}

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

/* One line for findings cause[0..count), of which the first is told. */
static void print_cause(const struct check_input *input, const struct cause *cause, uint32_t count, FILE *out)
{
    const struct check_finding *first = &input->check.finding[cause[0].finding];
    const struct text_style style = cli_style();
    const char **name = count > 1 ? malloc(count * sizeof(*name)) : NULL;
    uint32_t names = 0, also = first->also;

    print_place(input, first, &style, out);
    for (uint32_t c = 1; c < count; c++) {
        const struct check_finding *finding = &input->check.finding[cause[c].finding];
        also += 1 + finding->also;
        bool here = finding->device && first->device && strcmp(finding->device, first->device) == 0;
        bool again = finding->port && first->port && strcmp(finding->port, first->port) == 0; /* of another class */
        if (name && finding->port && here && !again) name[names++] = finding->port;
    }
    if (also) fprintf(out, " (and %u more alike%s", also, names ? ": " : "");
    fold_names(out, &style, name, names);
    fputs(also ? ")\n" : "\n", out);
    free(name);
}

struct counts {
    uint32_t of[CHECK_ERROR + 1];
};

#define PLACE_ALIKE 64u /* findings at one place looked back at */

/* Findings at one line that differ in the name of the class only are one: the line is wrong for each. */
static uint64_t shape_at_place(const struct check_input *input, const struct cause *cause, uint32_t causes, uint32_t f)
{
    const struct check_finding *finding = &input->check.finding[f];
    uint64_t bare = shape_of(input, finding, false);

    for (uint32_t back = 1; back <= causes && back <= PLACE_ALIKE; back++) {
        const struct check_finding *other = &input->check.finding[cause[causes - back].finding];
        if (other->line != finding->line || strcmp(check_file(input, other), check_file(input, finding)) != 0) break;
        if (other->rule == finding->rule && finding->line && shape_of(input, other, false) == bare)
            return cause[causes - back].shape;
    }
    return shape_of(input, finding, true);
}

/* Groups in the order of the first of each; false: no memory. */
static bool print_folded(const struct check_input *input, bool quiet, FILE *out, struct counts *counts)
{
    const struct check *check = &input->check;
    struct cause *cause = calloc(check->findings + 1u, sizeof(*cause));
    const struct cause **first = calloc(check->findings + 1u, sizeof(const struct cause *));
    uint32_t causes = 0, firsts = 0;

    for (uint32_t f = 0; cause && f < check->findings; f++) {
        if (check->finding[f].ignored) continue;
        cause[causes] = (struct cause){shape_at_place(input, cause, causes, f), f};
        causes++;
    }
    if (cause && causes) qsort(cause, causes, sizeof(*cause), by_shape);
    for (uint32_t c = 0; first && c < causes; c++)
        if (!c || cause[c].shape != cause[c - 1].shape) first[firsts++] = &cause[c];
    if (firsts) qsort(first, firsts, sizeof(*first), by_finding);
    for (uint32_t i = 0; i < firsts; i++) {
        uint32_t count = 1;
        while (first[i] + count < cause + causes && first[i][count].shape == first[i]->shape)
            count++;
        uint8_t severity = check->finding[first[i]->finding].severity;
        counts->of[severity]++;
        if (!quiet || severity != CHECK_INFO) print_cause(input, first[i], count, out);
    }
    bool good = cause && first;
    free(cause);
    free(first);
    return good;
}

static void print_each(const struct check_input *input, bool quiet, FILE *out, struct counts *counts)
{
    const struct check *check = &input->check;

    for (uint32_t f = 0; f < check->findings; f++) {
        const struct cause alone = {0, f};
        if (check->finding[f].ignored) continue;
        counts->of[check->finding[f].severity]++;
        if (!quiet || check->finding[f].severity != CHECK_INFO) print_cause(input, &alone, 1, out);
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
    text_outside(out, &style, set->path[note->at.source]);
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
    if (!check_set(input) || all || !print_folded(input, quiet, out, &counts)) {
        counts = (struct counts){{0}};
        print_each(input, quiet, out, &counts);
    }
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
        fprintf(out, "; deadlocks: %llu states of the routes covered, %llu by a search",
                (unsigned long long)check->states, (unsigned long long)check->searched);
    fputc('\n', out);
}
