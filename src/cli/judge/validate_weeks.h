/* SPDX-License-Identifier: Apache-2.0 */
/* What weeks of training come to, for people and for programs: --weeks of `rocelab validate`. */
#ifndef ROCELAB_CLI_VALIDATE_WEEKS_H
#define ROCELAB_CLI_VALIDATE_WEEKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "validate/validate.h"

/* Of a plan whose fabric, level, seed and cache are set.  An enum cli_exit; messages are said, or in plan->error. */
int validate_weeks(const struct validate *plan, uint32_t weeks, bool json, FILE *out);

#endif
