/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches in the engine: the node's calls inlined into a visit, for each form of a switch (sw_form()).
 *
 * What the simulator adds: faults, and a log of who paused whom.
 */
#include "engine/visit.h"
#include "node/switch_inline.h"
#include "sim/sim_int.h"

static void switch_settle(struct worker *worker, struct node *node, ps_t now)
{
    struct sim_switch *sw = node->machine;
    const struct node_io *io = &worker->io;

    for (uint32_t i = 0; i < io->controls; i++)
        pauses_note(sw, &io->control[i], now);
    node_settle(worker, node, faults_next(&sw->faults), now);
}

void sim_switch_wake(struct sim_switch *sw, struct node *node, ps_t now)
{
    ps_t faults = faults_next(&sw->faults);

    node_deadline(node, sw->node.deadline < faults ? sw->node.deadline : faults, now);
}

static void switch_before_tick(struct worker *worker, struct node *node, ps_t now)
{
    struct sim_switch *sw = node->machine;

    if (faults_next(&sw->faults) <= now) faults_run(&sw->faults, worker, node, now);
}

void sim_switch_link(struct worker *worker, struct node *node, uint16_t port, bool up, ps_t now)
{
    struct sim_switch *sw = node->machine;

    if (!up) node_line_reset(worker, node, port, now);
    node_port_down(node, port, !up);
    node_switch_link(&sw->node, port, up, now, &worker->io);
    pauses_forget(sw, port, now);
    switch_settle(worker, node, now);
}

#define SWITCH_CALLS(rx_, tx_, ...)                                                                                    \
    {                                                                                                                  \
        .node = {.rx = (rx_),                                                                                          \
                 .tx = (tx_),                                                                                          \
                 .more = node_switch_more,                                                                             \
                 .control = node_switch_control,                                                                       \
                 .tick = node_switch_tick},                                                                            \
        .before_tick = switch_before_tick, .settle = switch_settle, __VA_ARGS__                                        \
    }

void sim_visit_switch_simple(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = SWITCH_CALLS(node_switch_rx_simple, node_switch_tx_simple, );

    node_visit(worker, node, end, &calls);
}

void sim_visit_switch_forwards(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = SWITCH_CALLS(node_switch_rx_forwards, node_switch_tx, );

    node_visit(worker, node, end, &calls);
}

void sim_visit_switch_credits(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = SWITCH_CALLS(node_switch_rx_credits, node_switch_tx_credits, .cuts = true);

    node_visit(worker, node, end, &calls);
}

void sim_visit_switch_whole(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = SWITCH_CALLS(node_switch_rx, node_switch_tx, .multiplies = true);

    node_visit(worker, node, end, &calls);
}
