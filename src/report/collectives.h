/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of a run as rows of nccl-tests: one for each size of each job, the mean over its repetitions.
 */
#ifndef ROCELAB_REPORT_COLLECTIVES_H
#define ROCELAB_REPORT_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/wide.h"
#include "fabric/work.h"
#include "sim/sim_result.h"

struct collective_row { /* repetitions of one size of one job */
    const struct sim_job *first;
    uint32_t runs, ended;
    u128 time_ps; /* of those that ended, together */
};

/* False: there are no more.  *at is 0 at first. */
bool collective_next(const struct sim_result *result, uint32_t *at, struct collective_row *ret);
uint64_t collective_count(const struct fabric_job *job, const struct collective_row *row); /* elements of four bytes */
uint64_t collective_mean_ps(const struct collective_row *row);                             /* 0: none has ended */
uint64_t collective_kBps(const struct collective_row *row, bool bus);                      /* likewise */
bool collective_reduces(enum fabric_job_kind kind);

#endif
