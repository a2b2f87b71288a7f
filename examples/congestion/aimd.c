/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An example: a rate that rises by steps while round trips are short, and falls by a share when one is long; once a
 * round trip either way.
 */
#include "nic/cc/algorithm.h"

struct aimd_params { /* in cc_config.own; every parameter is a uint64_t */
    uint64_t aimd_target, aimd_add, aimd_cut;
};
struct aimd { /* in cc.own: one for each QP */
    ps_t next;
};
_Static_assert(sizeof(struct aimd_params) <= sizeof(uint64_t[CC_OWN_PARAMS]), "fits");
_Static_assert(sizeof(struct aimd) <= sizeof(uint64_t[CC_OWN_STATE]), "fits");

static const struct cc_param params[] = {
    CC_OWN_PARAM(struct aimd_params, aimd_target, TIME, "round trip above which the rate falls"),
    CC_OWN_PARAM(struct aimd_params, aimd_add, RATE, "added to the rate each round trip below it"),
    CC_OWN_PARAM(struct aimd_params, aimd_cut, SHARE, "taken off the rate each round trip above it"),
    {.name = NULL},
};

static const struct cc_preset presets[] = {
    {"aimd/example", {.own = {20 * PS_US, 500 * MBPS, 20 * PERCENT}}}, /* in the order of struct aimd_params */
    {.name = NULL},
};

static const char *invalid(const struct cc_config *config, const char **ret_name)
{
    const struct aimd_params *p = (const void *)config->own;

    REFUSE_IF(NOT_A_RTT(p->aimd_target), "aimd_target", "is 1 ns to 1 s");
    REFUSE_IF(p->aimd_add == 0 || p->aimd_add >> 50, "aimd_add", "is above 0, 1000 Tb/s at most");
    REFUSE_IF(p->aimd_cut >= 100 * PERCENT, "aimd_cut", "is below 100%");
    return NULL;
}

static void init(struct cc *cc) /* all of it is 0 but the rate, which is the line's */
{
    cc->rate_bps = cc->line_bps / 10;
}

static void on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now)
{
    const struct aimd_params *p = (const void *)cc->config->own;
    struct aimd *s = (void *)cc->own;

    if (ack->rtt_ps == 0 || now < s->next) return;
    s->next = now + ack->rtt_ps;
    if (ack->rtt_ps > p->aimd_target)
        cc->rate_bps -= cc->rate_bps / 1000000 * p->aimd_cut;
    else
        cc->rate_bps += p->aimd_add;
    if (cc->rate_bps > cc->line_bps) cc->rate_bps = cc->line_bps;
    if (cc->rate_bps < 10 * MBPS) cc->rate_bps = 10 * MBPS;
}

static uint32_t ask_bytes(const struct cc_config *config)
{
    (void)config;
    return 4096;
}

const struct cc_algorithm cc_algorithm_aimd = {
    .preset = presets,
    .param = params,
    .invalid = invalid,
    .needs = {.rtt = true},
    .ask_bytes = ask_bytes,
    .init = init,
    .ack = on_ack,
};
