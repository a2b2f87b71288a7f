/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is shown of a search for settings.  Private to the verb tune.
 */
#ifndef ROCELAB_CLI_TUNE_PRINT_H
#define ROCELAB_CLI_TUNE_PRINT_H

#include <stdio.h>

#include "tune/tune.h"

#define TUNE_NAME 48

void tune_print(const struct tune *tune, FILE *out);
/* Which commands take the change further; `folder` NULL: nothing was written.  configs: there are configurations. */
void tune_print_next(const struct tune *tune, const char *folder, bool configs, FILE *out);
void tune_print_list(const struct tune *tune, FILE *out);
bool tune_json(const void *tune, FILE *out); /* a cli_writer */
/* What a setting is called: "as it is", "tuned", a preset's name, "setting 12". */
const char *tune_name(const struct tune *tune, uint32_t point, char buf[TUNE_NAME]);

#endif
