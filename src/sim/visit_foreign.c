/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that are not ours in the engine: ports without a machine behind them (programs.h, struct sim_foreign).
 *
 * Frames that reach such a port, and pauses, are the owner's; what it has from outside is sent at the line's rate, as
 * an adapter would.  Queues, bytes and who is outside are the owner's too.  The adapters that the fabric file gives
 * the host exist and have nothing to do.
 */
#include "engine/visit.h"
#include "sim/sim_int.h"

bool sim_is_foreign(const struct sim *sim, uint32_t host)
{
    const struct sim_programs *programs = sim->options.programs;

    return programs && programs->foreign && programs->foreign->is(programs->owner, host);
}

static const struct sim_programs *hooks_of(const struct sim_host *host)
{
    return host->sim->options.programs;
}

/* The owner may want to be asked at another time: the next pause that ends, or at once. */
static void look_again(struct sim_host *host, struct node_io *io)
{
    const struct sim_programs *hooks = hooks_of(host);

    host->node.deadline = hooks->next(hooks->owner, host->node.number);
    node_io_deadline(io, host->node.deadline);
}

static uint32_t foreign_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                           struct node_io *io)
{
    struct sim_host *host = node;
    const struct sim_programs *hooks = hooks_of(host);

    (void)turn;
    hooks->foreign->received(hooks->owner, host->node.number, port, id, now, io);
    pktpool_put(io->pool, id);
    return NODE_NO_PORT;
}

static pkt_t foreign_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    struct sim_host *host = node;
    const struct sim_programs *hooks = hooks_of(host);
    pkt_t id = hooks->foreign->sends(hooks->owner, host->node.number, port, now, io);

    if (id == PKT_NONE) look_again(host, io);
    return id;
}

static bool foreign_more(const void *node, uint32_t port)
{
    const struct sim_host *host = node;
    const struct sim_programs *hooks = hooks_of(host);

    return hooks->foreign->more(hooks->owner, host->node.number, port);
}

static void foreign_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    struct sim_host *host = node;
    const struct sim_programs *hooks = hooks_of(host);

    hooks->foreign->word(hooks->owner, host->node.number, port, word, now);
    node_io_kick(io, port);
    look_again(host, io);
}

static void foreign_tick(void *node, ps_t now, struct node_io *io)
{
    struct sim_host *host = node;
    const struct sim_programs *hooks = hooks_of(host);

    if (hooks->next(hooks->owner, host->node.number) <= now) {
        hooks->turn(hooks->owner, host->node.number, now, io);
        for (uint32_t port = 0; port < host->node.adapters; port++)
            node_io_kick(io, port);
    }
    look_again(host, io);
}

static void settle(struct worker *worker, struct node *node, ps_t now)
{
    const struct sim_host *host = node->machine;

    node_settle(worker, node, faults_next(&host->faults), now);
}

static void before_tick(struct worker *worker, struct node *node, ps_t now)
{
    struct sim_host *host = node->machine;

    if (faults_next(&host->faults) <= now) faults_run(&host->faults, worker, node, now);
}

void sim_visit_foreign(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = {.node = {.rx = foreign_rx,
                                                      .tx = foreign_tx,
                                                      .more = foreign_more,
                                                      .control = foreign_control,
                                                      .tick = foreign_tick},
                                             .before_tick = before_tick,
                                             .settle = settle};

    node_visit(worker, node, end, &calls);
}
