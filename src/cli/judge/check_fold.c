/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings put together by cause, for every form of output.
 *
 * Of configurations, findings of one file that say the same of its ports are one, told at the first of their places: a
 * wrong policy is one thing to mend, whatever the number of ports that have it.  Two findings say the same where their
 * words differ only in names (of ports and devices), not in values.  So are findings of one rule at one line, and those
 * that a rule has of the whole fabric.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cli/judge/check.h"

#define PLACE_ALIKE 64u /* findings at one place looked back at */

struct shaped { /* a finding, and what it is folded by */
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
    return hash_text(hash_bytes(hash, text, length), "\xff");
}

/* classes: names in quotes count too; else they are left out as those of ports are. */
static uint64_t shape_of(const struct check_input *input, const struct check_finding *finding, bool classes)
{
    const char *file = check_file(input, finding);
    uint64_t hash = HASH_BEGIN + finding->rule * 4u + finding->severity;

    if (finding->whole) return hash;
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
    const struct shaped *a = x, *b = y;

    if (a->shape != b->shape) return a->shape < b->shape ? -1 : 1;
    return a->finding < b->finding ? -1 : a->finding > b->finding;
}

static int by_finding(const void *x, const void *y)
{
    const struct check_cause *a = x, *b = y;

    return a->finding[0] < b->finding[0] ? -1 : a->finding[0] > b->finding[0];
}

/* At one line: of one rule, what is not about a thing of its own, and what differs in the name of the class only. */
static bool same_line(const struct check_input *input, const struct check_finding *a, const struct check_finding *b)
{
    if (a->rule != b->rule || a->severity != b->severity || !a->line) return false;
    if (!a->noted && !b->noted && !a->apart && !b->apart) return true;
    if (a->noted != b->noted) return true; /* the importer and the rule have seen the same */
    return shape_of(input, a, false) == shape_of(input, b, false);
}

static uint64_t shape_at_place(const struct check_input *input, const struct shaped *shaped, uint32_t count, uint32_t f)
{
    const struct check_finding *finding = &input->check.finding[f];

    for (uint32_t back = 1; back <= count && back <= PLACE_ALIKE; back++) {
        const struct check_finding *other = &input->check.finding[shaped[count - back].finding];
        if (other->line != finding->line || strcmp(check_file(input, other), check_file(input, finding)) != 0) break;
        if (!other->ignored && same_line(input, finding, other)) return shaped[count - back].shape;
    }
    return shape_of(input, finding, true);
}

void check_fold(struct check_input *input, bool each)
{
    struct check *check = &input->check;
    struct shaped *shaped = calloc(check->findings + 1u, sizeof(*shaped));
    uint32_t *list = ARENA_NEW(&check->arena, uint32_t, check->findings + 1);
    input->cause = ARENA_NEW(&check->arena, struct check_cause, check->findings + 1);

    input->causes = 0;
    for (uint32_t f = 0; f < check->findings; f++) {
        bool alone = each || check->finding[f].ignored;
        shaped[f] = (struct shaped){alone ? f : shape_at_place(input, shaped, f, f), f};
    }
    if (!each) qsort(shaped, check->findings, sizeof(*shaped), by_shape);
    for (uint32_t f = 0; f < check->findings; f++) {
        list[f] = shaped[f].finding;
        if (!f || shaped[f].shape != shaped[f - 1].shape)
            input->cause[input->causes++] = (struct check_cause){&list[f], 0};
        input->cause[input->causes - 1].count++;
    }
    qsort(input->cause, input->causes, sizeof(*input->cause), by_finding);
    free(shaped);
}

uint32_t check_also(const struct check_input *input, const struct check_cause *cause)
{
    uint32_t also = cause->count - 1;

    for (uint32_t c = 0; c < cause->count; c++)
        also += input->check.finding[cause->finding[c]].also;
    return also;
}
