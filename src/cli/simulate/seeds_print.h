/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several seeds say of one point, for programs: the same members and columns in `sweep` and `sim`.
 */
#ifndef ROCELAB_CLI_SEEDS_PRINT_H
#define ROCELAB_CLI_SEEDS_PRINT_H

#include "cli/measures.h"
#include "study/row.h"
#include "study/summary.h"

/* "" where every run ended well; else how many did. */
#define SEEDS_NOTE 64
const char *seeds_note(const struct row_summary *summary, char buf[SEEDS_NOTE]);

/* Members of the open object: means and intervals, jobs, and `runs` with each seed's own values. */
void seeds_json(struct jout *jout, const struct row *row, const struct row_summary *summary);
/* A run's own members: state, failed, every measure. */
void row_json(struct jout *jout, const struct row *row);
void row_jobs_json(struct jout *jout, const struct row *row); /* its jobs, as a member */
/* Under a table: of which training jobs only a slice was run, once for all rows of which it is so. */
void rows_slices(FILE *out, const struct row *row, uint32_t rows);
/* state, every measure, failed, error, slice: as fields, the first without a comma before it. */
void row_csv_head(FILE *out);
void row_csv(FILE *out, const struct row *row);
void seeds_csv_head(FILE *out); /* seeds, ended, state, KEY, KEY_ci95 ..., failed, error, slice */
void seeds_csv(FILE *out, const struct row *row, const struct row_summary *summary);

#endif
