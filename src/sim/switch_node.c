/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch as a node: the engine's events become calls of src/switch, its answers become transmissions.
 */
#include "packet/telemetry.h"
#include "sim/sim_int.h"
#include "sim/visit.h"
#include "switch/hot.h"

void sim_switch_schedule(struct sim_switch *sw, struct node *node, ps_t now)
{
    ps_t faults = faults_next(&sw->faults);

    node_deadline(node, sw->deadline < faults ? sw->deadline : faults, now);
}

/* Pauses to send and ports to ask again: rare, so out of line. */
static __attribute__((noinline)) void switch_answers(struct worker *worker, struct node *node, struct sim_switch *sw,
                                                     struct sw_io *io, ps_t now)
{
    for (uint32_t i = 0; i < io->pauses; i++) {
        node_send_pause(worker, node, io->pause[i].port, io->pause[i].enable, io->pause[i].quanta, now);
        pauses_note(sw, &io->pause[i], now);
    }
    for (uint32_t i = 0; i < io->kicks; i++)
        node_kick(node, io->kick[i], now);
    io->pauses = io->kicks = 0;
    sw->deadline = io->deadline;
    sim_switch_schedule(sw, node, now);
}

static inline __attribute__((always_inline)) void switch_after(struct worker *worker, struct node *node,
                                                               struct sim_switch *sw, struct sw_io *io, ps_t now)
{
    /* A packet moves the switch's deadline only together with a pause; switch_visit_end() holds it to that. */
    if (__builtin_expect((io->pauses | io->kicks) != 0, 0)) switch_answers(worker, node, sw, io, now);
}

static inline struct sw_io *switch_io(const struct worker *worker)
{
    return &((struct sim_scratch *)worker->scratch)->sw_io;
}

static inline __attribute__((always_inline)) uint32_t
switch_queue(struct worker *worker, struct node *node, const struct sw_way *way, pkt_t id, bool any, ps_t now)
{
    struct sim_switch *sw = node->machine;
    struct sw_io *io = switch_io(worker);
    bool queued = sw_way_queue_by(sw->sw, way, id, any, now, io);

    switch_after(worker, node, sw, io, now);
    if (__builtin_expect(!queued, 0)) return PORT_NONE;
    node->port[way->out].queued++;
    return way->out;
}

/* A port that is free, and whose turn comes before anything else, is sent to without a queue in between.  `any`, a
 * constant: the switch may have a balancer, or virtual output queues. */
static inline __attribute__((always_inline)) uint32_t
switch_rx_by(struct worker *worker, struct node *node, uint32_t port, pkt_t id, ps_t now, uint64_t next, bool any)
{
    struct sim_switch *sw = node->machine;
    struct sw_way way;

    if (__builtin_expect(!sw_way_find_by(sw->sw, port, id, any, now, switch_io(worker), &way), 0)) return PORT_NONE;
    struct port *out = &node->port[way.out];
    if (out->free_at <= now && event_key_near(now, EVENT_FREE, way.out) <= next && sw_way_pass(sw->sw, &way)) {
        node_send(worker, node, way.out, id, now);
        if (__builtin_expect(out->queued, 0)) node_kick(node, way.out, now);
        return PORT_NONE;
    }
    return switch_queue(worker, node, &way, id, any, now);
}

static inline __attribute__((always_inline)) uint32_t switch_rx(struct worker *worker, struct node *node, uint32_t port,
                                                                pkt_t id, ps_t now, uint64_t next)
{
    return switch_rx_by(worker, node, port, id, now, next, false);
}

static inline __attribute__((always_inline)) uint32_t switch_rx_any(struct worker *worker, struct node *node,
                                                                    uint32_t port, pkt_t id, ps_t now, uint64_t next)
{
    return switch_rx_by(worker, node, port, id, now, next, true);
}

/* The same where what leaves is to be written upon. */
static uint32_t switch_rx_telemetry(struct worker *worker, struct node *node, uint32_t port, pkt_t id, ps_t now,
                                    uint64_t next)
{
    struct sim_switch *sw = node->machine;
    struct sw_way way;

    (void)next;
    if (!sw_way_find_any(sw->sw, port, id, now, switch_io(worker), &way)) return PORT_NONE;
    return switch_queue(worker, node, &way, id, true, now);
}

/* A packet for an endpoint whose port is forgotten, to all ports. */
static void switch_flood(struct worker *worker, struct node *node, uint32_t in, pkt_t id, ps_t now)
{
    struct sim_switch *sw = node->machine;
    struct sw_io *io = switch_io(worker);

    if (worker->pool.free_count < node->ports)
        reserve_packets(&worker->engine->reserve, &worker->pool, worker->engine->burst + node->ports);
    bool any = sw_flood(sw->sw, (uint16_t)in, id, now, io) > 0;
    for (uint32_t p = 0; any && p < node->ports; p++) {
        if (node->port[p].wire == NULL || node->port[p].flags & PORT_DOWN) continue;
        node->port[p].queued++; /* a guess that is never too low */
        node_kick(node, p, now);
    }
    switch_after(worker, node, sw, io, now);
}

/* Of a switch that has forgotten ports, or raises the class of what bounces. */
static uint32_t switch_rx_odd(struct worker *worker, struct node *node, uint32_t port, pkt_t id, ps_t now,
                              uint64_t next)
{
    struct sim_switch *sw = node->machine;
    struct sw_way way;

    (void)next;
    if (sw->local_port && sw_floods(sw->sw, &worker->pool.hot[id])) {
        switch_flood(worker, node, port, id, now);
        return PORT_NONE;
    }
    if (!sw_way_find_any(sw->sw, port, id, now, switch_io(worker), &way)) return PORT_NONE;
    if (sw_way_raise(sw->sw, &way, id, switch_io(worker))) return PORT_NONE;
    return switch_queue(worker, node, &way, id, true, now);
}

/*
 * What a packet's leaving made the switch say.  A pause for the port that is about to send it, which it came in by (it
 * was sent back), follows the frame: it waits for the tick of this very moment, when the frame is on the line.
 */
static __attribute__((noinline)) void switch_sent(struct worker *worker, struct node *node, struct sim_switch *sw,
                                                  uint32_t port, bool sends, ps_t now)
{
    const struct sw_io *io = switch_io(worker);

    for (uint32_t i = 0; sends && i < io->pauses; i++) {
        if (io->pause[i].port != port) continue;
        node_deadline(node, now, now);
        return;
    }
    switch_answers(worker, node, sw, switch_io(worker), now);
}

static inline __attribute__((always_inline)) pkt_t switch_tx_by(struct worker *worker, struct node *node, uint32_t port,
                                                                bool any, ps_t now)
{
    struct sim_switch *sw = node->machine;
    struct sw_io *io = switch_io(worker);
    bool virtual = any && sw->config.voq.on;
    pkt_t id = virtual ? sw_tx_any(sw->sw, (uint16_t)port, now, io) : sw_tx(sw->sw, (uint16_t)port, now, io);

    /* What the switch threw away by itself stays counted: it costs a question that is answered with nothing. */
    if (id != PKT_NONE) node->port[port].queued--;
    if (__builtin_expect((io->pauses | io->kicks) != 0, 0))
        switch_sent(worker, node, sw, port, id != PKT_NONE, now);
    else if (virtual && io->deadline != sw->deadline) /* it waits for deep memory */
        switch_answers(worker, node, sw, io, now);
    return id;
}

static inline __attribute__((always_inline)) pkt_t switch_tx(struct worker *worker, struct node *node, uint32_t port,
                                                             ps_t now)
{
    return switch_tx_by(worker, node, port, false, now);
}

static inline __attribute__((always_inline)) pkt_t switch_tx_any(struct worker *worker, struct node *node,
                                                                 uint32_t port, ps_t now)
{
    return switch_tx_by(worker, node, port, true, now);
}

/* The same, and the switch writes down what it sees (HPCC): the port's bytes so far, gaps included, and what stays
 * behind the packet in its queue. */
static pkt_t switch_tx_telemetry(struct worker *worker, struct node *node, uint32_t port, ps_t now)
{
    const struct sim_switch *sw = node->machine;
    pkt_t id = switch_tx_any(worker, node, port, now);

    if (id == PKT_NONE) return id;
    uint8_t queue = sw->config.port[port]->tc_to_queue[worker->pool.hot[id].tc];
    uint64_t behind = sw_queue_bytes(sw->sw, (uint16_t)port, queue);
    pkt_int_add(&worker->pool.telemetry[id], now, node->port[port].sent_bytes, sw->config.rate_bps[port],
                behind > UINT32_MAX ? UINT32_MAX : (uint32_t)behind);
    return id;
}

static void switch_pause(struct worker *worker, struct node *node, uint32_t port, uint8_t enable, uint16_t quanta,
                         ps_t now)
{
    struct sim_switch *sw = node->machine;
    struct sw_io *io = switch_io(worker);
    uint16_t each[SW_PRIOS];

    for (int i = 0; i < SW_PRIOS; i++)
        each[i] = quanta;
    sw_pause(sw->sw, (uint16_t)port, enable, each, now, io);
    switch_answers(worker, node, sw, io, now);
}

static void switch_tick(struct worker *worker, struct node *node, ps_t now)
{
    struct sim_switch *sw = node->machine;
    struct sw_io *io = switch_io(worker);

    if (faults_next(&sw->faults) <= now) faults_run(&sw->faults, worker, node, now);
    if (sw->deadline <= now) {
        sw_tick(sw->sw, now, io);
        switch_answers(worker, node, sw, io, now);
    }
    switch_after(worker, node, sw, io, now);
    sim_switch_schedule(sw, node, now);
}

void sim_switch_port_state(struct worker *worker, struct node *node, uint16_t port, bool up, ps_t now)
{
    struct sim_switch *sw = node->machine;
    struct sw_io *io = switch_io(worker);

    node_port_down(node, port, !up);
    sw_port_state(sw->sw, port, up, now, io);
    pauses_forget(sw, port, now);
    if (!up) node->port[port].queued = 0;
    switch_answers(worker, node, sw, io, now);
}

static inline void switch_visit_begin(struct worker *worker, const struct node *node)
{
    struct sw_io *io = switch_io(worker);

    io->pool = &worker->pool;
    io->deadline = ((const struct sim_switch *)node->machine)->deadline;
}

static inline void switch_visit_end(const struct worker *worker, const struct node *node)
{
    CHECK(switch_io(worker)->deadline == ((const struct sim_switch *)node->machine)->deadline);
}

void sim_visit_switch(struct worker *worker, struct node *node, ps_t end)
{
    static const struct node_calls calls = {switch_rx, switch_tx, switch_pause, switch_tick, NULL};

    switch_visit_begin(worker, node);
    node_visit(worker, node, end, &calls);
    switch_visit_end(worker, node);
}

void sim_visit_switch_any(struct worker *worker, struct node *node, ps_t end)
{
    static const struct node_calls calls = {switch_rx_any, switch_tx_any, switch_pause, switch_tick, NULL};

    switch_visit_begin(worker, node);
    node_visit(worker, node, end, &calls);
    switch_visit_end(worker, node);
}

void sim_visit_switch_telemetry(struct worker *worker, struct node *node, ps_t end)
{
    static const struct node_calls calls = {switch_rx_telemetry, switch_tx_telemetry, switch_pause, switch_tick, NULL};

    switch_visit_begin(worker, node);
    node_visit(worker, node, end, &calls);
    switch_visit_end(worker, node);
}

void sim_visit_switch_odd(struct worker *worker, struct node *node, ps_t end)
{
    static const struct node_calls calls = {switch_rx_odd, switch_tx_any, switch_pause, switch_tick, NULL};

    switch_visit_begin(worker, node);
    node_visit(worker, node, end, &calls);
    switch_visit_end(worker, node);
}

void sim_visit_switch_odd_telemetry(struct worker *worker, struct node *node, ps_t end)
{
    static const struct node_calls calls = {switch_rx_odd, switch_tx_telemetry, switch_pause, switch_tick, NULL};

    switch_visit_begin(worker, node);
    node_visit(worker, node, end, &calls);
    switch_visit_end(worker, node);
}
