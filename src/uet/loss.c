/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a source knows of each number it sent, and how it finds that one is lost.
 *
 * A record is under way, acknowledged, or to be sent again; those under way are in a list by the time they were sent,
 * so the timer looks at the oldest alone.  Bytes in flight are counted as the specification does: added when sent,
 * taken off when the sink says that it received so many, when a packet was trimmed, or when it is given up.  What was
 * given up and turns out to have arrived is added again.  So, at any time:
 *
 *     inflight = bytes of all numbers sent, each once - bytes to be sent again - bytes said to have been received
 *
 * A loss is found by a NACK, by the timer, or (without trimming) when more packets than the window could explain have
 * overtaken it, or when a probe into silence comes back without delay.
 */
#include "uet/uet_int.h"

#define OVERTAKEN_LEAST 5u   /* packets */
#define ONCE (UINT8_MAX - 1) /* of uet_record.sends: sent once, and no sample of a round trip any more */

static void list_remove(struct uet_source *source, struct uet_record *record)
{
    if (record->before != UET_NO_RECORD)
        source->record[record->before].after = record->after;
    else
        source->oldest = record->after;
    if (record->after != UET_NO_RECORD)
        source->record[record->after].before = record->before;
    else
        source->newest = record->before;
    source->out--;
}

void record_out(struct uet_source *source, uint32_t psn, ps_t now)
{
    struct uet_record *record = uet_record(source, psn);
    uint16_t at = (uint16_t)(psn & source->mask);

    record->sent = now;
    record->state = RECORD_OUT;
    if (record->sends < UINT8_MAX) record->sends++;
    record->before = source->newest;
    record->after = UET_NO_RECORD;
    if (source->newest != UET_NO_RECORD)
        source->record[source->newest].after = at;
    else
        source->oldest = at;
    source->newest = at;
    source->out++;
}

void record_here(struct uet *uet, struct uet_source *source, uint32_t psn)
{
    struct uet_record *record = uet_record(source, psn);
    uint32_t bytes = uet_nominal(uet, record->payload);

    if (record->state == RECORD_OUT) {
        list_remove(source, record);
    } else if (record->state == RECORD_LOST) { /* it was not */
        map_clear(source->lost_map, psn & source->mask);
        source->lost--;
        source->lost_bytes -= bytes;
        source->inflight += bytes;
    } else {
        return;
    }
    record->state = RECORD_HERE;
    source->acked_bytes += record->payload;
    source->backoff = 0;
}

void record_lost(struct uet *uet, struct uet_source *source, uint32_t psn)
{
    struct uet_record *record = uet_record(source, psn);
    uint32_t bytes = uet_nominal(uet, record->payload);

    CHECK(record->state == RECORD_OUT);
    list_remove(source, record);
    record->state = RECORD_LOST;
    map_set(source->lost_map, psn & source->mask);
    source->lost++;
    source->lost_bytes += bytes;
    source->inflight -= bytes;
}

uint32_t loss_next(const struct uet_source *source)
{
    uint32_t from = source->una & source->mask, words = (source->mask + 1) / 64;
    uint64_t word = source->lost_map[from / 64] & UINT64_MAX << from % 64;

    for (uint32_t i = 0; i <= words; i++) {
        uint32_t at = (from / 64 + i) % words;
        if (i > 0) word = source->lost_map[at];
        if (word == 0) continue;
        uint32_t bit = at * 64 + (uint32_t)__builtin_ctzll(word);
        return source->una + ((bit - from) & source->mask);
    }
    CHECK(false); /* something is lost */
    return 0;
}

void loss_from(struct uet *uet, struct uet_source *source, uint32_t psn)
{
    for (; psn != source->next; psn++)
        if (uet_record(source, psn)->state == RECORD_OUT) record_lost(uet, source, psn);
}

static void send_rts(struct uet *uet, struct uet_source *source, ps_t now, struct pktpool *pool)
{
    if (source->rts_at != 0 && now - source->rts_at < uet->config.base_rtt_ps) return;
    pkt_t id = uet_control(uet, PKT_NONE, &source->peer, PKT_UET_RTS, pool);
    if (id == PKT_NONE) return;
    struct pkt *pkt = &pool->hot[id];
    pkt->src_qp = rccc_target(uet, source);
    pkt->psn = source->next;
    pkt->sport = paths_next(uet, &source->paths);
    pkt->flags = PKT_UET_ACK_REQUEST;
    source->rts_at = source->heard_at = now;
    uet->counters.tx_rts++;
    uet_control_queue(uet, id, pool);
}

static ps_t patience(const struct uet *uet, const struct uet_source *source)
{
    return uet->config.rto_ps << source->backoff;
}

ps_t loss_timer(const struct uet *uet, const struct uet_source *source)
{
    ps_t at = PS_NEVER;

    if (source->out > 0)
        at = source->record[source->oldest].sent + patience(uet, source);
    else if ((source->lost > 0 || source->backlog > 0) && !source->ready.in)
        at = source->heard_at + patience(uet, source);
    return source->probe_at < at ? source->probe_at : at;
}

/* Another timeout after as long again: the timer is doubled, and in the end the source gives up. */
static bool back_off(struct uet *uet, struct uet_source *source, ps_t now)
{
    if (uet->config.retries == 0 || now < source->backoff_at + patience(uet, source)) return true;
    source->backoff_at = now;
    if (++source->backoff <= uet->config.retries) return true;
    source->backoff--;
    return false;
}

static bool blocked(const struct uet *uet, const struct uet_source *source, uint32_t bytes)
{
    if (uet->config.control & UET_NSCC && (int64_t)source->nscc.cwnd < source->inflight + (int64_t)bytes) return true;
    return uet->config.control & UET_RCCC && source->credit <= 0;
}

/* While lost packets are being found one window after the other, the timer lets them: it waits for the oldest once
 * more.  One that was sent again already may be found again. */
static void leave_to_recovery(struct uet_source *source, uint32_t psn, ps_t now)
{
    struct uet_record *record = uet_record(source, psn);
    bool again = record->sends > 1 && record->sends != ONCE;

    list_remove(source, record);
    record_out(source, psn, now);
    record->sends = again ? UINT8_MAX : ONCE; /* no sample of it */
    if (again && psn_after(source->resent_to, psn) > 0) source->resent_to = psn;
}

static void give_up_oldest(struct uet *uet, struct uet_source *source, ps_t now, struct pktpool *pool)
{
    uint32_t psn = source->una + ((source->oldest - source->una) & source->mask);
    uint32_t bytes = uet_nominal(uet, uet_record(source, psn)->payload);
    bool queue = source->lost > 0;

    if (source->recovering) {
        leave_to_recovery(source, psn, now);
        return;
    }
    uet->counters.timeouts++;
    paths_said(uet, &source->paths, 0, PATH_TIMEOUT, now);
    if (uet->config.ordered)
        loss_from(uet, source, psn);
    else
        record_lost(uet, source, psn);
    if (uet->config.control & UET_NSCC) nscc_lost(uet, &source->nscc, bytes);
    if (queue) rccc_heard(source);
    if (queue ? (uet->config.control & UET_RCCC) != 0 : blocked(uet, source, bytes)) send_rts(uet, source, now, pool);
}

/* In the class of the data, so that it waits where they wait: one that overtook them would call a full queue empty. */
static void send_probe(struct uet *uet, struct uet_source *source, ps_t now, struct pktpool *pool)
{
    pkt_t id = uet_control(uet, PKT_NONE, &source->peer, PKT_UET_PROBE, pool);

    source->probe_at = now + 5 * source->nscc.base_ps;
    source->probe_sent_at = now;
    source->probe++;
    if (id == PKT_NONE) return;
    pool->hot[id].tos = (uint8_t)(source->peer.tos | PKT_ECN_ECT0);
    pool->hot[id].pcp = source->peer.prio;
    pool->hot[id].psn = source->probe;
    pool->hot[id].sport = paths_next(uet, &source->paths);
    uet->counters.tx_probes++;
    uet_control_queue(uet, id, pool);
}

void loss_timeout(struct uet *uet, struct uet_source *source, ps_t now, struct pktpool *pool)
{
    if (source->failed) return;
    if (source->probe_at <= now) send_probe(uet, source, now, pool);
    while (source->out > 0 && source->record[source->oldest].sent + patience(uet, source) <= now) {
        if (!back_off(uet, source, now)) {
            uet_source_fail(uet, source);
            return;
        }
        give_up_oldest(uet, source, now, pool);
    }
    uet_offer(uet, source);
    if (source->out == 0 && (source->lost > 0 || source->backlog > 0) && !source->ready.in &&
        source->heard_at + patience(uet, source) <= now) {
        if (!back_off(uet, source, now)) {
            uet_source_fail(uet, source);
            return;
        }
        rccc_heard(source);
        send_rts(uet, source, now, pool);
    }
    timer_want(uet, source, loss_timer(uet, source));
}

static void set_probe(const struct uet *uet, struct uet_source *source, ps_t now)
{
    source->probe_at = PS_NEVER;
    if (source->una == source->next && source->backlog == 0) return;
    source->probe_at =
        now + (source->backlog == 0 ? source->nscc.base_ps + uet->config.target_ps : 3 * source->nscc.base_ps);
}

void loss_infer(struct uet *uet, struct uet_source *source, bool probe_ack, ps_t delay, uint32_t waiting, ps_t now)
{
    uint32_t packet = uet->config.payload_bytes;
    uint64_t enough = source->nscc.cwnd * 3 / 2;

    set_probe(uet, source, now);
    if (probe_ack && delay < uet->config.target_ps) {
        source->recovering = true;
        source->recovery_end = source->next;
        source->resent_to = source->una;
    }
    if (enough > source->nscc.max_window) enough = source->nscc.max_window;
    if (enough < OVERTAKEN_LEAST * packet) enough = OVERTAKEN_LEAST * packet;
    if (source->recovering && psn_after(source->una, source->recovery_end) >= 0) source->recovering = false;
    if (!source->recovering && (uint64_t)waiting < enough / packet) return;
    if (!source->recovering && source->lost == 0) {
        source->recovering = true;
        source->recovery_end = source->next;
    }
    uint32_t psn = source->una, end = source->una + (uint32_t)(source->nscc.cwnd / packet);
    if (psn_after(end, source->recovery_end) > 0) end = source->recovery_end;
    for (; psn_after(psn, end) < 0; psn++) {
        if (psn_after(psn, source->resent_to) < 0 || uet_record(source, psn)->state != RECORD_OUT) continue;
        record_lost(uet, source, psn);
        source->resent_to = psn + 1;
        uet->counters.inferred_losses++;
    }
}
