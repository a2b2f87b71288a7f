/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fault whose time was after the end of a run: what it was to show was not shown.
 */
#ifndef ROCELAB_CLI_MISSED_H
#define ROCELAB_CLI_MISSED_H

#include <stdint.h>

#include "base/time.h"

/* A warning, with the place that says the fault. */
void cli_fault_missed(const char *path, uint32_t line, uint32_t column, ps_t at, const char *text, ps_t ended);

#endif
