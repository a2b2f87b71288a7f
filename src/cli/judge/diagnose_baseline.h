/* SPDX-License-Identifier: Apache-2.0 */
/* --baseline and --write-baseline of `rocelab diagnose` and `rocelab validate`: a baseline as a file. */
#ifndef ROCELAB_CLI_DIAGNOSE_BASELINE_H
#define ROCELAB_CLI_DIAGNOSE_BASELINE_H

#include "diagnose/baseline.h"

/* Reads a baseline; memory is the arena's.  NULL after a message. */
const struct diagnose_baseline *diagnose_baseline_read(struct arena *arena, const char *path,
                                                       const struct fabric *fabric);
/* Writes a baseline, the whole file or none of it.  False after a message. */
bool diagnose_baseline_save(const struct diagnose_baseline *baseline, const char *path);
/* Writes what the evidence says of its jobs, the whole file or none of it.  False after a message. */
bool diagnose_baseline_write(const struct diagnose *diagnose, const char *path);

#endif
