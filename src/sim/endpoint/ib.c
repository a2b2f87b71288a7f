/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts with InfiniBand in the engine: the node's calls inlined into a visit.  They are built and read as RoCE's
 * (roce.c).
 */
#include "node/host_ib.h"
#include "sim/sim_int.h"
#include "sim/visit_host.h"

static inline void host_expect(struct worker *worker, struct node *node, const struct event *event, uint32_t count)
{
    const struct sim_host *host = node->machine;

    for (uint32_t i = 0; i < count; i++)
        if (event_kind(event[i].key) == EVENT_ARRIVAL)
            nic_expect(host->node.adapter[event_port(event[i].key)].nic, &worker->pool.hot[event[i].what]);
}

void sim_visit_ib(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = {.node = {.rx = node_ib_rx,
                                                      .tx = node_ib_tx,
                                                      .more = host_more,
                                                      .control = node_ib_control,
                                                      .tick = node_ib_tick},
                                             .cuts = true,
                                             .before_tick = host_before_tick,
                                             .settle = host_settle,
                                             .expect = host_expect};

    node_visit(worker, node, end, &calls);
}
