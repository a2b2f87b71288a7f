/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters that no reader knows and whose names speak of faults.  Private to src/evidence/read.
 */
#ifndef ROCELAB_EVIDENCE_READ_SUSPECT_H
#define ROCELAB_EVIDENCE_READ_SUSPECT_H

#include "evidence/read/reader.h"

/* A line that the reader of this kind took, just now. */
void suspect_line(struct reading *in, const char *kind, const char *line);
/* A number that nobody keeps, and what it is called. */
void suspect_number(struct reading *in, uint64_t number, const char *label, size_t length);

#endif
