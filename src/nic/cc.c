/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control: parameters, presets, and the way to each algorithm.
 *
 * Presets: `dcqcn/paper` is SIGCOMM 2015 (its text and table of deployed values), `dcqcn/connectx` what an adapter
 * says when asked (mlxconfig), `dcqcn/hpcc-sim` and `hpcc/hpcc-sim` what the HPCC authors simulated with
 * at 100 Gb/s, `hpcc/paper` SIGCOMM 2019.  They differ a lot; none is tuned.
 *
 * Dispatch is a switch and no table of functions: there are few, and one of them does nothing.
 */
#include "nic/cc.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/time.h"
#include "nic/nic_int.h"

#define MBPS 1000000ULL
#define PERCENT 10000ULL       /* of a million */
#define TIME_MAX (1000 * PS_S) /* of a parameter: sums with the time of day stay far from 2^64 */

const struct cc_param cc_param_list[] = {
#define PARAM(field, kind, text)                                                                                       \
    {.name = #field, .help = text, .unit = CC_UNIT_##kind, .offset = offsetof(struct cc_config, field)},
#include "nic/cc_params.def"
#undef PARAM
    {.name = NULL},
};

static const struct preset {
    const char *name;
    struct cc_config config;
} presets[] = {
    {"none", {.kind = CC_NONE}},
    {"dcqcn/paper",
     {.kind = CC_DCQCN,
      .rpg_time_reset = 55 * PS_US,
      .rpg_byte_reset = 10 * 1000 * 1000,
      .rpg_threshold = 5,
      .rpg_ai_rate = 40 * MBPS,
      .rpg_hai_rate = 400 * MBPS,
      .rpg_gd = 11,
      .rpg_min_dec_fac = 50 * PERCENT,
      .rpg_min_rate = 1 * MBPS,
      .dce_tcp_g = 1020,
      .dce_tcp_rtt = 55 * PS_US,
      .initial_alpha = 1024,
      .clamp_tgt_rate = 1,
      .clamp_tgt_rate_after_time_inc = 1,
      .alpha_per_cnp = 1,
      .min_time_between_cnps = 50 * PS_US,
      .cnp_remember = 1}},
    {"dcqcn/connectx",
     {.kind = CC_DCQCN,
      .rpg_time_reset = 300 * PS_US,
      .rpg_byte_reset = 32767 * 64,
      .rpg_threshold = 1,
      .rpg_ai_rate = 5 * MBPS,
      .rpg_hai_rate = 50 * MBPS,
      .rpg_gd = 11,
      .rpg_min_dec_fac = 50 * PERCENT,
      .rpg_min_rate = 1 * MBPS,
      .dce_tcp_g = 1019,
      .dce_tcp_rtt = 1 * PS_US,
      .rate_reduce_monitor_period = 4 * PS_US,
      .initial_alpha = 1023,
      .clamp_tgt_rate_after_time_inc = 1,
      .min_time_between_cnps = 2 * PS_US}},
    {"dcqcn/hpcc-sim",
     {.kind = CC_DCQCN,
      .rpg_time_reset = 300 * PS_US,
      .rpg_threshold = 1,
      .rpg_ai_rate = 20 * MBPS,
      .rpg_hai_rate = 200 * MBPS,
      .rpg_gd = 11,
      .rpg_min_dec_fac = 50 * PERCENT,
      .rpg_min_rate = 1000 * MBPS,
      .dce_tcp_g = 1020,
      .dce_tcp_rtt = 1 * PS_US,
      .rate_reduce_monitor_period = 4 * PS_US,
      .initial_alpha = 1024,
      .clamp_tgt_rate_after_time_inc = 1,
      .min_time_between_cnps = 0}},
    {"hpcc/paper",
     {.kind = CC_HPCC,
      .hpcc_eta = 95 * PERCENT,
      .hpcc_w_ai = 80,
      .hpcc_max_stage = 5,
      .hpcc_base_rtt = 13 * PS_US,
      .hpcc_min_rate = 100 * MBPS,
      .hpcc_fast_react = 1}},
    {"hpcc/hpcc-sim",
     {.kind = CC_HPCC,
      .hpcc_eta = 95 * PERCENT,
      .hpcc_ai_rate = 50 * MBPS,
      .hpcc_max_stage = 0,
      .hpcc_base_rtt = 13 * PS_US,
      .hpcc_min_rate = 1000 * MBPS,
      .hpcc_fast_react = 1,
      .hpcc_tx_unit = 512,
      .hpcc_queue_unit = 320}},
};
#define PRESETS (sizeof(presets) / sizeof(presets[0]))

const char *const cc_preset_list[] = {"none",          "dcqcn/paper", "dcqcn/connectx", "dcqcn/hpcc-sim", "hpcc/paper",
                                      "hpcc/hpcc-sim", NULL};
_Static_assert(sizeof(cc_preset_list) / sizeof(cc_preset_list[0]) == PRESETS + 1, "one name for each preset");

int cc_preset(const char *name, struct cc_config *ret)
{
    for (size_t i = 0; i < PRESETS; i++) {
        if (strcmp(presets[i].name, name) != 0) continue;
        *ret = presets[i].config;
        return 0;
    }
    return -ENOENT;
}

int cc_set(struct cc_config *config, const char *name, uint64_t value)
{
    for (const struct cc_param *param = cc_param_list; param->name; param++) {
        if (strcmp(param->name, name) != 0) continue;
        memcpy((char *)config + param->offset, &value, sizeof(value));
        return 0;
    }
    return -ENOENT;
}

const char *cc_invalid(const struct cc_config *c, const char **ret_name)
{
#define REFUSE_IF(condition, field, why)                                                                               \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            *ret_name = field;                                                                                         \
            return why;                                                                                                \
        }                                                                                                              \
    } while (0)
    if (c->kind == CC_DCQCN) {
        REFUSE_IF(c->dce_tcp_g > 1024, "dce_tcp_g", "is a weight in 1024ths: at most 1024");
        REFUSE_IF(c->initial_alpha > 1024, "initial_alpha", "is in 1024ths: at most 1024");
        REFUSE_IF(c->rpg_gd < 10 || c->rpg_gd > 32, "rpg_gd", "is 10 (a cut by alpha) to 32");
        REFUSE_IF(c->rpg_min_dec_fac > 1000000, "rpg_min_dec_fac", "is a share: at most 100%");
        REFUSE_IF(c->rpg_min_rate < CC_RATE_MIN, "rpg_min_rate", "is 10 kb/s or more");
        REFUSE_IF(c->dce_tcp_rtt == 0 || c->dce_tcp_rtt > TIME_MAX, "dce_tcp_rtt", "must not be 0, nor above 1000 s");
        REFUSE_IF(c->rpg_time_reset && (c->rpg_time_reset < PS_NS || c->rpg_time_reset > TIME_MAX), "rpg_time_reset",
                  "is 0 (none), or 1 ns to 1000 s");
        REFUSE_IF(c->rate_reduce_monitor_period > TIME_MAX, "rate_reduce_monitor_period", "is 1000 s at most");
        REFUSE_IF(c->rpg_max_rate && c->rpg_max_rate < c->rpg_min_rate, "rpg_max_rate", "is below rpg_min_rate");
    }
    if (c->kind == CC_HPCC) {
        REFUSE_IF(c->hpcc_eta == 0 || c->hpcc_eta > 1000000, "hpcc_eta", "is a share: more than 0, at most 100%");
        REFUSE_IF(c->hpcc_base_rtt < PS_NS || c->hpcc_base_rtt > PS_S, "hpcc_base_rtt", "is 1 ns to 1 s");
        REFUSE_IF(c->hpcc_min_rate < CC_RATE_MIN, "hpcc_min_rate", "is 10 kb/s or more");
    }
    REFUSE_IF(c->kind > CC_HPCC, "kind", "is no algorithm");
    return NULL;
#undef REFUSE_IF
}

void cc_limit_window(struct cc *cc)
{
    uint64_t window = cc->config->window;

    if (window == 0) return;
    if (cc->config->window_scales) window = (uint64_t)((nic_u128)window * cc->rate_bps / cc->line_bps);
    if (window == 0) window = 1;
    if (cc->kind != CC_HPCC || window < cc->window_bytes) cc->window_bytes = window;
}

void cc_init(struct cc *cc, const struct cc_config *config, uint64_t line_bps, struct cc_path *path, ps_t now)
{
    const char *name;

    (void)now;
    CHECK(cc_invalid(config, &name) == NULL);
    *cc = (struct cc){.rate_bps = line_bps,
                      .window_bytes = CC_WINDOW_NONE,
                      .deadline = PS_NEVER,
                      .line_bps = line_bps,
                      .config = config,
                      .kind = (uint8_t)config->kind};
    switch ((enum cc_kind)config->kind) {
    case CC_NONE:
        cc_none_init(cc);
        break;
    case CC_DCQCN:
        cc_dcqcn_init(cc);
        break;
    case CC_HPCC:
        cc_hpcc_init(cc, path);
        break;
    }
    cc_limit_window(cc);
}

void cc_on_cnp(struct cc *cc, ps_t now)
{
    if (cc->kind == CC_DCQCN) cc_dcqcn_cnp(cc, now);
    cc_limit_window(cc);
}

void cc_on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now)
{
    if (cc->kind == CC_HPCC) cc_hpcc_ack(cc, ack, now);
    cc_limit_window(cc);
}

void cc_on_sent(struct cc *cc, uint32_t bytes, ps_t now)
{
    if (cc->kind == CC_DCQCN) cc_dcqcn_sent(cc, bytes, now);
    cc_limit_window(cc);
}

void cc_on_timer(struct cc *cc, ps_t now)
{
    if (cc->kind == CC_DCQCN) cc_dcqcn_timer(cc, now);
    cc_limit_window(cc);
}
