/* SPDX-License-Identifier: Apache-2.0 */
/* --baseline, --write-baseline and --by of `rocelab validate`. */
#ifndef ROCELAB_CLI_VALIDATE_BASELINE_H
#define ROCELAB_CLI_VALIDATE_BASELINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "validate/validate.h"

struct validate_files { /* NULL: the option was not given */
    const char *read, *write, *by;
};

/* What can be said before the fabric is read; `measured`: outputs are judged.  False after a message. */
bool validate_baseline_sensible(const struct validate_files *files, const struct validate *plan, bool measured);
/* The fabric is read: the signer may sign, the baseline is this fabric's.  False after a message. */
bool validate_baseline_load(const struct validate_files *files, struct arena *arena, struct validate *plan);
/* After the plan: written where nothing failed.  False after a message. */
bool validate_baseline_write(const struct validate_files *files, struct arena *arena, const struct validate *plan);

#endif
