/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port's side of the endpoint: deadlines, pauses, a slow host, and the audit of all books.
 *
 * Pauses are obeyed by priority as 802.1Qbb has them, though a class of this transport rarely has any; one of data
 * stops all data.
 */
#include "uet/uet_int.h"

static bool data_held(const struct uet *uet)
{
    return uet->paused & uet->data_prios;
}

static void data_paused(struct uet *uet, bool was, ps_t at)
{
    bool is = data_held(uet);

    if (is && !was) uet->paused_since = at;
    if (was && !is) uet->counters.paused_ps += at - uet->paused_since;
}

void uet_settle(struct uet *uet, ps_t now)
{
    if (!data_held(uet) || now <= uet->paused_since) return;
    uet->counters.paused_ps += now - uet->paused_since;
    uet->paused_since = now;
}

static ps_t pause_end(const struct uet *uet)
{
    ps_t at = PS_NEVER;

    for (uint32_t p = 0; p < UET_PRIOS && uet->paused >> p; p++)
        if (uet->paused >> p & 1 && uet->paused_until[p] < at) at = uet->paused_until[p];
    return at;
}

static void pauses_expire(struct uet *uet, ps_t now)
{
    bool was = data_held(uet);

    for (uint32_t p = 0; p < UET_PRIOS; p++)
        if (uet->paused >> p & 1 && uet->paused_until[p] <= now) uet->paused &= (uint16_t) ~(1u << p);
    data_paused(uet, was, now);
}

void uet_pause(struct uet *uet, uint8_t enable, uint16_t quanta, ps_t now)
{
    bool was = data_held(uet);

    for (uint32_t p = 0; p < UET_PRIOS; p++) {
        if (!(enable >> p & 1)) continue;
        uet->paused_until[p] = ps_add(now, pause_quanta_ps(quanta, uet->config.line_bps));
        if (quanta)
            uet->paused |= (uint16_t)(1u << p);
        else
            uet->paused &= (uint16_t) ~(1u << p);
    }
    data_paused(uet, was, now);
}

void uet_hold(struct uet *uet, uint8_t prios, ps_t now)
{
    bool was = data_held(uet);

    uet->paused = prios;
    for (uint32_t p = 0; p < UET_PRIOS; p++)
        uet->paused_until[p] = PS_NEVER;
    data_paused(uet, was, now);
}

uint16_t uet_paused(const struct uet *uet)
{
    return uet->paused;
}

void uet_link(struct uet *uet, ps_t now)
{
    bool was = data_held(uet);

    uet->paused = 0;
    data_paused(uet, was, now);
}

void uet_receive_rate(struct uet *uet, uint64_t bps, ps_t now)
{
    uet->rx_bps = bps;
    uet->rx_at = now;
    if (bps == 0) uet->rx_level = 0;
}

ps_t uet_deadline(const struct uet *uet)
{
    ps_t at = timer_next(uet);

    if (uet->pull_at < at) at = uet->pull_at;
    if (uet->rate_at < at) at = uet->rate_at;
    if (uet->paused && pause_end(uet) < at) at = pause_end(uet);
    return at;
}

void uet_tick(struct uet *uet, ps_t now, struct pktpool *pool)
{
    struct uet_source *source;

    if (uet->paused) pauses_expire(uet, now);
    while ((source = timer_due(uet, now)) != NULL)
        loss_timeout(uet, source, now, pool);
    rccc_tick(uet, now, pool);
}

static void audit_source(const struct uet *uet, const struct uet_source *source)
{
    uint64_t lost_bytes = 0;
    uint32_t out = 0, lost = 0, listed = 0;
    uint16_t last = UET_NO_RECORD;

    CHECK(source->next - source->una <= source->mask + 1);
    for (uint32_t psn = source->una; psn != source->next; psn++) {
        const struct uet_record *record = uet_record(source, psn);
        out += record->state == RECORD_OUT;
        lost += record->state == RECORD_LOST;
        if (record->state == RECORD_LOST) lost_bytes += uet_nominal(uet, record->payload);
        CHECK(map_has(source->lost_map, psn & source->mask) == (record->state == RECORD_LOST));
    }
    CHECK(out == source->out && lost == source->lost && lost_bytes == source->lost_bytes);
    for (uint16_t at = source->oldest; at != UET_NO_RECORD; at = source->record[at].after) {
        CHECK(source->record[at].state == RECORD_OUT && source->record[at].before == last);
        CHECK(last == UET_NO_RECORD || source->record[last].sent <= source->record[at].sent);
        last = at;
        CHECK(++listed <= out);
    }
    CHECK(listed == out && last == source->newest);
    CHECK(source->inflight == (int64_t)(source->sent_nominal - lost_bytes - source->counted));
    CHECK(source->complete <= source->current && source->current <= source->posted);
    CHECK(source->posted <= source->peer.depth);
    if (source->una == source->next && !source->failed) CHECK(source->inflight == 0);
    CHECK(source->nscc.cwnd >= uet_nominal(uet, uet->config.payload_bytes));
    CHECK(source->nscc.cwnd <= uet->config.max_window);
    CHECK(source->credit <= (int64_t)uet->config.max_window);
    if (uet_permitted(uet, source)) CHECK(source->ready.in);
    if (source->out > 0 && !source->failed) CHECK(source->heap_at != UET_NONE);
}

static void audit_sink(const struct uet *uet, const struct uet_sink *sink)
{
    uint32_t waiting = 0;

    for (uint32_t i = 0; i <= sink->mask; i++)
        waiting += map_has(sink->map, i);
    CHECK(waiting == sink->waiting);
    CHECK(!map_has(sink->map, sink->expected & sink->mask));
    CHECK(sink->complete <= sink->ends && sink->ends <= sink->room);
    CHECK(!uet->config.ordered || waiting == 0);
    for (uint32_t i = 1; i < sink->ends; i++)
        CHECK(psn_after(sink->end[i].psn, sink->end[i - 1].psn) > 0);
}

uint64_t uet_audit(const struct uet *uet, const struct pktpool *pool)
{
    uint64_t held = 0;

    for (uint32_t i = 0; i < uet->config.ends; i++) {
        if (uet->source[i]) audit_source(uet, uet->source[i]);
        if (uet->sink[i]) audit_sink(uet, uet->sink[i]);
    }
    for (pkt_t id = uet->control_head; id != PKT_NONE; id = pool->hot[id].next)
        held++;
    CHECK(held == uet->control_count);
    return held;
}
