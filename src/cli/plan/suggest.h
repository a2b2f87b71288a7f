/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab suggest` prints.
 */
#ifndef ROCELAB_CLI_SUGGEST_H
#define ROCELAB_CLI_SUGGEST_H

#include <stdio.h>

#include "check/check.h"
#include "check/suggest.h"
#include "fabric/errors.h"

struct cli_suggested {
    const char *path;
    struct suggest suggest;
    struct check check;         /* of the file with the lines; only where `proved` is there */
    struct fabric *proved;      /* the file with the lines */
    struct fabric *between;     /* with all lines but those of marking; NULL: not needed */
    struct fabric_errors unfit; /* where `proved` is not: why the file is refused with the lines */
    uint32_t left;              /* findings about marking, pauses, headroom, watchdog and buffers that are left */
};

void cli_suggest_text(const struct cli_suggested *suggested, FILE *out);
void cli_suggest_json(const struct cli_suggested *suggested, FILE *out);
bool cli_suggest_counts(const struct check_finding *finding);

#endif
