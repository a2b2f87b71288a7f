/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of ports whose other end nobody knows: for `check`, `import` and `diff`.
 */
#ifndef ROCELAB_CLI_ENDS_H
#define ROCELAB_CLI_ENDS_H

#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"
#include "report/json_out.h"

/* One line with the ports, by device, and what follows from it; NULL: the number of rules that are not applied there.
 * False: every other end is known, or the set is NULL. */
bool cli_ends_text(const struct config_set *set, const char *then, FILE *out);
/* `unknown_ends`; nothing where the set is NULL. */
void cli_ends_json(struct jout *jout, const struct config_set *set);

#endif
