/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from a machine's answers: words on the line, ports to ask, the next deadline.
 *
 * Words go after the frame that the same call sent, if it sent one: they follow it on the line.
 */
#include "engine/visit.h"

void node_settle(struct worker *worker, struct node *node, ps_t other, ps_t now)
{
    struct node_io *io = &worker->io;

    for (uint32_t i = 0; i < io->controls; i++)
        node_send_control(worker, node, io->control[i].port, io->control[i].word, now);
    for (uint32_t i = 0; i < io->kicks; i++)
        node_kick(node, io->kick[i], now);
    if (io->answers & NODE_DEADLINE) node_deadline(node, io->deadline < other ? io->deadline : other, now);
    io->controls = io->kicks = io->answers = 0;
}
