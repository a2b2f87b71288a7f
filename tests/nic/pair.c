/* SPDX-License-Identifier: Apache-2.0 */
/* Two adapters and a wire; see pair.h. */
#include "nic/pair.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"
#include "packet/telemetry.h"

#define LINE_OVERHEAD 24u

static void *zeroed(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

    CHECK(memory != NULL);
    memset(memory, 0, (bytes + 63) & ~(size_t)63);
    return memory;
}

void pair_init(struct pair *pair, const struct nic_config config[2], uint64_t seed)
{
    *pair = (struct pair){.delay_ps = PS_US};
    pair->pool.hot = zeroed(PAIR_PACKETS * sizeof(struct pkt));
    pair->pool.cold = zeroed(PAIR_PACKETS * sizeof(struct pkt_cold));
    pair->pool.telemetry = zeroed(PAIR_PACKETS * sizeof(struct pkt_int));
    pair->pool.free = zeroed(PAIR_PACKETS * sizeof(uint32_t));
    pair->pool.free_capacity = pair->pool.free_count = PAIR_PACKETS;
    for (uint32_t i = 0; i < PAIR_PACKETS; i++)
        pair->pool.free[i] = PAIR_PACKETS - 1 - i;
    pair->tag = zeroed(PAIR_PACKETS * sizeof(*pair->tag));
    pair->arrival = zeroed(PAIR_PACKETS * sizeof(*pair->arrival));
    pair->seen = zeroed(PAIR_LOG * sizeof(*pair->seen));
    rng_init(&pair->rng, seed, 1);
    for (int s = 0; s < 2; s++) {
        pair->memory[s] = zeroed(nic_memory_bytes(&config[s]));
        pair->nic[s] = nic_init(pair->memory[s], &config[s]);
        pair->rate[s] = rate_of(config[s].line_bps);
        pair->io[s] = (struct nic_io){.pool = &pair->pool, .deadline = PS_NEVER};
        pair->tick_at[s] = PS_NEVER;
    }
}

void pair_init_default(struct pair *pair, uint32_t qps, uint64_t seed)
{
    struct nic_config config[2];

    for (uint32_t s = 0; s < 2; s++) {
        config[s] = nic_config_default(100 * 1000000000ULL, s + 10);
        config[s].max_qps = qps;
        config[s].max_mrs = 16;
    }
    pair_init(pair, config, seed);
    for (uint32_t s = 0; s < 2; s++)
        CHECK(nic_mr_set(pair->nic[s], &(struct nic_mr){.va = 0x10000,
                                                        .bytes = 1 << 30,
                                                        .key = 0x1234,
                                                        .pd = 7,
                                                        .rights = NIC_REMOTE_ALL | NIC_REMOTE_INVALIDATE,
                                                        .live = true}) == 0);
}

void pair_release(struct pair *pair)
{
    free(pair->pool.hot);
    free(pair->pool.cold);
    free(pair->pool.telemetry);
    free(pair->pool.free);
    free(pair->arrival);
    free(pair->tag);
    free(pair->seen);
    free(pair->memory[0]);
    free(pair->memory[1]);
}

struct nic_qp_config pair_qp_config(void)
{
    struct nic_qp_config config = nic_qp_config_default();

    config.pd = 7;
    config.timeout = 4; /* 65.536 us */
    config.qkey = 0x1111;
    return config;
}

void pair_connect(struct pair *pair, const struct nic_qp_config *config, struct pair_end end[2])
{
    static const uint32_t psn[2] = {0xfffff0, 0xfffffa};
    uint32_t number[2];

    for (int s = 0; s < 2; s++) {
        struct nic_qp_config own = *config;
        number[s] = 0x11 + nic_qp_count(pair->nic[s]);
        end[s] = (struct pair_end){.selective = zeroed(nic_selective_bytes(PAIR_SELECTIVE))};
        nic_cq_init(&end[s].send_cq, end[s].send_cqe, PAIR_CQ);
        nic_cq_init(&end[s].recv_cq, end[s].recv_cqe, PAIR_CQ);
        own.remote = (uint32_t)(11 - s);
        own.remote_qp = 0x11 + nic_qp_count(pair->nic[1 - s]) - (s == 1);
        own.send_psn = psn[s];
        own.expect_psn = psn[1 - s];
        own.send_cq = &end[s].send_cq;
        own.recv_cq = &end[s].recv_cq;
        own.sq = end[s].sq;
        own.sq_size = PAIR_SQ;
        if (!own.srq) {
            own.rq = end[s].rq;
            own.rq_size = PAIR_RQ;
        }
        if (config->transport == NIC_RC) {
            own.resource = end[s].resource;
            own.resource_size = PAIR_RESOURCES;
        }
        if (config->recovery == NIC_SELECTIVE) {
            own.selective = end[s].selective;
            own.selective_size = PAIR_SELECTIVE;
        }
        CHECK(nic_qp_create(pair->nic[s], 0, &own, pair->now, &end[s].qp) == 0);
        CHECK(nic_qp_number(end[s].qp) == number[s]);
    }
}

void pair_disconnect(struct pair *pair, struct pair_end end[2])
{
    for (int s = 0; s < 2; s++) {
        nic_qp_destroy(pair->nic[s], end[s].qp, &pair->io[s]);
        free(end[s].selective);
    }
}

static void after_call(struct pair *pair, int side)
{
    struct nic_io *io = &pair->io[side];

    if (io->kick) pair->ask[side] = true;
    io->kick = false;
    pair->tick_at[side] = io->deadline;
    if (io->pauses) {
        uint16_t quanta[NIC_PRIOS];
        for (int p = 0; p < NIC_PRIOS; p++)
            quanta[p] = io->pause_quanta;
        io->pauses = 0;
        pair->pauses_sent[side]++;
        nic_pause(pair->nic[1 - side], io->pause_enable, quanta, pair->now, &pair->io[1 - side]);
        if (pair->io[1 - side].kick) pair->ask[1 - side] = true;
        pair->io[1 - side].kick = false;
        pair->tick_at[1 - side] = pair->io[1 - side].deadline;
    }
}

void pair_send(struct pair *pair, int side, struct pair_end *end, struct nic_wr wr)
{
    if (wr.rkey == 0) wr.rkey = 0x1234;
    if (wr.remote_va == 0) wr.remote_va = 0x10000;
    CHECK(nic_post_send(pair->nic[side], end->qp, &wr, pair->now, &pair->io[side]) == 0);
    after_call(pair, side);
}

void pair_recv(struct pair *pair, int side, struct pair_end *end, uint64_t wr_id, uint64_t length)
{
    struct nic_recv recv = {.wr_id = wr_id, .length = length};
    CHECK(nic_post_recv(pair->nic[side], end->qp, &recv, pair->now, &pair->io[side]) == 0);
}

static bool sooner(const struct pair_arrival *a, const struct pair_arrival *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void arrive_at(struct pair *pair, pkt_t id, int to, ps_t at)
{
    struct pair_arrival item = {.at = at, .order = pair->order++, .id = id, .to = to};
    uint32_t i = pair->arrivals++;

    CHECK(pair->arrivals <= PAIR_PACKETS);
    for (; i > 0 && sooner(&item, &pair->arrival[(i - 1) / 2]); i = (i - 1) / 2)
        pair->arrival[i] = pair->arrival[(i - 1) / 2];
    pair->arrival[i] = item;
}

static struct pair_arrival next_arrival(struct pair *pair)
{
    struct pair_arrival first = pair->arrival[0];
    struct pair_arrival last = pair->arrival[--pair->arrivals];
    uint32_t i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= pair->arrivals) break;
        if (child + 1 < pair->arrivals && sooner(&pair->arrival[child + 1], &pair->arrival[child])) child++;
        if (!sooner(&pair->arrival[child], &last)) break;
        pair->arrival[i] = pair->arrival[child];
        i = child;
    }
    pair->arrival[i] = last;
    return first;
}

/* Where the payload of a request that nic_tx has just answered belongs: in memory, or in the message. */
static uint64_t edge_of(const struct pair *pair, int from, const struct pkt *p)
{
    const struct nic_io *io = &pair->io[from];
    const struct nic_qp *qp =
        io->gather.bytes && !io->gather.read ? nic_qp_find(pair->nic[from], io->gather.qpn) : NULL;

    for (uint32_t i = qp ? qp->sq_tail : 0; qp && i-- != qp->sq_tail - qp->sq_size;) {
        const struct nic_wr *wr = wr_at(qp, i);
        uint32_t first = wr->first_psn & PSN_MASK, packets = wr->last_psn - wr->first_psn;
        if (((p->psn - first) & PSN_MASK) > packets) continue;
        return (wr->verb >= NIC_WRITE ? wr->remote_va : 0) + io->gather.offset;
    }
    return 0;
}

static void as_on_wire(struct pair *pair, int from, pkt_t id)
{
    struct pkt *p = &pair->pool.hot[id];
    uint16_t flags = opcode_info(p->opcode)->flags;

    pair->tag[id] = edge_of(pair, from, p);
    if (!(flags & (OP_RETH | OP_ATOMICETH | OP_AETH | OP_DETH))) memset(&p->rdma, 0, sizeof(p->rdma));
    if (pair->foreign[from]) p->mark = 0;
}

static void put_on_wire(struct pair *pair, int from, pkt_t id)
{
    struct pkt *p = &pair->pool.hot[id];
    ps_t busy = rate_take(&pair->rate[from], p->frame_bytes + LINE_OVERHEAD);
    ps_t at = pair->now + busy + pair->delay_ps;
    bool lose = rng_chance(&pair->rng, pair->lose_ppm);

    pair->free_at[from] = pair->now + busy;
    as_on_wire(pair, from, id);
    if (p->frame_bytes && (p->tos & 3) && rng_chance(&pair->rng, pair->mark_ppm)) p->tos |= PKT_ECN_CE;
    if (pair->filter && pair->filter(pair, from, p, pair->now) == PAIR_LOSE) lose = true;
    if (pair->seen_count < PAIR_LOG)
        pair->seen[pair->seen_count] =
            (struct pair_seen){.at = pair->now, .pkt = *p, .from = (uint8_t)from, .lost = lose};
    pair->seen_count++;
    if (lose) {
        pktpool_put(&pair->pool, id);
        return;
    }
    if (rng_chance(&pair->rng, pair->double_ppm)) {
        pkt_t twin = pktpool_get(&pair->pool);
        CHECK(twin != PKT_NONE);
        pair->pool.hot[twin] = *p;
        pair->tag[twin] = pair->tag[id];
        pair->pool.cold[twin] = pair->pool.cold[id];
        pair->pool.telemetry[twin] = pair->pool.telemetry[id];
        arrive_at(pair, twin, 1 - from, at + rng_below(&pair->rng, 20 * pair->delay_ps));
    }
    if (rng_chance(&pair->rng, pair->hold_ppm)) at += rng_below(&pair->rng, 20 * pair->delay_ps);
    arrive_at(pair, id, 1 - from, at);
}

static void perform_atomic(struct pair *pair, int side)
{
    struct nic_io *io = &pair->io[side];
    uint64_t original = pair->atomic_value;

    if (io->atomic.verb == 0) return;
    if (io->atomic.verb == NIC_FETCH_ADD) pair->atomic_value += io->atomic.swap;
    if (io->atomic.verb == NIC_CAS && original == io->atomic.compare) pair->atomic_value = io->atomic.swap;
    nic_atomic_done(pair->nic[side], io->atomic.qpn, io->atomic.slot, original);
}

static void placed(struct pair *pair, int side, uint64_t tag)
{
    const struct nic_io *io = &pair->io[side];

    if (io->place.kind) pair->placed_bytes[side] += io->place.bytes;
    if (io->place.bytes == 0) return;
    if (io->place.kind == NIC_PLACE_MEMORY) pair->misplaced += io->place.va != tag;
    if (io->place.kind == NIC_PLACE_RECV) pair->misplaced += io->place.offset != tag;
}

static void arrived(struct pair *pair, const struct pair_arrival *arrival)
{
    int to = arrival->to;
    struct nic_io *io = &pair->io[to];
    uint32_t qpn = pair->pool.hot[arrival->id].dest_qp;
    uint64_t tag = pair->tag[arrival->id];

    nic_rx(pair->nic[to], arrival->id, pair->now, io);
    perform_atomic(pair, to);
    placed(pair, to, tag);
    pair->kept[to] += io->keep != PKT_NONE;
    while (io->kept != PKT_NONE) {
        tag = pair->tag[io->kept];
        nic_rx_kept(pair->nic[to], qpn, pair->now, io);
        perform_atomic(pair, to);
        placed(pair, to, tag);
    }
    after_call(pair, to);
}

static void step_at(struct pair *pair, ps_t at)
{
    pair->now = at;
    if (pair->arrivals && pair->arrival[0].at == at) {
        struct pair_arrival arrival = next_arrival(pair);
        arrived(pair, &arrival);
        return;
    }
    for (int s = 0; s < 2; s++) {
        if (pair->ask[s] && pair->free_at[s] <= at) {
            pair->ask[s] = false;
            pkt_t id = nic_tx(pair->nic[s], at, &pair->io[s]);
            after_call(pair, s);
            if (id != PKT_NONE) {
                put_on_wire(pair, s, id);
                pair->ask[s] = true;
            }
            return;
        }
    }
    for (int s = 0; s < 2; s++) {
        if (pair->tick_at[s] > at) continue;
        nic_tick(pair->nic[s], at, &pair->io[s]);
        CHECK(pair->io[s].deadline > at);
        after_call(pair, s);
        return;
    }
    CHECK(false);
}

bool pair_step(struct pair *pair, ps_t until)
{
    ps_t at = pair->arrivals ? pair->arrival[0].at : PS_NEVER;

    for (int s = 0; s < 2; s++) {
        ps_t ask = pair->free_at[s] > pair->now ? pair->free_at[s] : pair->now;
        if (pair->ask[s] && ask < at) at = ask;
        if (pair->tick_at[s] < at) at = pair->tick_at[s];
    }
    if (at == PS_NEVER || at > until) return false;
    step_at(pair, at > pair->now ? at : pair->now);
    pair->steps++;
    return true;
}

void pair_run(struct pair *pair, ps_t until)
{
    while (pair_step(pair, until)) {
        if (pair->steps % 64) continue;
        nic_audit(pair->nic[0], &pair->pool);
        nic_audit(pair->nic[1], &pair->pool);
    }
    nic_audit(pair->nic[0], &pair->pool);
    nic_audit(pair->nic[1], &pair->pool);
    if (until == PS_NEVER) {
        CHECK(pair->arrivals == 0);
        CHECK(pair->pool.free_count == PAIR_PACKETS);
        CHECK(nic_idle(pair->nic[0]) && nic_idle(pair->nic[1]));
    }
}
