/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which algorithm and protocol NCCL would take for a collective of a size: its cost model, in whole numbers.
 */
#ifndef ROCELAB_WORKLOAD_COLLECTIVE_TUNER_H
#define ROCELAB_WORKLOAD_COLLECTIVE_TUNER_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/work.h"

struct fabric;

struct tuner_group { /* a communicator as the cost model sees it */
    uint32_t ranks;
    uint32_t hosts;         /* NVLink domains */
    uint32_t least_in_host; /* ranks in the host that has fewest */
    uint64_t gpu_bps;       /* between GPUs of a host, each way */
    uint64_t nic_bps;       /* of the adapters of a host that ranks are next to, together; of the poorest host */
};

struct tuner_choice {
    uint8_t algorithm, protocol; /* enum fabric_algorithm, fabric_protocol; neither is AUTO */
    uint64_t time_ns;            /* the model's estimate, which only serves the choice; 0: the model has none */
};

/* Whether GPUs are Hopper's or later, which is told by the rate between them. */
bool tuner_hopper(uint64_t gpu_bps);
/* `rank` are GPUs.  False: no memory. */
bool tuner_group_of(const struct fabric *fabric, const uint32_t *rank, uint32_t ranks, struct tuner_group *ret);
/* The best of what applies; what is not AUTO stays as it is asked for. */
void tuner_choose(const struct tuner_group *group, enum fabric_job_kind kind, enum fabric_algorithm algorithm,
                  enum fabric_protocol protocol, uint64_t bytes, struct tuner_choice *ret);
/* The model's time of one combination; UINT64_MAX: NCCL does not run it so. */
uint64_t tuner_time_ns(const struct tuner_group *group, enum fabric_job_kind kind, enum fabric_algorithm algorithm,
                       enum fabric_protocol protocol, uint64_t bytes);
/* What the model has for a hop between hosts, network included; protocol: not AUTO. */
uint64_t tuner_hop_ns(bool tree, enum fabric_protocol protocol);

#endif
