/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bill of materials and its prices, as text and as JSON.
 */
#ifndef ROCELAB_CLI_BOM_PRINT_H
#define ROCELAB_CLI_BOM_PRINT_H

#include <stdio.h>

#include "config/bom.h"
#include "report/json_out.h"

/* False: all hosts stand within reach of their copper cables, as far as is assumed. */
#define BOM_COPPER_TEXT 400
bool bom_copper_text(const struct fabric *fabric, char text[BOM_COPPER_TEXT]);
/* Every price that was used, with its source: no sum is shown without them; and whether copper is too short for it. */
void bom_prices_text(const struct fabric *fabric, const bool used[PRICE_ITEMS_MAX], FILE *out);
void bom_prices_json(struct jout *jout, const struct fabric *fabric, const bool used[PRICE_ITEMS_MAX]);
/* All of `rocelab config --bom`. */
void bom_text(const struct fabric *fabric, const struct bom *bom, FILE *out);
void bom_json(struct jout *jout, const struct fabric *fabric, const struct bom *bom);

#endif
