/* SPDX-License-Identifier: Apache-2.0 */
/* A run's metrics as `promtool test rules` reads them.  Private to alerts.c. */
#ifndef ROCELAB_VALIDATE_PLANTS_RULES_INPUT_H
#define ROCELAB_VALIDATE_PLANTS_RULES_INPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/time.h"

#define RULES_STEP_PS (20 * PS_US)      /* between looks; a rule's least window is a minute: three of them */
#define RULES_LONGEST_PS (1600 * PS_US) /* what rules need to see it, and no more */

struct fabric;
struct series;

/* The rules, monitoring/prometheus/rocelab.rules.yml, as the program was built with them. */
extern const char alert_rules[];
extern const unsigned long alert_rules_bytes;

/* A test of rules.yml that expects that nothing fires, so that promtool says what did.  False: no memory. */
bool rules_input_write(FILE *to, const struct fabric *fabric, const struct series *series);

#endif
