/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The right word for a mistyped one, by edit distance with neighbours swapped counted as one
 * (optimal string alignment), where it is small for the word's length: a third of it, and one.  A word of which the
 * mistyped one is the beginning counts as near.
 */
#include "base/nearest.h"

#include <string.h>

#define WORD 40

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned distance(const char *left, const char *right)
{
    unsigned cost[WORD + 1][WORD + 1];
    unsigned rows = (unsigned)strnlen(left, WORD), columns = (unsigned)strnlen(right, WORD);

    for (unsigned r = 0; r <= rows; r++)
        cost[r][0] = r;
    for (unsigned c = 0; c <= columns; c++)
        cost[0][c] = c;
    for (unsigned r = 1; r <= rows; r++) {
        for (unsigned c = 1; c <= columns; c++) {
            unsigned change = left[r - 1] == right[c - 1] ? 0 : 1;

            cost[r][c] = least(least(cost[r - 1][c], cost[r][c - 1]) + 1, cost[r - 1][c - 1] + change);
            if (r > 1 && c > 1 && left[r - 1] == right[c - 2] && left[r - 2] == right[c - 1])
                cost[r][c] = least(cost[r][c], cost[r - 2][c - 2] + 1);
        }
    }
    return cost[rows][columns];
}

void nearest_init(struct nearest *nearest, const char *wrong)
{
    size_t length = strlen(wrong);
    unsigned limit = length < 3 ? 1 : 1 + (unsigned)(length / 3);

    *nearest = (struct nearest){.wrong = wrong, .best = length > WORD ? 0 : limit + 1};
}

void nearest_try(struct nearest *nearest, const char *word)
{
    if (nearest->best == 0) return;
    size_t length = strlen(nearest->wrong);
    unsigned far = length >= 2 && strncmp(word, nearest->wrong, length) == 0 ? 1 : distance(nearest->wrong, word);
    if (far < nearest->best) {
        nearest->best = far;
        nearest->word = word;
    }
}
