/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands in a device's own words.  Private to the verb diff.
 */
#ifndef ROCELAB_CLI_DIFF_MEND_H
#define ROCELAB_CLI_DIFF_MEND_H

#include "cli/plan/diff_print.h"
#include "config/fix.h"

/* Commands that do away with all drifts of a device and bring no other, as far as reading their outcome back can tell.
 * 0; -ENOENT: this text cannot be mended so; -EINVAL after fix_refuse(): a drift for which no statement was found. */
int diff_mend(const struct diff_list *list, const char *device, const char *path, const struct fix *fix);

#endif
