/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One visit: a node runs through its events before `end`.
 *
 * This is a template.  A kind of node has its calls (node/node.h) as static inline functions, names them in a
 * constant struct visit_calls and wraps node_visit(); the compiler then inlines all of it, and no call goes
 * through a pointer.  The order of events is that of node/order.h.
 *
 * Three sources, merged by key: what arrives (gathered from the input links, then sorted), ports that become
 * free (a winner tree, whose root is the earliest), and the machine's deadline.  An arrival may start a
 * transmission on an idle port: it is entered as a port-free event of this very moment, so that everything that
 * arrives at one time is in its queue before any port chooses.
 */
#ifndef ROCELAB_ENGINE_VISIT_H
#define ROCELAB_ENGINE_VISIT_H

#include "base/check.h"
#include "engine/engine_int.h"
#include "node/digest.h"

struct visit_calls {
    struct node_ops node; /* constants, so inlined; `link` and `observe` are not the visit's */
    bool multiplies;      /* an arrival may become a packet for each port */
    bool cuts;            /* most of its lines lead to switches that cut through */
    /* Before a tick: what is no concern of the machine.  NULL: nothing. */
    void (*before_tick)(struct worker *, struct node *, ps_t now);
    /* Sees to what a call answered (worker->io): node_settle(), and whatever else wants to know. */
    void (*settle)(struct worker *, struct node *, ps_t now);
    /* What arrives in this visit, sorted: its state may be brought near.  NULL: nothing is. */
    void (*expect)(struct worker *, struct node *, const struct event *, uint32_t count);
};

static inline __attribute__((always_inline)) void tree_set(struct node *node, uint32_t port, uint64_t key)
{
    uint64_t *tree = node->tree;
    uint32_t at = node->leaves + port;

    tree[at] = key;
    while (at > 1) {
        uint64_t a = tree[at], b = tree[at ^ 1];
        at >>= 1;
        tree[at] = a < b ? a : b;
    }
}

/* The port is to be asked, now or when it is free. */
static inline __attribute__((always_inline)) void node_kick(struct node *node, uint32_t port, ps_t now)
{
    ps_t free_at = node->port[port].free_at;
    uint64_t key = event_key_near(free_at > now ? free_at : now, EVENT_FREE, port);

    if (node->tree[node->leaves + port] > key) tree_set(node, port, key);
}

static inline void node_deadline(struct node *node, ps_t at, ps_t now)
{
    if (node->line_at < at) at = node->line_at;
    node->tick = event_key(at > now ? at : now, EVENT_TICK, 0);
}

/* The other end has an event at `at`. */
static inline __attribute__((always_inline)) void node_tell(struct worker *worker, const struct port *out, ps_t at)
{
    if (__builtin_expect(!(out->flags & PORT_FAR), 1)) {
        if (at < *out->peer_next) *out->peer_next = at;
        return;
    }
    if (at < worker->far_min) worker->far_min = at;
    ps_t *slot = &worker->engine->far_next[worker->engine->windows & 1][out->peer];
    ps_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);
    while (at < seen && !__atomic_compare_exchange_n(slot, &seen, at, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* line.c, of ports with link-level retry: a frame goes out; the port's turn while it is held; a word is here, or news
 * of a frame; deadlines; a control word of any kind goes out; its place in the link. */
void node_line_send(struct worker *worker, struct node *node, uint32_t port, pkt_t id, uint32_t bytes, ps_t now);
void node_line_turn(struct worker *worker, struct node *node, uint32_t port, ps_t now);
void node_line_heard(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t now);
void node_line_tick(struct worker *worker, struct node *node, ps_t now);
struct port_sent node_line_set(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t now);
void node_line_push(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t at);

/* node_send() on a line of PORT_SLOWLY; `line`: bytes with all that is added to them. */
void node_send_slowly(struct worker *worker, struct node *node, uint32_t port, pkt_t id, uint32_t line, ps_t now);

/* To a switch that cuts through. */
static inline __attribute__((always_inline)) ps_t node_send_cut(struct worker *worker, struct node *node, uint32_t port,
                                                                uint32_t line, ps_t now)
{
    const struct line_model *model = &worker->engine->model;
    uint32_t header = PORT_CUT_BYTES + model->before, bytes = line - model->gap;

    return port_send_cut(&node->port[port], line, bytes > header ? header : bytes, node->extra[port].latency, now);
}

/* Puts a packet on the line at `now`; the port is free. */
static inline __attribute__((always_inline)) void node_send(struct worker *worker, struct node *node, uint32_t port,
                                                            pkt_t id, ps_t now, const struct visit_calls *calls)
{
    struct port *out = &node->port[port];
    uint32_t line = port_line_bytes(worker->pool.hot[id].frame_bytes, worker->min_bytes, worker->line_bytes);
    ps_t arrival;

    if (calls->cuts && (out->flags & PORT_SLOWLY) == PORT_CUT) {
        arrival = node_send_cut(worker, node, port, line, now);
    } else if (__builtin_expect(out->flags & PORT_SLOWLY, 0)) {
        node_send_slowly(worker, node, port, id, line, now);
        return;
    } else {
        arrival = port_send(out, line, now);
    }
    fifo_push(&out->link->data, &worker->store, arrival, id);
    node_tell(worker, out, arrival);
}

/* A control word: after the frame that is being sent, before anything queued. */
void node_send_control(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t now);

/* Sends the words, asks the ports and keeps the deadline that the machine's last call answered; `other`: an earlier
 * deadline that is not the machine's. */
void node_settle(struct worker *worker, struct node *node, ps_t other, ps_t now);

void worker_grow_list(struct worker *worker, uint32_t least);

/* What has arrived on a port while it was down is lost. */
void node_lose(struct worker *worker, struct node *node, uint32_t port, uint32_t what, bool is_packet);

/* Takes what arrives before `end` off one FIFO that is not empty, up to `written`, into the list from `count` on;
 * answers the new count. */
static inline __attribute__((always_inline)) uint32_t fifo_gather(struct worker *worker, struct fifo *fifo,
                                                                  const struct link_entry *written, uint64_t kind,
                                                                  uint32_t count, ps_t end, ps_t *next)
{
    const struct pkt *hot = worker->pool.hot;
    struct link_entry *entry = fifo->read;
    const struct link_entry *last;

    do {
        if (__builtin_expect(link_block_end(entry), 0)) entry = fifo_next_block(entry, &worker->store);
        if (__builtin_expect(count + LINK_BLOCK_ENTRIES >= worker->list_capacity, 0))
            worker_grow_list(worker, count + LINK_BLOCK_ENTRIES + 1);
        struct event *to = worker->list + count;
        bool here = (((uintptr_t)(written - 1) ^ (uintptr_t)entry) & ~(uintptr_t)(LINK_BLOCK_BYTES - 1)) == 0;
        last = here ? written : (const struct link_entry *)(((uintptr_t)entry | (LINK_BLOCK_BYTES - 1)) + 1);
        for (; entry != last && entry->at < end; entry++, to++) {
            __builtin_prefetch(&hot[entry->what], 1); /* of a pause: a guess that does no harm */
            to->key = entry->at << EVENT_BITS | kind;
            to->what = entry->what;
        }
        count = (uint32_t)(to - worker->list);
        if (entry != last) {
            if (entry->at < *next) *next = entry->at;
            break;
        }
    } while (last != written);
    fifo->read = entry;
    return count;
}

/*
 * In a large fabric a node finds its state in far memory: in a window every other node was visited.  While one port is
 * gathered, those after it are brought near: what came in, and the end of the link that goes out.
 */
static inline __attribute__((always_inline)) void node_bring_near(const struct node *node, uint32_t port)
{
    if (port + 2 < node->ports) __builtin_prefetch(__atomic_load_n(&node->in[port + 2].data.read, __ATOMIC_RELAXED), 0);
    if (port + 4 < node->ports) __builtin_prefetch(node->port[port + 4].link, 1);
    const struct link *out = node->port[port].link;
    if (out) __builtin_prefetch(out->data.write, 1);
}

/* Takes what arrives before `end` off the input links.  Answers how many; *ret_next is the earliest that stays,
 * *ret_runs how many ascending runs there are. */
static inline uint32_t node_gather(struct worker *worker, struct node *node, ps_t end, ps_t *ret_next,
                                   uint32_t *ret_runs)
{
    uint32_t count = 0, runs = 0;
    ps_t next = PS_NEVER;

    for (uint32_t p = 0; p < node->ports; p++) {
        struct link *link = &node->in[p];
        const struct link_entry *written = fifo_written(&link->data);
        node_bring_near(node, p);
        uint32_t before = count;
        if (written && written != link->data.read) {
            count = fifo_gather(worker, &link->data, written, (uint64_t)EVENT_ARRIVAL << EVENT_PORT_BITS | p, count,
                                end, &next);
            runs += count != before;
        }
        written = fifo_written(&link->control);
        if (__builtin_expect(written && written != link->control.read, 0)) {
            before = count;
            count = fifo_gather(worker, &link->control, written, (uint64_t)EVENT_CONTROL << EVENT_PORT_BITS | p, count,
                                end, &next);
            runs += count != before;
        }
    }
    *ret_next = next;
    *ret_runs = runs;
    return count;
}

/* After a call of the machine: most answer nothing beside their value. */
static inline __attribute__((always_inline)) void node_answered(struct worker *worker, struct node *node, ps_t now,
                                                                const struct visit_calls *calls)
{
    if (__builtin_expect(worker->io.answers, 0)) calls->settle(worker, node, now);
}

static inline __attribute__((always_inline)) void
node_port_turn(struct worker *worker, struct node *node, uint32_t port, ps_t now, const struct visit_calls *calls)
{
    struct port *out = &node->port[port];

    if (__builtin_expect(out->free_at > now, 0)) { /* a control frame went first, or a replay does */
        if (out->flags & PORT_HELD)
            node_line_turn(worker, node, port, now);
        else
            tree_set(node, port, event_key_near(out->free_at, EVENT_FREE, port));
        return;
    }
    pkt_t id = calls->node.tx(node->machine, port, now, &worker->io);
    uint64_t key = EVENT_NEVER;
    if (id != PKT_NONE) {
        node_send(worker, node, port, id, now, calls);
        if (calls->node.more(node->machine, port)) key = event_key_near(out->free_at, EVENT_FREE, port);
    }
    tree_set(node, port, key);
    node_answered(worker, node, now, calls);
}

/* A packet, to the machine; answers as node_ops.rx. */
static inline __attribute__((always_inline)) uint32_t node_receive(struct worker *worker, struct node *node,
                                                                   const struct event *event, ps_t now, uint64_t next,
                                                                   const struct visit_calls *calls)
{
    uint32_t port = event_port(event->key), what = event->what;
    struct node_turn turn = {.port = node->port, .next = next};

    if (calls->multiplies && worker->pool.free_count < node->ports)
        reserve_packets(&worker->engine->reserve, &worker->pool, worker->engine->burst + node->ports);
    digest_frame(&node->heard[port], node->link_in[port], now, &worker->pool.hot[what]);
    return calls->node.rx(node->machine, port, what, &turn, now, &worker->io);
}

/* What is no packet, or comes to a node with a port that is down. */
static __attribute__((noinline)) uint32_t node_odd_arrival(struct worker *worker, struct node *node,
                                                           const struct event *event, uint64_t next,
                                                           const struct visit_calls *calls)
{
    ps_t now = event->key >> EVENT_BITS;
    uint32_t port = event_port(event->key);
    bool packet = event_kind(event->key) == EVENT_ARRIVAL;

    if (node->port[port].flags & PORT_DOWN) {
        worker->hops--;
        node_lose(worker, node, port, event->what, packet);
        return NODE_NO_PORT;
    }
    if (packet) return node_receive(worker, node, event, now, next, calls);
    digest_word(&node->heard[node->ports + port], node->link_in[port], now, event->what);
    if (llr_is_word(event->what))
        node_line_heard(worker, node, port, event->what, now);
    else
        calls->node.control(node->machine, port, event->what, now, &worker->io);
    return NODE_NO_PORT;
}

static inline __attribute__((always_inline)) uint32_t node_arrival(struct worker *worker, struct node *node,
                                                                   const struct event *event, ps_t now, uint64_t next,
                                                                   const struct visit_calls *calls)
{
    if (__builtin_expect(!(event->key & (uint64_t)EVENT_ARRIVAL << EVENT_PORT_BITS) || node->lost_arrivals, 0))
        return node_odd_arrival(worker, node, event, next, calls);
    return node_receive(worker, node, event, now, next, calls);
}

static inline uint64_t node_own(const struct node *node)
{
    return node->tree[1] < node->tick ? node->tree[1] : node->tick;
}

/*
 * A port that has been given something to send.  One that is idle is asked right away when nothing else comes
 * before, which is what the tree would have answered; the tree is spared two changes for most packets of a line
 * that is not full.
 */
static inline __attribute__((always_inline)) void node_given(struct worker *worker, struct node *node, uint32_t port,
                                                             ps_t now, uint64_t next_arrival,
                                                             const struct visit_calls *calls)
{
    struct port *out = &node->port[port];
    uint64_t key = event_key_near(now, EVENT_FREE, port);

    if (out->free_at > now || key > next_arrival || key > node->tree[1] || key > node->tick) {
        node_kick(node, port, now);
        return;
    }
    pkt_t id = calls->node.tx(node->machine, port, now, &worker->io);
    if (id != PKT_NONE) {
        node_send(worker, node, port, id, now, calls);
        if (calls->node.more(node->machine, port)) tree_set(node, port, event_key_near(out->free_at, EVENT_FREE, port));
    }
    node_answered(worker, node, now, calls);
}

/* What was flooded: every port that has a link. */
static __attribute__((noinline)) void node_kick_all(struct node *node, ps_t now)
{
    for (uint32_t p = 0; p < node->ports; p++)
        if (node->port[p].link != NULL && !(node->port[p].flags & PORT_DOWN)) node_kick(node, p, now);
}

/* An arrival, and what follows from it at once. */
static inline __attribute__((always_inline)) void node_take(struct worker *worker, struct node *node,
                                                            const struct event *event, uint64_t own,
                                                            const struct visit_calls *calls)
{
    ps_t now = event->key >> EVENT_BITS;
    uint64_t after = (event + 1)->key;
    uint32_t to = node_arrival(worker, node, event, now, after < own ? after : own, calls);

    if (to & NODE_AT_ONCE) {
        node_send(worker, node, to & ~NODE_AT_ONCE, event->what, now, calls);
        return;
    }
    node_answered(worker, node, now, calls);
    if (calls->multiplies && to == NODE_ALL_PORTS)
        node_kick_all(node, now);
    else if (to != NODE_NO_PORT)
        node_given(worker, node, to, now, after, calls);
}

static inline __attribute__((always_inline)) void node_visit(struct worker *worker, struct node *node, ps_t end,
                                                             const struct visit_calls *calls)
{
    uint64_t end_key = event_key(end, EVENT_CONTROL, 0);
    ps_t next;
    uint32_t runs, count = node_gather(worker, node, end, &next, &runs);
    struct event *event = worker->list;

    if (runs > 1)
        event = events_sort(event, worker->list_other, count, event_key(worker->from, EVENT_CONTROL, 0), end_key);
    const struct event *last = event + count;
    event[count].key = EVENT_NEVER;
    worker->hops += count;
    if (calls->expect) calls->expect(worker, node, event, count);
    for (;;) {
        uint64_t arrival = event->key, own = node_own(node);
        if (arrival < own) {
            node_take(worker, node, event, own, calls);
            event++;
        } else if (own >= end_key) {
            break;
        } else if (own == node->tick) {
            ps_t now = own >> EVENT_BITS;
            if (calls->before_tick) calls->before_tick(worker, node, now);
            if (node->line_at <= now) node_line_tick(worker, node, now);
            calls->node.tick(node->machine, now, &worker->io);
            calls->settle(worker, node, now);
        } else {
            node_port_turn(worker, node, event_port(own), own >> EVENT_BITS, calls);
        }
    }
    CHECK(event == last);
    ps_t mine = event_time(node_own(node));
    worker->engine->next[node->index] = mine < next ? mine : next;
}

#endif
