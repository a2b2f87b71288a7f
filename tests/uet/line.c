/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The toy fabric; see line.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "line.h"

#define TRIMMED_DSCP 12u

static void *lines(size_t bytes)
{
    void *memory = aligned_alloc(64, lines_up(bytes));

    assert_non_null(memory);
    return memset(memory, 0, lines_up(bytes));
}

void line_open(struct line *line, const struct line_config *config, const struct uet_config *uet, uint64_t seed)
{
    memset(line, 0, sizeof(*line));
    line->config = *config;
    line->uet = *uet;
    line->audits = true;
    rng_init(&line->rng, seed, 7);
    line->pool = (struct pktpool){.hot = lines(LINE_PACKETS * sizeof(struct pkt)),
                                  .free = calloc(LINE_PACKETS, sizeof(uint32_t)),
                                  .free_count = LINE_PACKETS,
                                  .free_capacity = LINE_PACKETS};
    for (uint32_t i = 0; i < LINE_PACKETS; i++)
        line->pool.free[i] = i;
    for (uint32_t i = 0; i < config->hosts; i++) {
        struct uet_config own = *uet;
        own.endpoint = i;
        own.ends = LINE_PDCS * 2;
        own.first_number = LINE_FIRST;
        own.trimmed_last_dscp = TRIMMED_DSCP;
        own.seed = seed;
        line->memory[i] = lines(uet_memory_bytes(&own));
        line->host[i] = uet_init(line->memory[i], &own);
    }
}

uint32_t line_connect(struct line *line, uint32_t from, uint32_t to)
{
    uint32_t number = line->pdcs++;
    struct line_pdc *pdc = &line->pdc[number];

    assert_true(number < LINE_PDCS);
    *pdc = (struct line_pdc){.from = from, .to = to};
    pdc->source_number = LINE_FIRST + line->ends[from]++;
    pdc->sink_number = LINE_FIRST + line->ends[to]++;
    struct uet_peer there = {.node = to, .number = pdc->sink_number, .owner = number, .depth = LINE_DEPTH};
    struct uet_peer here = {.node = from, .number = pdc->source_number, .owner = number, .depth = LINE_DEPTH};
    pdc->memory[0] = lines(uet_source_bytes(&line->uet, LINE_DEPTH));
    pdc->memory[1] = lines(uet_sink_bytes(&line->uet, LINE_DEPTH));
    pdc->source = uet_open_source(line->host[from], pdc->source_number, &there, pdc->memory[0]);
    pdc->sink = uet_open_sink(line->host[to], pdc->sink_number, &here, true, pdc->memory[1]);
    return number;
}

void line_message(struct line *line, uint32_t number, uint64_t bytes)
{
    struct line_pdc *pdc = &line->pdc[number];
    uint32_t before = pdc->messages ? pdc->message[pdc->messages - 1].end : 0;
    uint64_t packets = bytes ? (bytes + line->uet.payload_bytes - 1) / line->uet.payload_bytes : 1;

    assert_true(pdc->messages < LINE_MESSAGES && before + packets < LINE_NUMBERS);
    pdc->message[pdc->messages++] = (struct line_message){.bytes = bytes, .end = before + (uint32_t)packets};
}

static bool whole(const struct line_pdc *pdc, uint32_t message)
{
    for (uint32_t psn = message ? pdc->message[message - 1].end : 0; psn < pdc->message[message].end; psn++)
        if (!pdc->arrived[psn]) return false;
    return true;
}

static void post(struct line *line, struct line_pdc *pdc)
{
    while (pdc->posted < pdc->messages && pdc->posted - pdc->sent - pdc->failed < LINE_DEPTH) {
        int error = uet_post(line->host[pdc->from], pdc->source, pdc->message[pdc->posted].bytes, pdc->posted,
                             pdc->posted * 3, line->now);
        assert_int_equal(error, 0);
        pdc->posted++;
    }
}

static void completions(struct line *line, uint32_t host)
{
    struct uet_completion done;

    while (uet_completed(line->host[host])) {
        assert_true(uet_completion(line->host[host], &done));
        struct line_pdc *pdc = &line->pdc[done.owner];
        if (done.receive) {
            assert_int_equal(done.word, pdc->received * 3);
            assert_true(whole(pdc, pdc->received));
            pdc->received++;
        } else if (done.good) {
            assert_int_equal(done.word, pdc->sent);
            assert_true(whole(pdc, pdc->sent));
            pdc->sent++;
            pdc->done_at = line->now;
        } else {
            pdc->failed++;
        }
        post(line, pdc);
    }
}

uint32_t line_path(uint16_t value)
{
    return value * 40503u >> 7 & (LINE_PATHS - 1);
}

static void arrive_at(struct line *line, ps_t at, uint32_t to, pkt_t id)
{
    struct line_event event = {.at = at, .order = line->order++, .id = id, .to = to};
    uint32_t hole = line->events++;

    assert_true(line->events < LINE_PACKETS);
    while (hole > 0) {
        struct line_event *up = &line->event[(hole - 1) / 2];
        if (up->at < event.at || (up->at == event.at && up->order < event.order)) break;
        line->event[hole] = *up;
        hole = (hole - 1) / 2;
    }
    line->event[hole] = event;
}

static struct line_event first_event(struct line *line)
{
    struct line_event first = line->event[0], last = line->event[--line->events];
    uint32_t hole = 0;

    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= line->events) break;
        const struct line_event *a = &line->event[child], *b = a + 1;
        if (child + 1 < line->events && (b->at < a->at || (b->at == a->at && b->order < a->order))) child++;
        a = &line->event[child];
        if (last.at < a->at || (last.at == a->at && last.order < a->order)) break;
        line->event[hole] = *a;
        hole = child;
    }
    line->event[hole] = last;
    return first;
}

static bool chance(struct line *line, uint32_t ppm)
{
    return ppm && rng_chance(&line->rng, ppm);
}

static void trim(struct line *line, struct pkt *pkt, bool last_hop)
{
    pkt->flags |= PKT_TRIMMED;
    pkt->payload_bytes = 0;
    pkt->frame_bytes = 64;
    pkt->tos = (uint8_t)((last_hop ? TRIMMED_DSCP : 10) << 2 | (pkt->tos & PKT_ECN_MASK));
    line->trimmed++;
}

static ps_t line_time(const struct line *line, uint32_t bytes)
{
    return bytes * 8 * PS_S / line->uet.line_bps;
}

/* The queue in front of an endpoint; false: it is lost there.  Control packets pass by. */
static bool last_queue(struct line *line, struct pkt *pkt, ps_t *at)
{
    uint32_t to = pkt->dst_node;

    if (pkt->payload_bytes == 0) {
        *at += line_time(line, pkt->frame_bytes);
        return true;
    }
    ps_t begin = line->drain_at[to] > *at ? line->drain_at[to] : *at;
    uint64_t queue = rate_bytes_in(line->uet.line_bps, begin - *at);
    if (line->config.queue_bytes && queue + pkt->frame_bytes > line->config.queue_bytes) {
        if (!line->uet.trimming) return false;
        trim(line, pkt, line->config.last_hop);
        *at += line_time(line, pkt->frame_bytes);
        return true;
    }
    if (line->config.mark_bytes && queue > line->config.mark_bytes) {
        pkt->tos |= PKT_ECN_CE;
        line->marked++;
    }
    *at = line->drain_at[to] = begin + line_time(line, pkt->frame_bytes);
    return true;
}

static void carry(struct line *line, pkt_t id)
{
    const struct line_config *c = &line->config;
    struct pkt *pkt = &line->pool.hot[id];
    bool data = pkt->opcode == PKT_UET_DATA;
    uint32_t path = line_path(pkt->sport);
    ps_t at = line->now + line_time(line, pkt->frame_bytes) + c->delay_ps + c->delay_ps * path / 16;

    if (data) line->by_path[path]++;
    if (c->dead >> path & 1 || chance(line, data ? c->lose_ppm : c->lose_control_ppm)) {
        line->dropped++;
        pktpool_put(&line->pool, id);
        return;
    }
    if (data && chance(line, c->mark_ppm)) pkt->tos |= PKT_ECN_CE;
    if (data && line->uet.trimming && chance(line, c->trim_ppm)) trim(line, pkt, false);
    if (chance(line, c->late_ppm)) at += rng_below(&line->rng, c->late_ps);
    if (!last_queue(line, pkt, &at)) {
        line->dropped++;
        pktpool_put(&line->pool, id);
        return;
    }
    if (chance(line, c->double_ppm)) {
        pkt_t twin = pktpool_get(&line->pool);
        assert_true(twin != PKT_NONE);
        line->pool.hot[twin] = *pkt;
        arrive_at(line, at + rng_below(&line->rng, c->late_ps + 1), pkt->dst_node, twin);
    }
    arrive_at(line, at, pkt->dst_node, id);
}

static void note_arrival(struct line *line, const struct pkt *pkt)
{
    if (pkt->opcode != PKT_UET_DATA || pkt->flags & PKT_TRIMMED) return;
    for (uint32_t i = 0; i < line->pdcs; i++) {
        struct line_pdc *pdc = &line->pdc[i];
        if (pdc->to != pkt->dst_node || pdc->sink_number != pkt->dest_qp) continue;
        assert_true(pkt->psn < LINE_NUMBERS);
        pdc->arrived[pkt->psn] = true;
        if (pkt->psn >= pdc->highest) pdc->highest = pkt->psn + 1;
    }
}

static void leave(struct line *line, uint32_t host)
{
    if (line->free_at[host] > line->now) return;
    pkt_t id = uet_tx(line->host[host], line->now, &line->pool);
    if (id == PKT_NONE) return;
    const struct pkt *pkt = &line->pool.hot[id];
    assert_int_equal(pkt->src_node, host);
    if (pkt->opcode == PKT_UET_DATA)
        line->data++;
    else
        line->control++;
    if (line->watch) line->watch(line, host, pkt);
    line->free_at[host] = line->now + line_time(line, pkt->frame_bytes);
    carry(line, id);
}

/* When something happens next: a packet arrives, a line is free, a deadline. */
static ps_t next_time(const struct line *line)
{
    ps_t at = line->events ? line->event[0].at : PS_NEVER;

    for (uint32_t i = 0; i < line->config.hosts; i++) {
        ps_t deadline = uet_deadline(line->host[i]);
        if (deadline < at) at = deadline;
        if (uet_wants(line->host[i]) && line->free_at[i] > line->now && line->free_at[i] < at) at = line->free_at[i];
    }
    return at;
}

static bool finished(const struct line *line)
{
    for (uint32_t i = 0; i < line->pdcs; i++) {
        const struct line_pdc *pdc = &line->pdc[i];
        if (pdc->sent + pdc->failed < pdc->messages) return false;
        if (pdc->failed == 0 && pdc->received < pdc->messages) return false;
    }
    return true;
}

static void audit(struct line *line)
{
    uint64_t held = line->events;

    if (!line->audits) return;
    for (uint32_t i = 0; i < line->config.hosts; i++)
        held += uet_audit(line->host[i], &line->pool);
    assert_int_equal(held, line->pool.taken - line->pool.given);
}

bool line_run(struct line *line, ps_t until)
{
    for (uint32_t i = 0; i < line->pdcs; i++)
        post(line, &line->pdc[i]);
    for (;;) {
        for (uint32_t i = 0; i < line->config.hosts; i++) {
            completions(line, i);
            leave(line, i);
        }
        audit(line);
        ps_t at = next_time(line);
        if (finished(line) && line->events == 0) return true;
        if (at > until) return false;
        assert_true(at >= line->now);
        line->now = at;
        if (line->events && line->event[0].at <= at) {
            struct line_event event = first_event(line);
            note_arrival(line, &line->pool.hot[event.id]);
            uet_rx(line->host[event.to], event.id, at, &line->pool);
            continue;
        }
        for (uint32_t i = 0; i < line->config.hosts; i++)
            if (uet_deadline(line->host[i]) <= at) uet_tick(line->host[i], at, &line->pool);
    }
}

void line_close(struct line *line)
{
    for (uint32_t i = 0; i < line->pdcs; i++) {
        free(line->pdc[i].memory[0]);
        free(line->pdc[i].memory[1]);
    }
    for (uint32_t i = 0; i < line->config.hosts; i++)
        free(line->memory[i]);
    free(line->pool.hot);
    free(line->pool.free);
}
