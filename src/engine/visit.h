/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One visit: a node runs through its events before `end`.
 *
 * This is a template.  A kind of node defines its machine's calls as static inline functions, names them in a
 * constant struct node_calls and wraps node_visit(); the compiler then inlines all of it, and no call goes
 * through a pointer.
 *
 * Three sources, merged by key: what arrives (gathered from the input wires, then sorted), ports that become
 * free (a winner tree, whose root is the earliest), and the machine's deadline.  An arrival may start a
 * transmission on an idle port: it is entered as a port-free event of this very moment, so that everything that
 * arrives at one time is in its queue before any port chooses.
 */
#ifndef ROCELAB_ENGINE_VISIT_H
#define ROCELAB_ENGINE_VISIT_H

#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "base/wide.h"
#include "engine/engine_int.h"

struct node_calls {
    /* Answers the port that now has something to send, PORT_NONE: none has.  `next`: the node has nothing to do with a
     * key below it; a free port that has a lower one may be sent to at once. */
    uint32_t (*rx)(struct worker *, struct node *, uint32_t port, pkt_t, ps_t now, uint64_t next);
    pkt_t (*tx)(struct worker *, struct node *, uint32_t port, ps_t now);
    void (*pause)(struct worker *, struct node *, uint32_t port, uint8_t enable, uint16_t quanta, ps_t now);
    void (*tick)(struct worker *, struct node *, ps_t now);
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
    node->tick = event_key(at > now ? at : now, EVENT_TICK, 0);
}

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    u128 product = (u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * A delivery as a number; the digest of a run is the sum over all of them, so their order does not matter.  Covers
 * link, time, opcode, tos, length, queue pair, PSN and both endpoints.
 */
static inline uint64_t delivery_mix(uint32_t link, ps_t at, const struct pkt *pkt)
{
    uint32_t first;
    uint64_t whose, path;

    memcpy(&first, &pkt->kind, sizeof(first)); /* kind, opcode, pad, tos */
    memcpy(&whose, &pkt->dest_qp, sizeof(whose));
    memcpy(&path, &pkt->src_node, sizeof(path));
    first &= 0xff00ff00u;
    uint64_t one = ((uint64_t)link << 32 | first) + at * 0x2d358dccaa6c78a5ULL;
    uint64_t other = (whose + pkt->frame_bytes) * 0x8bb84b93962eacc9ULL + path;
    return fold(one ^ 0x4b33a62ed433d4a3ULL, other ^ 0x9e3779b97f4a7c15ULL);
}
_Static_assert(offsetof(struct pkt, psn) == offsetof(struct pkt, dest_qp) + 4, "read as one");
_Static_assert(offsetof(struct pkt, dst_node) == offsetof(struct pkt, src_node) + 4, "read as one");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the digest reads fields in memory order");

static inline uint64_t pause_mix(uint32_t link, ps_t at, uint32_t what)
{
    return fold(((uint64_t)link << 32 | what) ^ 0x9e3779b97f4a7c15ULL, at ^ 0xd1342543de82ef95ULL);
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

/* node_send() on a line where a byte is no whole number of picoseconds, that corrupts or is listened to, or into a
 * cut-through switch; `line`: bytes with all that is added to them. */
void node_send_slowly(struct worker *worker, struct node *node, uint32_t port, pkt_t id, uint32_t line, ps_t now);

/* Puts a packet on the line at `now`; the port is free. */
static inline __attribute__((always_inline)) void node_send(struct worker *worker, struct node *node, uint32_t port,
                                                            pkt_t id, ps_t now)
{
    struct port *out = &node->port[port];
    uint32_t frame = worker->pool.hot[id].frame_bytes;
    uint32_t line = (frame < worker->min_bytes ? worker->min_bytes : frame) + worker->line_bytes;

    out->sent_bytes += line;
    out->sent_frames++;
    if (__builtin_expect(out->flags & (PORT_CUT | PORT_CORRUPT | PORT_DIVIDED | PORT_TAP), 0)) {
        node_send_slowly(worker, node, port, id, line, now);
        return;
    }
    ps_t free_at = now + (uint64_t)line * out->ps_per_byte, arrival = free_at + out->behind;
    out->free_at = free_at;
    fifo_push(&out->wire->data, &worker->store, arrival, id);
    node_tell(worker, out, arrival);
}

/* A PFC frame: after the frame that is being sent, before anything queued. */
void node_send_pause(struct worker *worker, struct node *node, uint32_t port, uint8_t enable, uint16_t quanta,
                     ps_t now);

void worker_grow_list(struct worker *worker, uint32_t least);

/* What has arrived on a port while it was down is lost. */
void node_lose(struct worker *worker, struct node *node, uint32_t port, uint32_t what, bool is_packet);

/* Takes what arrives before `end` off one FIFO that is not empty, up to `written`, into the list from `count` on;
 * answers the new count. */
static inline __attribute__((always_inline)) uint32_t fifo_gather(struct worker *worker, struct fifo *fifo,
                                                                  const struct wire_entry *written, uint64_t kind,
                                                                  uint32_t count, ps_t end, ps_t *next)
{
    const struct pkt *hot = worker->pool.hot;
    struct wire_entry *entry = fifo->read;
    const struct wire_entry *last;

    do {
        if (__builtin_expect(wire_block_end(entry), 0)) entry = fifo_next_block(entry, &worker->store);
        if (__builtin_expect(count + WIRE_BLOCK_ENTRIES >= worker->list_capacity, 0))
            worker_grow_list(worker, count + WIRE_BLOCK_ENTRIES + 1);
        struct event *to = worker->list + count;
        bool here = (((uintptr_t)(written - 1) ^ (uintptr_t)entry) & ~(uintptr_t)(WIRE_BLOCK_BYTES - 1)) == 0;
        last = here ? written : (const struct wire_entry *)(((uintptr_t)entry | (WIRE_BLOCK_BYTES - 1)) + 1);
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
 * gathered, those after it are brought near: what came in, and the end of the wire that goes out.
 */
static inline __attribute__((always_inline)) void node_bring_near(const struct node *node, uint32_t port)
{
    if (port + 2 < node->ports) __builtin_prefetch(__atomic_load_n(&node->in[port + 2].data.read, __ATOMIC_RELAXED), 0);
    if (port + 4 < node->ports) __builtin_prefetch(node->port[port + 4].wire, 1);
    const struct wire *out = node->port[port].wire;
    if (out) __builtin_prefetch(out->data.write, 1);
}

/* Takes what arrives before `end` off the input wires.  Answers how many; *ret_next is the earliest that stays,
 * *ret_runs how many ascending runs there are. */
static inline uint32_t node_gather(struct worker *worker, struct node *node, ps_t end, ps_t *ret_next,
                                   uint32_t *ret_runs)
{
    uint32_t count = 0, runs = 0;
    ps_t next = PS_NEVER;

    for (uint32_t p = 0; p < node->ports; p++) {
        struct wire *wire = &node->in[p];
        const struct wire_entry *written = fifo_written(&wire->data);
        node_bring_near(node, p);
        uint32_t before = count;
        if (written && written != wire->data.read) {
            count = fifo_gather(worker, &wire->data, written, (uint64_t)EVENT_ARRIVAL << EVENT_PORT_BITS | p, count,
                                end, &next);
            runs += count != before;
        }
        written = fifo_written(&wire->pause);
        if (__builtin_expect(written && written != wire->pause.read, 0)) {
            before = count;
            count = fifo_gather(worker, &wire->pause, written, (uint64_t)EVENT_PAUSE << EVENT_PORT_BITS | p, count, end,
                                &next);
            runs += count != before;
        }
    }
    *ret_next = next;
    *ret_runs = runs;
    return count;
}

static inline __attribute__((always_inline)) void
node_port_turn(struct worker *worker, struct node *node, uint32_t port, ps_t now, const struct node_calls *calls)
{
    struct port *out = &node->port[port];

    if (__builtin_expect(out->free_at > now, 0)) { /* a pause frame went first */
        tree_set(node, port, event_key_near(out->free_at, EVENT_FREE, port));
        return;
    }
    pkt_t id = calls->tx(worker, node, port, now);
    uint64_t key = EVENT_NEVER;
    if (id != PKT_NONE) {
        node_send(worker, node, port, id, now);
        if (out->queued) key = event_key_near(out->free_at, EVENT_FREE, port);
    }
    tree_set(node, port, key);
}

/* What is no packet, or comes to a node with a port that is down. */
static __attribute__((noinline)) uint32_t node_odd_arrival(struct worker *worker, struct node *node,
                                                           const struct event *event, uint64_t next,
                                                           const struct node_calls *calls)
{
    ps_t now = event->key >> EVENT_BITS;
    uint32_t port = (uint32_t)event->key & (ENGINE_PORTS_MAX - 1);
    bool packet = (event->key >> EVENT_PORT_BITS & 3) == EVENT_ARRIVAL;

    if (node->port[port].flags & PORT_DOWN) {
        worker->hops--;
        node_lose(worker, node, port, event->what, packet);
        return PORT_NONE;
    }
    if (packet) {
        worker->digest += delivery_mix(node->link_in[port], now, &worker->pool.hot[event->what]);
        return calls->rx(worker, node, port, event->what, now, next);
    }
    worker->digest += pause_mix(node->link_in[port], now, event->what);
    calls->pause(worker, node, port, (uint8_t)event->what, (uint16_t)(event->what >> 8), now);
    return PORT_NONE;
}

static inline __attribute__((always_inline)) uint32_t node_arrival(struct worker *worker, struct node *node,
                                                                   const struct event *event, ps_t now, uint64_t next,
                                                                   const struct node_calls *calls)
{
    uint32_t port = (uint32_t)event->key & (ENGINE_PORTS_MAX - 1);

    if (__builtin_expect(!(event->key & (uint64_t)EVENT_ARRIVAL << EVENT_PORT_BITS) || node->lost_arrivals, 0))
        return node_odd_arrival(worker, node, event, next, calls);
    worker->digest += delivery_mix(node->link_in[port], now, &worker->pool.hot[event->what]);
    return calls->rx(worker, node, port, event->what, now, next);
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
                                                             const struct node_calls *calls)
{
    struct port *out = &node->port[port];
    uint64_t key = event_key_near(now, EVENT_FREE, port);

    if (out->free_at > now || key > next_arrival || key > node->tree[1] || key > node->tick) {
        node_kick(node, port, now);
        return;
    }
    pkt_t id = calls->tx(worker, node, port, now);
    if (id == PKT_NONE) return;
    node_send(worker, node, port, id, now);
    if (out->queued) tree_set(node, port, event_key_near(out->free_at, EVENT_FREE, port));
}

static inline __attribute__((always_inline)) void node_visit(struct worker *worker, struct node *node, ps_t end,
                                                             const struct node_calls *calls)
{
    uint64_t end_key = event_key(end, EVENT_PAUSE, 0);
    ps_t next;
    uint32_t runs, count = node_gather(worker, node, end, &next, &runs);
    struct event *event = worker->list;

    if (runs > 1)
        event = events_sort(event, worker->list_other, count, event_key(worker->from, EVENT_PAUSE, 0), end_key);
    const struct event *last = event + count;
    event[count].key = EVENT_NEVER;
    worker->hops += count;
    if (calls->expect) calls->expect(worker, node, event, count);
    for (;;) {
        uint64_t arrival = event->key, own = node_own(node);
        if (arrival < own) {
            ps_t now = arrival >> EVENT_BITS;
            uint64_t after = (event + 1)->key;
            uint32_t port = node_arrival(worker, node, event, now, after < own ? after : own, calls);
            event++;
            if (port != PORT_NONE) node_given(worker, node, port, now, event->key, calls);
        } else if (own >= end_key) {
            break;
        } else if (own == node->tick) {
            calls->tick(worker, node, own >> EVENT_BITS);
        } else {
            node_port_turn(worker, node, (uint32_t)own & (ENGINE_PORTS_MAX - 1), own >> EVENT_BITS, calls);
        }
    }
    CHECK(event == last);
    ps_t mine = event_time(node_own(node));
    worker->engine->next[node->index] = mine < next ? mine : next;
}

#endif
