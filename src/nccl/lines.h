/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was recorded, as lines of JSON in a file; docs/nccl.md says what stands in them.
 */
#ifndef ROCELAB_NCCL_LINES_H
#define ROCELAB_NCCL_LINES_H

#include <stdbool.h>
#include <stdio.h>

#include "nccl/recorder.h"

#define LINES_BYTES_MAX (256ull << 20) /* of a file; then it is renamed to NAME.1 and begun anew */

/* The name with %p (process id), %h (host) and %r (rank) replaced, %% for a percent sign.  False: too long. */
bool lines_name(const char *pattern, int rank, char *ret, size_t bytes);

void lines_header(FILE *out, int api, uint64_t wall_ns);
void lines_comm(FILE *out, const struct recorder_comm *comm, uint64_t wall_ns);
/* `begun_ns` is of the wall's clock, the collective's own is not. */
void lines_coll(FILE *out, const struct recorder_comm *comm, const struct recorder_coll *coll, bool done,
                uint64_t begun_ns);
void lines_total(FILE *out, const struct recorder_comm *comm, const struct recorder_totals *totals, uint64_t wall_ns);

#endif
