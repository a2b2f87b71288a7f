/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An example: a rate that rises by steps while round trips are short, and falls by a share when one is long; once a
 * round trip either way.
 *
 *     cc -O2 -shared -fPIC aimd.c -o aimd.so
 *     rocelab sim --cc ./aimd.so,target=30us fabric.yaml
 */
#include <rocelab/cc.h>

enum { TARGET, ADD, CUT }; /* in the order of params[] */

static const struct rocelab_cc_param params[] = {
    {"target", ROCELAB_CC_TIME, 20 * ROCELAB_CC_US, ROCELAB_CC_NS, ROCELAB_CC_S,
     "round trip above which the rate falls"},
    {"add", ROCELAB_CC_RATE, 500 * ROCELAB_CC_MBPS, 1, 1000000 * ROCELAB_CC_MBPS,
     "added to the rate each round trip below it"},
    {"cut", ROCELAB_CC_SHARE, 20 * ROCELAB_CC_PERCENT, 0, 99 * ROCELAB_CC_PERCENT,
     "taken off the rate each round trip above it"},
};

struct aimd { /* of one queue pair; all of it is 0 at first */
    uint64_t next_ps;
};

static void init(struct rocelab_cc_qp *qp)
{
    qp->rate_bps = qp->line_bps / 10;
}

static void ack(struct rocelab_cc_qp *qp, const struct rocelab_cc_ack *ack, uint64_t now_ps)
{
    struct aimd *s = qp->state;

    if (ack->rtt_ps == 0 || now_ps < s->next_ps) return;
    s->next_ps = now_ps + ack->rtt_ps;
    if (ack->rtt_ps > qp->param[TARGET])
        qp->rate_bps -= qp->rate_bps / 1000000 * (int64_t)qp->param[CUT];
    else
        qp->rate_bps += (int64_t)qp->param[ADD];
    if (qp->rate_bps > qp->line_bps) qp->rate_bps = qp->line_bps;
    if (qp->rate_bps < 10000000) qp->rate_bps = 10000000;
}

static uint32_t ask_bytes(const uint64_t *param)
{
    (void)param;
    return 4096;
}

const struct rocelab_cc rocelab_cc = {
    ROCELAB_CC_HEAD,
    .name = "aimd",
    .param = params,
    .params = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct aimd),
    .needs = ROCELAB_CC_RTT,
    .ask_bytes = ask_bytes,
    .init = init,
    .ack = ack,
};
