/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches: a plain model of what the shared buffer, the queues and PFC must do, beside the real ones.
 *
 * The model is written from the rules (docs/internals/switch.md), in bytes of whole cells and without any of the
 * short cuts of src/switch: where a packet may be charged, when its peer must have been told to stop or to go on,
 * which packet a port may send next, and what ECN may do to it.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "swarm.h"
#include "watch_hooks.h"

#define FRAME_HEADERS_MAX 128u

typedef pkt_t sends(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io);
sends __real_sw_tx, __wrap_sw_tx, __real_sw_tx_simple, __wrap_sw_tx_simple;
uint16_t __real_sw_rx(struct sw *sw, uint16_t in, pkt_t id, ps_t now, struct sw_io *io);
uint16_t __wrap_sw_rx(struct sw *sw, uint16_t in, pkt_t id, ps_t now, struct sw_io *io);
void __real_sw_pause(struct sw *sw, uint16_t port, uint8_t enable, const uint16_t quanta[8], ps_t now,
                     struct sw_io *io);
void __wrap_sw_pause(struct sw *sw, uint16_t port, uint8_t enable, const uint16_t quanta[8], ps_t now,
                     struct sw_io *io);

uint32_t watch_find_switch(const struct watch *watch, const struct sw *sw)
{
    uint32_t i = 0;

    while (watch->sim->sw[i].sw != sw)
        i++;
    return i;
}

static uint64_t up(uint64_t bytes, uint64_t cell)
{
    return (bytes + cell - 1) / cell * cell;
}

static uint64_t pg_threshold(const struct sw_pg_config *pg, uint64_t free, uint64_t cell)
{
    if (!pg->dynamic) return pg->static_bytes / cell * cell;
    uint64_t alpha = ((uint64_t)pg->alpha_num << 20) / pg->alpha_den;
    if (alpha == 0) alpha = pg->alpha_num != 0;
    return (free / cell * alpha >> 20) * cell;
}

struct account { /* a priority group before a packet comes */
    uint64_t held, headroom, free;
};

static struct account account_of(const struct sw *sw, uint16_t port, uint8_t pg)
{
    uint64_t headroom = sw_pg_headroom_bytes(sw, port, pg);

    return (struct account){.held = sw_pg_bytes(sw, port, pg) - headroom,
                            .headroom = headroom,
                            .free = sw_shared_bytes(sw) - sw_shared_used(sw)};
}

static uint64_t shared_of(const struct account *account, const struct sw_pg_config *pg, uint64_t cell)
{
    uint64_t reserved = up(pg->reserved_bytes, cell);
    return account->held > reserved ? account->held - reserved : 0;
}

static struct { /* the last packet that a group had no room for */
    const struct sw *sw;
    uint16_t in;
    uint8_t pg;
} refused;

enum charge { CHARGE_BUFFER, CHARGE_HEADROOM, CHARGE_NONE };

/* Where the rules put a packet of `bytes`. */
static enum charge charge_of(const struct switch_watch *s, const struct sw *sw, const struct account *account,
                             const struct sw_pg_config *pg, uint64_t bytes)
{
    uint64_t cell = s->config->cell_bytes, reserved = up(pg->reserved_bytes, cell), held = account->held + bytes;

    if (held <= reserved) return CHARGE_BUFFER;
    uint64_t over = held - reserved, part = over < bytes ? over : bytes;
    if (over <= pg_threshold(pg, account->free, cell) && part <= account->free) return CHARGE_BUFFER;
    if (!pg->lossless || account->headroom + bytes > up(pg->headroom_bytes, cell)) return CHARGE_NONE;
    if (s->config->headroom_pool_bytes) {
        uint64_t used = 0;
        for (uint16_t p = 0; p < s->config->ports; p++)
            for (uint8_t g = 0; g < 8; g++)
                used += sw_pg_headroom_bytes(sw, p, g);
        if (used + bytes > up(s->config->headroom_pool_bytes, cell)) return CHARGE_NONE;
    }
    return CHARGE_HEADROOM;
}

static uint8_t prios_of(const struct sw_port_config *config, uint8_t pg)
{
    uint8_t prios = 0;

    for (int p = 0; p < 8; p++)
        if (config->tc_to_pg[p] == pg && config->pfc_tx >> p & 1) prios |= (uint8_t)(1u << p);
    return prios;
}

bool group_full(const struct watch *watch, uint32_t index, uint16_t port, uint8_t pg)
{
    const struct switch_watch *s = &watch->sw[index];
    const struct sw_pg_config *rule = &s->config->port[port]->pg[pg];
    uint64_t cell = s->config->cell_bytes;
    struct account account = account_of(watch->sim->sw[index].sw, port, pg);
    uint64_t shared = shared_of(&account, rule, cell);

    return account.headroom || (shared && shared >= pg_threshold(rule, account.free, cell));
}

/* Full, or the packet that came last was refused while it held something. */
bool group_must_stop(const struct watch *watch, uint32_t index, uint16_t port, uint8_t pg)
{
    const struct sw *sw = watch->sim->sw[index].sw;

    return group_full(watch, index, port, pg) ||
           (refused.sw == sw && refused.in == port && refused.pg == pg && account_of(sw, port, pg).held);
}

bool group_may_go(const struct watch *watch, uint32_t index, uint16_t port, uint8_t pg)
{
    const struct switch_watch *s = &watch->sw[index];
    const struct sw_pg_config *rule = &s->config->port[port]->pg[pg];
    uint64_t cell = s->config->cell_bytes;
    struct account account = account_of(watch->sim->sw[index].sw, port, pg);
    uint64_t shared = shared_of(&account, rule, cell);
    uint64_t offset = rule->xon_offset_bytes ? up(rule->xon_offset_bytes, cell) : cell;

    return account.headroom == 0 && (shared == 0 || shared + offset <= pg_threshold(rule, account.free, cell));
}

/* After a packet of the group came or went. */
static void check_told(const struct watch *watch, uint32_t index, const struct sw *sw, uint16_t port, uint8_t pg,
                       bool came)
{
    const struct switch_watch *s = &watch->sw[index];
    const struct sw_port_config *config = s->config->port[port];
    const struct sw_pg_config *rule = &config->pg[pg];
    uint64_t cell = s->config->cell_bytes;
    struct account account = account_of(sw, port, pg);
    uint64_t shared = shared_of(&account, rule, cell), threshold = pg_threshold(rule, account.free, cell);
    uint16_t prios = prios_of(config, pg), told = sw_pausing(sw, port) & prios;
    uint64_t offset = rule->xon_offset_bytes ? up(rule->xon_offset_bytes, cell) : cell;
    char name[FABRIC_NAME];

    if (!rule->lossless || watch->line[s->first_port + port].down) return;
    fabric_port_name(watch->fabric, s->first_port + port, name);
    bool stop = account.headroom || (shared && shared >= threshold);
    bool go = account.headroom == 0 && (shared == 0 || shared + offset <= threshold);
    if (came && stop)
        HOLDS(told == prios, "a group above its threshold has paused its peer", "%s group %u holds %lu above %lu", name,
              pg, (unsigned long)shared, (unsigned long)threshold);
    if (!came && go)
        HOLDS(told == 0, "a group that has drained lets its peer go on", "%s group %u holds %lu, threshold %lu", name,
              pg, (unsigned long)shared, (unsigned long)threshold);
}

/* Over all runs: marks on the slope of the curve, as many as its probabilities add up to. */
static double slope_expected, slope_variance, slope_marked;

static void slope_count(const struct sw_ecn *ecn, uint64_t length, bool marked)
{
    double chance = (double)(length - ecn->min_bytes) / (double)(ecn->max_bytes - ecn->min_bytes) *
                    (double)ecn->probability_ppm / 1e6;

    slope_expected += chance;
    slope_variance += chance * (1 - chance);
    slope_marked += marked;
}

void watch_slope(void)
{
    double off = slope_marked - slope_expected;

    HOLDS(off * off < 49 * (slope_variance + 10), "marks on the curve's slope are as many as it says",
          "%.0f, should be %.0f", slope_marked, slope_expected);
}

static void check_mark(struct watch *watch, uint32_t line, const struct sw_ecn *ecn, uint8_t before, uint8_t after,
                       uint64_t length)
{
    bool marked = (before & PKT_ECN_MASK) != PKT_ECN_CE && (after & PKT_ECN_MASK) == PKT_ECN_CE;
    bool can = (before & PKT_ECN_MASK) == PKT_ECN_ECT0 || (before & PKT_ECN_MASK) == PKT_ECN_ECT1;

    HOLDS((before & ~PKT_ECN_MASK) == (after & ~PKT_ECN_MASK), "DSCP stays as it was", "%x became %x", before, after);
    if (marked)
        HOLDS(ecn->on && can && length > ecn->min_bytes, "nothing is marked below the curve", "queue %lu, min %lu",
              (unsigned long)length, (unsigned long)ecn->min_bytes);
    else if (can && ecn->on && length > ecn->max_bytes)
        swarm_fail("everything is marked above the curve", "queue %lu, max %lu", (unsigned long)length,
                   (unsigned long)ecn->max_bytes);
    if (can && ecn->on && length > ecn->min_bytes && length <= ecn->max_bytes) slope_count(ecn, length, marked);
    watch->marks_checked += marked;
    watch->line[line].count.marked += marked;
}

/* Takes a packet off the front of its queue in the account. */
static void leave(struct watch *watch, pkt_t id, uint32_t bytes, uint16_t in)
{
    uint32_t at = watch->packet[id].at;
    struct switch_watch *s = &watch->sw[at >> 16];
    struct queue_watch *queue = &s->port[at >> 3 & 0x1fff].queue[at & 7];

    HOLDS(queue->fifo.head != queue->fifo.tail && queue->fifo.item[queue->fifo.head].what == id,
          "a queue is first in, first out", "switch %u port %u queue %u", at >> 16, at >> 3 & 0x1fff, at & 7);
    uint32_t pg = (uint32_t)queue->fifo.item[queue->fifo.head++].at;
    queue->bytes -= bytes;
    uint64_t cells = up(bytes, s->config->cell_bytes);
    queue->cells -= cells;
    HOLDS(s->port[in].pg_bytes[pg] >= cells, "buffers are never negative", "switch %u port %u group %u", at >> 16, in,
          pg);
    s->port[in].pg_bytes[pg] -= cells;
    watch->queued--;
}

void switch_flushed(struct watch *watch, pkt_t id)
{
    const struct pkt *pkt = &engine_worker(watch->sim->engine, 0)->pool.hot[id];
    leave(watch, id, pkt->frame_bytes, pkt->in_port);
}

/* Queues that hold something, and those that a pause holds back; for the latter `late` is the time that counts. */
static uint8_t filled_of(const struct port_watch *port)
{
    uint8_t filled = 0;

    for (int q = 0; q < 8; q++)
        if (port->queue[q].fifo.head != port->queue[q].fifo.tail) filled |= (uint8_t)(1u << q);
    return filled;
}

static uint8_t paused_of(const struct watch *watch, const struct switch_watch *s, const struct sw *sw, uint16_t port,
                         ps_t late)
{
    const struct sw_port_config *config = s->config->port[port];
    const struct line *line = &watch->line[s->first_port + port];
    uint8_t paused = 0;

    for (int p = 0; p < 8; p++)
        if (config->pfc_rx >> p & 1 && line->paused_until[p] > late) paused |= (uint8_t)(1u << config->tc_to_queue[p]);
    if (!s->config->watchdog.drop) paused &= (uint8_t)~sw->slow[port].storm;
    return paused;
}

/* Weighted queues that all have something to send share the line by weight. */
static void check_fair(struct watch *watch, struct switch_watch *s, uint16_t port, uint8_t ready, uint32_t queue,
                       uint32_t bytes)
{
    const struct sw_port_config *config = s->config->port[port];
    struct port_watch *p = &s->port[port];
    uint64_t least = UINT64_MAX;

    if (p->ready != ready) {
        memset(p->served, 0, sizeof(p->served));
        p->ready = ready;
    }
    p->served[queue] += bytes;
    if (p->queue[queue].fifo.head + 1 >= p->queue[queue].fifo.tail) p->ready = 0; /* its last: not backlogged */
    if ((ready & (ready - 1)) == 0 || config->queue[queue].strict) return;
    for (int q = 0; q < 8; q++)
        if (!config->queue[q].strict && config->queue[q].weight_bytes && config->queue[q].weight_bytes < least)
            least = config->queue[q].weight_bytes;
    double scale = least < 2048 ? (double)((2048 + least - 1) / least) : 1;
    double own = (config->queue[queue].weight_bytes ? config->queue[queue].weight_bytes : (double)least) * scale;
    for (uint32_t q = 0; q < 8; q++) {
        if (q == queue || !(ready >> q & 1) || config->queue[q].strict) continue;
        double other = (config->queue[q].weight_bytes ? config->queue[q].weight_bytes : (double)least) * scale;
        double ahead = (double)p->served[queue] / own - (double)p->served[q] / other;
        double frame = watch->fabric->nic[0].mtu_bytes + FRAME_HEADERS_MAX;
        HOLDS(ahead < 2 + frame / own + frame / other, "backlogged queues share by weight",
              "port %u: queue %u, with %lu bytes and weight %.0f, is %.1f rounds ahead of %u with %lu and %.0f", port,
              queue, (unsigned long)p->served[queue], own, ahead, q, (unsigned long)p->served[q], other);
        watch->fair_checked++;
    }
}

static void check_choice(struct watch *watch, struct switch_watch *s, const struct sw *sw, uint16_t port, uint8_t ready,
                         uint32_t queue, ps_t now)
{
    const struct sw_port_config *config = s->config->port[port];

    HOLDS(!(paused_of(watch, s, sw, port, now) >> queue & 1), "a paused priority sends nothing",
          "port %u queue %u at %lu ps", port, queue, (unsigned long)now);
    for (uint32_t q = 0; q < 8; q++)
        if (ready >> q & 1 && config->queue[q].strict && q != queue) {
            HOLDS(config->queue[queue].strict && queue > q, "strict queues go first", "port %u sends %u before %u",
                  port, queue, q);
            watch->strict_checked++;
        }
}

static struct coming { /* the packet on its way into a switch, and what the switch was before */
    uint32_t index;
    uint16_t in;
    uint8_t tc, pg;
    pkt_t id;
    struct pkt before;
    const struct pkt *pkt;
    uint64_t bytes, judged;
    struct account account;
    enum charge charge;
    uint64_t limited; /* drops at egress limits so far */
} coming;

static uint64_t limited_of(const struct sw *sw, const struct coming *c)
{
    uint64_t sum = 0;

    if (sw->config->port[c->in]->pg[c->pg].lossless) return 0;
    for (uint16_t p = 0; p < sw->ports; p++)
        sum += sw->counters[p].drop[SW_DROP_egress];
    return sum;
}

/* The longest a queue of a lossy class may be, with what is free. */
static double egress_limit(const struct sw_queue_config *queue, uint64_t free)
{
    double limit = (double)queue->limit_bytes;

    if (queue->alpha_num && (double)free * queue->alpha_num / queue->alpha_den < limit)
        limit = (double)free * queue->alpha_num / queue->alpha_den;
    return limit;
}

static uint64_t judged_of(const struct sw *sw, uint16_t in)
{
    return sw->counters[in].drop[SW_DROP_buffer] + sw->counters[in].drop[SW_DROP_headroom];
}

void watch_switch_before(struct sw *sw, uint16_t in, pkt_t id, ps_t now, const struct sw_io *io)
{
    struct watch *watch = watching;
    struct coming *c = &coming;

    c->index = watch_find_switch(watch, sw);
    const struct switch_watch *s = &watch->sw[c->index];
    const struct sw_port_config *config = s->config->port[in];
    c->in = in;
    c->id = id;
    c->pkt = &io->pool->hot[id];
    c->before = *c->pkt;
    c->tc = config->trust == SW_TRUST_PCP ? config->pcp_to_tc[c->before.pcp] : config->dscp_to_tc[c->before.tos >> 2];
    c->pg = config->tc_to_pg[c->tc];
    c->bytes = up(c->before.frame_bytes, s->config->cell_bytes);
    line_arrive(watch, s->first_port + in, id, now);
    c->account = account_of(sw, in, c->pg);
    c->charge = charge_of(s, sw, &c->account, &config->pg[c->pg], c->bytes);
    c->judged = judged_of(sw, in);
    c->limited = limited_of(sw, c);
    refused.sw = NULL;
}

void watch_switch_dropped(const struct sw *sw)
{
    const struct coming *c = &coming;

    HOLDS(judged_of(sw, c->in) == c->judged || c->charge == CHARGE_NONE, "what fits is kept",
          "switch %u port %u group %u drops %lu with %lu held, %lu free", c->index, c->in, c->pg,
          (unsigned long)c->bytes, (unsigned long)c->account.held, (unsigned long)c->account.free);
    if (limited_of(sw, c) != c->limited) {
        bool full = false;
        for (uint16_t p = 0; p < sw->ports; p++) {
            const struct sw_port_config *onto = sw->config->port[p];
            uint8_t queue = onto->tc_to_queue[c->tc];
            full |= (double)(watching->sw[c->index].port[p].queue[queue].cells + c->bytes + 2 * sw->cell_bytes) >
                    egress_limit(&onto->queue[queue], c->account.free);
        }
        HOLDS(full, "a queue below its limit takes more", "switch %u class %u", c->index, c->tc);
        watching->egress_checked++;
    }
    if (judged_of(sw, c->in) != c->judged) {
        refused.sw = sw;
        refused.in = c->in;
        refused.pg = c->pg;
    }
    if (judged_of(sw, c->in) != c->judged) check_told(watching, c->index, sw, c->in, c->pg, true);
}

/* It was taken: by rights, and charged where it belongs; `stays` of it are in the buffer now. */
static void check_taken(struct watch *watch, const struct sw *sw, uint16_t out, uint64_t stays)
{
    const struct coming *c = &coming;
    struct switch_watch *s = &watch->sw[c->index];

    HOLDS(c->charge != CHARGE_NONE, "what does not fit is dropped",
          "switch %u port %u group %u takes %lu with %lu held, %lu free", c->index, c->in, c->pg,
          (unsigned long)c->bytes, (unsigned long)c->account.held, (unsigned long)c->account.free);
    s->port[c->in].pg_bytes[c->pg] += stays;
    uint64_t headroom = c->account.headroom + (stays && c->charge == CHARGE_HEADROOM ? stays : 0);
    HOLDS(sw_pg_headroom_bytes(sw, c->in, c->pg) == headroom, "a packet is charged where the rules say",
          "switch %u port %u group %u: headroom", c->index, c->in, c->pg);
    HOLDS(sw_pg_bytes(sw, c->in, c->pg) == s->port[c->in].pg_bytes[c->pg],
          "a group holds what came in and has not left", "switch %u port %u group %u: %lu, should be %lu", c->index,
          c->in, c->pg, (unsigned long)sw_pg_bytes(sw, c->in, c->pg), (unsigned long)s->port[c->in].pg_bytes[c->pg]);
    HOLDS(c->in != out || watch->plan->routes_move, "a packet does not leave by the port it came in by",
          "switch %u port %u", c->index, c->in);
    HOLDS(c->pkt->ttl + (watch->plan->v1 ? 0 : 1) == c->before.ttl, "each hop takes one of the TTL", "switch %u",
          c->index); /* what is switched and not routed keeps it */
}

static const struct sw_ecn no_ecn;

/* Flows choose among ways of equal cost: which, is counted by their first packets. */
static void check_way(const struct watch *watch, const struct coming *c, uint16_t out)
{
    const struct fabric_route *route = &watch->fabric->route[c->index];
    uint32_t edge = watch->fabric->edge_of[c->before.dst_node], which = FABRIC_NONE;

    if (watch->packet[c->id].order != 1 || watch->plan->goes_down || watch->plan->routes_move) return;
    if (route->own_edge == edge) {
        HOLDS(watch->fabric->local_port[c->before.dst_node] == out, "packets reach whom they are for", "switch %u",
              c->index);
        return;
    }
    const struct sw_group *group = &route->group[route->group_of[edge]];
    for (uint32_t i = 0; i < group->count; i++)
        if (watch->fabric->route_port[group->first + i] == out) which = i;
    HOLDS(which != FABRIC_NONE, "packets leave by a port of their route", "switch %u port %u", c->index, out);
    if (watch->fabric->sw[c->index].hash_fields & (SW_HASH_SPORT | SW_HASH_QP)) routes_chosen(group->count, which);
}

void watch_switch_queued(const struct sw *sw, uint16_t out, ps_t now)
{
    struct watch *watch = watching;
    const struct coming *c = &coming;
    struct switch_watch *s = &watch->sw[c->index];
    const struct sw_port_config *onto = s->config->port[out];
    uint8_t queue_index = onto->tc_to_queue[c->tc];
    struct queue_watch *queue = &s->port[out].queue[queue_index];

    check_taken(watch, sw, out, c->bytes);
    if (!s->config->port[c->in]->pg[c->pg].lossless)
        HOLDS((double)(queue->cells + c->bytes) <=
                  egress_limit(&onto->queue[queue_index], c->account.free) + 2.0 * s->config->cell_bytes,
              "a queue of a lossy class keeps to its limit", "switch %u port %u queue %u: %lu", c->index, out,
              queue_index, (unsigned long)(queue->cells + c->bytes));
    if (queue->fifo.head == queue->fifo.tail) queue->filled_at = now;
    check_told(watch, c->index, sw, c->in, c->pg, true);
    check_mark(watch, s->first_port + out, s->config->mark == SW_MARK_ENQUEUE ? &onto->queue[queue_index].ecn : &no_ecn,
               c->before.tos, c->pkt->tos, queue->bytes);
    lane_push(&queue->fifo, c->id, c->pg);
    queue->bytes += c->before.frame_bytes;
    queue->cells += c->bytes;
    if (queue->bytes > queue->most) queue->most = queue->bytes;
    check_way(watch, c, out);
    watch->packet[c->id].where = IN_QUEUE;
    watch->packet[c->id].at = c->index << 16 | (uint32_t)out << 3 | queue_index;
    watch->queued++;
}

void watch_switch_passed(const struct sw *sw, uint16_t out, ps_t now)
{
    struct watch *watch = watching;
    const struct coming *c = &coming;
    struct switch_watch *s = &watch->sw[c->index];
    uint32_t queue = s->config->port[out]->tc_to_queue[c->tc];

    check_taken(watch, sw, out, 0);
    if (c->before.frame_bytes > s->port[out].queue[queue].most) s->port[out].queue[queue].most = c->before.frame_bytes;
    check_way(watch, c, out);
    HOLDS(filled_of(&s->port[out]) == 0, "only an empty port is passed through", "switch %u port %u", c->index, out);
    HOLDS(c->pkt->tos == c->before.tos, "nothing is marked below the curve", "switch %u", c->index);
    check_choice(watch, s, sw, out, (uint8_t)(1u << queue), queue, now);
    check_fair(watch, s, out, (uint8_t)(1u << queue), queue, c->before.frame_bytes);
    line_send(watch, s->first_port + out, c->pkt, c->id, now);
}

static pkt_t watch_switch_sends(sends *send, struct sw *sw, uint16_t port, ps_t now, struct sw_io *io)
{
    struct watch *watch = watching;
    if (!watch) return send(sw, port, now, io);

    uint32_t index = watch_find_switch(watch, sw);
    struct switch_watch *s = &watch->sw[index];
    uint8_t filled = filled_of(&s->port[port]);
    /* Sent by now at the latest, since the pause ran out before; and those that certainly may go. */
    uint8_t idle = filled & (uint8_t)~paused_of(watch, s, sw, port, now ? now - 1 : 0);
    uint8_t ready = filled & (uint8_t)~sw->port[port].paused;
    uint32_t front[8];
    for (int q = 0; q < 8; q++) {
        struct lane *fifo = &s->port[port].queue[q].fifo;
        front[q] = fifo->head != fifo->tail ? fifo->item[fifo->head].what : PKT_NONE;
    }
    uint8_t tos_of[8];
    for (int q = 0; q < 8; q++)
        tos_of[q] = front[q] == PKT_NONE ? 0 : io->pool->hot[front[q]].tos;
    pkt_t id = send(sw, port, now, io);
    if (id == PKT_NONE) {
        HOLDS(!idle, "a free port sends what it may", "switch %u port %u: queues %x wait at %lu ps", index, port, idle,
              (unsigned long)now);
        return id;
    }
    HOLDS(watch->packet[id].where == IN_QUEUE && watch->packet[id].at >> 3 == (index << 13 | port),
          "a port sends what is queued there", "switch %u port %u: packet %u is %u at %x", index, port, id,
          watch->packet[id].where, watch->packet[id].at);
    const struct pkt *pkt = &io->pool->hot[id];
    uint32_t queue = watch->packet[id].at & 7;
    struct queue_watch *q = &s->port[port].queue[queue];
    uint8_t pg = (uint8_t)q->fifo.item[q->fifo.head].at;
    check_choice(watch, s, sw, port, ready, queue, now);
    check_fair(watch, s, port, ready, queue, pkt->frame_bytes);
    leave(watch, id, pkt->frame_bytes, pkt->in_port);
    HOLDS(sw_pg_bytes(sw, pkt->in_port, pg) == s->port[pkt->in_port].pg_bytes[pg],
          "a group holds what came in and has not left", "switch %u port %u group %u", index, pkt->in_port, pg);
    check_told(watch, index, sw, pkt->in_port, pg, false);
    check_mark(watch, s->first_port + port,
               s->config->mark == SW_MARK_DEQUEUE ? &s->config->port[port]->queue[queue].ecn : &no_ecn, tos_of[queue],
               pkt->tos, q->bytes);
    watch->packet[id].where = IN_HANDS;
    line_send(watch, s->first_port + port, pkt, id, now);
    return id;
}

pkt_t __wrap_sw_tx(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io)
{
    return watch_switch_sends(__real_sw_tx, sw, port, now, io);
}

pkt_t __wrap_sw_tx_simple(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io)
{
    return watch_switch_sends(__real_sw_tx_simple, sw, port, now, io);
}

uint16_t __wrap_sw_rx(struct sw *sw, uint16_t in, pkt_t id, ps_t now, struct sw_io *io)
{
    if (watching) watch_switch_before(sw, in, id, now, io);
    uint16_t out = __real_sw_rx(sw, in, id, now, io);
    if (watching && out != SW_DROPPED)
        watch_switch_queued(sw, out, now);
    else if (watching)
        watch_switch_dropped(sw);
    return out;
}

void __wrap_sw_pause(struct sw *sw, uint16_t port, uint8_t enable, const uint16_t quanta[8], ps_t now, struct sw_io *io)
{
    if (watching) {
        uint32_t line = line_of_switch(watching, watch_find_switch(watching, sw), port);
        line_pause_arrives(watching, line, enable, quanta[0], now);
        line_paused(watching, line, enable, quanta[0], now);
    }
    __real_sw_pause(sw, port, enable, quanta, now, io);
}
