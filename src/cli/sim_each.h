/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sim --each: private to the verb sim.
 */
#ifndef ROCELAB_CLI_SIM_EACH_H
#define ROCELAB_CLI_SIM_EACH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fabric/fabric.h"
#include "sim/sim.h"

enum each_what { EACH_NOTHING, EACH_LINK, EACH_LEAF, EACH_SPINE, EACH_CORE, EACH_SWITCH };

struct each_options {
    enum each_what what;
    ps_t at;                /* PS_NEVER: a quarter of the way */
    ps_t lasts_ps;          /* PS_NEVER: to the end */
    struct sim_options sim; /* threads: how many runs at once; 0: as many as processors */
    bool json, quiet;
};

/* The value of --each; false after a message. */
bool each_parse(const char *text, struct each_options *ret);
/* Answers an enum cli_exit. */
int each_run(const struct each_options *options, const struct fabric *fabric, FILE *out);

#endif
