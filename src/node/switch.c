/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch as a node: the driver's calls become calls of src/switch, its answers the node's.
 *
 * Decides nothing: everything that a switch decides is in src/switch.
 */
#include "node/switch.h"

#include "node/switch_inline.h"

void node_switch_init(struct node_switch *self, struct sw *sw, const struct sw_config *config)
{
    *self = (struct node_switch){.sw = sw, .config = config, .deadline = PS_NEVER};
}

__attribute__((noinline)) void node_switch_answers(struct node_switch *self, struct node_io *io)
{
    for (uint32_t i = 0; i < io->sw.pauses; i++) {
        const struct sw_pause_out *pause = &io->sw.pause[i];
        uint32_t word = control_pause(pause->enable, pause->quanta);
        if (self->config->port[pause->port]->pause_all) word |= CONTROL_PAUSE_ALL;
        if (pause->credit) word = pause->credit;
        CHECK(io->controls < NODE_CONTROLS_MAX);
        io->control[io->controls++] = (struct node_control){
            .word = word, .port = pause->port, .cause = pause->cause, .passed_on = pause->passed_on};
        io->answers |= NODE_CONTROLS;
    }
    for (uint32_t i = 0; i < io->sw.kicks; i++)
        node_io_kick(io, io->sw.kick[i]);
    io->sw.pauses = io->sw.kicks = 0;
    if (io->sw.deadline == self->deadline) return;
    self->deadline = io->sw.deadline;
    node_io_deadline(io, self->deadline);
}

void node_switch_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    struct node_switch *self = node;
    uint16_t quanta[SW_PRIOS];

    for (int i = 0; i < SW_PRIOS; i++)
        quanta[i] = control_quanta(word);
    if (word & CREDIT_WORD)
        sw_credit(self->sw, (uint16_t)port, word, now, &io->sw);
    else
        sw_pause(self->sw, (uint16_t)port, control_enable(word), quanta, now, &io->sw);
    node_switch_answers(self, io);
}

void node_switch_tick(void *node, ps_t now, struct node_io *io)
{
    struct node_switch *self = node;

    if (self->deadline <= now) {
        sw_tick(self->sw, now, &io->sw);
        node_switch_answers(self, io);
    }
    node_io_deadline(io, self->deadline);
}

void node_switch_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io)
{
    struct node_switch *self = node;

    sw_port_state(self->sw, (uint16_t)port, up, now, &io->sw);
    node_switch_answers(self, io);
}

void node_switch_observe(void *node, uint32_t port, ps_t now, struct node_view *ret)
{
    struct sw *sw = ((struct node_switch *)node)->sw;

    sw_settle(sw, now);
    const struct sw_port_counters *counters = sw_port_counters(sw, (uint16_t)port);
    *ret = (struct node_view){.paused = sw_paused(sw, (uint16_t)port)};
    for (uint8_t q = 0; q < SW_PRIOS; q++) {
        ret->queue_bytes += sw_queue_bytes(sw, (uint16_t)port, q);
        ret->paused_ps += counters->prio[q].rx_pause_ps;
    }
}

const struct node_ops node_switch_ops = {
    .rx = node_switch_rx,
    .tx = node_switch_tx,
    .more = node_switch_more,
    .control = node_switch_control,
    .tick = node_switch_tick,
    .link = node_switch_link,
    .observe = node_switch_observe,
};
