/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A measured value, or what several seeds say of it, as text, JSON and CSV.
 */
#ifndef ROCELAB_CLI_MEASURES_H
#define ROCELAB_CLI_MEASURES_H

#include <stdint.h>
#include <stdio.h>

#include "report/json_out.h"
#include "report/text.h"
#include "study/row.h"
#include "study/summary.h"

#define MEASURE_TEXT (2 * TEXT_COUNT + 4)

/* "-" for MEASURE_NOTHING. */
const char *measure_text(uint64_t value, enum measure_kind kind, char buf[TEXT_COUNT]);
void measure_json(struct jout *jout, const char *key, uint64_t value, enum measure_kind kind);
void measure_csv(FILE *out, uint64_t value, enum measure_kind kind); /* with the comma before it */

/* "6.74ms +-0.12ms"; without an interval the mean alone. */
const char *summary_text(const struct summary *summary, enum measure_kind kind, char buf[MEASURE_TEXT]);
/* The mean, or the half width of the interval, alone. */
const char *summary_part_text(uint64_t part, enum measure_kind kind, char buf[TEXT_COUNT]);
/* Two members: KEY is the mean, KEY_ci95 half the width of the interval, null where there is none. */
void summary_json(struct jout *jout, const char *key, const struct summary *summary, enum measure_kind kind);
/* Two fields of the same. */
void summary_csv(FILE *out, const struct summary *summary, enum measure_kind kind);

/* A part as JSON and CSV have it. */
void summary_number(FILE *out, uint64_t part, enum measure_kind kind);

/* RFC 4180: in quotes where it must be. */
void csv_text(FILE *out, const char *text);

/* [enum sim_state] */
extern const char *const state_names[];

#endif
