/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host as a node: adapters, and the application between them.
 *
 * What one adapter completes may make the application post on another, and fail there at once; so completions are
 * drained over all adapters until there are none.
 */
#include "node/host.h"

#include "base/check.h"
#include "node/host_inline.h"

/* The kicks of this call are the driver's to see to. */
static void asked_forget(struct node_host *self, const struct node_io *io)
{
    for (uint32_t i = 0; i < io->kicks; i++)
        self->adapter[io->kick[i]].asked = false;
}

static ps_t earliest(const struct node_host *self)
{
    ps_t at = self->app_at;

    for (uint32_t i = 0; i < self->adapters; i++)
        if (self->adapter[i].deadline < at) at = self->adapter[i].deadline;
    return at;
}

void node_host_deadline(struct node_host *self, struct node_io *io)
{
    ps_t at = earliest(self);

    if (at == self->deadline) return;
    self->deadline = at;
    node_io_deadline(io, at);
}

void node_host_wake(struct node_host *self)
{
    self->app_at = self->app->next(self->app_state, self->number);
    self->deadline = earliest(self);
}

static void post_one(struct node_host *self, const struct app_post *post, ps_t now, struct node_io *io)
{
    const struct node_connection *connection = &self->connection[post->connection];
    struct node_adapter *adapter = &self->adapter[connection->adapter];
    struct nic_wr wr = {.wr_id = (uint64_t)post->connection << 32 | post->tag,
                        .length = post->bytes,
                        .imm = post->imm,
                        .verb = connection->notifies ? NIC_WRITE_IMM : NIC_WRITE,
                        .flags = NIC_SIGNALED};

    io->nic.kick = false;
    CHECK(nic_post_send(adapter->nic, connection->qp, &wr, now, &io->nic) == 0);
    adapter->deadline = nic_deadline(adapter->nic);
    node_host_ask(self, connection->adapter, io);
}

/* Posts what the application answered, until it has nothing more. */
static void post_all(struct node_host *self, ps_t now, struct node_io *io)
{
    struct app_out *out = &io->app;

    for (;;) {
        for (uint32_t i = 0; i < out->posts; i++)
            post_one(self, &out->post[i], now, io);
        out->posts = 0;
        if (!out->more) return;
        out->more = false;
        self->app->timer(self->app_state, self->number, now, out);
    }
}

static void note_failure(struct node_host *self, const struct nic_cqe *cqe, uint32_t connection, ps_t now)
{
    self->failed++;
    if (cqe->receive || self->failure.at != PS_NEVER) return;
    self->failure = (struct node_failure){.at = now,
                                          .connection = connection,
                                          .retries = cqe->status == NIC_RETRY_EXC_ERR,
                                          .acked_bytes = nic_qp_acked_bytes(self->connection[connection].qp)};
}

/* One adapter's completions, to the application.  Receives are posted again: the peer never finds none. */
static void drain_adapter(struct node_host *self, struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    const struct nic_cqe *cqe;

    while ((cqe = nic_cq_poll(&adapter->cq)) != NULL) {
        uint32_t connection = (uint32_t)(cqe->wr_id >> 32);
        bool good = cqe->status == NIC_SUCCESS;
        if (!good) note_failure(self, cqe, connection, now);
        if (cqe->receive) {
            struct nic_recv recv = {.wr_id = cqe->wr_id};
            if (!good) continue;
            CHECK(nic_post_recv(adapter->nic, self->connection[connection].peer_qp, &recv, now, &io->nic) == 0);
            self->app->received(self->app_state, self->number, connection, cqe->imm, now, &io->app);
        } else {
            self->app->sent(self->app_state, self->number, connection, (uint32_t)cqe->wr_id, good, now, &io->app);
        }
        post_all(self, now, io);
    }
    CHECK(!adapter->cq.overrun);
    adapter->cq.head = adapter->cq.tail = 0; /* empty: its first line serves again, and stays near */
    adapter->deadline = nic_deadline(adapter->nic);
}

static void drain_all(struct node_host *self, ps_t now, struct node_io *io)
{
    while (io->nic.completed) {
        io->nic.completed = false;
        for (uint32_t i = 0; i < self->adapters; i++)
            if (self->adapter[i].cq.head != self->adapter[i].cq.tail) drain_adapter(self, &self->adapter[i], now, io);
    }
    io->nic.kick = false; /* whoever posted asked the port already */
    self->app_at = self->app->next(self->app_state, self->number);
}

static void send_pause(struct node_io *io, uint32_t port)
{
    if (io->nic.pauses) {
        io->control[io->controls++] =
            (struct node_control){.word = control_pause(io->nic.pause_enable, io->nic.pause_quanta),
                                  .port = (uint16_t)port,
                                  .cause = SW_NO_CAUSE};
        io->answers |= NODE_CONTROLS;
    }
    io->nic.pauses = 0;
}

static void answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io)
{
    send_pause(io, port);
    if (io->nic.completed) drain_all(self, now, io);
}

__attribute__((noinline)) void node_host_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io)
{
    answers(self, port, now, io);
    asked_forget(self, io);
    node_host_deadline(self, io);
}

void node_host_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    struct node_host *self = node;
    uint16_t quanta[NIC_PRIOS];

    for (int i = 0; i < NIC_PRIOS; i++)
        quanta[i] = control_quanta(word);
    nic_pause(self->adapter[port].nic, control_enable(word), quanta, now, &io->nic);
    if (io->nic.kick) node_host_ask(self, port, io);
    io->nic.kick = false;
    node_host_after(self, port, now, io);
    asked_forget(self, io);
}

void node_host_tick(void *node, ps_t now, struct node_io *io)
{
    struct node_host *self = node;

    for (uint32_t i = 0; i < self->adapters; i++) {
        if (self->adapter[i].deadline > now) continue;
        nic_tick(self->adapter[i].nic, now, &io->nic);
        if (io->nic.kick) node_host_ask(self, i, io);
        io->nic.kick = false;
        self->adapter[i].deadline = io->nic.deadline;
        answers(self, i, now, io);
    }
    if (self->app_at <= now) {
        io->app.posts = 0;
        self->app->timer(self->app_state, self->number, now, &io->app);
        post_all(self, now, io);
        drain_all(self, now, io);
    }
    asked_forget(self, io);
    self->deadline = earliest(self);
    node_io_deadline(io, self->deadline);
}

void node_host_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io)
{
    struct node_host *self = node;

    nic_link_changed(self->adapter[port].nic, up, now, &io->nic);
    io->nic.kick = false; /* the driver asks when there is a link */
    self->adapter[port].deadline = io->nic.deadline;
    node_host_deadline(self, io);
}

void node_host_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io)
{
    nic_receive_rate(self->adapter[port].nic, bps, now, &io->nic);
    send_pause(io, port);
    self->adapter[port].deadline = io->nic.deadline;
    node_host_deadline(self, io);
}

void node_host_observe(void *node, uint32_t port, ps_t now, struct node_view *ret)
{
    struct nic *nic = ((struct node_host *)node)->adapter[port].nic;

    nic_settle(nic, now);
    *ret = (struct node_view){.paused = nic_paused(nic)};
    for (int p = 0; p < NIC_PRIOS; p++)
        ret->paused_ps += nic_counters(nic)->prio[p].rx_pause_ps;
}

const struct node_ops node_host_ops = {
    .rx = node_host_rx,
    .tx = node_host_tx,
    .more = node_host_more,
    .control = node_host_control,
    .tick = node_host_tick,
    .link = node_host_link,
    .observe = node_host_observe,
};
