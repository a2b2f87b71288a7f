/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines with link-level retry: what node/llr.h decides, on the engine's ports, links and time.
 *
 * A port that has frames to send again, or no room in its replay buffer, is held: its `free_at` says never, so the
 * visit does not ask the machine, and the line's own time is kept here.  So a port without LLR has no new test on its
 * way.  Its turns in the tree of ports are the replay's.
 *
 * A frame goes two ways: to the receiver's machine by the data FIFO, where it is taken, after the receiver's latency;
 * and as GOOD or BAD by the control FIFO, after propagation and the PHY alone, for the receiving half.  All that is in
 * one FIFO is in order of time, so a word that would overtake a pause, which has a longer reaction, follows it.
 */
#include "engine/tap.h"
#include "engine/visit.h"

static void hold(struct node *node, uint32_t port)
{
    struct port *out = &node->port[port];

    if (out->flags & PORT_HELD) return;
    out->flags |= PORT_HELD;
    node->line[port].free_at = out->free_at;
    out->free_at = NODE_TIME_MAX;
}

static void release(struct node *node, uint32_t port)
{
    struct port *out = &node->port[port];

    if (!(out->flags & PORT_HELD)) return;
    out->flags &= (uint16_t)~PORT_HELD;
    out->free_at = node->line[port].free_at;
}

ps_t node_line_free_at(const struct node *node, uint32_t port)
{
    return node->port[port].flags & PORT_HELD ? node->line[port].free_at : node->port[port].free_at;
}

static void arm(struct node *node, uint32_t port)
{
    ps_t at = llr_deadline(&node->line[port].llr);

    if (at >= node->line_at) return;
    node->line_at = at;
    uint64_t key = event_key(at, EVENT_TICK, 0);
    if (key < node->tick) node->tick = key;
}

void node_line_push(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t at)
{
    struct node_line *line = &node->line[port];
    const struct port *out = &node->port[port];

    if (at <= line->word_at) at = line->word_at + 1;
    line->word_at = at;
    fifo_push(&out->link->control, &worker->store, at, word);
    node_tell(worker, out, at);
}

struct port_sent node_line_set(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t now)
{
    struct port *out = &node->port[port];
    bool held = out->flags & PORT_HELD;

    release(node, port);
    struct port_sent sent = llr_is_word(word) ? port_send_set(out, &node->extra[port], &worker->engine->model,
                                                              LLR_SET_BYTES, node->line[port].latency, now)
                                              : port_send_control(out, &node->extra[port], &worker->engine->model, now);
    if (held) hold(node, port);
    if (!sent.lost) node_line_push(worker, node, port, word, sent.arrival);
    return sent;
}

/* A frame with this number, on the line. */
static void put(struct worker *worker, struct node *node, uint32_t port, struct llr_frame frame, uint32_t number,
                ps_t now)
{
    struct port *out = &node->port[port];
    struct port_extra *extra = &node->extra[port];
    struct node_line *line = &node->line[port];
    struct port_sent sent = port_send_slowly(out, extra, &worker->engine->model, frame.line, now);
    uint32_t word = llr_word(sent.lost ? LLR_BAD : LLR_GOOD, number);

    if (out->flags & PORT_TAP && frame.id != PKT_NONE)
        tap_packet(extra->tap, &worker->pool.hot[frame.id], frame.id, sent.last_bit, sent.lost);
    node_line_push(worker, node, port, word, sent.last_bit + line->latency);
    if (!llr_left(&line->llr, number, sent.lost)) return;
    fifo_push(&out->link->data, &worker->store, sent.arrival, frame.id);
    node_tell(worker, out, sent.arrival);
}

void node_line_send(struct worker *worker, struct node *node, uint32_t port, pkt_t id, uint32_t bytes, ps_t now)
{
    struct llr *llr = &node->line[port].llr;
    uint32_t number = llr_send(llr, id, bytes, now);

    put(worker, node, port, (struct llr_frame){.id = id, .line = bytes}, number, now);
    arm(node, port);
    if (!llr_may_send(llr)) hold(node, port);
}

/* After the machine of the line has changed: the replay's next turn, or the port is the node's again. */
static void go_on(struct node *node, uint32_t port, ps_t now)
{
    const struct llr *llr = &node->line[port].llr;

    if (llr_may_send(llr)) {
        if (!(node->port[port].flags & PORT_HELD)) return;
        release(node, port);
        tree_set(node, port, EVENT_NEVER);
        node_kick(node, port, now);
        return;
    }
    hold(node, port);
    ps_t free_at = node->line[port].free_at;
    tree_set(node, port,
             llr_replays(llr) ? event_key_near(free_at > now ? free_at : now, EVENT_FREE, port) : EVENT_NEVER);
}

void node_line_turn(struct worker *worker, struct node *node, uint32_t port, ps_t now)
{
    struct llr *llr = &node->line[port].llr;
    uint32_t number, drop_every = node->extra[port].drop_every;

    node->extra[port].drop_every = 0; /* that fault hits a frame once: it would hit the same one in every replay */
    if (llr_replays(llr) && node->line[port].free_at <= now) {
        struct llr_frame frame = llr_send_again(llr, &number);
        release(node, port);
        put(worker, node, port, frame, number, now);
        hold(node, port);
    }
    node->extra[port].drop_every = drop_every;
    go_on(node, port, now);
}

static void lose_all(struct worker *worker, struct node *node, uint32_t port, ps_t now)
{
    pkt_t id;

    while ((id = llr_take_back(&node->line[port].llr, now)) != PKT_NONE)
        node_lose(worker, node, port, id, true);
}

static void answer(struct worker *worker, struct node *node, uint32_t port, const struct llr_out *out, ps_t now)
{
    if (out->flush) lose_all(worker, node, port, now);
    for (uint32_t i = 0; i < out->words; i++)
        node_send_control(worker, node, port, out->word[i], now);
    arm(node, port);
    go_on(node, port, now);
}

void node_line_heard(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t now)
{
    struct llr_out out = {.words = 0};

    if (llr_word_kind(word) <= LLR_BAD) worker->hops--; /* the frame counts, when it is delivered */
    llr_heard(&node->line[port].llr, word, now, &out);
    answer(worker, node, port, &out, now);
}

void node_line_tick(struct worker *worker, struct node *node, ps_t now)
{
    node->line_at = PS_NEVER;
    for (uint32_t port = 0; port < node->ports; port++) {
        struct node_line *line = &node->line[port];
        struct llr_out out = {.words = 0};
        if (!(node->port[port].flags & PORT_LLR) || node->port[port].flags & PORT_DOWN) continue;
        if (llr_deadline(&line->llr) <= now) {
            llr_tick(&line->llr, now, &out);
            answer(worker, node, port, &out, now);
        }
        arm(node, port);
    }
}

void node_line_reset(struct worker *worker, struct node *node, uint32_t port, ps_t now)
{
    if (!(node->port[port].flags & PORT_LLR)) return;
    release(node, port);
    lose_all(worker, node, port, now);
    llr_reset(&node->line[port].llr, now);
}

uint64_t node_line_packets(const struct node *node)
{
    uint64_t packets = 0;

    for (uint32_t port = 0; node->line && port < node->ports; port++)
        if (node->port[port].flags & PORT_LLR) packets += node->line[port].llr.next - node->line[port].llr.taken;
    return packets;
}
