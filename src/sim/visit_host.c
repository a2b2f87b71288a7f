/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts with RoCE in the engine: the node's calls inlined into a visit.  Beside it what happens to any host outside its
 * visits: faults of links, and being woken.
 */
#include "sim/visit_host.h"

#include "node/host_inline.h"
#include "packet/opcode.h"

void sim_host_wake(struct sim_host *host, struct node *node, ps_t now)
{
    ps_t faults = faults_next(&host->faults);

    node_host_wake(&host->node);
    node_deadline(node, host->node.deadline < faults ? host->node.deadline : faults, now);
}

void sim_host_link(struct worker *worker, struct node *node, uint16_t port, bool up, ps_t now)
{
    struct sim_host *host = node->machine;

    if (!up) node_line_reset(worker, node, port, now);
    node_port_down(node, port, !up);
    host->sim->endpoint->link(&host->node, port, up, now, &worker->io);
    if (host->sim->options.programs) {
        host->sim->options.programs->link(host->sim->options.programs->owner, host->node.number, port, up, now);
        node_host_wake(&host->node);
    }
    host_settle(worker, node, now);
}

void sim_host_receive_rate(struct worker *worker, struct node *node, uint16_t port, uint64_t bps, ps_t now)
{
    struct sim_host *host = node->machine;

    host->sim->endpoint->receive_rate(&host->node, port, bps, now, &worker->io);
    host_settle(worker, node, now);
}

/* In a large fabric a queue pair is in far memory whenever it is looked at.  Here what a visit needs is fetched at
 * once, instead of one after the other. */
static inline void host_expect(struct worker *worker, struct node *node, const struct event *event, uint32_t count)
{
    const struct sim_host *host = node->machine;

    for (uint32_t i = 0; i < count; i++) {
        if (event_kind(event[i].key) != EVENT_ARRIVAL) continue;
        const struct pkt *p = &worker->pool.hot[event[i].what];
        nic_expect(host->node.adapter[event_port(event[i].key)].nic, p);
        if (p->opcode != OPCODE_RC_WRITE_ONLY_IMM) continue;
        uint32_t connection = workload_expect(host->sim->workload, p->imm);
        if (connection != WORKLOAD_NONE) nic_expect_post(host->sim->connection[connection].from.handle);
    }
}

void sim_visit_host(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = {.node = {.rx = node_host_rx,
                                                      .tx = node_host_tx,
                                                      .more = host_more,
                                                      .control = node_host_control,
                                                      .tick = node_host_tick},
                                             .before_tick = host_before_tick,
                                             .settle = host_settle,
                                             .expect = host_expect};

    node_visit(worker, node, end, &calls);
}
