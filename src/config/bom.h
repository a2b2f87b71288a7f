/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bill of materials of a fabric: parts, their number, what they cost and draw.
 */
#ifndef ROCELAB_CONFIG_BOM_H
#define ROCELAB_CONFIG_BOM_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/prices.h"

struct fabric;

struct bom_row {
    const char *part; /* switch, switch port, host, NIC port, core, cable, optics, breakout */
    char what[128];
    uint64_t count;
    uint64_t usd_milli, watt_milli; /* of all of them; 0: has no price */
};

struct bom {
    struct bom_row *row;
    uint32_t rows;
    uint64_t usd_milli, watt_milli;
    uint64_t usd_least_milli, usd_most_milli; /* where sources differ; else as usd_milli */
    uint64_t usd_year_milli;                  /* of the watts, for a year */
    bool used[PRICE_ITEMS_MAX];               /* the prices in it */
    uint32_t room;                            /* private, as the next */
    bool no_memory;
};

int bom_make(const struct fabric *fabric, struct bom *ret); /* 0 or -ENOMEM */
void bom_release(struct bom *bom);

#endif
