/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that say what to change.  Private to the verb tune.
 */
#ifndef ROCELAB_CLI_TUNE_CHANGE_H
#define ROCELAB_CLI_TUNE_CHANGE_H

#include "tune/tune.h"

/* tuned.yaml in the folder; with configurations of a system also `present`, `tuned` and change.diff.  *ret_configs:
 * those were written.  False after a message. */
bool tune_change_write(const struct tune *tune, const char *folder, bool *ret_configs);

#endif
