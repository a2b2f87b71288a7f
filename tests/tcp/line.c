/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line between two TCP endpoints; a failed promise ends the test by CHECK.
 */
#include "line.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define FIRST_NUMBER 7u

static bool before(const struct line_arrival *a, const struct line_arrival *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void push(struct line *line, struct line_arrival arrival)
{
    uint32_t at = line->arrivals++;

    CHECK(line->arrivals < LINE_PACKETS);
    for (; at > 0 && before(&arrival, &line->arrival[(at - 1) / 2]); at = (at - 1) / 2)
        line->arrival[at] = line->arrival[(at - 1) / 2];
    line->arrival[at] = arrival;
}

static struct line_arrival pop(struct line *line)
{
    struct line_arrival first = line->arrival[0], last = line->arrival[--line->arrivals];
    uint32_t at = 0;

    for (uint32_t child; (child = 2 * at + 1) < line->arrivals; at = child) {
        if (child + 1 < line->arrivals && before(&line->arrival[child + 1], &line->arrival[child])) child++;
        if (!before(&line->arrival[child], &last)) break;
        line->arrival[at] = line->arrival[child];
    }
    line->arrival[at] = last;
    return first;
}

void line_init(struct line *line, const struct tcp_config config[2], uint64_t seed)
{
    memset(line, 0, sizeof(*line));
    line->pool.hot = aligned_alloc(64, LINE_PACKETS * sizeof(struct pkt));
    line->pool.free = calloc(LINE_PACKETS, sizeof(uint32_t));
    line->arrival = calloc(LINE_PACKETS, sizeof(*line->arrival));
    line->seen = calloc(LINE_LOG, sizeof(*line->seen));
    CHECK(line->pool.hot && line->pool.free && line->arrival && line->seen);
    for (uint32_t i = 0; i < LINE_PACKETS; i++)
        line->pool.free[line->pool.free_count++] = LINE_PACKETS - 1 - i;
    line->pool.free_capacity = LINE_PACKETS;
    for (int side = 0; side < 2; side++) {
        struct tcp_config own = config[side];
        own.endpoint = (uint32_t)side;
        own.line_bps = 10000000000;
        own.ends = LINE_CONNS;
        own.first_number = FIRST_NUMBER;
        size_t bytes = tcp_memory_bytes(&own);
        line->memory[side] = aligned_alloc(64, bytes);
        CHECK(line->memory[side]);
        memset(line->memory[side], 0, bytes);
        line->tcp[side] = tcp_init(line->memory[side], &own);
        line->io[side] = (struct tcp_io){.pool = &line->pool};
        line->tick_at[side] = PS_NEVER;
        line->rate[side] = rate_of(10000000000);
    }
    line->overhead_bytes = 24;
    line->delay_ps = 5 * PS_US;
    line->dead_from = line->dead_to = PS_NEVER;
    line->audits = true;
    rng_init(&line->rng, seed, 0);
}

void line_release(struct line *line)
{
    for (uint32_t i = 0; i < line->conns; i++) {
        free(line->conn[i].arrived);
        free(line->conn[i].memory[0]);
        free(line->conn[i].memory[1]);
    }
    free(line->memory[0]);
    free(line->memory[1]);
    free(line->pool.hot);
    free(line->pool.free);
    free(line->arrival);
    free(line->seen);
}

uint32_t line_connect(struct line *line, bool back, bool notifies)
{
    struct line_conn *conn = &line->conn[line->conns];
    int from = back;

    CHECK(line->conns < LINE_CONNS);
    conn->side = from;
    conn->arrived = calloc(LINE_BYTES_MAX, 1);
    CHECK(conn->arrived);
    for (int side = 0; side < 2; side++) {
        struct tcp_config config = tcp_config_default(0, 1500);
        config.runs = 1024; /* as much as any of these tests asks for */
        size_t bytes = tcp_conn_bytes(&config, side == from, LINE_DEPTH);
        conn->memory[side] = aligned_alloc(64, bytes);
        CHECK(conn->memory[side]);
        memset(conn->memory[side], 0, bytes);
        struct tcp_conn_config own = {.remote = (uint32_t)!side,
                                      .remote_number = FIRST_NUMBER + line->conns,
                                      .sport = 50000,
                                      .sends = side == from,
                                      .notifies = notifies,
                                      .app = line->conns,
                                      .depth = LINE_DEPTH,
                                      .memory = conn->memory[side]};
        CHECK(tcp_conn_create(line->tcp[side], FIRST_NUMBER + line->conns, &own,
                              side == from ? &conn->from : &conn->to) == 0);
    }
    return line->conns++;
}

/* A stream's byte by its 32 bits: streams begin with the same number everywhere. */
static uint64_t place(uint32_t psn)
{
    return (uint32_t)(psn - 0xfffff000u);
}

static void check_acknowledged(const struct line_conn *conn, uint32_t from, uint32_t to)
{
    for (uint64_t i = place(from); i < place(to); i++)
        CHECK(i < LINE_BYTES_MAX && conn->arrived[i]);
}

static void look(struct line *line, int from, const struct pkt *p, bool arrives)
{
    struct line_conn *conn = &line->conn[p->dest_qp - FIRST_NUMBER];

    if (p->opcode == PKT_TCP_ACK && !arrives) {
        CHECK(conn->side != from);
        uint64_t end = place(p->psn);
        while (conn->whole < conn->posted_bytes && conn->arrived[conn->whole])
            conn->whole++;
        CHECK(end <= conn->whole);
        if (p->flags & PKT_TCP_SACK) check_acknowledged(conn, p->tcp.block, p->imm);
        if (p->flags & PKT_TCP_SACK2) check_acknowledged(conn, p->tcp.second, p->tcp.second_end);
    }
    if (p->opcode != PKT_TCP_DATA) return;
    CHECK(conn->side == from && p->payload_bytes > 0);
    CHECK(place(p->psn) + p->payload_bytes <= conn->posted_bytes);
    if (arrives) memset(&conn->arrived[place(p->psn)], 1, p->payload_bytes);
}

static void carry(struct line *line, int from, pkt_t id)
{
    struct pkt *p = &line->pool.hot[id];
    ps_t sent = line->now + rate_take(&line->rate[from], p->frame_bytes + line->overhead_bytes);
    bool dead = line->now >= line->dead_from && line->now < line->dead_to;
    bool lost = dead || rng_chance(&line->rng, line->lose_ppm);

    line->free_at[from] = sent;
    if (line->filter && !line->filter(line, from, p, line->now)) lost = true;
    look(line, from, p, false);
    if (line->seen_count < LINE_LOG)
        line->seen[line->seen_count++] = (struct line_seen){line->now, *p, (uint8_t)from, lost};
    if (lost) {
        line->lost++;
        pktpool_put(&line->pool, id);
        return;
    }
    if ((p->tos & PKT_ECN_MASK) == PKT_ECN_ECT0 && rng_chance(&line->rng, line->mark_ppm)) p->tos |= PKT_ECN_CE;
    ps_t at = sent + line->delay_ps, hold = line->hold_ps ? line->hold_ps : 20 * line->delay_ps;
    if (rng_chance(&line->rng, line->hold_ppm)) at += rng_below(&line->rng, hold / PS_NS) * PS_NS;
    push(line, (struct line_arrival){at, line->order++, id, !from});
    if (!rng_chance(&line->rng, line->double_ppm)) return;
    pkt_t twin = pktpool_get(&line->pool);
    CHECK(twin != PKT_NONE);
    pktpool_copy(&line->pool, twin, id);
    line->doubled++;
    push(line, (struct line_arrival){at + rng_below(&line->rng, 100000) * PS_NS, line->order++, twin, !from});
}

/* Completions of one side: in order, each once, and the sender's not before the bytes are there. */
static void drain(struct line *line, int side)
{
    struct tcp_completion done;

    line->io[side].completed = false;
    while (tcp_completion(line->tcp[side], &done)) {
        struct line_conn *conn = &line->conn[done.app];
        CHECK(done.app < line->conns);
        if (done.receive) {
            CHECK(side != conn->side && done.good && done.word == conn->received + 1000000);
            uint64_t end = conn->end[conn->received], start = conn->received ? conn->end[conn->received - 1] : 0;
            for (uint64_t i = start; i < end; i++)
                CHECK(conn->arrived[i]);
            conn->received++;
            conn->received_at = line->now;
        } else {
            CHECK(side == conn->side && done.word == conn->sent + conn->failed);
            if (done.good) {
                CHECK(conn->arrived[conn->end[conn->sent] - 1]);
                conn->sent++;
                conn->sent_at = line->now;
            } else {
                conn->failed++;
            }
        }
    }
}

static void after(struct line *line, int side)
{
    if (line->io[side].kick) line->ask[side] = true;
    line->io[side].kick = false;
    line->tick_at[side] = line->io[side].deadline;
    CHECK(line->tick_at[side] == tcp_deadline(line->tcp[side]));
    CHECK(line->io[side].completed == tcp_waits(line->tcp[side]));
    drain(line, side);
    if (line->audits) tcp_audit(line->tcp[side]);
}

void line_post(struct line *line, uint32_t index, uint64_t bytes)
{
    struct line_conn *conn = &line->conn[index];

    conn->posted_bytes += bytes ? bytes : 1;
    CHECK(conn->posted_bytes <= LINE_BYTES_MAX && conn->posted < 65536);
    conn->end[conn->posted] = conn->posted_bytes;
    tcp_post(line->tcp[conn->side], conn->from, bytes, conn->posted, conn->posted + 1000000, line->now,
             &line->io[conn->side]);
    conn->posted++;
    after(line, conn->side);
}

static void ask(struct line *line, int side)
{
    pkt_t id = tcp_tx(line->tcp[side], line->now, &line->io[side]);

    line->ask[side] = id != PKT_NONE;
    line->io[side].kick = false;
    if (id != PKT_NONE) carry(line, side, id);
    after(line, side);
}

/* One event; false: nothing is left before `until`. */
static bool advance(struct line *line, ps_t until)
{
    ps_t at = line->arrivals ? line->arrival[0].at : PS_NEVER;

    for (int side = 0; side < 2; side++) {
        ps_t free_at = line->ask[side] ? (line->free_at[side] > line->now ? line->free_at[side] : line->now) : PS_NEVER;
        ps_t tick =
            line->tick_at[side] > line->now || line->tick_at[side] == PS_NEVER ? line->tick_at[side] : line->now;
        if (free_at < at) at = free_at;
        if (tick < at) at = tick;
    }
    if (at == PS_NEVER || at > until) return false;
    line->now = at;
    if (line->arrivals && line->arrival[0].at == at) {
        struct line_arrival arrival = pop(line);
        look(line, !arrival.to, &line->pool.hot[arrival.id], true);
        tcp_rx(line->tcp[arrival.to], arrival.id, at, &line->io[arrival.to]);
        after(line, arrival.to);
        return true;
    }
    for (int side = 0; side < 2; side++) {
        if (line->ask[side] && line->free_at[side] <= at) {
            ask(line, side);
            return true;
        }
    }
    for (int side = 0; side < 2; side++) {
        if (line->tick_at[side] > at) continue;
        tcp_tick(line->tcp[side], at, &line->io[side]);
        after(line, side);
        return true;
    }
    return true;
}

void line_run(struct line *line, ps_t until)
{
    uint64_t steps = 0;

    while (advance(line, until))
        CHECK(++steps < 20000000);
}

void line_finished(struct line *line)
{
    uint64_t posted[2] = {0}, received[2];

    for (uint32_t i = 0; i < line->conns; i++) {
        const struct line_conn *conn = &line->conn[i];
        CHECK(conn->failed == 0 && conn->sent == conn->posted);
        CHECK(conn->received == 0 || conn->received == conn->posted);
        CHECK(tcp_conn_acked_bytes(conn->from) == conn->posted_bytes && tcp_conn_queued(conn->from) == 0);
        posted[conn->side] += conn->posted_bytes;
    }
    uint64_t in = tcp_counters(line->tcp[0])->in_segs + tcp_counters(line->tcp[1])->in_segs;
    uint64_t out = 0;
    for (int side = 0; side < 2; side++) {
        const struct tcp_counters *counters = tcp_counters(line->tcp[side]);
        received[side] = counters->in_payload;
        out += counters->out_segs + counters->retrans_segs;
        CHECK(counters->out_payload == posted[side] + counters->retrans_payload);
        CHECK(counters->strays == 0 && counters->ghosts == 0);
    }
    CHECK(received[1] == posted[0] && received[0] == posted[1]);
    CHECK(out + line->doubled == in + line->lost);
    CHECK(line->pool.taken == line->pool.given && line->arrivals == 0);
}

uint32_t line_sent(const struct line *line, int from, enum pkt_tcp_type type)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < line->seen_count; i++)
        count += line->seen[i].from == from && line->seen[i].pkt.opcode == type;
    return count;
}
