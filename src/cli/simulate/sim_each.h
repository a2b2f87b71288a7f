/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sim --each: private to the verb sim.
 */
#ifndef ROCELAB_CLI_SIM_EACH_H
#define ROCELAB_CLI_SIM_EACH_H

#include <stdbool.h>
#include <stdio.h>

#include "report/json_out.h"
#include "report/table.h"
#include "study/each.h"

/* Runs all and prints; answers an enum cli_exit. */
struct each_settings {
    struct each_options run;
    uint32_t seeds;  /* 0: one run of each, and no intervals */
    const char *out; /* NULL: nothing is kept */
    bool force, json;
};
int each_report(const struct each_settings *settings, const struct fabric *fabric, FILE *out);

/* each_seeds.c: the table's rows, and the object of a target.  False: no memory. */
bool each_seeds_table(const struct each *each, struct table *table, uint32_t *ret_good, uint32_t *ret_ended);
bool each_seeds_json(struct jout *jout, const struct each *each, uint32_t target);

#endif
