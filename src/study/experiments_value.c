/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expressions of measures: numbers, + - * /, parentheses, min, max, floor, and calls.
 *
 * The same walk serves planning and evaluating.  While planning, a call is entered in the experiment's list of probes;
 * afterwards it is found there by its text.  Expressions are one line written by hand, so nothing is kept
 * between the two walks.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/grow.h"
#include "base/units.h"
#include "study/experiments.h"

#define DEPTH_MAX 32
#define ALL_SEEDS UINT32_MAX
#define CALCULATED UINT32_MAX /* a probe of no run */

struct walk {
    struct experiment *plan; /* NULL: evaluate */
    const struct experiment *experiment;
    const char *at;
    const char *why; /* NULL: nothing wrong so far */
    enum over over;
    uint32_t seed; /* of the one that is asked for, from 0; ALL_SEEDS: all, put together */
    int depth;
};

static double sum(struct walk *walk);

static void blank(struct walk *walk)
{
    walk->at += strspn(walk->at, " \t\n");
}

static double wrong(struct walk *walk, const char *why)
{
    if (walk->why == NULL) walk->why = why;
    return 0;
}

static bool take_letter(struct walk *walk, char c)
{
    blank(walk);
    if (*walk->at != c) return false;
    walk->at++;
    return true;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double put_together(const struct probe *probe, enum over over)
{
    double sorted[EXPERIMENT_SEEDS], total = 0;
    uint32_t count = probe->values;

    CHECK(count > 0 && count <= EXPERIMENT_SEEDS);
    for (uint32_t i = 0; i < count; i++)
        if (isnan(probe->value[i])) return NAN; /* a seed without an answer: the others do not stand for it */
    memcpy(sorted, probe->value, count * sizeof(sorted[0]));
    qsort(sorted, count, sizeof(sorted[0]), compare);
    for (uint32_t i = 0; i < count; i++)
        total += sorted[i];
    switch (over) {
    case OVER_MEAN:
        return total / count;
    case OVER_MEDIAN:
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    case OVER_MIN:
        return sorted[0];
    case OVER_MAX:
        return sorted[count - 1];
    }
    CHECK(false);
}

static bool read_run(const struct experiment *experiment, const char *word, struct probe *probe)
{
    for (uint32_t i = 0; i < experiment->runs; i++) {
        if (strcmp(experiment->run[i].name, word) != 0) continue;
        probe->run = i;
        return true;
    }
    return false;
}

/* What can be read without a fabric; NULL, or what is wrong. */
static const char *read_word(const struct experiment *experiment, struct probe *probe, int index)
{
    const char *word = probe->word[index];
    char *end;

    switch (probe->kind->argument[index]) {
    case ARGUMENT_RUN:
        return read_run(experiment, word, probe) ? NULL : "the first argument is no run of this experiment";
    case ARGUMENT_FROM:
        return unit_parse(UNIT_TIME, word, &probe->from, NULL) == 0 ? NULL : "FROM is a time, as in 10ms";
    case ARGUMENT_TO:
        if (unit_parse(UNIT_TIME, word, &probe->to, NULL) != 0) return "TO is a time, as in 10ms";
        return probe->to > probe->from ? NULL : "TO is not after FROM";
    case ARGUMENT_PERCENT:
        probe->percent = strtod(word, &end);
        if (*word == '\0' || *end != '\0' || !(probe->percent >= 0 && probe->percent <= 100)) return "P is 0 to 100";
        return NULL;
    case ARGUMENT_COUNT:
        if (unit_parse(UNIT_COUNT, word, &probe->count[index], NULL) == 0 && probe->count[index] > 0) return NULL;
        return "a number above 0 is expected";
    case ARGUMENT_SIZE:
        return unit_parse(UNIT_SIZE, word, &probe->count[index], NULL) == 0 ? NULL : "a size is expected, as in 10KB";
    default:
        return *word ? NULL : "an argument is empty";
    }
}

static const struct probe *find_probe(const struct experiment *experiment, const char *text)
{
    for (uint32_t i = 0; i < experiment->probes; i++)
        if (strcmp(experiment->probe[i].text, text) == 0) return &experiment->probe[i];
    return NULL;
}

static void add_probe(struct walk *walk, const struct probe *probe)
{
    struct experiment *experiment = walk->plan;

    if (find_probe(experiment, probe->text)) return;
    if (!GROW(experiment->probe, experiment->probes, experiment->probe_capacity)) {
        wrong(walk, "not enough memory");
        return;
    }
    experiment->probe[experiment->probes++] = *probe;
}

/* The words between the parentheses, without blanks; the text of the call grows with them. */
static int read_words(struct walk *walk, struct probe *probe)
{
    size_t text = strlen(probe->text), length = 0;
    int words = 0;

    probe->text[text++] = '(';
    for (; *walk->at != ')'; walk->at++) {
        char c = *walk->at;
        if (c == '\0' || words == PROBE_ARGUMENTS || text + 2 >= PROBE_TEXT) return -1;
        if (strchr(" \t\n", c)) continue;
        probe->text[text++] = c;
        if (c == ',') {
            words++;
            length = 0;
        } else if (words < PROBE_ARGUMENTS) {
            probe->word[words][length++] = c;
        }
    }
    walk->at++;
    probe->text[text] = ')';
    return words + 1;
}

static double call(struct walk *walk, const char *name, size_t length)
{
    struct probe probe = {.run = CALCULATED};
    int due = 0;

    for (size_t i = 0; i < probe_kind_count && probe.kind == NULL; i++)
        if (strlen(probe_kinds[i].name) == length && memcmp(probe_kinds[i].name, name, length) == 0)
            probe.kind = &probe_kinds[i];
    if (probe.kind == NULL || length >= PROBE_TEXT / 2) return wrong(walk, "no such call");
    memcpy(probe.text, name, length);
    int words = read_words(walk, &probe);
    while (due < PROBE_ARGUMENTS && probe.kind->argument[due] != ARGUMENT_END)
        due++;
    if (words != due) return wrong(walk, "a call has too many or too few arguments");
    if (walk->plan == NULL) {
        const struct probe *found = find_probe(walk->experiment, probe.text);
        CHECK(found != NULL);
        if (walk->seed == ALL_SEEDS) return put_together(found, walk->over);
        return found->value[found->values > 1 ? walk->seed : 0];
    }
    for (int i = 0; i < words; i++) {
        const char *why = read_word(walk->experiment, &probe, i);
        if (why) return wrong(walk, why);
    }
    if (probe.kind->calculate && !ecmp_can(probe.count))
        return wrong(walk, "at most 65536 links, and flows and links times trials at most 10^10");
    add_probe(walk, &probe);
    return 1;
}

static double whole_below(double value)
{
    if (!(value > -0x1p53 && value < 0x1p53)) return value; /* whole already, or no number */
    double whole = (double)(int64_t)value;
    return whole > value ? whole - 1 : whole;
}

static double named(struct walk *walk)
{
    const char *name = walk->at;
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
    bool least = length == 3 && memcmp(name, "min", 3) == 0, most = length == 3 && memcmp(name, "max", 3) == 0;

    walk->at += length;
    if (!take_letter(walk, '(')) return wrong(walk, "a name without its arguments");
    bool whole = length == 5 && memcmp(name, "floor", 5) == 0;
    if (!least && !most && !whole) return call(walk, name, length);
    double value = sum(walk);
    if (whole) value = whole_below(value);
    while (walk->why == NULL && !whole && take_letter(walk, ',')) {
        double next = sum(walk);
        if (isnan(next) || (least ? next < value : next > value)) value = next; /* and what is NaN stays so */
    }
    return take_letter(walk, ')') ? value : wrong(walk, "a ) is missing");
}

static double factor(struct walk *walk)
{
    char *end;
    double value;

    blank(walk);
    if (walk->depth >= DEPTH_MAX) return wrong(walk, "nested too deep");
    if (take_letter(walk, '(')) {
        walk->depth++;
        value = sum(walk);
        walk->depth--;
        return take_letter(walk, ')') ? value : wrong(walk, "a ) is missing");
    }
    if (*walk->at >= 'a' && *walk->at <= 'z') {
        walk->depth++;
        value = named(walk);
        walk->depth--;
        return value;
    }
    if (strchr("0123456789.", *walk->at) == NULL || *walk->at == '\0')
        return wrong(walk, "a number or a call is expected");
    value = strtod(walk->at, &end);
    walk->at = end;
    return value;
}

static double product(struct walk *walk)
{
    double value = factor(walk);

    while (walk->why == NULL) {
        if (take_letter(walk, '*'))
            value *= factor(walk);
        else if (take_letter(walk, '/'))
            value /= factor(walk);
        else
            break;
    }
    return value;
}

static double sum(struct walk *walk)
{
    double value = product(walk);

    while (walk->why == NULL) {
        if (take_letter(walk, '+'))
            value += product(walk);
        else if (take_letter(walk, '-'))
            value -= product(walk);
        else
            break;
    }
    return value;
}

static int walk_all(struct walk *walk, double *ret, const char **why)
{
    double value = sum(walk);

    blank(walk);
    if (walk->why == NULL && *walk->at) wrong(walk, "something is left over at its end");
    if (walk->why) {
        *why = walk->why;
        return -EINVAL;
    }
    if (ret) *ret = value;
    return 0;
}

int value_plan(struct experiment *experiment, const char *text, const char **why)
{
    struct walk walk = {.plan = experiment, .experiment = experiment, .at = text};
    return walk_all(&walk, NULL, why);
}

int value_evaluate(const struct experiment *experiment, const char *text, enum over over, double *ret, const char **why)
{
    struct walk walk = {.experiment = experiment, .at = text, .over = over, .seed = ALL_SEEDS};
    return walk_all(&walk, ret, why);
}

int value_evaluate_seed(const struct experiment *experiment, const char *text, uint32_t seed, double *ret,
                        const char **why)
{
    struct walk walk = {.experiment = experiment, .at = text, .seed = seed};
    return walk_all(&walk, ret, why);
}
