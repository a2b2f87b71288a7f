/* SPDX-License-Identifier: Apache-2.0 */
/* Bus bandwidth over bandwidth, as nccl-tests counts it: what a collective needs of the slowest line. */
#ifndef ROCELAB_FABRIC_BUS_FACTOR_H
#define ROCELAB_FABRIC_BUS_FACTOR_H

#include "fabric/work.h"

/* As a fraction; there is at least one rank. */
static inline void fabric_bus_factor(enum fabric_job_kind kind, uint64_t ranks, uint64_t *ret_num, uint64_t *ret_den)
{
    *ret_num = *ret_den = 1;
    switch (kind) {
    case FABRIC_JOB_ALLREDUCE:
        *ret_num = 2 * (ranks - 1);
        *ret_den = ranks;
        break;
    case FABRIC_JOB_GATHER: /* what goes into the root */
        *ret_num = ranks - 1;
        break;
    case FABRIC_JOB_REDUCESCATTER:
    case FABRIC_JOB_ALLGATHER:
    case FABRIC_JOB_ALL_TO_ALL:
    case FABRIC_JOB_ALLTOALL:
        *ret_num = ranks - 1;
        *ret_den = ranks;
        break;
    default:
        break;
    }
}

#endif
