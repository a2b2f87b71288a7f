/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts with programs in the engine: the same node, made once more over RoCE with payload (programs.h).
 *
 * Adapters are called as in roce.h.  Around that the owner of the programs is told of packets that have payload, and
 * of completions; and it is an application of the host beside the jobs, so it has its turns when the node's deadline
 * comes.  Nothing is decided here.
 */
#include "engine/visit.h"
#include "node/host_inline.h"
#include "packet/opcode.h"
#include "sim/sim_int.h"

static const struct sim_programs *hooks_of(const struct sim_host *host)
{
    return host->sim->options.programs;
}

static uint32_t adapter_number(const struct sim_host *host, const struct node_adapter *adapter)
{
    return (uint32_t)(adapter - host->node.adapter);
}

/* After the owner was told something: does it want to be asked at another time?  Then the host works out its deadline
 * as after a completion. */
static void look_again(const struct sim_host *host, struct node_io *io)
{
    const struct sim_programs *hooks = hooks_of(host);

    if (hooks->next(hooks->owner, host->node.number) < host->node.app_at) io->nic.completed = true;
}

static void tell_completed(struct sim_host *host, ps_t now, struct node_io *io)
{
    const struct sim_programs *hooks = hooks_of(host);

    if (!io->nic.completed) return;
    hooks->completed(hooks->owner, host->node.number, now, io);
    look_again(host, io);
}

static struct sim_arrival arrival_of(const struct pkt *p, pkt_t id)
{
    return (struct sim_arrival){.id = id,
                                .src = p->src_node,
                                .dest_qp = p->dest_qp,
                                .psn = p->psn,
                                .rkey = p->rdma.rkey,
                                .payload_bytes = p->payload_bytes,
                                .opcode = p->opcode,
                                .tos = p->tos,
                                .ttl = p->ttl};
}

static bool of_program(const struct node_adapter *adapter, uint32_t qpn)
{
    const struct nic_qp *qp = nic_qp_find(adapter->nic, qpn);

    return qp == NULL || nic_qp_app(qp) != NULL;
}

static void programs_rx(struct node_adapter *adapter, pkt_t id, ps_t now, struct node_io *io)
{
    struct sim_host *host = adapter->owner;
    const struct sim_programs *hooks = hooks_of(host);
    struct sim_arrival packet = arrival_of(&io->nic.pool->hot[id], id);

    if (!of_program(adapter, packet.dest_qp)) {
        roce_rx(adapter, id, now, io);
        tell_completed(host, now, io);
        return;
    }
    nic_rx(adapter->nic, id, now, &io->nic);
    hooks->received(hooks->owner, host->node.number, adapter_number(host, adapter), &packet, now, io);
    while (io->nic.kept != PKT_NONE) { /* what waited for this one, each in its turn */
        packet = arrival_of(&io->nic.pool->hot[io->nic.kept], io->nic.kept);
        nic_rx_kept(adapter->nic, packet.dest_qp, now, &io->nic);
        hooks->received(hooks->owner, host->node.number, adapter_number(host, adapter), &packet, now, io);
    }
    tell_completed(host, now, io);
    look_again(host, io);
}

static pkt_t programs_tx(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    struct sim_host *host = adapter->owner;
    const struct sim_programs *hooks = hooks_of(host);

    for (;;) {
        pkt_t id = roce_tx(adapter, now, io);
        uint32_t qpn = io->nic.gather.qpn;
        bool good = id == PKT_NONE || io->nic.gather.bytes == 0 || !of_program(adapter, qpn) ||
                    hooks->sends(hooks->owner, host->node.number, adapter_number(host, adapter), id, now, io);
        if (good) {
            tell_completed(host, now, io); /* UC and UD are done when sent */
            return id;
        }
        const struct pkt unsent = io->nic.pool->hot[id];
        pktpool_put(io->nic.pool, id);
        nic_gather_failed(adapter->nic, qpn, &unsent, now, &io->nic);
        tell_completed(host, now, io);
    }
}

static void programs_tick(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    roce_tick(adapter, now, io);
    tell_completed(adapter->owner, now, io);
}

static void programs_host_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io);

static const struct endpoint_calls programs_calls = {
    .post = roce_post,
    .rx = programs_rx,
    .tx = programs_tx,
    .tick = programs_tick,
    .gate = roce_gate,
    .link = roce_link,
    .receive_rate = roce_receive_rate,
    .deadline = roce_deadline,
    .waits = roce_waits,
    .completion = roce_completion,
    .take = roce_take,
    .drained = roce_drained,
    .acked_bytes = roce_acked_bytes,
    .observe = roce_observe,
    .kicked = roce_kicked,
    .completed = roce_completed,
    .wants_word = roce_wants_word,
    .answered = roce_answered,
    .deadline_of = roce_deadline_of,
    .host_answers = programs_host_answers,
};

HOST_CALL uint32_t programs_host_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                    struct node_io *io)
{
    return host_rx(&programs_calls, node, port, id, turn, now, io);
}

HOST_CALL pkt_t programs_host_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    return host_tx(&programs_calls, node, port, now, io);
}

static __attribute__((noinline)) void programs_host_answers(struct node_host *self, uint32_t port, ps_t now,
                                                            struct node_io *io)
{
    host_answers(&programs_calls, self, port, now, io);
}

static void programs_host_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    host_control(&programs_calls, node, port, word, now, io);
}

static void programs_host_tick(void *node, ps_t now, struct node_io *io)
{
    host_tick(&programs_calls, node, now, io);
}

/* --- the application: jobs, and beside them programs --- */

static ps_t app_next(const void *app, uint32_t number)
{
    const struct sim_host *host = app;
    const struct sim_programs *hooks = hooks_of(host);
    ps_t jobs = host->jobs->next(app, number), programs = hooks->next(hooks->owner, number);

    return jobs < programs ? jobs : programs;
}

/* Programs post to any adapter of the host. */
static void give_turns(struct sim_host *host, ps_t now, struct node_io *io)
{
    const struct sim_programs *hooks = hooks_of(host);

    hooks->turn(hooks->owner, host->node.number, now, io);
    bool kick = roce_kicked(io);
    for (uint32_t i = 0; i < host->node.adapters; i++) {
        struct node_adapter *adapter = &host->node.adapter[i];
        adapter->deadline = roce_deadline(adapter);
        if (kick) host_ask(&host->node, i, io);
    }
    tell_completed(host, now, io);
}

static void app_timer(void *app, uint32_t number, ps_t now, struct app_out *out)
{
    struct sim_host *host = app;
    const struct sim_programs *hooks = hooks_of(host);
    struct node_io *io = (struct node_io *)((char *)out - offsetof(struct node_io, app));

    host->jobs->timer(app, number, now, out);
    if (out->posts || out->more) { /* the jobs' posts go first; then we are asked again */
        out->more = true;
        return;
    }
    if (hooks->next(hooks->owner, number) <= now) give_turns(host, now, io);
}

static void app_sent(void *app, uint32_t number, uint32_t connection, uint32_t tag, bool good, ps_t now,
                     struct app_out *out)
{
    const struct sim_host *host = app;
    host->jobs->sent(app, number, connection, tag, good, now, out);
}

static void app_received(void *app, uint32_t number, uint32_t connection, uint32_t imm, ps_t now, struct app_out *out)
{
    const struct sim_host *host = app;
    host->jobs->received(app, number, connection, imm, now, out);
}

const struct app_ops sim_app_programs = {app_next, app_timer, app_sent, app_received};

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

void sim_visit_programs(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = {.node = {.rx = programs_host_rx,
                                                      .tx = programs_host_tx,
                                                      .more = host_more,
                                                      .control = programs_host_control,
                                                      .tick = programs_host_tick},
                                             .before_tick = before_tick,
                                             .settle = settle};

    node_visit(worker, node, end, &calls);
}
