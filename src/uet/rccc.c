/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RCCC, the congestion control at the sink: sources send what they were given credit for.
 *
 * A source begins with a window of credit that nobody gave (speculation), which ends with the first answer.  Each
 * packet says how much credit in all the source would like to have had; the sink gives pull_bytes at a time to those
 * that want, in turn, as fast as its line could carry 0.99 of what they may then send.  When none wants, sources that
 * were served get up to one window ahead.  Credit is counted in units of 256 B, as a running total, so a lost packet
 * of credit is made good by the next.
 *
 * Below an oversubscribed fabric the pace follows what arrives marked or trimmed before the last switch, once a round
 * trip; shares are fixed-point numbers with 16 bits after the point.
 */
#include "uet/uet_int.h"

#define ONE 65536u
#define TARGET_MARKED (ONE * 3 / 10)
#define STEP (ONE / 100)
#define LEAST_RATE (ONE / 100)
#define IDLE_QUANTA 4u /* the time that a pull without credit takes */

void rccc_init(struct uet *uet)
{
    const struct uet_config *config = &uet->config;

    uet->pull_at = uet->rate_at = PS_NEVER;
    uet->rate_q16 = ONE;
    /* eight bits, PS_S, 256 of precision and 1,000 permille: 2^56, within 64 bits for any rate above 1 Mb/s */
    uet->quantum_q8_ps = (UET_QUANTUM * 8ULL * PS_S / config->line_bps) * 256 * 1000 / config->pull_permille;
}

void rccc_start(const struct uet *uet, struct uet_source *source)
{
    source->credit = (int64_t)uet->config.max_window;
    source->speculating = true;
}

void rccc_heard(struct uet_source *source)
{
    if (!source->speculating) return;
    source->speculating = false;
    if (source->credit > 0) source->credit = 0;
}

uint32_t rccc_target(const struct uet *uet, const struct uet_source *source)
{
    int64_t packet = uet_nominal(uet, uet->config.payload_bytes);
    int64_t wants = (int64_t)(source->backlog + source->lost_bytes);

    if (uet->config.control == UET_BOTH && wants > (int64_t)source->nscc.cwnd + packet)
        wants = (int64_t)source->nscc.cwnd + packet;
    if (wants > (int64_t)uet->config.max_window) wants = (int64_t)uet->config.max_window;
    wants -= source->credit;
    if (source->speculating && wants < packet && source->backlog > 0) wants = packet;
    if (uet->ready.count > 1) wants /= (int64_t)uet->ready.count;
    if (wants <= 0) return source->pulled;
    return source->pulled + (uint32_t)((wants + UET_QUANTUM - 1) / UET_QUANTUM);
}

void rccc_pulled(const struct uet *uet, struct uet_source *source, uint32_t pulled)
{
    int32_t more = psn_after(pulled, source->pulled);

    if (more <= 0) return;
    source->pulled = pulled;
    source->credit += (int64_t)more * UET_QUANTUM;
    if (source->credit > (int64_t)uet->config.max_window) source->credit = (int64_t)uet->config.max_window;
}

void rccc_wanted(struct uet *uet, struct uet_sink *sink, uint32_t target, bool again, ps_t now)
{
    bool more = psn_after(target, sink->target) > 0;

    if (more) sink->target = target;
    if (!more && !again) return;
    list_push(&uet->pull, &sink->pull, sink);
    if (uet->pull_at == PS_NEVER) uet->pull_at = now;
    if (uet->config.oversubscribed && uet->rate_at == PS_NEVER) uet->rate_at = now + uet->config.base_rtt_ps;
}

static void send_pull(struct uet *uet, struct uet_sink *sink, struct pktpool *pool)
{
    pkt_t id = uet_control(uet, PKT_NONE, &sink->peer, PKT_UET_PULL, pool);

    if (id == PKT_NONE) return;
    pool->hot[id].imm = sink->pulled;
    pool->hot[id].sport = sink->path = (sink->path + 1u) & 127u;
    uet->counters.tx_pulls++;
    uet_control_queue(uet, id, pool);
}

/* Answers the quanta given. */
static uint32_t give(struct uet *uet, struct pktpool *pool)
{
    uint32_t most = uet->config.pull_bytes / UET_QUANTUM, given = most;
    struct uet_sink *sink = list_pop(&uet->pull);

    if (sink) {
        int32_t wants = psn_after(sink->target, sink->pulled);
        given = wants <= 0 ? 0 : (uint32_t)wants < most ? (uint32_t)wants : most;
        sink->pulled += given;
        if (psn_after(sink->target, sink->pulled) > 0)
            list_push(&uet->pull, &sink->pull, sink);
        else
            list_push(&uet->idle, &sink->idle, sink);
    } else {
        sink = list_pop(&uet->idle);
        if (sink == NULL) return 0;
        sink->pulled += given;
        int32_t ahead = psn_after(sink->pulled, sink->target);
        if (ahead >= 0 && (uint64_t)ahead < uet->config.max_window / UET_QUANTUM)
            list_push(&uet->idle, &sink->idle, sink);
    }
    send_pull(uet, sink, pool);
    return given ? given : IDLE_QUANTA;
}

static void adapt_rate(struct uet *uet)
{
    uint32_t whole = uet->seen_data, all = whole + uet->seen_trimmed;
    uint32_t share = whole ? (uint32_t)((uint64_t)uet->seen_marked * ONE / whole) : 0;
    int64_t rate = uet->rate_q16;
    bool lowered = uet->seen_trimmed > 0;

    if (lowered) rate -= (int64_t)((uint64_t)uet->seen_trimmed * ONE / all);
    uet->marked_q16 = (uet->marked_q16 + share) / 2;
    if (uet->marked_q16 > TARGET_MARKED) {
        rate -= rate * (uet->marked_q16 - TARGET_MARKED) / (2 * (int64_t)ONE);
        lowered = true;
    }
    if (lowered) {
        uet->rate_steps = 0;
    } else {
        rate += uet->seen_marked ? STEP : (int64_t)STEP << (uet->rate_steps < 8 ? uet->rate_steps : 8);
        uet->rate_steps++;
    }
    uet->rate_q16 = (uint32_t)(rate < LEAST_RATE ? LEAST_RATE : rate > ONE ? ONE : rate);
    uet->seen_data = uet->seen_marked = uet->seen_trimmed = 0;
}

void rccc_tick(struct uet *uet, ps_t now, struct pktpool *pool)
{
    if (uet->rate_at <= now) {
        adapt_rate(uet);
        uet->rate_at = now + uet->config.base_rtt_ps;
    }
    if (uet->pull_at > now) return;
    uint32_t given = give(uet, pool);
    if (given == 0) { /* nobody is left */
        uet->pull_at = uet->rate_at = PS_NEVER;
        return;
    }
    uet->pull_at = now + ((uint64_t)given * uet->quantum_q8_ps << 8) / uet->rate_q16;
}
