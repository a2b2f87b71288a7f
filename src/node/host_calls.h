/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host as a node, over whichever endpoint (endpoint.h): adapters, and the application between them.
 *
 * Who has an endpoint wraps these with its calls, a constant: host_inline.h does for RoCE.  What one adapter completes
 * may make the application post on another, and fail there at once; so completions are drained over all adapters until
 * there are none.
 */
#ifndef ROCELAB_NODE_HOST_CALLS_H
#define ROCELAB_NODE_HOST_CALLS_H

#include "base/check.h"
#include "node/host.h"

#define HOST_CALL static inline __attribute__((always_inline))

static inline void host_ask(struct node_host *self, uint32_t port, struct node_io *io)
{
    if (self->adapter[port].asked) return;
    self->adapter[port].asked = true;
    node_io_kick(io, port);
}

/* The kicks of this call are the driver's to see to. */
static inline void host_forget_asked(struct node_host *self, const struct node_io *io)
{
    for (uint32_t i = 0; i < io->kicks; i++)
        self->adapter[io->kick[i]].asked = false;
}

static inline ps_t host_earliest(const struct node_host *self)
{
    ps_t at = self->app_at;

    for (uint32_t i = 0; i < self->adapters; i++)
        if (self->adapter[i].deadline < at) at = self->adapter[i].deadline;
    return at;
}

static inline void host_deadline(struct node_host *self, struct node_io *io)
{
    ps_t at = host_earliest(self);

    if (at == self->deadline) return;
    self->deadline = at;
    node_io_deadline(io, at);
}

/* After a call of one adapter, whose kick was seen to. */
HOST_CALL void host_after(const struct endpoint_calls *end, struct node_host *self, uint32_t port, ps_t now,
                          struct node_io *io)
{
    struct node_adapter *adapter = &self->adapter[port];

    if (end->deadline_of(io) != adapter->deadline) {
        adapter->deadline = end->deadline_of(io);
        node_host_deadline(self, io);
    }
    if (__builtin_expect(end->answered(io), 0)) end->host_answers(self, port, now, io);
}

HOST_CALL uint32_t host_rx(const struct endpoint_calls *end, void *node, uint32_t port, pkt_t id,
                           const struct node_turn *turn, ps_t now, struct node_io *io)
{
    struct node_host *self = node;

    (void)turn;
    end->rx(&self->adapter[port], id, now, io);
    bool kick = end->kicked(io);
    host_after(end, self, port, now, io);
    return kick ? port : NODE_NO_PORT;
}

HOST_CALL pkt_t host_tx(const struct endpoint_calls *end, void *node, uint32_t port, ps_t now, struct node_io *io)
{
    struct node_host *self = node;
    pkt_t id = end->tx(&self->adapter[port], now, io);

    (void)end->kicked(io); /* it is being asked */
    host_after(end, self, port, now, io);
    return id;
}

/* An adapter that sent is asked again: what it has next depends on pacing and windows. */
HOST_CALL bool host_more(const void *node, uint32_t port)
{
    (void)node;
    (void)port;
    return true;
}

static inline void host_post_one(const struct endpoint_calls *end, struct node_host *self, const struct app_post *post,
                                 ps_t now, struct node_io *io)
{
    const struct node_connection *connection = &self->connection[post->connection];
    struct node_adapter *adapter = &self->adapter[connection->adapter];

    end->post(adapter, connection, post, now, io);
    (void)end->kicked(io);
    adapter->deadline = end->deadline(adapter);
    host_ask(self, connection->adapter, io);
}

/* Posts what the application answered, until it has nothing more. */
static inline void host_post_all(const struct endpoint_calls *end, struct node_host *self, ps_t now, struct node_io *io)
{
    struct app_out *out = &io->app;

    for (;;) {
        for (uint32_t i = 0; i < out->posts; i++)
            host_post_one(end, self, &out->post[i], now, io);
        out->posts = 0;
        if (!out->more) return;
        out->more = false;
        self->app->timer(self->app_state, self->number, now, out);
    }
}

static inline void host_note_failure(const struct endpoint_calls *end, struct node_host *self,
                                     const struct endpoint_completion *done, ps_t now)
{
    self->failed++;
    if (done->receive || self->failure.at != PS_NEVER) return;
    self->failure = (struct node_failure){.at = now,
                                          .connection = done->connection,
                                          .retries = done->retries,
                                          .acked_bytes = end->acked_bytes(&self->connection[done->connection].from)};
}

/* One adapter's completions, to the application. */
static inline void host_drain_adapter(const struct endpoint_calls *end, struct node_host *self,
                                      struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    struct endpoint_completion done;

    while (end->completion(adapter, &done)) {
        if (!done.good) host_note_failure(end, self, &done, now);
        if (done.receive) {
            if (!done.good) continue;
            end->take(adapter, &self->connection[done.connection], done.connection, now, io);
            self->app->received(self->app_state, self->number, done.connection, done.word, now, &io->app);
        } else {
            self->app->sent(self->app_state, self->number, done.connection, done.word, done.good, now, &io->app);
        }
        host_post_all(end, self, now, io);
    }
    end->drained(adapter);
    adapter->deadline = end->deadline(adapter);
}

static inline void host_drain_all(const struct endpoint_calls *end, struct node_host *self, ps_t now,
                                  struct node_io *io)
{
    while (end->completed(io))
        for (uint32_t i = 0; i < self->adapters; i++)
            if (end->waits(&self->adapter[i])) host_drain_adapter(end, self, &self->adapter[i], now, io);
    (void)end->kicked(io); /* whoever posted asked the port already */
    self->app_at = self->app->next(self->app_state, self->number);
}

static inline void host_send_word(const struct endpoint_calls *end, struct node_io *io, uint32_t port)
{
    uint32_t word;

    while (end->wants_word(io, &word)) {
        CHECK(io->controls < NODE_CONTROLS_MAX);
        io->control[io->controls++] = (struct node_control){.word = word, .port = (uint16_t)port, .cause = SW_NO_CAUSE};
        io->answers |= NODE_CONTROLS;
    }
}

static inline void host_answer(const struct endpoint_calls *end, struct node_host *self, uint32_t port, ps_t now,
                               struct node_io *io)
{
    host_send_word(end, io, port);
    if (end->answered(io)) host_drain_all(end, self, now, io);
}

/* After a call of the adapter: completions, and pauses it wants to send. */
HOST_CALL void host_answers(const struct endpoint_calls *end, struct node_host *self, uint32_t port, ps_t now,
                            struct node_io *io)
{
    host_answer(end, self, port, now, io);
    host_forget_asked(self, io);
    host_deadline(self, io);
}

HOST_CALL void host_control(const struct endpoint_calls *end, void *node, uint32_t port, uint32_t word, ps_t now,
                            struct node_io *io)
{
    struct node_host *self = node;

    end->gate(&self->adapter[port], word, now, io);
    if (end->kicked(io)) host_ask(self, port, io);
    host_after(end, self, port, now, io);
    host_forget_asked(self, io);
}

HOST_CALL void host_tick(const struct endpoint_calls *end, void *node, ps_t now, struct node_io *io)
{
    struct node_host *self = node;
    bool full = false; /* no room for another adapter's words: the rest has its turn in another tick, at once */

    for (uint32_t i = 0; i < self->adapters; i++) {
        if (self->adapter[i].deadline > now) continue;
        full = io->controls > NODE_CONTROLS_MAX - SW_PRIOS;
        if (full) break;
        end->tick(&self->adapter[i], now, io);
        if (end->kicked(io)) host_ask(self, i, io);
        self->adapter[i].deadline = end->deadline_of(io);
        host_answer(end, self, i, now, io);
    }
    if (!full && self->app_at <= now) {
        io->app.posts = 0;
        self->app->timer(self->app_state, self->number, now, &io->app);
        host_post_all(end, self, now, io);
        host_drain_all(end, self, now, io);
    }
    host_forget_asked(self, io);
    self->deadline = host_earliest(self);
    node_io_deadline(io, self->deadline);
}

HOST_CALL void host_link(const struct endpoint_calls *end, void *node, uint32_t port, bool up, ps_t now,
                         struct node_io *io)
{
    struct node_host *self = node;

    end->link(&self->adapter[port], up, now, io);
    host_send_word(end, io, port);
    (void)end->kicked(io); /* the driver asks when there is a link */
    self->adapter[port].deadline = end->deadline_of(io);
    host_deadline(self, io);
}

HOST_CALL void host_receive_rate(const struct endpoint_calls *end, struct node_host *self, uint32_t port, uint64_t bps,
                                 ps_t now, struct node_io *io)
{
    end->receive_rate(&self->adapter[port], bps, now, io);
    host_send_word(end, io, port);
    self->adapter[port].deadline = end->deadline_of(io);
    host_deadline(self, io);
}

HOST_CALL void host_observe(const struct endpoint_calls *end, void *node, uint32_t port, ps_t now,
                            struct node_view *ret)
{
    end->observe(&((struct node_host *)node)->adapter[port], now, ret);
}

#endif
