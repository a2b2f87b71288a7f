/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is drawn of a fabric: boxes and the lines between them.
 *
 * A tier with few nodes has a box for each.  In one with many, nodes that look alike from the tier they are judged by
 * share one: leaves by their pod and the spines above, spines and cores by what is below, hosts by their leaves.  The
 * tiers are gone through leaves first, so that the others see boxes and not nodes.
 */
#include "config/drawing/drawing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "fabric/fabric.h"

#define GROUPED_MOST 16  /* hosts, or switches above others that share a box, drawn one by one */
#define SWITCHES_MOST 64 /* of a tier, else */
#define MESH_MOST 1024   /* pairs of switches of two tiers, whose lines can still be told apart */
#define BOXES_MOST 96    /* of a tier; what is more is one box */

struct maker {
    const struct fabric *fabric;
    uint32_t *box_of; /* [nodes] */
    uint64_t *key;    /* [boxes] */
    uint64_t *seen;   /* [nodes] stamp of the last node that counted this neighbour */
    struct drawing *to;
    bool grouped;   /* switches of a tier below share boxes */
    uint32_t order; /* boxes so far, in the order of making */
    struct drawing_box *box;
};

static uint32_t tier_of(const struct fabric *fabric, uint32_t node)
{
    uint32_t tier = fabric->node[node].tier;

    return tier < DRAWING_TIERS ? tier : DRAWING_TIERS - 1;
}

/* Of a node: the set of those it is judged by, in a number; a leaf's pod is in it. */
static uint64_t key_of(struct maker *maker, uint32_t n)
{
    const struct fabric *fabric = maker->fabric;
    const struct fabric_node *node = &fabric->node[n];
    uint32_t tier = tier_of(fabric, n), pod = tier == 1 ? node->pod : 0;
    uint64_t sum = 0;

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        if (fabric->port[p].peer == FABRIC_NONE) continue;
        uint32_t peer = fabric->port[fabric->port[p].peer].node;
        bool judges = tier == 1 ? tier_of(fabric, peer) > 1 : tier_of(fabric, peer) < tier || tier == 0;
        uint32_t as = tier == 1 ? peer : maker->box_of[peer];
        if (!judges || as >= fabric->nodes || maker->seen[as] == n + 1u) continue;
        maker->seen[as] = n + 1u;
        sum += hash_bytes(HASH_BEGIN, &as, sizeof(as));
    }
    return hash_bytes(sum, &pod, sizeof(pod));
}

static void add_node(struct maker *maker, uint32_t n, uint32_t from, bool together)
{
    uint64_t key = together ? key_of(maker, n) : 0;
    uint32_t at = from;

    while (at < maker->order && (!together || maker->key[at] != key))
        at++;
    if (at - from == BOXES_MOST) { /* the last takes what is left */
        at--;
        maker->box[at].rest = true;
    }
    if (at == maker->order) {
        maker->key[at] = key;
        maker->box[maker->order++] = (struct drawing_box){.first = n, .tier = (uint8_t)tier_of(maker->fabric, n)};
    }
    maker->box[at].last = n;
    maker->box[at].nodes++;
    maker->box_of[n] = at;
}

static void add_tier(struct maker *maker, uint32_t tier)
{
    uint32_t from = maker->order, count = maker->to->nodes[tier];
    uint32_t above = tier + 1 < maker->to->tiers ? maker->to->nodes[tier + 1] : 0;
    bool together = count > (tier == 0 || maker->grouped ? GROUPED_MOST : SWITCHES_MOST) ||
                    (tier > 0 && (uint64_t)count * above > MESH_MOST);

    maker->grouped |= tier > 0 && together;

    for (uint32_t n = 0; n < maker->fabric->nodes; n++)
        if (tier_of(maker->fabric, n) == tier) add_node(maker, n, from, together);
}

/* Leaves were made first; hosts are to stand first. */
static void order_boxes(struct maker *maker)
{
    struct drawing *to = maker->to;
    uint32_t *moved = (uint32_t *)maker->key; /* no longer needed */

    for (uint32_t tier = 0; tier < to->tiers; tier++) {
        to->first[tier] = to->boxes;
        for (uint32_t b = 0; b < maker->order; b++) {
            if (maker->box[b].tier != tier) continue;
            moved[b] = to->boxes;
            to->box[to->boxes++] = maker->box[b];
        }
    }
    to->first[to->tiers] = to->boxes;
    for (uint32_t n = 0; n < maker->fabric->nodes; n++)
        maker->box_of[n] = moved[maker->box_of[n]];
}

static int compare_lines(const void *x, const void *y)
{
    const struct drawing_line *a = x, *b = y;

    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

/* Cables one by one, sorted by their boxes, then those between the same two as one line. */
static void make_lines(struct maker *maker)
{
    const struct fabric *fabric = maker->fabric;
    struct drawing *to = maker->to;
    uint32_t count = 0;

    for (uint32_t p = 0; p < fabric->ports; p++) {
        uint32_t peer = fabric->port[p].peer;
        if (peer == FABRIC_NONE || peer < p) continue;
        uint32_t a = maker->box_of[fabric->port[p].node], b = maker->box_of[fabric->port[peer].node];
        uint64_t rate = fabric->port[p].rate_bps;
        to->line[count++] = (struct drawing_line){.a = a < b ? a : b,
                                                  .b = a < b ? b : a,
                                                  .cables = 1,
                                                  .down = !fabric->port[p].up || !fabric->port[peer].up,
                                                  .rate_bps = rate,
                                                  .least_bps = rate,
                                                  .most_bps = rate,
                                                  .rail = fabric->port[p].rail};
    }
    qsort(to->line, count, sizeof(*to->line), compare_lines);
    for (uint32_t i = 0; i < count; i++) {
        struct drawing_line *last = to->lines ? &to->line[to->lines - 1] : NULL, *line = &to->line[i];
        if (last == NULL || compare_lines(last, line) != 0) {
            to->line[to->lines++] = *line;
            continue;
        }
        last->cables++;
        last->down += line->down;
        last->rate_bps += line->rate_bps;
        if (line->least_bps < last->least_bps) last->least_bps = line->least_bps;
        if (line->most_bps > last->most_bps) last->most_bps = line->most_bps;
        if (line->rail != last->rail) last->rail = FABRIC_NO_RAIL;
    }
}

void drawing_make(const struct fabric *fabric, struct drawing *ret)
{
    struct drawing drawing = {.fabric = fabric};
    struct maker maker = {.fabric = fabric, .to = &drawing};

    for (uint32_t n = 0; n < fabric->nodes; n++) {
        uint32_t tier = tier_of(fabric, n);
        drawing.nodes[tier]++;
        if (tier + 1 > drawing.tiers) drawing.tiers = tier + 1;
    }
    drawing.box = calloc(fabric->nodes + 1u, sizeof(*drawing.box));
    drawing.line = calloc(fabric->ports + 1u, sizeof(*drawing.line));
    maker.box = calloc(fabric->nodes + 1u, sizeof(*maker.box));
    maker.box_of = calloc(fabric->nodes + 1u, sizeof(*maker.box_of));
    maker.key = calloc(fabric->nodes + 1u, sizeof(*maker.key));
    maker.seen = calloc(fabric->nodes + 1u, sizeof(*maker.seen));
    for (uint32_t tier = 1; tier < drawing.tiers; tier++)
        add_tier(&maker, tier);
    add_tier(&maker, 0);
    order_boxes(&maker);
    make_lines(&maker);
    free(maker.box);
    free(maker.box_of);
    free(maker.key);
    free(maker.seen);
    *ret = drawing;
}

void drawing_release(struct drawing *drawing)
{
    free(drawing->box);
    free(drawing->line);
    *drawing = (struct drawing){0};
}
