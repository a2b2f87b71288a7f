/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUBIC (RFC 9438, with the constants of Linux: C 0.4, beta 717/1024, fast convergence, Reno's window as a floor) and
 * HyStart.
 *
 * W(t) = C (t - K)^3 + W_max, in segments and seconds.  Here time is in units of 2^-20 s, so that a cube of it and C as
 * 2/5 fit 128 bits; K is an integer cube root.  As in Linux the curve is turned into how many acknowledged segments the
 * next segment of window takes, at least two.
 */
#include "tcp/tcp_int.h"

#define TICK_SHIFT 20u          /* of a second */
#define BETA 717u               /* of 1024 */
#define OFFSET_MAX (1ULL << 32) /* an hour: the cube stays within 128 bits */
#define FRIENDLY_EIGHTHS 15u    /* Reno's segments an acknowledgement at the same loss: 8 (1 + beta) / 3 (1 - beta) */
#define FIRST_COUNT 20u         /* before the first loss: at least one segment in twenty acknowledged */
#define HYSTART_WINDOW 16u
#define HYSTART_SAMPLES 8u
#define HYSTART_ACK_DELTA (2 * PS_MS)
#define HYSTART_DELAY_MIN (4 * PS_MS)
#define HYSTART_DELAY_MAX (16 * PS_MS)

uint64_t cubic_root(u128 cube)
{
    uint64_t root = 0;

    for (int bit = 41; bit >= 0; bit--) {
        uint64_t next = root | 1ULL << bit;
        if ((u128)next * next * next <= cube) root = next;
    }
    return root;
}

static uint64_t ticks(ps_t time)
{
    return (uint64_t)(((u128)time << TICK_SHIFT) / PS_S);
}

void cubic_reset(struct tcp_conn *conn)
{
    uint32_t w_max = conn->cubic.w_max;

    conn->cubic = (struct cubic){.w_max = w_max, .round_rtt = PS_NEVER, .round_end = conn->nxt};
}

uint64_t cubic_ssthresh(const struct tcp *tcp, struct tcp_conn *conn)
{
    struct cubic *cubic = &conn->cubic;
    uint32_t window = (uint32_t)(conn->cwnd / tcp->payload);

    /* fast convergence: a window that did not get back to the last maximum leaves room for others */
    cubic->w_max = window < cubic->w_max ? (uint32_t)((uint64_t)window * (1024 + BETA) / 2048) : window;
    cubic->epoch = 0;
    return conn->cwnd * BETA / 1024;
}

static void begin(struct cubic *cubic, uint32_t window, uint64_t now)
{
    cubic->epoch = now ? now : 1;
    cubic->acked = 0;
    cubic->friendly = window;
    cubic->k = 0;
    cubic->origin = window;
    if (cubic->w_max <= window) return;
    cubic->k = cubic_root(((u128)(cubic->w_max - window) * 5 / 2) << 3 * TICK_SHIFT);
    cubic->origin = cubic->w_max;
}

/* Where the curve wants the window a round trip from now. */
static uint64_t target(const struct cubic *cubic, uint64_t t)
{
    uint64_t apart = least(most(t, cubic->k) - least(t, cubic->k), OFFSET_MAX);
    uint64_t by = (uint64_t)(((u128)apart * apart * apart * 2 / 5) >> 3 * TICK_SHIFT);

    if (t >= cubic->k) return cubic->origin + by;
    return by < cubic->origin ? cubic->origin - by : 0;
}

/* Acknowledged segments that the next one of window takes. */
static uint64_t step(struct cubic *cubic, uint64_t window, uint64_t t, bool friendly)
{
    uint64_t to = target(cubic, t), count = to > window ? window / (to - window) : 100 * window;
    uint64_t each = window * FRIENDLY_EIGHTHS / 8;

    if (cubic->w_max == 0 && count > FIRST_COUNT) count = FIRST_COUNT;
    while (cubic->acked > each) {
        cubic->acked -= (uint32_t)each;
        cubic->friendly++;
    }
    if (friendly && cubic->friendly > window) count = least(count, window / (cubic->friendly - window));
    return most(count, 2);
}

void cubic_grow(struct tcp *tcp, struct tcp_conn *conn, uint64_t acked, ps_t now)
{
    struct cubic *cubic = &conn->cubic;
    uint64_t window = most(conn->cwnd / tcp->payload, 1), time = ticks(now);

    conn->grown += acked;
    cubic->count += (uint32_t)acked;
    if (cubic->epoch == 0) begin(cubic, (uint32_t)window, time);
    cubic->acked += cubic->count / tcp->payload;
    cubic->count %= tcp->payload;
    uint64_t need = step(cubic, window, time + ticks(conn->min_rtt) - cubic->epoch, !tcp->config.ns3) * tcp->payload;
    if (conn->grown < need) return;
    conn->grown -= need;
    conn->cwnd += tcp->payload;
}

/* Slow start ends when a round's acknowledgements come as a train longer than half the least RTT, or late. */
static void hystart(struct tcp *tcp, struct tcp_conn *conn, ps_t rtt, ps_t now)
{
    struct cubic *cubic = &conn->cubic;
    ps_t longest = tcp->config.ns3 ? conn->min_rtt : conn->min_rtt / 2;
    ps_t late = least(most(conn->min_rtt / 8, HYSTART_DELAY_MIN), HYSTART_DELAY_MAX);

    if (now - cubic->last_ack <= HYSTART_ACK_DELTA) {
        cubic->last_ack = now;
        if (now - cubic->round_start > longest) cubic->found = true;
    }
    if (cubic->samples < HYSTART_SAMPLES) {
        cubic->samples++;
        cubic->round_rtt = least(cubic->round_rtt, rtt);
    } else if (cubic->round_rtt > conn->min_rtt + late) {
        cubic->found = true;
    }
    if (cubic->found) conn->ssthresh = conn->cwnd;
}

void cubic_acked(struct tcp *tcp, struct tcp_conn *conn, const struct ack_news *news, ps_t now)
{
    struct cubic *cubic = &conn->cubic;

    if (conn->cwnd >= conn->ssthresh || cubic->found) return;
    if (conn->una > cubic->round_end || cubic->round_start == 0) {
        cubic->round_start = cubic->last_ack = now;
        cubic->round_end = conn->nxt;
        cubic->round_rtt = PS_NEVER;
        cubic->samples = 0;
    }
    if (conn->cwnd >= (uint64_t)HYSTART_WINDOW * tcp->payload) hystart(tcp, conn, news->rtt, now);
}
