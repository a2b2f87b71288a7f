/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The uncommon half of sending and receiving: lines that are slow to compute, lose packets or are listened to, control
 * words, links that are down.
 */
#include <stdlib.h>

#include "engine/tap.h"
#include "engine/visit.h"

void node_send_slowly(struct worker *worker, struct node *node, uint32_t port, pkt_t id, uint32_t line, ps_t now)
{
    struct port *out = &node->port[port];
    struct port_extra *extra = &node->extra[port];

    if (out->flags & PORT_LLR) {
        node_line_send(worker, node, port, id, line, now);
        return;
    }
    if ((out->flags & PORT_SLOWLY) == PORT_CUT) {
        ps_t arrival = node_send_cut(worker, node, port, line, now);
        fifo_push(&out->link->data, &worker->store, arrival, id);
        node_tell(worker, out, arrival);
        return;
    }
    struct port_sent sent = port_send_slowly(out, extra, &worker->engine->model, line, now);

    if (out->flags & PORT_TAP) tap_packet(extra->tap, &worker->pool.hot[id], id, sent.last_bit, sent.lost);
    if (sent.lost) {
        node_lose(worker, node, port, id, true);
        return;
    }
    fifo_push(&out->link->data, &worker->store, sent.arrival, id);
    node_tell(worker, out, sent.arrival);
}

void node_send_control(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t now)
{
    struct port *out = &node->port[port];
    struct port_extra *extra = &node->extra[port];

    if (out->link == NULL || out->flags & PORT_DOWN) return;
    bool retries = out->flags & PORT_LLR;
    struct port_sent sent = retries ? node_line_set(worker, node, port, word, now)
                                    : port_send_control(out, extra, &worker->engine->model, now);
    if (out->flags & PORT_TAP && !(word & (CREDIT_WORD | LLR_WORD)))
        tap_pause(extra->tap, control_enable(word), control_quanta(word), sent.last_bit);
    if (retries) return;
    fifo_push(&out->link->control, &worker->store, sent.arrival, word);
    node_tell(worker, out, sent.arrival);
}

void node_port_rate(struct node *node, uint16_t port, uint64_t rate_bps, const struct line_model *model)
{
    port_set_rate(&node->port[port], &node->extra[port], model, rate_bps);
}

void node_port_down(struct node *node, uint16_t port, bool down)
{
    struct port *out = &node->port[port];

    if (down && !(out->flags & PORT_DOWN)) {
        out->flags |= PORT_DOWN;
        node->extra[port].downs++;
        out->free_at = NODE_TIME_MAX;
        node->lost_arrivals++;
        tree_set(node, port, EVENT_NEVER);
    } else if (!down && out->flags & PORT_DOWN) {
        out->flags &= (uint16_t)~PORT_DOWN;
        out->free_at = 0;
        node->lost_arrivals--;
    }
}

void node_lose(struct worker *worker, struct node *node, uint32_t port, uint32_t what, bool is_packet)
{
    if (!is_packet) return; /* a pause: nothing that anybody sends again */
    node->extra[port].lost++;
    node->extra[port].lost_bytes += worker->pool.hot[what].frame_bytes;
    pktpool_put(&worker->pool, what);
}

void worker_grow_list(struct worker *worker, uint32_t least)
{
    uint32_t capacity = worker->list_capacity;

    while (capacity < least)
        capacity *= 2;
    worker->list = realloc(worker->list, capacity * sizeof(*worker->list));
    free(worker->list_other);
    worker->list_other = malloc(capacity * sizeof(*worker->list_other));
    CHECK(worker->list && worker->list_other);
    worker->list_capacity = capacity;
}
