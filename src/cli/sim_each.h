/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sim --each: private to the verb sim.
 */
#ifndef ROCELAB_CLI_SIM_EACH_H
#define ROCELAB_CLI_SIM_EACH_H

#include <stdbool.h>
#include <stdio.h>

#include "study/each.h"

/* The value of --each; false after a message. */
bool each_parse(const char *text, struct each_options *ret);
/* Runs all and prints; answers an enum cli_exit. */
int each_report(const struct each_options *options, const struct fabric *fabric, bool json, FILE *out);

#endif
