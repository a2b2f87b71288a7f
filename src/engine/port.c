/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The uncommon half of sending and receiving: rates at which a byte is no whole number of picoseconds, corruption,
 * pause frames, links that are down.
 *
 * A pause frame does not queue: it follows the frame on the line, before whatever waits (802.1Qbb: it is a MAC
 * control frame, inserted below the queues).  Two that are due at once leave one after the other.
 */
#include <stdlib.h>

#include "engine/tap.h"
#include "engine/visit.h"

static ps_t cut(ps_t span, const struct wire_model *model)
{
    return model->whole_ns ? span - span % PS_NS : span;
}

static ps_t port_line_time(struct port_extra *extra, uint32_t bytes, const struct wire_model *model)
{
    return cut(rate_take(&extra->rate, bytes), model);
}

/* How long `bytes` take, rounded down, without touching the clock's carry. */
static ps_t port_span(const struct port_extra *extra, uint32_t bytes, const struct wire_model *model)
{
    struct rate rate = extra->rate;
    return cut(rate_take(&rate, bytes), model);
}

/* base^count, both fractions of 2^64, rounded down at each step: less than 2^-50 too low for any frame. */
static uint64_t power(uint64_t base, uint32_t count)
{
    uint64_t result = UINT64_MAX;

    for (; count; count >>= 1) {
        if (count & 1) result = (uint64_t)((u128)result * base >> 64);
        base = (uint64_t)((u128)base * base >> 64);
    }
    return result;
}

static bool port_corrupts(struct port_extra *extra, uint32_t bytes)
{
    bool lost = extra->loss_ppm && rng_chance(&extra->rng, extra->loss_ppm);

    if (extra->keeps && rng_u64(&extra->rng) > power(extra->keeps, bytes)) lost = true;
    if (extra->drop_every && --extra->until_drop == 0) {
        extra->until_drop = extra->drop_every;
        lost = true;
    }
    return lost;
}

void node_send_slowly(struct worker *worker, struct node *node, uint32_t port, pkt_t id, uint32_t line, ps_t now)
{
    const struct wire_model *model = &worker->engine->model;
    struct port *out = &node->port[port];
    struct port_extra *extra = &node->extra[port];
    uint32_t bytes = line - model->gap, header = WIRE_CUT_BYTES + model->before;
    uint32_t first = out->flags & PORT_CUT && bytes > header ? header : bytes;
    ps_t arrival = now + port_span(extra, first, model) + extra->latency;

    ps_t sent = out->flags & PORT_TAP ? now + port_span(extra, bytes, model) : 0;
    out->free_at = now + port_line_time(extra, line, model);
    bool lost = out->flags & PORT_CORRUPT && port_corrupts(extra, bytes);
    if (out->flags & PORT_TAP) tap_packet(extra->tap, &worker->pool.hot[id], sent, lost);
    if (lost) {
        node_lose(worker, node, port, id, true);
        return;
    }
    fifo_push(&out->wire->data, &worker->store, arrival, id);
    node_tell(worker, out, arrival);
}

void node_send_pause(struct worker *worker, struct node *node, uint32_t port, uint8_t enable, uint16_t quanta, ps_t now)
{
    struct port *out = &node->port[port];
    struct port_extra *extra = &node->extra[port];
    const struct wire_model *model = &worker->engine->model;

    if (out->wire == NULL || out->flags & PORT_DOWN) return;
    ps_t start = out->free_at > now ? out->free_at : now;
    ps_t sent = start + port_span(extra, (uint32_t)(model->pause_bytes - model->gap), model);
    ps_t arrival = sent + extra->pause_latency;
    out->free_at = start + port_line_time(extra, model->pause_bytes, model);
    out->sent_bytes += model->pause_bytes;
    out->sent_frames++;
    extra->pauses_sent++;
    if (out->flags & PORT_TAP) tap_pause(extra->tap, enable, quanta, sent);
    fifo_push(&out->wire->pause, &worker->store, arrival, enable | (uint32_t)quanta << 8);
    node_tell(worker, out, arrival);
}

void node_port_rate(struct node *node, uint16_t port, uint64_t rate_bps, const struct wire_model *model)
{
    struct port *out = &node->port[port];
    struct port_extra *extra = &node->extra[port];

    rate_set(&extra->rate, rate_bps);
    out->flags &= (uint16_t)~PORT_DIVIDED;
    if (extra->rate.ps_per_byte && extra->rate.ps_per_byte <= UINT32_MAX && !model->whole_ns)
        out->ps_per_byte = (uint32_t)extra->rate.ps_per_byte;
    else
        out->flags |= PORT_DIVIDED;
    out->behind = extra->latency - model->gap * (uint64_t)out->ps_per_byte;
}

void node_port_down(struct node *node, uint16_t port, bool down)
{
    struct port *out = &node->port[port];

    if (down && !(out->flags & PORT_DOWN)) {
        out->flags |= PORT_DOWN;
        out->free_at = ENGINE_TIME_MAX;
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
