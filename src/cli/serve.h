/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab serve` shows of live programs.
 */
#ifndef ROCELAB_CLI_SERVE_H
#define ROCELAB_CLI_SERVE_H

#include <stdio.h>

#include "live/counters.h"

/* In Prometheus' text format: the catalogue's names (observe/catalogue.h), then what only live adapters have. */
void serve_programs_prometheus(const struct live_counter_set *set, unsigned count, FILE *out);

/* counters.c: the document of `rocelab counters --json`. */
void counters_document(const struct live_counter_set *set, unsigned count, FILE *out);

#endif
