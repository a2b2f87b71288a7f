/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts in the engine, what is the same for every transport: faults, and the deadline after a visit.
 *
 * A file that has the host's calls inlined (node/host_calls.h) includes this, and makes its visit function of both with
 * engine/visit.h: visit_host.c is RoCE's.
 */
#ifndef ROCELAB_SIM_VISIT_HOST_H
#define ROCELAB_SIM_VISIT_HOST_H

#include "engine/visit.h"
#include "sim/sim_int.h"

static void host_settle(struct worker *worker, struct node *node, ps_t now)
{
    const struct sim_host *host = node->machine;

    node_settle(worker, node, faults_next(&host->faults), now);
}

static void host_before_tick(struct worker *worker, struct node *node, ps_t now)
{
    struct sim_host *host = node->machine;

    if (faults_next(&host->faults) <= now) faults_run(&host->faults, worker, node, now);
}

#endif
