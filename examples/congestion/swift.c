/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swift (Kumar et al., SIGCOMM 2020, algorithm 1) as a plug-in: a window that holds the delay at a target.
 *
 *     cc -O2 -shared -fPIC swift.c -o swift.so
 *     rocelab sim --cc ./swift.so,base_target=40us fabric.yaml
 *
 * It does what rocelab's own `swift/paper` does, to the bit: a test compares the digests of runs.  docs/congestion.md
 * explains the algorithm; this file shows what such an algorithm is made of.
 *
 * Two windows, one for the delay of the fabric and one for that of the receiving host; the smaller one holds.  A
 * delay below its target adds to the window, one above it takes a share, at most once a round trip.  Windows are bytes
 * with 16 fraction bits: integers give the same result on every machine.
 */
#include <rocelab/cc.h>

#define MILLION 1000000u
#define MS ROCELAB_CC_MS
#define US ROCELAB_CC_US
#define ALL MILLION /* a share */

typedef unsigned __int128 wide;

enum {
    BASE_TARGET,
    HOP,
    FS_RANGE,
    FS_MIN,
    FS_MAX,
    HOST_TARGET,
    AI,
    BETA,
    MAX_MDF,
    FIRST_WINDOW,
    MIN_WINDOW,
    MAX_WINDOW,
    RESET_AFTER,
};

#define TIB (UINT64_C(1) << 40)
static const struct rocelab_cc_param params[] = {
    {"base_target", ROCELAB_CC_TIME, 25 * US, ROCELAB_CC_NS, ROCELAB_CC_S, "target of the delay, without scaling"},
    {"hop", ROCELAB_CC_TIME, US, 0, MS, "added to it for each switch"},
    {"fs_range", ROCELAB_CC_TIME, 50 * US, 0, ROCELAB_CC_S, "added to it at the smallest window, less for larger ones"},
    {"fs_min", ROCELAB_CC_SHARE, ALL / 10, 1000, ALL, "window, of a packet, from which down all of that is added"},
    {"fs_max", ROCELAB_CC_COUNT, 100, 2, 60000, "window, in packets, from which up nothing is added"},
    {"host_target", ROCELAB_CC_TIME, 100 * US, 0, ROCELAB_CC_S, "target of the receiver's delay"},
    {"ai", ROCELAB_CC_SHARE, ALL, 0, 1000 * ALL, "added a round trip, of a packet"},
    {"beta", ROCELAB_CC_SHARE, ALL / 10 * 8, 0, ALL, "of the part of the delay that is too much, taken off the window"},
    {"max_mdf", ROCELAB_CC_SHARE, ALL / 2, 0, ALL, "the most that one decrease takes"},
    {"first_window", ROCELAB_CC_BYTES, 0, 0, TIB, "window at the start; 0: line rate * base_target"},
    {"min_window", ROCELAB_CC_SHARE, 1000, 0, ALL, "the least window, of a packet"},
    {"max_window", ROCELAB_CC_BYTES, 0, 0, TIB, "the largest; 0: line rate * 2 (base_target + fs_range)"},
    {"reset_after", ROCELAB_CC_COUNT, 5, 1, 1000, "timeouts in a row that leave the least window"},
};

struct window {
    uint64_t bytes; /* 16 fraction bits */
    uint64_t decreased_ps;
};

struct swift { /* of one queue pair */
    struct window fabric, host;
    uint64_t scale_ps, offset_ps; /* of flow scaling: scale / sqrt(packets) - offset */
    uint64_t rtt_ps;
    uint64_t timeouts; /* in a row */
};

static uint64_t whole_root(uint64_t n)
{
    uint64_t root = 0, bit = UINT64_C(1) << 62;

    while (bit > n)
        bit >>= 2;
    for (; bit; bit >>= 2) {
        uint64_t with = root + bit;
        root >>= 1;
        if (n < with) continue;
        n -= with;
        root += bit;
    }
    return root;
}

/* 1 / sqrt(packets): 16 fraction bits in, 32 out. */
static uint64_t inverse_root(uint64_t packets)
{
    return (UINT64_C(1) << 56) / whole_root(packets << 32);
}

/* What the line carries in a time, with 16 fraction bits. */
static uint64_t bytes_in(const struct rocelab_cc_qp *qp, uint64_t time_ps)
{
    return (uint64_t)(((wide)qp->line_bps * time_ps << 16) / (8 * ROCELAB_CC_S));
}

static uint64_t packet(const struct rocelab_cc_qp *qp)
{
    return (uint64_t)qp->packet_bytes << 16;
}

static uint64_t least_window(const struct rocelab_cc_qp *qp)
{
    uint64_t least = packet(qp) * qp->param[MIN_WINDOW] / MILLION;
    return least ? least : 1;
}

static uint64_t largest_window(const struct rocelab_cc_qp *qp)
{
    if (qp->param[MAX_WINDOW]) return qp->param[MAX_WINDOW] << 16;
    return bytes_in(qp, 2 * (qp->param[BASE_TARGET] + qp->param[FS_RANGE]));
}

static uint64_t within(const struct rocelab_cc_qp *qp, uint64_t window)
{
    uint64_t least = least_window(qp), largest = largest_window(qp);

    if (window > largest) window = largest;
    return window < least ? least : window;
}

/* The smaller window holds; one below a packet is a packet now and then: a rate. */
static void answer(struct rocelab_cc_qp *qp)
{
    const struct swift *s = qp->state;
    uint64_t window = s->host.bytes < s->fabric.bytes ? s->host.bytes : s->fabric.bytes;

    qp->window_bytes = window >> 16 ? (int64_t)(window >> 16) : 1;
    qp->rate_bps = qp->line_bps;
    if (window >= packet(qp) || s->rtt_ps == 0) return;
    int64_t rate = (int64_t)((wide)window * 8 * ROCELAB_CC_S / s->rtt_ps >> 16);
    if (rate < ROCELAB_CC_RATE_MIN) rate = ROCELAB_CC_RATE_MIN;
    if (rate < qp->line_bps) qp->rate_bps = rate;
}

static void init(struct rocelab_cc_qp *qp)
{
    struct swift *s = qp->state;
    uint64_t first = qp->param[FIRST_WINDOW] ? qp->param[FIRST_WINDOW] << 16 : bytes_in(qp, qp->param[BASE_TARGET]);
    uint64_t at_min = inverse_root((qp->param[FS_MIN] << 16) / MILLION);
    uint64_t at_max = inverse_root(qp->param[FS_MAX] << 16);

    s->fabric.bytes = within(qp, first);
    s->host.bytes = largest_window(qp);
    s->scale_ps = (uint64_t)(((wide)qp->param[FS_RANGE] << 32) / (at_min - at_max));
    s->offset_ps = (uint64_t)((wide)s->scale_ps * at_max >> 32);
    answer(qp);
}

static uint64_t fabric_target(const struct rocelab_cc_qp *qp, uint32_t switches)
{
    const struct swift *s = qp->state;
    uint64_t packets = s->fabric.bytes / qp->packet_bytes; /* 16 fraction bits */

    if (packets > UINT32_MAX) packets = UINT32_MAX;
    uint64_t scaled = (uint64_t)((wide)s->scale_ps * inverse_root(packets ? packets : 1) >> 32);
    uint64_t more = scaled > s->offset_ps ? scaled - s->offset_ps : 0;
    if (more > qp->param[FS_RANGE]) more = qp->param[FS_RANGE];
    return qp->param[BASE_TARGET] + qp->param[HOP] * switches + more;
}

static void decrease(struct rocelab_cc_qp *qp, struct window *window, uint64_t share, uint64_t now_ps)
{
    const struct swift *s = qp->state;
    uint64_t before = window->bytes;

    if (now_ps - window->decreased_ps < s->rtt_ps) return;
    if (share > qp->param[MAX_MDF]) share = qp->param[MAX_MDF];
    window->bytes = within(qp, before - (uint64_t)((wide)before * share / MILLION));
    if (window->bytes < before) window->decreased_ps = now_ps;
}

static void hear(struct rocelab_cc_qp *qp, struct window *window, uint64_t delay, uint64_t target, uint64_t acked,
                 uint64_t now_ps)
{
    if (delay >= target && delay > 0) {
        decrease(qp, window, (uint64_t)((wide)(delay - target) * qp->param[BETA] / delay), now_ps);
        return;
    }
    wide add = (wide)acked * qp->param[AI] / MILLION << 16;
    if (window->bytes >= packet(qp)) add = add * packet(qp) / window->bytes;
    window->bytes = within(qp, window->bytes + (uint64_t)add);
}

static void ack(struct rocelab_cc_qp *qp, const struct rocelab_cc_ack *ack, uint64_t now_ps)
{
    struct swift *s = qp->state;

    if (ack->rtt_ps) s->rtt_ps = ack->rtt_ps < ROCELAB_CC_S ? ack->rtt_ps : ROCELAB_CC_S;
    if (ack->acked_bytes) s->timeouts = 0;
    if (s->rtt_ps == 0) return;
    hear(qp, &s->fabric, s->rtt_ps, fabric_target(qp, ack->switches), ack->acked_bytes, now_ps);
    hear(qp, &s->host, ack->host_ps, qp->param[HOST_TARGET], ack->acked_bytes, now_ps);
    answer(qp);
}

static void loss(struct rocelab_cc_qp *qp, const struct rocelab_cc_loss *loss, uint64_t now_ps)
{
    struct swift *s = qp->state;

    s->timeouts = loss->timeout ? s->timeouts + 1 : 0;
    if (s->timeouts >= qp->param[RESET_AFTER])
        s->fabric.bytes = least_window(qp);
    else
        decrease(qp, &s->fabric, ALL, now_ps);
    answer(qp);
}

const struct rocelab_cc rocelab_cc = {
    ROCELAB_CC_HEAD,
    .name = "swift",
    .param = params,
    .params = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct swift),
    .needs = ROCELAB_CC_RTT | ROCELAB_CC_WINDOW,
    .init = init,
    .ack = ack,
    .loss = loss,
};
