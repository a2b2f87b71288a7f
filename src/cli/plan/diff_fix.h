/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab diff --fix.  Private to the verb diff.
 */
#ifndef ROCELAB_CLI_DIFF_FIX_H
#define ROCELAB_CLI_DIFF_FIX_H

#include "cli/plan/diff_print.h"

/* Commands for each device that drifted: to `out`, or a file each in the folder `into` (NULL: none).  False after a
 * message. */
bool diff_fix(const struct diff_list *list, const char *into, bool quiet, FILE *out);

#endif
