/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A built-in congestion control as a plug-in: what is between rocelab/cc.h and the algorithm, whose own file is
 * compiled beside this one, with ALGORITHM, NEEDS and HAS (which calls it has) from the command line.
 *
 * The parameters are those of a preset, by its number among the algorithm's; those that are the adapter's are given.
 */
#include <rocelab/cc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "nic/cc/algorithm.h"

#define JOINED_AS(a, b) a##b
#define JOINED(a, b) JOINED_AS(a, b)
#define BUILT_IN JOINED(cc_algorithm_, ALGORITHM)
enum { HAS_ACK = 1, HAS_CNP = 2, HAS_LOSS = 4, HAS_SENT = 8, HAS_TIMER = 16 };

struct copy {
    struct cc cc;
    struct cc_path path;
};

static const struct rocelab_cc_param params[] = {
    {"preset", ROCELAB_CC_COUNT, 0, 0, 8, "which of the algorithm's"},
    {"min_time_between_cnps", ROCELAB_CC_TIME, 0, 0, ROCELAB_CC_S, "of the adapter"},
    {"cnp_remember", ROCELAB_CC_FLAG, 0, 0, 1, "of the adapter"},
};

void check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

static struct copy *begin(struct rocelab_cc_qp *qp)
{
    struct copy *copy = qp->state;

    copy->cc.path = &copy->path; /* a rehearsal's state lies elsewhere */
    return copy;
}

static void answer(struct rocelab_cc_qp *qp)
{
    const struct cc *cc = &((struct copy *)qp->state)->cc;

    qp->rate_bps = (int64_t)cc->rate_bps;
    if (NEEDS & ROCELAB_CC_WINDOW && cc->window_bytes != CC_WINDOW_NONE) qp->window_bytes = (int64_t)cc->window_bytes;
    qp->deadline_ps = cc->deadline;
    if (BUILT_IN.alpha) qp->alpha_ppm = (uint32_t)(BUILT_IN.alpha(cc) * 1000000 >> 32);
}

static void init(struct rocelab_cc_qp *qp)
{
    struct copy *copy = begin(qp);

    copy->cc = (struct cc){.rate_bps = (uint64_t)qp->line_bps,
                           .window_bytes = CC_WINDOW_NONE,
                           .deadline = PS_NEVER,
                           .line_bps = (uint64_t)qp->line_bps,
                           .packet_bytes = (uint16_t)qp->packet_bytes,
                           .config = &BUILT_IN.preset[qp->param[0]].config,
                           .path = &copy->path,
                           .wants_sent = BUILT_IN.sent != NULL};
    if (BUILT_IN.init) BUILT_IN.init(&copy->cc);
    answer(qp);
}

static void ack(struct rocelab_cc_qp *qp, const struct rocelab_cc_ack *ack, uint64_t now_ps)
{
    struct pkt_hop hop[PKT_INT_HOPS];
    struct cc_ack told = {.acked_bytes = ack->acked_bytes,
                          .in_flight_bytes = ack->in_flight_bytes,
                          .acked_psn = ack->acked_psn,
                          .next_psn = ack->next_psn,
                          .marked = ack->marked,
                          .rtt_ps = ack->rtt_ps,
                          .host_ps = ack->host_ps,
                          .switches = ack->switches,
                          .hop = hop,
                          .hops = ack->hops};

    for (uint32_t i = 0; i < ack->hops; i++)
        hop[i] = (struct pkt_hop){.at = ack->hop[i].at_ps,
                                  .tx_bytes = ack->hop[i].tx_bytes,
                                  .rate_bps = ack->hop[i].rate_bps,
                                  .queue_bytes = (uint32_t)ack->hop[i].queue_bytes};
    BUILT_IN.ack(&begin(qp)->cc, &told, now_ps);
    answer(qp);
}

static void cnp(struct rocelab_cc_qp *qp, uint64_t now_ps)
{
    BUILT_IN.cnp(&begin(qp)->cc, now_ps);
    answer(qp);
}

static void loss(struct rocelab_cc_qp *qp, const struct rocelab_cc_loss *loss, uint64_t now_ps)
{
    BUILT_IN.loss(&begin(qp)->cc, loss->timeout, loss->next_psn, now_ps);
    answer(qp);
}

static void sent(struct rocelab_cc_qp *qp, uint32_t bytes, uint64_t now_ps)
{
    struct copy *copy = begin(qp);

    if (copy->cc.wants_sent) BUILT_IN.sent(&copy->cc, bytes, now_ps);
    answer(qp);
}

static void timer(struct rocelab_cc_qp *qp, uint64_t now_ps)
{
    BUILT_IN.timer(&begin(qp)->cc, now_ps);
    answer(qp);
}

static uint32_t ask_bytes(const uint64_t *param)
{
    return BUILT_IN.ask_bytes ? BUILT_IN.ask_bytes(&BUILT_IN.preset[param[0]].config) : 0;
}

const struct rocelab_cc rocelab_cc = {
    ROCELAB_CC_HEAD,
    .name = "copy",
    .param = params,
    .params = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct copy),
    .needs = NEEDS,
    .ask_bytes = ask_bytes,
    .init = init,
    .ack = HAS & HAS_ACK ? ack : NULL,
    .cnp = HAS & HAS_CNP ? cnp : NULL,
    .loss = HAS & HAS_LOSS ? loss : NULL,
    .sent = HAS & HAS_SENT ? sent : NULL,
    .timer = HAS & HAS_TIMER ? timer : NULL,
};
