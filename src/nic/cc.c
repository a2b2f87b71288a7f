/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control: parameters, presets, and the way to each algorithm.
 *
 * Presets: `dcqcn/paper` is SIGCOMM 2015 (its text and table of deployed values), `dcqcn/connectx` what an adapter
 * says when asked (mlxconfig), `dcqcn/hpcc-sim` and `hpcc/hpcc-sim` what the HPCC authors simulated with
 * at 100 Gb/s, `hpcc/paper` SIGCOMM 2019, `timely/paper` SIGCOMM 2015, `swift/paper` SIGCOMM 2020, `dctcp/paper`
 * SIGCOMM 2010; `timely/hpcc-sim` and `dctcp/hpcc-sim` are the HPCC authors' again.  They differ a lot; none is
 * tuned.  docs/congestion.md says which values were not published.
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
#define ASK_BYTES 16384u       /* TIMELY where an update is one a round trip, and nothing says how often ACKs come */
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
    {"timely/paper",
     {.kind = CC_TIMELY,
      .timely_alpha = 875000,
      .timely_beta = 80 * PERCENT,
      .timely_t_low = 50 * PS_US,
      .timely_t_high = 500 * PS_US,
      .timely_min_rtt = 20 * PS_US,
      .timely_ai_rate = 10 * MBPS,
      .timely_hai_rate = 50 * MBPS,
      .timely_hai_after = 5,
      .timely_segment = 16 * 1024,
      .timely_min_rate = 100 * MBPS}},
    {"timely/hpcc-sim",
     {.kind = CC_TIMELY,
      .timely_alpha = 875000,
      .timely_beta = 80 * PERCENT,
      .timely_t_low = 50 * PS_US,
      .timely_t_high = 500 * PS_US,
      .timely_min_rtt = 20 * PS_US,
      .timely_ai_rate = 100 * MBPS,
      .timely_hai_rate = 500 * MBPS,
      .timely_hai_after = 5,
      .timely_hai_low = 1,
      .timely_min_rate = 1000 * MBPS}},
    {"swift/paper",
     {.kind = CC_SWIFT,
      .swift_base_target = 25 * PS_US,
      .swift_hop = 1 * PS_US,
      .swift_fs_range = 50 * PS_US,
      .swift_fs_min = 10 * PERCENT,
      .swift_fs_max = 100,
      .swift_host_target = 100 * PS_US,
      .swift_ai = 100 * PERCENT,
      .swift_beta = 80 * PERCENT,
      .swift_max_mdf = 50 * PERCENT,
      .swift_min_window = 1000, /* a thousandth of a packet */
      .swift_reset_after = 5}},
    {"dctcp/paper",
     {.kind = CC_DCTCP,
      .initial_alpha = 1024,
      .dctcp_g = 62500, /* 1/16 */
      .dctcp_first_window = 10 * 1460,
      .dctcp_slow_start = 1}},
    {"dctcp/hpcc-sim",
     {.kind = CC_DCTCP,
      .initial_alpha = 1024,
      .dctcp_g = 62500,
      .dctcp_add = 1000,        /* 615 Mb/s * 13 us */
      .dctcp_min_window = 1625, /* 1 Gb/s * 13 us */
      .dctcp_base_rtt = 13 * PS_US}},
};
#define PRESETS (sizeof(presets) / sizeof(presets[0]))

const char *const cc_preset_list[] = {"none",        "dcqcn/paper",   "dcqcn/connectx", "dcqcn/hpcc-sim",
                                      "hpcc/paper",  "hpcc/hpcc-sim", "timely/paper",   "timely/hpcc-sim",
                                      "swift/paper", "dctcp/paper",   "dctcp/hpcc-sim", NULL};
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

#define REFUSE_IF(condition, field, why)                                                                               \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            *ret_name = field;                                                                                         \
            return why;                                                                                                \
        }                                                                                                              \
    } while (0)
#define NOT_A_SHARE(value) ((value) > 1000000)
#define NOT_A_RTT(value) ((value) < PS_NS || (value) > PS_S)

static const char *dcqcn_invalid(const struct cc_config *c, const char **ret_name)
{
    REFUSE_IF(c->dce_tcp_g > 1024, "dce_tcp_g", "is a weight in 1024ths: at most 1024");
    REFUSE_IF(c->initial_alpha > 1024, "initial_alpha", "is in 1024ths: at most 1024");
    REFUSE_IF(c->rpg_gd < 10 || c->rpg_gd > 32, "rpg_gd", "is 10 (a cut by alpha) to 32");
    REFUSE_IF(NOT_A_SHARE(c->rpg_min_dec_fac), "rpg_min_dec_fac", "is a share: at most 100%");
    REFUSE_IF(c->rpg_min_rate < CC_RATE_MIN, "rpg_min_rate", "is 10 kb/s or more");
    REFUSE_IF(c->dce_tcp_rtt == 0 || c->dce_tcp_rtt > TIME_MAX, "dce_tcp_rtt", "must not be 0, nor above 1000 s");
    REFUSE_IF(c->rpg_time_reset && (c->rpg_time_reset < PS_NS || c->rpg_time_reset > TIME_MAX), "rpg_time_reset",
              "is 0 (none), or 1 ns to 1000 s");
    REFUSE_IF(c->rate_reduce_monitor_period > TIME_MAX, "rate_reduce_monitor_period", "is 1000 s at most");
    REFUSE_IF(c->rpg_max_rate && c->rpg_max_rate < c->rpg_min_rate, "rpg_max_rate", "is below rpg_min_rate");
    return NULL;
}

static const char *hpcc_invalid(const struct cc_config *c, const char **ret_name)
{
    REFUSE_IF(c->hpcc_eta == 0 || NOT_A_SHARE(c->hpcc_eta), "hpcc_eta", "is a share: more than 0, at most 100%");
    REFUSE_IF(NOT_A_RTT(c->hpcc_base_rtt), "hpcc_base_rtt", "is 1 ns to 1 s");
    REFUSE_IF(c->hpcc_min_rate < CC_RATE_MIN, "hpcc_min_rate", "is 10 kb/s or more");
    return NULL;
}

static const char *timely_invalid(const struct cc_config *c, const char **ret_name)
{
    REFUSE_IF(NOT_A_SHARE(c->timely_alpha), "timely_alpha", "is a share: at most 100%");
    REFUSE_IF(NOT_A_SHARE(c->timely_beta), "timely_beta", "is a share: at most 100%");
    REFUSE_IF(NOT_A_RTT(c->timely_min_rtt), "timely_min_rtt", "is 1 ns to 1 s");
    REFUSE_IF(c->timely_t_low > PS_S, "timely_t_low", "is 1 s at most");
    REFUSE_IF(c->timely_t_high > PS_S || c->timely_t_high < c->timely_t_low, "timely_t_high",
              "is timely_t_low or more, 1 s at most");
    REFUSE_IF(c->timely_min_rate < CC_RATE_MIN, "timely_min_rate", "is 10 kb/s or more");
    REFUSE_IF(c->timely_ai_rate >> 50 || c->timely_hai_rate >> 50, "timely_ai_rate", "is 1000 Tb/s at most");
    REFUSE_IF(c->timely_segment > NIC_LENGTH_MAX, "timely_segment", "is 2 GiB at most");
    return NULL;
}

static const char *swift_invalid(const struct cc_config *c, const char **ret_name)
{
    REFUSE_IF(NOT_A_RTT(c->swift_base_target), "swift_base_target", "is 1 ns to 1 s");
    REFUSE_IF(c->swift_hop > PS_MS, "swift_hop", "is 1 ms at most");
    REFUSE_IF(c->swift_fs_range > PS_S, "swift_fs_range", "is 1 s at most");
    REFUSE_IF(c->swift_host_target > PS_S, "swift_host_target", "is 1 s at most");
    REFUSE_IF(c->swift_fs_min < 1000 || NOT_A_SHARE(c->swift_fs_min), "swift_fs_min", "is 0.1% to 100% of a packet");
    REFUSE_IF(c->swift_fs_max < 2 || c->swift_fs_max > 60000, "swift_fs_max", "is 2 to 60000 packets");
    REFUSE_IF(NOT_A_SHARE(c->swift_beta), "swift_beta", "is a share: at most 100%");
    REFUSE_IF(NOT_A_SHARE(c->swift_max_mdf), "swift_max_mdf", "is a share: at most 100%");
    REFUSE_IF(c->swift_ai > 1000000000, "swift_ai", "is 1000 packets at most");
    REFUSE_IF(NOT_A_SHARE(c->swift_min_window), "swift_min_window", "is at most 100% of a packet");
    REFUSE_IF(c->swift_first_window >> 40, "swift_first_window", "is below 1 TiB");
    REFUSE_IF(c->swift_max_window >> 40, "swift_max_window", "is below 1 TiB");
    return NULL;
}

static const char *dctcp_invalid(const struct cc_config *c, const char **ret_name)
{
    REFUSE_IF(c->initial_alpha > 1024, "initial_alpha", "is in 1024ths: at most 1024");
    REFUSE_IF(NOT_A_SHARE(c->dctcp_g), "dctcp_g", "is a share: at most 100%");
    REFUSE_IF(c->dctcp_add >> 40, "dctcp_add", "is below 1 TiB");
    REFUSE_IF(c->dctcp_min_window >> 40, "dctcp_min_window", "is below 1 TiB");
    REFUSE_IF(c->dctcp_max_window >> 40, "dctcp_max_window", "is below 1 TiB");
    REFUSE_IF(c->dctcp_first_window >> 40, "dctcp_first_window", "is below 1 TiB");
    REFUSE_IF(c->dctcp_first_window == 0 && c->dctcp_base_rtt == 0, "dctcp_first_window",
              "or dctcp_base_rtt must say how large the window is at the start");
    REFUSE_IF(c->dctcp_base_rtt && NOT_A_RTT(c->dctcp_base_rtt), "dctcp_base_rtt", "is 0, or 1 ns to 1 s");
    return NULL;
}

const char *cc_invalid(const struct cc_config *c, const char **ret_name)
{
    switch ((enum cc_kind)c->kind) {
    case CC_NONE:
        return NULL;
    case CC_DCQCN:
        return dcqcn_invalid(c, ret_name);
    case CC_HPCC:
        return hpcc_invalid(c, ret_name);
    case CC_TIMELY:
        return timely_invalid(c, ret_name);
    case CC_SWIFT:
        return swift_invalid(c, ret_name);
    case CC_DCTCP:
        return dctcp_invalid(c, ret_name);
    case CC_KINDS:
        break;
    }
    REFUSE_IF(true, "kind", "is no algorithm");
}

bool cc_needs_rtt(const struct cc_config *config)
{
    return config->kind == CC_TIMELY || config->kind == CC_SWIFT;
}

uint32_t cc_ask_bytes(const struct cc_config *config)
{
    if (config->kind != CC_TIMELY) return 0; /* who has a window asks with each packet */
    return config->timely_segment ? (uint32_t)config->timely_segment : ASK_BYTES;
}

void cc_limit_window(struct cc *cc)
{
    uint64_t window = cc->config->window;

    if (window == 0) return;
    if (cc->config->window_scales) window = (uint64_t)((nic_u128)window * cc->rate_bps / cc->line_bps);
    if (window == 0) window = 1;
    if (!cc->owns_window || window < cc->window_bytes) cc->window_bytes = window;
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
                      .packet_bytes = CC_PACKET_BYTES,
                      .config = config,
                      .kind = (uint8_t)config->kind};
    switch ((enum cc_kind)config->kind) {
    case CC_NONE:
    case CC_KINDS:
        cc_none_init(cc);
        break;
    case CC_DCQCN:
        cc_dcqcn_init(cc);
        break;
    case CC_HPCC:
        cc_hpcc_init(cc, path);
        break;
    case CC_TIMELY:
        cc_timely_init(cc);
        break;
    case CC_SWIFT:
        cc_swift_init(cc);
        break;
    case CC_DCTCP:
        cc_dctcp_init(cc);
        break;
    }
    cc_limit_window(cc);
}

void cc_packet_bytes(struct cc *cc, uint16_t bytes)
{
    CHECK(bytes > 0);
    cc->packet_bytes = bytes;
    if (cc->kind == CC_SWIFT) cc_swift_init(cc);
    if (cc->kind == CC_DCTCP) cc_dctcp_init(cc);
    cc_limit_window(cc);
}

void cc_on_cnp(struct cc *cc, ps_t now)
{
    if (cc->kind == CC_DCQCN) cc_dcqcn_cnp(cc, now);
    cc_limit_window(cc);
}

void cc_on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now)
{
    switch ((enum cc_kind)cc->kind) {
    case CC_HPCC:
        cc_hpcc_ack(cc, ack, now);
        break;
    case CC_TIMELY:
        cc_timely_ack(cc, ack);
        break;
    case CC_SWIFT:
        cc_swift_ack(cc, ack, now);
        break;
    case CC_DCTCP:
        cc_dctcp_ack(cc, ack);
        break;
    case CC_NONE:
    case CC_DCQCN:
    case CC_KINDS:
        break;
    }
    cc_limit_window(cc);
}

void cc_on_loss(struct cc *cc, bool timeout, uint32_t next_psn, ps_t now)
{
    if (cc->kind == CC_SWIFT) cc_swift_loss(cc, timeout, now);
    if (cc->kind == CC_DCTCP) cc_dctcp_loss(cc, timeout, next_psn);
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
