/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch as a node: the engine's events become calls of src/switch, its answers become transmissions.
 */
#include "engine/visit.h"
#include "sim/sim_int.h"
#include "switch/crossing.h"

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

static inline __attribute__((always_inline)) uint32_t switch_queue(struct worker *worker, struct node *node,
                                                                   const struct sw_crossing *crossing, pkt_t id,
                                                                   bool simple, ps_t now)
{
    struct sim_switch *sw = node->machine;
    struct sw_io *io = switch_io(worker);
    bool queued = sw_cross_queue(sw->sw, crossing, id, simple, now, io);

    switch_after(worker, node, sw, io, now);
    if (__builtin_expect(!queued, 0)) return PORT_NONE;
    node->port[crossing->out].queued++;
    return crossing->out;
}

/* A port that is free, and whose turn comes before anything else, is sent to without a queue in between. */
static inline __attribute__((always_inline)) uint32_t
switch_cross(struct worker *worker, struct node *node, uint32_t port, pkt_t id, ps_t now, uint64_t next, bool simple)
{
    struct sim_switch *sw = node->machine;
    struct sw_crossing crossing;

    if (__builtin_expect(!sw_cross_find(sw->sw, port, id, simple, now, switch_io(worker), &crossing), 0))
        return PORT_NONE;
    struct port *out = &node->port[crossing.out];
    if (out->free_at <= now && event_key_near(now, EVENT_FREE, crossing.out) <= next &&
        sw_cross_at_once(sw->sw, &crossing)) {
        node_send(worker, node, crossing.out, id, now);
        if (__builtin_expect(out->queued, 0)) node_kick(node, crossing.out, now);
        return PORT_NONE;
    }
    return switch_queue(worker, node, &crossing, id, simple, now);
}

static inline __attribute__((always_inline)) uint32_t switch_rx_simple(struct worker *worker, struct node *node,
                                                                       uint32_t port, pkt_t id, ps_t now, uint64_t next)
{
    return switch_cross(worker, node, port, id, now, next, true);
}

static inline __attribute__((always_inline)) uint32_t
switch_rx_forwards(struct worker *worker, struct node *node, uint32_t port, pkt_t id, ps_t now, uint64_t next)
{
    return switch_cross(worker, node, port, id, now, next, false);
}

/* Of a switch that needs all of sw_rx(). */
static uint32_t switch_rx_whole(struct worker *worker, struct node *node, uint32_t port, pkt_t id, ps_t now,
                                uint64_t next)
{
    struct sim_switch *sw = node->machine;
    struct sw_io *io = switch_io(worker);

    (void)next;
    if (worker->pool.free_count < node->ports)
        reserve_packets(&worker->engine->reserve, &worker->pool, worker->engine->burst + node->ports);
    uint16_t out = sw_rx(sw->sw, (uint16_t)port, id, now, io);
    for (uint32_t p = 0; out == SW_FLOODED && p < node->ports; p++) {
        if (node->port[p].wire == NULL || node->port[p].flags & PORT_DOWN) continue;
        node->port[p].queued++; /* a guess that is never too low */
        node_kick(node, p, now);
    }
    switch_after(worker, node, sw, io, now);
    if (out == SW_DROPPED || out == SW_FLOODED) return PORT_NONE;
    node->port[out].queued++;
    return out;
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

static inline __attribute__((always_inline)) pkt_t switch_tx_simple(struct worker *worker, struct node *node,
                                                                    uint32_t port, ps_t now)
{
    struct sim_switch *sw = node->machine;
    struct sw_io *io = switch_io(worker);
    pkt_t id = sw_tx_simple(sw->sw, (uint16_t)port, now, io);

    /* What the switch threw away by itself stays counted: it costs a question that is answered with nothing. */
    if (id != PKT_NONE) node->port[port].queued--;
    if (__builtin_expect((io->pauses | io->kicks) != 0, 0)) switch_sent(worker, node, sw, port, id != PKT_NONE, now);
    return id;
}

static pkt_t switch_tx(struct worker *worker, struct node *node, uint32_t port, ps_t now)
{
    struct sim_switch *sw = node->machine;
    struct sw_io *io = switch_io(worker);
    pkt_t id = sw_tx(sw->sw, (uint16_t)port, now, io);

    if (id != PKT_NONE) node->port[port].queued--;
    if ((io->pauses | io->kicks) != 0)
        switch_sent(worker, node, sw, port, id != PKT_NONE, now);
    else if (io->deadline != sw->deadline) /* it waits for deep memory */
        switch_answers(worker, node, sw, io, now);
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

void sim_visit_switch_simple(struct worker *worker, struct node *node, ps_t end)
{
    static const struct node_calls calls = {switch_rx_simple, switch_tx_simple, switch_pause, switch_tick, NULL};

    switch_visit_begin(worker, node);
    node_visit(worker, node, end, &calls);
    switch_visit_end(worker, node);
}

void sim_visit_switch_forwards(struct worker *worker, struct node *node, ps_t end)
{
    static const struct node_calls calls = {switch_rx_forwards, switch_tx, switch_pause, switch_tick, NULL};

    switch_visit_begin(worker, node);
    node_visit(worker, node, end, &calls);
    switch_visit_end(worker, node);
}

void sim_visit_switch_whole(struct worker *worker, struct node *node, ps_t end)
{
    static const struct node_calls calls = {switch_rx_whole, switch_tx, switch_pause, switch_tick, NULL};

    switch_visit_begin(worker, node);
    node_visit(worker, node, end, &calls);
    switch_visit_end(worker, node);
}
