/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a source learns: ACKs, NACKs, credit.
 *
 * An ACK names the packet that asked for it, whose round trip is a sample if it was sent once (or twice, and the ACK
 * is of the second), the next number awaited, a map of what is here after a gap, and how many bytes were received in
 * all.  Numbers that were not sent are not believed.
 */
#include "uet/uet_int.h"

/* Bytes that the sink received since the last ACK that said so.  A count of units is rounded up, so it may be of more
 * than was sent; the running total is what is cut, or the parts cut off would add up. */
static uint64_t newly_received(const struct uet *uet, struct uet_source *source, uint32_t units)
{
    int32_t more = psn_after(units, (uint32_t)source->received);

    if (more <= 0) return 0;
    source->received += (uint32_t)more;
    uint64_t total = source->received * uet->config.received_unit;
    if (total > source->sent_nominal) total = source->sent_nominal;
    uint64_t bytes = total > source->counted ? total - source->counted : 0;
    source->counted += bytes;
    source->inflight -= (int64_t)bytes;
    return bytes;
}

static bool was_sent(const struct uet_source *source, uint32_t psn)
{
    return psn_after(psn, source->una) >= 0 && psn_after(psn, source->next) < 0;
}

/* The delay of queues that the ACK tells of. */
static ps_t sample(const struct uet *uet, struct uet_source *source, const struct pkt *pkt, ps_t now)
{
    struct nscc *n = &source->nscc;
    bool marked = pkt->flags & PKT_UET_MARKED, again = pkt->flags & PKT_UET_AGAIN;

    if (pkt->opcode == PKT_UET_PROBE_ACK) {
        if (pkt->psn != source->probe) return n->average_ps;
        ps_t rtt = now - source->probe_sent_at;
        ps_t delay = rtt > n->base_ps ? rtt - n->base_ps : 0;
        nscc_sample(uet, n, delay, marked);
        return delay;
    }
    if (!was_sent(source, pkt->psn)) return n->average_ps;
    const struct uet_record *record = uet_record(source, pkt->psn);
    if (record->state != RECORD_OUT || record->sends != (again ? 2 : 1)) return n->average_ps;
    nscc_rtt(uet, n, now - record->sent);
    ps_t delay = now - record->sent - n->base_ps;
    nscc_sample(uet, n, delay, marked);
    return delay;
}

static void take_map(struct uet *uet, struct uet_source *source, uint32_t base, uint64_t map)
{
    for (; map; map &= map - 1) {
        uint32_t psn = base + (uint32_t)__builtin_ctzll(map);
        if (was_sent(source, psn)) record_here(uet, source, psn);
    }
}

static void take_cumulative(struct uet *uet, struct uet_source *source, uint32_t awaited)
{
    if (psn_after(awaited, source->una) <= 0 || psn_after(awaited, source->next) > 0) return;
    for (; source->una != awaited; source->una++)
        record_here(uet, source, source->una);
    if (source->una == source->next) { /* whatever the other end counted */
        source->counted = source->sent_nominal;
        source->inflight = 0;
    }
    uet_source_done(uet, source);
}

static void take_ack(struct uet *uet, struct uet_source *source, const struct pkt *pkt, ps_t now)
{
    bool marked = pkt->flags & PKT_UET_MARKED, probe_ack = pkt->opcode == PKT_UET_PROBE_ACK;
    uint64_t bytes = newly_received(uet, source, pkt->uet.bytes);
    ps_t delay = sample(uet, source, pkt, now);

    uet->counters.rx_acks++;
    uet->counters.rx_acks_marked += marked;
    if (uet->config.control & UET_NSCC) nscc_penalty(uet, &source->nscc, pkt->mark, bytes, source->inflight);
    take_map(uet, source, pkt->imm + pkt->uet.base, pkt->uet.map);
    take_cumulative(uet, source, pkt->imm);
    paths_said(uet, &source->paths, pkt->sport, marked ? PATH_MARKED : PATH_GOOD, now);
    if (uet->config.control & UET_NSCC) nscc_ack(uet, &source->nscc, bytes, marked, delay, source->inflight, now);
    if (uet->config.infer_loss) loss_infer(uet, source, probe_ack, delay, pkt->uet.waiting, now);
}

static void take_nack(struct uet *uet, struct uet_source *source, const struct pkt *pkt, ps_t now)
{
    bool last_hop = pkt->flags & PKT_UET_LAST_HOP, marked = pkt->flags & PKT_UET_MARKED;

    uet->counters.rx_nacks++;
    if (!was_sent(source, pkt->psn) || uet_record(source, pkt->psn)->state != RECORD_OUT) {
        uet->counters.rx_nacks_late++;
        return;
    }
    struct uet_record *record = uet_record(source, pkt->psn);
    uint32_t bytes = uet_nominal(uet, record->payload);
    nscc_rtt(uet, &source->nscc, now - record->sent);
    if (uet->config.ordered)
        loss_from(uet, source, pkt->psn);
    else
        record_lost(uet, source, pkt->psn);
    if (uet->config.control & UET_NSCC) nscc_nack(uet, &source->nscc, bytes, last_hop, source->inflight, now);
    paths_said(uet, &source->paths, pkt->sport, !last_hop ? PATH_TRIMMED : marked ? PATH_MARKED : PATH_GOOD, now);
}

void uet_source_rx(struct uet *uet, struct uet_source *source, const struct pkt *pkt, ps_t now)
{
    if (source->failed) return;
    source->heard_at = now;
    if (pkt->opcode == PKT_UET_NACK)
        take_nack(uet, source, pkt, now);
    else if (pkt->opcode != PKT_UET_PULL)
        take_ack(uet, source, pkt, now);
    rccc_heard(source);
    if (pkt->opcode == PKT_UET_PULL) {
        uet->counters.rx_pulls++;
        rccc_pulled(uet, source, pkt->imm);
    }
    uet_offer(uet, source);
    timer_want(uet, source, loss_timer(uet, source));
}
