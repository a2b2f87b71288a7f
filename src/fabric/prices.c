/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads `prices:` and `decision:`, and answers what a part costs: the file's word before the table's.
 *
 * A price of the file has its unit written out, so that nobody takes dollars for watts.  What is bought with it is
 * counted in src/config; nothing here is seen by a run.
 */
#include "fabric/prices.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/file/read.h"

#define MILLI_MAX UINT64_C(1000000000000) /* a thousand million of the unit */
#define WEIGHT_MAX 1000000u

const struct price_item price_items[] = {
#define PRICE(kind, name, rate, milli, unit, source, year)                                                             \
    {PRICE_KIND_##kind, name, rate, milli, PRICE_##unit, source, year},
#include "fabric/prices.def"
#undef PRICE
};
const uint32_t price_item_count = COUNT_OF(price_items);
_Static_assert(COUNT_OF(price_items) <= PRICE_ITEMS_MAX, "a set of items is that large");

const char *const decision_names[DECISIONS + 1] = {
#define X(id, name) name,
    DECISION_LIST(X)
#undef X
        NULL,
};

static const struct {
    const char *unit, *noun, *example;
} units[] = {
    [PRICE_USD] = {"USD", "a price in dollars", "1499 USD"},
    [PRICE_W] = {"W", "a power in watts", "25 W"},
    [PRICE_X] = {"x", "a factor", "1.5 x"},
};

const char *price_name(const struct price_item *item, char buf[PRICE_NAME])
{
    if (item->rate_gbps)
        snprintf(buf, PRICE_NAME, "%s-%uG", item->name, item->rate_gbps);
    else
        snprintf(buf, PRICE_NAME, "%s", item->name);
    return buf;
}

static bool read_price(struct loader *loader, const struct tree *value, enum price_unit unit, uint64_t *ret)
{
    const char *rest = "", *wrong = NULL;
    char found[TREE_FOUND];

    if (value->type != TREE_SCALAR)
        wrong = "is no number";
    else if (value->text[0] == '-')
        wrong = "is negative";
    else if (!read_milli(value->text, MILLI_MAX, ret, &rest))
        wrong = "is no number that can be used (at most 1000000000, in thousandths)";
    else if (*rest == '\0')
        wrong = "has no unit";
    else if (strcmp(rest + (*rest == ' '), units[unit].unit) != 0)
        wrong = "has another unit";
    if (!wrong) return true;
    read_error(loader, value->at, "prices: %.60s: %s %s; %s is expected, as in %s", value->key,
               tree_found(value, found), wrong, units[unit].noun, units[unit].example);
    return false;
}

static void unknown_price(struct loader *loader, const struct tree *value)
{
    char name[PRICE_ITEMS_MAX][PRICE_NAME];
    struct nearest nearest;

    nearest_init(&nearest, value->key);
    for (uint32_t i = 0; i < price_item_count; i++) {
        nearest_try(&nearest, price_name(&price_items[i], name[i]));
        nearest_try(&nearest, price_items[i].name);
    }
    if (nearest.word)
        read_error(loader, value->key_at, "prices: there is no price '%.60s'; did you mean '%s'?", value->key,
                   nearest.word);
    else
        read_error(loader, value->key_at,
                   "prices: there is no price '%.60s'; there are switch-port, nic, optic, copper, fibre, fibre-metre, "
                   "breakout, watt-year, ... (docs/compare.md), some with a rate as in nic-400G",
                   value->key);
}

/* A name without its rate is the price of all rates; one with it goes before that, in whatever order they stand. */
static void read_item(struct loader *loader, const struct tree *value, struct fabric_price *price, bool rated)
{
    bool found = false;
    uint64_t milli = 0;

    for (uint32_t i = 0; i < price_item_count; i++) {
        char name[PRICE_NAME];
        bool exact = strcmp(price_name(&price_items[i], name), value->key) == 0;
        if (!exact && strcmp(price_items[i].name, value->key) != 0) continue;
        if (!found && exact == rated && !read_price(loader, value, price_items[i].unit, &milli)) return;
        found = true;
        if (exact == rated) price[i] = (struct fabric_price){milli, value->at};
    }
    if (!found && !rated) unknown_price(loader, value);
}

static void read_prices(struct loader *loader, const struct tree *map)
{
    struct fabric_price *price = KEEP_NEW(loader, struct fabric_price, price_item_count);

    if (!price || !read_is_map(loader, map, "prices")) return;
    for (int rated = 0; rated < 2; rated++)
        for (const struct tree *value = map->first; value; value = value->next)
            read_item(loader, value, price, rated);
    loader->fabric->operations.price = price;
}

static void read_decision(struct loader *loader, const struct tree *map)
{
    struct fabric_decision *decision = &loader->fabric->operations.decision;
    uint64_t sum = 0;

    if (!read_is_map(loader, map, "decision")) return;
    for (const struct tree *value = map->first; value; value = value->next) {
        struct tree name = {.type = TREE_SCALAR, .text = value->key, .at = value->key_at, .key = "decision"};
        const char *rest = "x";
        char found[TREE_FOUND];
        uint64_t milli = 0;
        uint32_t which;
        if (!read_choice(loader, &name, decision_names, &which)) return;
        if (value->type != TREE_SCALAR || !read_milli(value->text, WEIGHT_MAX, &milli, &rest) || *rest) {
            read_error(loader, value->at,
                       "decision: %s: %s is no weight; a number from 0 to 1000 is expected, as in 3 or 0.5", value->key,
                       tree_found(value, found));
            return;
        }
        decision->weight[which] = (uint32_t)milli;
        sum += milli;
    }
    if (sum == 0)
        read_error(loader, map->at, "decision: every weight is 0; one at least is more, as in {time: 3, cost: 1}");
    decision->said = true;
}

void prices_load(struct loader *loader)
{
    const struct tree *prices = loader->part[PART_PRICES], *decision = loader->part[PART_DECISION];

    if (prices) read_prices(loader, prices);
    if (decision) read_decision(loader, decision);
    if (!loader->fabric->operations.decision.said) loader->fabric->operations.decision.weight[DECISION_TIME] = 1000;
}

struct price price_find(const struct fabric *fabric, enum price_kind kind, uint64_t rate_bps)
{
    const struct fabric_price *said = fabric->operations.price;
    uint32_t item = 0;

    while (price_items[item].kind != kind)
        item++;
    while (item + 1 < price_item_count && price_items[item + 1].kind == kind &&
           price_items[item].rate_gbps * UINT64_C(1000000000) < rate_bps)
        item++;
    uint64_t top = price_items[item].rate_gbps * UINT64_C(1000000000);
    struct price price = {.item = item, .milli = price_items[item].milli, .times = 1};
    if (said && said[item].at.line) price.milli = said[item].milli;
    if (top && rate_bps > top) price.times = (uint32_t)((rate_bps + top - 1) / top);
    return price;
}
