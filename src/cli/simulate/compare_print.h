/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is shown of a comparison.  Private to the verb compare.
 */
#ifndef ROCELAB_CLI_COMPARE_PRINT_H
#define ROCELAB_CLI_COMPARE_PRINT_H

#include <stdio.h>

#include "config/bom.h"
#include "study/compare.h"

#define COMPARE_AXES 4 /* beside the systems: so many have room in the table */

struct compare_cost { /* of a system, with the first combination of values */
    bool known;       /* its file could be loaded */
    uint64_t usd_least_milli, usd_most_milli, usd_year_milli;
    bool used[PRICE_ITEMS_MAX];
    struct fabric_errors left_out; /* keys of the file that it does not have */
};

struct compare_view {
    const struct sweep *sweep;
    const struct fabric *fabric; /* as the file has it */
    struct comparison *set;      /* [sets] */
    uint32_t sets;
    const struct compare_cost *cost; /* [systems] */
    bool many;                       /* seeds */
};

void compare_print(const struct compare_view *view, FILE *out);
bool compare_json(const void *view, FILE *out); /* a cli_writer */

#endif
