/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host as a node, all that needs no speed: adapters, and the application between them.  A template, as host_fast.h
 * is, which comes first; HOST_SCOPE is `static`, or nothing where others link to it.
 *
 * What one adapter completes may make the application post on another, and fail there at once; so completions are
 * drained over all adapters until there are none.
 */
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

HOST_SCOPE void HOST(deadline)(struct node_host *self, struct node_io *io)
{
    ps_t at = earliest(self);

    if (at == self->deadline) return;
    self->deadline = at;
    node_io_deadline(io, at);
}

HOST_SCOPE void HOST(wake)(struct node_host *self)
{
    self->app_at = self->app->next(self->app_state, self->number);
    self->deadline = earliest(self);
}

static void post_one(struct node_host *self, const struct app_post *post, ps_t now, struct node_io *io)
{
    const struct node_connection *connection = &self->connection[post->connection];
    struct node_adapter *adapter = &self->adapter[connection->adapter];

    ENDPOINT(post)(adapter, connection, post, now, io);
    (void)ENDPOINT(kicked)(io);
    adapter->deadline = ENDPOINT(deadline)(adapter);
    HOST(ask)(self, connection->adapter, io);
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

static void note_failure(struct node_host *self, const struct endpoint_completion *done, ps_t now)
{
    self->failed++;
    if (done->receive || self->failure.at != PS_NEVER) return;
    self->failure =
        (struct node_failure){.at = now,
                              .connection = done->connection,
                              .retries = done->retries,
                              .acked_bytes = ENDPOINT(acked_bytes)(&self->connection[done->connection].from)};
}

/* One adapter's completions, to the application. */
static void drain_adapter(struct node_host *self, struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    struct endpoint_completion done;

    while (ENDPOINT(completion)(adapter, &done)) {
        if (!done.good) note_failure(self, &done, now);
        if (done.receive) {
            if (!done.good) continue;
            ENDPOINT(take)(adapter, &self->connection[done.connection], done.connection, now, io);
            self->app->received(self->app_state, self->number, done.connection, done.word, now, &io->app);
        } else {
            self->app->sent(self->app_state, self->number, done.connection, done.word, done.good, now, &io->app);
        }
        post_all(self, now, io);
    }
    ENDPOINT(drained)(adapter);
    adapter->deadline = ENDPOINT(deadline)(adapter);
}

static void drain_all(struct node_host *self, ps_t now, struct node_io *io)
{
    while (ENDPOINT(completed)(io))
        for (uint32_t i = 0; i < self->adapters; i++)
            if (ENDPOINT(waits)(&self->adapter[i])) drain_adapter(self, &self->adapter[i], now, io);
    (void)ENDPOINT(kicked)(io); /* whoever posted asked the port already */
    self->app_at = self->app->next(self->app_state, self->number);
}

static void send_word(struct node_io *io, uint32_t port)
{
    uint32_t word;

    while (ENDPOINT(wants_word)(io, &word)) {
        CHECK(io->controls < NODE_CONTROLS_MAX);
        io->control[io->controls++] = (struct node_control){.word = word, .port = (uint16_t)port, .cause = SW_NO_CAUSE};
        io->answers |= NODE_CONTROLS;
    }
}

static void answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io)
{
    send_word(io, port);
    if (ENDPOINT(answered)(io)) drain_all(self, now, io);
}

HOST_SCOPE __attribute__((noinline)) void HOST(answers)(struct node_host *self, uint32_t port, ps_t now,
                                                        struct node_io *io)
{
    answers(self, port, now, io);
    asked_forget(self, io);
    HOST(deadline)(self, io);
}

HOST_SCOPE void HOST(control)(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    struct node_host *self = node;

    ENDPOINT(gate)(&self->adapter[port], word, now, io);
    if (ENDPOINT(kicked)(io)) HOST(ask)(self, port, io);
    HOST(after)(self, port, now, io);
    asked_forget(self, io);
}

HOST_SCOPE void HOST(tick)(void *node, ps_t now, struct node_io *io)
{
    struct node_host *self = node;
    bool full = false; /* no room for another adapter's words: the rest has its turn in another tick, at once */

    for (uint32_t i = 0; i < self->adapters; i++) {
        if (self->adapter[i].deadline > now) continue;
        full = io->controls > NODE_CONTROLS_MAX - SW_PRIOS;
        if (full) break;
        ENDPOINT(tick)(&self->adapter[i], now, io);
        if (ENDPOINT(kicked)(io)) HOST(ask)(self, i, io);
        self->adapter[i].deadline = ENDPOINT(deadline_of)(io);
        answers(self, i, now, io);
    }
    if (!full && self->app_at <= now) {
        io->app.posts = 0;
        self->app->timer(self->app_state, self->number, now, &io->app);
        post_all(self, now, io);
        drain_all(self, now, io);
    }
    asked_forget(self, io);
    self->deadline = earliest(self);
    node_io_deadline(io, self->deadline);
}

HOST_SCOPE void HOST(link)(void *node, uint32_t port, bool up, ps_t now, struct node_io *io)
{
    struct node_host *self = node;

    ENDPOINT(link)(&self->adapter[port], up, now, io);
    send_word(io, port);
    (void)ENDPOINT(kicked)(io); /* the driver asks when there is a link */
    self->adapter[port].deadline = ENDPOINT(deadline_of)(io);
    HOST(deadline)(self, io);
}

HOST_SCOPE void HOST(receive_rate)(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io)
{
    ENDPOINT(receive_rate)(&self->adapter[port], bps, now, io);
    send_word(io, port);
    self->adapter[port].deadline = ENDPOINT(deadline_of)(io);
    HOST(deadline)(self, io);
}

HOST_SCOPE void HOST(observe)(void *node, uint32_t port, ps_t now, struct node_view *ret)
{
    ENDPOINT(observe)(&((struct node_host *)node)->adapter[port], now, ret);
}

HOST_SCOPE const struct node_ops HOST(ops) = {
    .rx = HOST(rx),
    .tx = HOST(tx),
    .more = HOST(more),
    .control = HOST(control),
    .tick = HOST(tick),
    .link = HOST(link),
    .observe = HOST(observe),
};
