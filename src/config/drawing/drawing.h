/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric as a picture: an SVG of its own, with tiers as rows and cables as lines.
 *
 * What would not fit is drawn together: hosts with the same leaves, leaves of a pod with the same spines, spines and
 * cores with the same switches below.  The picture has no script and no font of its own, follows the reader's light or
 * dark scheme, and says in titles and a description what it shows.
 */
#ifndef ROCELAB_CONFIG_DRAWING_DRAWING_H
#define ROCELAB_CONFIG_DRAWING_DRAWING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fabric;

#define DRAWING_TIERS 8

struct drawing_box {      /* a node, or several drawn as one */
    uint32_t first, last; /* nodes */
    uint32_t nodes;
    uint8_t tier;
    bool rest; /* whatever had no room */
};

struct drawing_line { /* the cables between two boxes */
    uint32_t a, b;    /* boxes; a is of the lower tier */
    uint32_t cables, down;
    uint64_t rate_bps, least_bps, most_bps; /* of all together; of a cable */
    uint16_t rail;                          /* FABRIC_NO_RAIL: none, or several */
};

struct drawing {
    const struct fabric *fabric;
    struct drawing_box *box; /* tier by tier, hosts first */
    uint32_t boxes, first[DRAWING_TIERS + 1], nodes[DRAWING_TIERS];
    uint32_t tiers;
    struct drawing_line *line;
    uint32_t lines;
};

void drawing_make(const struct fabric *fabric, struct drawing *ret);
void drawing_release(struct drawing *drawing);
void drawing_svg(const struct drawing *drawing, FILE *out);

#endif
