/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts with TCP in the engine: the node's calls inlined into a visit.
 */
#include "node/host_tcp.h"
#include "sim/visit_host.h"

static inline void host_expect(struct worker *worker, struct node *node, const struct event *event, uint32_t count)
{
    const struct sim_host *host = node->machine;

    for (uint32_t i = 0; i < count; i++)
        if (event_kind(event[i].key) == EVENT_ARRIVAL)
            tcp_expect(host->node.adapter[event_port(event[i].key)].endpoint, &worker->pool.hot[event[i].what]);
}

void sim_visit_tcp(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = {.node = {.rx = node_tcp_rx,
                                                      .tx = node_tcp_tx,
                                                      .more = host_more,
                                                      .control = node_tcp_control,
                                                      .tick = node_tcp_tick},
                                             .before_tick = host_before_tick,
                                             .settle = host_settle,
                                             .expect = host_expect};

    node_visit(worker, node, end, &calls);
}
