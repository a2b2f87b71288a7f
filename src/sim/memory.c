/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a run fits: counted before memory is taken, refused with the number.
 *
 * Two numbers.  What a run needs for certain (the fabric, its jobs, the machines, links in flight, the results) is
 * compared with the limit.  What it takes when every buffer is full is said besides: a descriptor a packet, as many
 * packets as the switches' buffers hold or the jobs ever send, whichever is less, and what may wait for the hosts'
 * software.  Few runs come near it (congestion
 * control is there so that they do not), so it refuses nothing.
 */
#include <errno.h>

#include "base/units.h"
#include "base/wide.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "packet/telemetry.h"
#include "sim/sim_int.h"

#define PORT_ENGINE_BYTES 512 /* port, wire, tree, rest, and a block on its wire */
#define FRAME_EXTRA_BYTES 58  /* of a data packet over its payload */

static uint64_t clamp(u128 value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

int sim_check_jobs(const struct sim *sim, struct fabric_errors *errors)
{
    const struct fabric *fabric = sim->fabric;
    uint32_t largest = 0;
    uint64_t bytes = workload_estimate_bytes(fabric, &largest);
    char need[UNIT_TEXT], have[UNIT_TEXT];

    if (sim->options.memory_max_bytes == 0 || bytes <= sim->options.memory_max_bytes) return 0;
    unit_format_short(UNIT_SIZE, bytes, 3, need);
    unit_format_short(UNIT_SIZE, sim->options.memory_max_bytes, 3, have);
    fabric_errors_add(errors, fabric->job[largest].where,
                      "the run needs about %s of memory for its jobs, most of it for '%s'; %s may be used", need,
                      fabric->job[largest].name, have);
    return -ENOMEM;
}

/* Packets that can be under way at once; about. */
static uint64_t packets_most(const struct sim *sim)
{
    const struct fabric *fabric = sim->fabric;
    uint64_t mtu = UINT64_MAX, most = sim->options.packets_max ? sim->options.packets_max : SIM_PACKETS_MAX;
    u128 held = 0, sent = 0;

    for (uint32_t i = 0; i < fabric->nics; i++)
        if (fabric->nic[i].mtu_bytes < mtu) mtu = fabric->nic[i].mtu_bytes;
    for (uint32_t i = 0; i < fabric->switches; i++)
        held += fabric->sw[i].buffer_bytes / (mtu + FRAME_EXTRA_BYTES);
    for (uint32_t i = 0; i < workload_instances(sim->workload); i++) {
        const struct workload_instance *instance = workload_instance(sim->workload, i);
        if (instance->repetition) continue; /* after the one before */
        sent += (u128)(instance->bytes / mtu) * (instance->coll != WORKLOAD_NONE ? instance->ranks : 1) +
                instance->transfers;
    }
    if (held > sent) held = sent;
    return held < most ? (uint64_t)held : most;
}

int sim_check_memory(struct sim *sim, size_t machines, struct fabric_errors *errors)
{
    const struct fabric *fabric = sim->fabric;
    uint64_t flying = 0, each = sizeof(struct pkt) + sizeof(pkt_t);
    char need[UNIT_TEXT], full[UNIT_TEXT], have[UNIT_TEXT];

    for (uint32_t i = 0; i < fabric->ports; i++)
        flying +=
            rate_bytes_in(fabric->port[i].rate_bps, fabric->port[i].propagation_ps + 2 * sim->sync_latency) / 1024 + 2;
    u128 total =
        (u128)machines +
        (u128)fabric->ports * (2 * PORT_ENGINE_BYTES + sizeof(struct sim_port) + sizeof(struct sw_port_counters)) +
        (u128)flying * (64 + 16) + fabric_memory_bytes(fabric) + workload_memory_bytes(sim->workload) +
        (u128)workload_transfers(sim->workload) * sizeof(struct sim_flow) +
        (u128)workload_instances(sim->workload) * sizeof(struct sim_job);
    if (sim->plant.needs.telemetry) each += sizeof(struct pkt_int);
    sim->memory_most_bytes = clamp(total + (u128)packets_most(sim) * each + software_most_bytes(sim));
    if (sim->options.memory_max_bytes == 0 || total <= sim->options.memory_max_bytes) return 0;
    unit_format_short(UNIT_SIZE, clamp(total), 3, need);
    unit_format_short(UNIT_SIZE, sim->memory_most_bytes, 3, full);
    unit_format_short(UNIT_SIZE, sim->options.memory_max_bytes, 3, have);
    fabric_errors_add(errors, (struct fabric_at){0},
                      "the run needs about %s of memory (%s with every buffer full), %s may be used", need, full, have);
    return -ENOMEM;
}

uint64_t sim_memory_most_bytes(const struct sim *sim)
{
    return sim->memory_most_bytes;
}
