/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The right word for a mistyped one: the least number of letters inserted, left out, changed or
 * swapped with a neighbour (optimal string alignment), where that is small for the word's length.
 * A word of which the mistyped one is the beginning counts as near.
 */
#include "cli/cli.h"

#include <string.h>

#define WORD 32

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

const char *cli_nearest(const char *wrong, const char *(*name)(const void *list, size_t index), const void *list,
                        size_t count)
{
    size_t length = strlen(wrong);
    unsigned limit = length < 3 ? 1 : 1 + (unsigned)(least((unsigned)length, WORD) / 4), best = limit + 1;
    const char *nearest = NULL;

    if (length > WORD) return NULL;
    for (size_t i = 0; i < count; i++) {
        const char *word = name(list, i);
        unsigned far = length >= 2 && strncmp(word, wrong, length) == 0 ? 1 : distance(wrong, word);

        if (far < best) {
            best = far;
            nearest = word;
        }
    }
    return nearest;
}
