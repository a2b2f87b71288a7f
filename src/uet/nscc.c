/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NSCC, the congestion control at the source: a window that follows the delay of queues and the marks of switches.
 *
 * Where both are low the window grows with the distance from the target, or by a share of what arrives when there is
 * no delay at all; where delay is high without marks it grows by a fair constant; where both are high it shrinks, once
 * a round trip.  Loss shrinks it by what was lost, or (quick adapt) to what arrived within a round trip.  Growth is
 * collected and paid out each 8 packets or round trip.  Sums of growth are bytes x bytes, in 64 bits.
 *
 * The delay average takes a quarter of the round trip instead of a high delay without a mark: that delay is of one
 * path, which is about to be left.
 */
#include "base/wide.h"
#include "uet/uet_int.h"

#define AVERAGE 80u               /* one over the weight of a sample, 0.0125 */
#define REFERENCE_PS (12 * PS_US) /* the round trip that the constants were made for */

void nscc_init(struct uet *uet)
{
    const struct uet_config *config = &uet->config;
    uint64_t scaled = (uint64_t)config->unit_bytes * config->factor_q16;

    uet->fair = 5 * scaled >> 16;
    uet->eta = 15 * scaled / 100 >> 16;
    uet->alpha_q16_ns = 4 * scaled / (REFERENCE_PS / PS_NS);
}

void nscc_start(const struct uet *uet, struct nscc *n)
{
    *n = (struct nscc){
        .cwnd = uet->config.max_window, .max_window = uet->config.max_window, .base_ps = uet->config.base_rtt_ps};
}

static uint64_t least(const struct uet *uet)
{
    return uet_nominal(uet, uet->config.payload_bytes);
}

static void bound(const struct uet *uet, struct nscc *n)
{
    if (n->cwnd > n->max_window) n->cwnd = n->max_window;
    if (n->cwnd < least(uet)) n->cwnd = least(uet);
}

void nscc_rtt(const struct uet *uet, struct nscc *n, ps_t rtt)
{
    if (rtt >= n->base_ps) return;
    n->base_ps = rtt;
    n->max_window = rate_bytes_in(uet->config.line_bps, rtt) * 3 / 2;
    if (n->max_window < least(uet)) n->max_window = least(uet);
}

void nscc_sample(const struct uet *uet, struct nscc *n, ps_t delay, bool marked)
{
    ps_t sample = !marked && delay > uet->config.target_ps ? n->base_ps / 4 : delay;

    n->average_ps = ((AVERAGE - 1) * n->average_ps + sample) / AVERAGE;
}

/* True: it acted, or acknowledgements of what was sent before it acted are still coming. */
static bool quick_adapt(struct uet *uet, struct nscc *n, bool loss, bool marked, ps_t delay, int64_t inflight, ps_t now)
{
    const struct uet_config *config = &uet->config;
    bool acted = false;

    if (n->ignored < n->to_ignore && marked) {
        acted = true;
    } else if (now > n->qa_end) {
        bool wanted = n->trigger || loss || delay > config->qa_threshold_ps;
        if (n->qa_end != 0 && wanted && n->achieved < n->max_window >> config->qa_gate) {
            n->cwnd = n->achieved > least(uet) ? n->achieved : least(uet);
            n->to_ignore = inflight > 0 ? (uint64_t)inflight : 0;
            n->ignored = 0;
            n->trigger = false;
            uet->counters.quick_adapts++;
            acted = true;
        }
        n->achieved = 0;
        n->qa_end = now + n->base_ps + config->target_ps;
    }
    if (acted) n->increase = n->received = 0;
    return acted;
}

/* Without delay: a share of what arrives, once a whole window arrived so. */
static void grow_fast(const struct uet *uet, struct nscc *n, uint64_t bytes, ps_t delay)
{
    if (delay >= uet->config.fast_ps) {
        n->fast_bytes = 0;
        n->growing = false;
        return;
    }
    n->fast_bytes += bytes;
    if (!n->growing && n->fast_bytes <= n->cwnd) return;
    n->growing = true;
    n->cwnd += bytes * uet->config.factor_q16 >> 18; /* 0.25 a */
}

static void grow(const struct uet *uet, struct nscc *n, uint64_t bytes, ps_t delay)
{
    grow_fast(uet, n, bytes, delay);
    if (n->growing) return;
    u128 by = (u128)uet->alpha_q16_ns * bytes * (uet->config.target_ps - delay) / PS_NS;
    n->increase += (uint64_t)(by >> 16);
}

static void shrink(struct uet *uet, struct nscc *n, ps_t now)
{
    ps_t target = uet->config.target_ps;

    n->growing = false;
    n->fast_bytes = 0;
    if (n->average_ps <= target || now - n->decreased_at <= n->base_ps) return;
    uint64_t by = (uint64_t)((u128)n->cwnd * 4 * (n->average_ps - target) / (5 * n->average_ps));
    n->cwnd -= by < n->cwnd / 2 ? by : n->cwnd / 2;
    n->decreased_at = now;
    uet->counters.decreases++;
}

static void pay_out(const struct uet *uet, struct nscc *n, ps_t now)
{
    bool period = now - n->adjusted_at >= uet->config.adjust_ps;

    if (n->received <= uet->config.adjust_bytes && !period) return;
    n->cwnd += n->increase / n->cwnd;
    if (period) {
        n->cwnd += uet->eta;
        n->adjusted_at = now;
    }
    n->increase = n->received = 0;
}

void nscc_ack(struct uet *uet, struct nscc *n, uint64_t bytes, bool marked, ps_t delay, int64_t inflight, ps_t now)
{
    ps_t target = uet->config.target_ps;

    n->ignored += bytes;
    n->received += bytes;
    n->achieved += bytes;
    if (quick_adapt(uet, n, false, marked, delay, inflight, now)) return;
    if (!marked && delay >= target)
        n->increase += uet->fair * bytes;
    else if (!marked)
        grow(uet, n, bytes, delay);
    else if (delay >= target)
        shrink(uet, n, now);
    bound(uet, n);
    pay_out(uet, n, now);
    bound(uet, n);
}

void nscc_nack(struct uet *uet, struct nscc *n, uint64_t bytes, bool last_hop, int64_t inflight, ps_t now)
{
    n->ignored += bytes;
    nscc_sample(uet, n, uet->config.base_rtt_ps, true); /* a queue that trims holds about that much */
    n->trigger = true;
    if (quick_adapt(uet, n, true, true, 0, inflight, now)) return;
    if (last_hop && uet->config.control == UET_BOTH) return; /* credit answers that already */
    nscc_lost(uet, n, bytes);
}

void nscc_lost(const struct uet *uet, struct nscc *n, uint64_t bytes)
{
    n->cwnd = n->cwnd > bytes ? n->cwnd - bytes : 0;
    bound(uet, n);
}

void nscc_penalty(const struct uet *uet, struct nscc *n, uint8_t penalty, uint64_t bytes, int64_t inflight)
{
    if (penalty == 0) return;
    if (inflight >= 0 && n->cwnd > (uint64_t)inflight) n->cwnd = (uint64_t)inflight;
    nscc_lost(uet, n, penalty * bytes / 128);
}
