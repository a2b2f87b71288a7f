/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which virtual lane of a port sends next (InfiniBand volume 1, 7.6.9): two tables of lanes with weights.
 *
 * A table is gone through in turn: the lane of an entry sends while the entry has weight left, in blocks of 64 bytes; a
 * packet may overdraw it, and nothing is carried over.  The high table goes first until high_limit x 4 KiB of it have
 * been sent while packets of the low one waited; then one packet of the low table goes, and the count begins anew.
 * A limit of 0 lets one packet of the high table go at a time, 255 is no limit.
 *
 * A lane alone on the port does not come here, and is not counted.  A lane that is ready and in neither table would
 * never send: credit_problem() refuses such tables.
 */
#include "switch/switch_int.h"

enum arb_table { ARB_HIGH, ARB_LOW, ARB_NEITHER };

#define LIMIT_BLOCKS 64 /* of high_limit */
#define NO_LIMIT 255u

static const struct sw_arb_entry *table_of(const struct sw_arbitration *tables, enum arb_table table, uint32_t *ret)
{
    *ret = table == ARB_HIGH ? tables->highs : tables->lows;
    return table == ARB_HIGH ? tables->high : tables->low;
}

/* Lanes with a weight in the table. */
static uint32_t lanes_of(const struct sw_arbitration *tables, enum arb_table table)
{
    uint32_t count, mask = 0;
    const struct sw_arb_entry *entry = table_of(tables, table, &count);

    for (uint32_t i = 0; i < count; i++)
        if (entry[i].weight) mask |= 1u << entry[i].vl;
    return mask;
}

static void refill(const struct sw_arbitration *tables, struct sw_arbiter *arbiter)
{
    arbiter->high_left = tables->high_limit ? tables->high_limit * LIMIT_BLOCKS : 1;
}

void arbiter_init(const struct sw_arbitration *tables, struct sw_arbiter *arbiter)
{
    *arbiter = (struct sw_arbiter){.picked = ARB_NEITHER};
    for (int table = ARB_HIGH; table <= ARB_LOW; table++) {
        uint32_t count;
        const struct sw_arb_entry *entry = table_of(tables, (enum arb_table)table, &count);
        if (count) arbiter->weight_left[table] = entry[0].weight;
    }
    refill(tables, arbiter);
}

/* The entry whose turn it is among the lanes that are ready, of which the table has one. */
static uint32_t turn(const struct sw_arbitration *tables, struct sw_arbiter *arbiter, enum arb_table table,
                     uint32_t ready)
{
    uint32_t count, at = arbiter->at[table];
    const struct sw_arb_entry *entry = table_of(tables, table, &count);

    while (!(ready >> entry[at].vl & 1) || arbiter->weight_left[table] <= 0) {
        at = at + 1 < count ? at + 1 : 0;
        arbiter->weight_left[table] = entry[at].weight;
    }
    arbiter->at[table] = (uint8_t)at;
    arbiter->picked = (uint8_t)table;
    return entry[at].vl;
}

uint32_t arbitrate(const struct sw_arbitration *tables, struct sw_arbiter *arbiter, uint32_t ready)
{
    uint32_t high = ready & lanes_of(tables, ARB_HIGH), low = ready & lanes_of(tables, ARB_LOW);

    CHECK(high | low);
    arbiter->others_wait = high && low;
    if (high && (!low || arbiter->high_left > 0 || tables->high_limit == NO_LIMIT))
        return turn(tables, arbiter, ARB_HIGH, high);
    return turn(tables, arbiter, ARB_LOW, low);
}

void arbitrated(const struct sw_arbitration *tables, struct sw_arbiter *arbiter, uint32_t blocks)
{
    if (arbiter->picked == ARB_NEITHER) return;
    arbiter->weight_left[arbiter->picked] -= (int32_t)blocks;
    if (arbiter->picked == ARB_LOW)
        refill(tables, arbiter);
    else if (arbiter->others_wait)
        arbiter->high_left -= (int32_t)blocks;
    arbiter->picked = ARB_NEITHER;
}
