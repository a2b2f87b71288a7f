/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch's front doors: init, packet in, packet out, tick, port up and down.
 *
 * sw_rx and sw_tx run once for every packet-hop of a simulation, so the way of a packet that
 * is not dropped and crosses no threshold is short and straight; the rest is in functions of its own.
 * Order in sw_rx: class, route, TTL, MTU, refusal, MMU, XOFF, mark, queue; a drop is counted
 * with the first reason found; the pieces are in crossing.h.  Order in sw_tx: choose, unlink, release, XON, mark.
 *
 * TTL is for IP; frames of RoCEv1 and others are bridged without it.  Measured by tests/switch/bench_switch.c.
 */
#include "base/bits.h"
#include "switch/crossing.h"
#include "switch/switch_int.h"

#define MARK_STREAM 1 /* of the switch's seed */
#define HASH_STREAM 2

size_t sw_memory_bytes(const struct sw_config *config)
{
    size_t ports = config->ports;
    return lines_up(sizeof(struct sw)) + lines_up(ports * sizeof(struct sw_port)) +
           lines_up(ports * SW_PRIOS * sizeof(struct sw_pg)) + lines_up(ports * SW_PRIOS * sizeof(struct sw_queue)) +
           lines_up(sw_profiles_count(config) * sizeof(struct sw_profile)) + lines_up(ports * sizeof(ps_t)) +
           lines_up(ports * sizeof(struct sw_port_slow)) + lines_up(ports * sizeof(struct sw_port_counters)) +
           balance_bytes(&config->balance) + voq_bytes(config) + credit_bytes(config);
}

static void *carve(uint8_t **at, size_t bytes)
{
    void *taken = *at;
    *at += lines_up(bytes);
    return taken;
}

enum sw_form sw_form(const struct sw_config *config)
{
    if (config->forgets_ports || config->raise || config->telemetry) return SW_WHOLE;
    if (config->credit.vls) return SW_CREDITS;
    return config->balance.kind != SW_ECMP || config->voq.on ? SW_FORWARDS : SW_SIMPLE;
}

struct sw *sw_init(void *memory, const struct sw_config *config, const struct sw_routes *routes)
{
    CHECK((uintptr_t)memory % SW_LINE == 0);
    CHECK(sw_config_problem(config) == NULL);
    size_t ports = config->ports;
    uint8_t *at = memory;
    struct sw *sw = carve(&at, sizeof *sw);
    sw->port = carve(&at, ports * sizeof *sw->port);
    sw->pg = carve(&at, ports * SW_PRIOS * sizeof *sw->pg);
    sw->queue = carve(&at, ports * SW_PRIOS * sizeof *sw->queue);
    sw->profile = carve(&at, sw_profiles_count(config) * sizeof *sw->profile);
    sw->due = carve(&at, ports * sizeof *sw->due);
    sw->slow = carve(&at, ports * sizeof *sw->slow);
    sw->counters = carve(&at, ports * sizeof *sw->counters);
    sw->balancer = balance_init(carve(&at, balance_bytes(&config->balance)), &config->balance);
    sw->voqs = voq_init(carve(&at, voq_bytes(config)), config);
    sw->credits = credit_init(carve(&at, credit_bytes(config)), config);
    CHECK((size_t)(at - (uint8_t *)memory) == sw_memory_bytes(config));

    sw->config = config;
    sw->ports = config->ports;
    sw->deadline = PS_NEVER;
    sw->blamed = SW_NO_CAUSE;
    sw_profiles_compile(sw);
    sw_set_routes(sw, routes);
    /* Seeds are small numbers as a rule: hashed as they are, two switches would choose alike. */
    rng_init(&sw->rng, config->seed, HASH_STREAM);
    sw->hash_seed = rng_u64(&sw->rng);
    rng_init(&sw->rng, config->seed, MARK_STREAM);
    for (uint32_t port = 0; port < ports; port++) {
        sw->due[port] = PS_NEVER;
        sw->slow[port].refresh_at = PS_NEVER;
        sw->slow[port].poll_at = PS_NEVER;
        pfc_set_rate(sw, port, config->rate_bps[port]);
        for (uint32_t i = 0; i < SW_PRIOS; i++) {
            sw->slow[port].stuck_since[i] = PS_NEVER;
            sw_queue_at(sw, port, i)->head = PKT_NONE;
            sw_queue_at(sw, port, i)->tail = PKT_NONE;
        }
    }
    if (sw->credits) credit_start(sw);
    return sw;
}

void sw_set_routes(struct sw *sw, const struct sw_routes *routes)
{
    sw->routes = routes;
    route_init(sw);
    if (sw->balancer) balance_forget(sw->balancer);
}

/* Counted at `port` under `prio` (its PG or its queue), and gone. */
__attribute__((noinline, cold)) void sw_drop(struct sw *sw, uint32_t port, uint32_t prio, enum sw_drop why, pkt_t id,
                                             ps_t now, struct sw_io *io)
{
    sw_note(sw, RECORD_DROP, port, prio, io->pool->hot[id].frame_bytes, why, now);
    sw->counters[port].drop[why]++;
    sw->counters[port].dropped_bytes += io->pool->hot[id].frame_bytes;
    sw->counters[port].prio[prio].drops++;
    pktpool_put(io->pool, id);
    io->deadline = sw->deadline;
}

__attribute__((noinline)) void sw_mark(struct sw *sw, const struct sw_queue_rule *rule, struct sw_queue *queue,
                                       uint64_t bytes, struct pkt *pkt, ps_t now)
{
    uint8_t ecn = pkt->tos & PKT_ECN_MASK;
    if (ecn == PKT_ECN_NOT_ECT || ecn == PKT_ECN_CE || bytes <= rule->mark_min || !ecn_mark(sw, rule, bytes)) return;
    pkt->tos |= PKT_ECN_CE;
    queue->marked++;
    uint32_t at = (uint32_t)(queue - sw->queue);
    sw_note(sw, RECORD_MARK, at / SW_PRIOS, at % SW_PRIOS, bytes, 0, now);
}

/* The way of a packet that reaches a threshold: admitted or not, a lossless class pauses its peer. */
__attribute__((noinline)) enum sw_drop sw_admit(struct sw *sw, uint32_t in, uint32_t pg_index, uint32_t cells, ps_t now,
                                                struct sw_io *io)
{
    struct sw_pg *pg = sw_pg_at(sw, in, pg_index);
    const struct sw_pg_rule *rule = &sw->port[in].profile->pg[pg_index];
    enum sw_drop verdict = mmu_admit(sw, pg, rule, cells);
    /* A refusal pauses too; but where nothing is held nothing would ever end the pause. */
    if (rule->lossless && !(sw->port[in].xoff >> pg_index & 1) &&
        (mmu_must_pause(sw, pg, rule) || (verdict != SW_DROPS && pg->held)))
        pfc_xoff(sw, in, pg_index, now, io);
    sw->blamed = SW_NO_CAUSE;
    return verdict;
}

/* Takes the head of the queue off, and its cells from where it was charged.  `now`, for virtual output queues:
 * PS_NEVER, all of the queue is thrown away, and nothing is read for it. */
SW_INLINE pkt_t pop(struct sw *sw, struct sw_port *port, struct sw_queue *queue, uint32_t index, struct pkt *hot,
                    bool simple, ps_t now)
{
    pkt_t id = queue->head, next = hot[id].next;
    uint32_t bytes = hot[id].frame_bytes, in = hot[id].in_port;
    uint32_t cells = sw_cells(sw, bytes);
    const struct sw_profile *from = sw->port[in].profile;
    uint32_t pg = from->pg_of[hot[id].tc];
    queue->head = next;
    queue->cells -= cells;
    queue->bytes -= bytes;
    if (!simple && next == SW_MORE) {
        voq_refill(sw, queue, hot, now);
    } else if (next == PKT_NONE) {
        port->filled &= (uint16_t) ~(1u << index);
        if (queue->deficit > 0) queue->deficit = 0;
    }
    mmu_release(sw, sw_pg_at(sw, in, pg), &from->pg[pg], cells);
    return id;
}

uint16_t sw_rx(struct sw *sw, uint16_t in, pkt_t id, ps_t now, struct sw_io *io)
{
    struct sw_crossing crossing;

    if (sw->credits) {
        if (!sw_credit_find(sw, in, id, now, io, &crossing)) return SW_DROPPED;
        return sw_credit_queue(sw, &crossing, id, now, io) ? (uint16_t)crossing.out : SW_DROPPED;
    }
    if (sw->config->forgets_ports && sw_floods(sw, &io->pool->hot[id]))
        return sw_flood(sw, in, id, now, io) ? SW_FLOODED : SW_DROPPED;
    if (!sw_cross_find(sw, in, id, false, now, io, &crossing)) return SW_DROPPED;
    if (sw->config->raise && sw_cross_raise(sw, &crossing, id, now, io)) return SW_DROPPED;
    if (!sw_cross_queue(sw, &crossing, id, false, now, io)) return SW_DROPPED;
    return (uint16_t)crossing.out;
}

/* A packet of the group left: has its peer waited long enough? */
__attribute__((noinline)) static void consider_xon(struct sw *sw, uint32_t in, uint32_t tc, ps_t now, struct sw_io *io)
{
    const struct sw_port *from = &sw->port[in];
    uint32_t pg = from->profile->pg_of[tc];
    if (from->xoff >> pg & 1 && mmu_may_resume(sw, sw_pg_at(sw, in, pg), &from->profile->pg[pg]))
        pfc_xon(sw, in, pg, now, io);
}

/* Which of two or more queues. */
SW_INLINE uint32_t pick(struct sw *sw, uint32_t port, struct sw_queue *queues, uint32_t ready, bool credits)
{
    if (credits && sw->config->credit.arbitration)
        return arbitrate(sw->config->credit.arbitration, &sw->credits->lanes[port].arbiter, ready);
    return sched_pick(sw->port[port].profile, queues, ready, &sw->slow[port].turn);
}

/* `simple`: without virtual output queues. */
SW_INLINE pkt_t send_next(struct sw *sw, uint32_t port, bool simple, bool credits, ps_t now, struct sw_io *io)
{
    struct sw_port *to = &sw->port[port];
    uint32_t ready = to->filled & ~(uint32_t)to->paused;
    if (!ready) {
        io->deadline = sw->deadline;
        return PKT_NONE;
    }
    struct pkt *hot = io->pool->hot;
    struct sw_queue *queues = sw_queue_at(sw, port, 0);
    bool alone = (ready & (ready - 1)) == 0;
    uint32_t index = alone ? (uint32_t)__builtin_ctz(ready) : pick(sw, port, queues, ready, credits);
    struct sw_queue *queue = &queues[index];
    if (!alone) sched_sent(to, queue, ready, hot[queue->head].frame_bytes);
    pkt_t id = pop(sw, to, queue, index, hot, simple, now);
    struct pkt *pkt = &hot[id];
    queue->tx_packets++;
    queue->tx_bytes += pkt->frame_bytes;

    if (sw_unlikely(sw->port[pkt->in_port].xoff)) consider_xon(sw, pkt->in_port, pkt->tc, now, io);
    const struct sw_queue_rule *rule = &to->profile->queue[index];
    if (sw_unlikely(queue->bytes > rule->mark_out_above)) sw_mark(sw, rule, queue, queue->bytes, pkt, now);
    io->deadline = sw->deadline;
    return id;
}

/* A packet left by the port: its buffer is free, its blocks are sent. */
SW_INLINE void credit_left_by(struct sw *sw, uint32_t port, struct pkt *pkt, ps_t now, struct sw_io *io)
{
    uint32_t blocks = lane_blocks(sw, pkt->frame_bytes);
    const struct sw_profile *from = sw->port[pkt->in_port].profile;
    uint32_t vl = sw->port[port].profile->queue_of[pkt->tc];

    if (sw->config->credit.arbitration)
        arbitrated(sw->config->credit.arbitration, &sw->credits->lanes[port].arbiter, blocks);
    lane_sent(sw, port, vl, blocks, now);
    lane_freed(sw, pkt->in_port, from->pg_of[pkt->tc], blocks, now, io);
    if (sw_unlikely(sw_queue_at(sw, port, vl)->bytes > sw->config->credit.mark_bytes))
        credit_mark(sw, port, vl, pkt, blocks, now);
    io->deadline = sw->deadline;
}

pkt_t sw_tx_simple(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io)
{
    return send_next(sw, port, true, false, now, io);
}

pkt_t sw_tx_credits(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io)
{
    pkt_t id = send_next(sw, port, true, true, now, io);

    if (id != PKT_NONE) credit_left_by(sw, port, &io->pool->hot[id], now, io);
    return id;
}

pkt_t sw_tx(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io)
{
    if (sw->voqs && sw_unlikely(voq_reading(sw, port, now))) {
        io->deadline = sw->deadline;
        return PKT_NONE;
    }
    pkt_t id = send_next(sw, port, false, sw->credits != NULL, now, io);
    if (sw->config->telemetry && id != PKT_NONE) sw_note_hop(sw, port, id, now, io);
    if (sw->credits && id != PKT_NONE) credit_left_by(sw, port, &io->pool->hot[id], now, io);
    return id;
}

void sw_drop_head(struct sw *sw, uint32_t port, uint32_t queue, enum sw_drop why, ps_t now, struct sw_io *io)
{
    struct sw_queue *from = sw_queue_at(sw, port, queue);
    pkt_t id = pop(sw, &sw->port[port], from, queue, io->pool->hot, false, PS_NEVER);

    if (sw->credits) {
        const struct pkt *pkt = &io->pool->hot[id];
        uint32_t vl = sw->port[pkt->in_port].profile->pg_of[pkt->tc];
        lane_freed(sw, pkt->in_port, vl, lane_blocks(sw, pkt->frame_bytes), now, io);
    }
    sw_drop(sw, port, queue, why, id, now, io);
}

void sw_flush(struct sw *sw, uint32_t port, uint32_t queue, enum sw_drop why, ps_t now, struct sw_io *io)
{
    while (sw->port[port].filled >> queue & 1)
        sw_drop_head(sw, port, queue, why, now, io);
}

void sw_tick(struct sw *sw, ps_t now, struct sw_io *io)
{
    if (now >= sw->deadline) {
        for (uint32_t port = 0; port < sw->ports; port++) {
            if (sw->due[port] > now) continue;
            sw->due[port] = PS_NEVER;
            ps_t pauses = pfc_tick(sw, port, now, io);
            ps_t poll = watchdog_tick(sw, port, now, io);
            sw_due(sw, port, pauses < poll ? pauses : poll);
            if (sw->voqs) sw_due(sw, port, voq_tick(sw, port, now, io));
            if (sw->credits) sw_due(sw, port, credit_tick(sw, port, now, io));
        }
        ps_t next = PS_NEVER;
        for (uint32_t port = 0; port < sw->ports; port++)
            if (sw->due[port] < next) next = sw->due[port];
        sw->deadline = next;
    }
    io->deadline = sw->deadline;
}

void sw_port_state(struct sw *sw, uint16_t port, bool up, ps_t now, struct sw_io *io)
{
    CHECK(port < sw->ports);
    struct sw_port *state = &sw->port[port];
    struct sw_port_slow *slow = &sw->slow[port];
    if (slow->down != up) { /* already so */
        io->deadline = sw->deadline;
        return;
    }
    pfc_forget(sw, port, now);
    watchdog_forget(sw, port, now);
    slow->down = !up;
    state->refuse = up ? 0 : UINT16_MAX;
    if (up) {
        pfc_set_rate(sw, port, sw->config->rate_bps[port]);
        pfc_renew(sw, port, now, io);
    } else {
        for (uint32_t queue = 0; queue < SW_PRIOS; queue++)
            sw_flush(sw, port, queue, SW_DROP_port_down, now, io);
        pfc_review(sw, now, io);
    }
    if (sw->credits) credit_link(sw, port, up, now, io);
    io->deadline = sw->deadline;
}
