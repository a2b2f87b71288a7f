/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants: by the specification, and as the consortium's simulator (uet-htsim) has them where it differs.
 *
 * Both follow from the line's rate and the round trip of the longest way without load.  docs/system-uet.md has the
 * table, with sources.
 */
#include "base/bits.h"
#include "base/wide.h"
#include "uet/uet_int.h"

#define REFERENCE_BYTES 150000u /* under way in 12 us at 100 Gb/s */

/* Ethernet 14, IPv4 20, UDP 8, PDS request 12, standard SES 44; RCCC: 4 of state. */
#define DATA_BYTES (14 + 20 + 8 + 12 + 44)
#define CC_STATE_BYTES 4
/* Ethernet 14, IPv4 20, UDP 8, ACK_CC 32, SES response 12. */
#define CONTROL_BYTES (14 + 20 + 8 + 32 + 12)
#define NOMINAL_BYTES (12 + 44 + 40) /* transport, and 40 for what is below it */

#define HTSIM_HEADER 64 /* of every packet; an ACK, NACK or credit is nothing else */

static void set_sizes(struct uet_config *c)
{
    bool htsim = c->model == UET_HTSIM;

    c->data_bytes = htsim ? HTSIM_HEADER : DATA_BYTES + (c->control & UET_RCCC ? CC_STATE_BYTES : 0);
    c->control_bytes = htsim ? HTSIM_HEADER : CONTROL_BYTES;
    c->nominal_bytes = htsim ? HTSIM_HEADER : NOMINAL_BYTES;
    c->received_unit = htsim ? 1 : UET_QUANTUM;
    c->unit_bytes = c->payload_bytes + (htsim ? 0u : c->nominal_bytes);
    c->adjust_bytes = 8u * ((uint32_t)c->payload_bytes + c->nominal_bytes);
}

/* With trimming a loss is known after a round trip, so numbers do not run far ahead of the oldest. */
static uint32_t window_packets(const struct uet_config *c)
{
    uint64_t packets = c->max_window / c->payload_bytes * (c->trimming ? 2 : 8);
    if (c->model == UET_HTSIM) packets *= 2;
    if (packets < 128) packets = 128;
    return packets > UET_WINDOW_MAX ? UET_WINDOW_MAX : power_of_two_up((uint32_t)packets);
}

/* 15 us and the time that six of its queues take: of what is under way in a round trip, in whole packets, or five times
 * that without trimming. */
static ps_t htsim_rto(const struct uet_config *c)
{
    uint64_t packet = (uint64_t)c->payload_bytes + HTSIM_HEADER;
    uint64_t packets = (rate_bytes_in(c->line_bps, c->base_rtt_ps) + packet - 1) / packet * (c->trimming ? 1 : 5);
    struct rate rate = rate_of(c->line_bps);

    return 15 * PS_US + rate_take(&rate, 6 * packets * packet);
}

struct uet_config uet_config_default(enum uet_model model, enum uet_control control, bool trimming,
                                     uint16_t payload_bytes, uint64_t line_bps, ps_t base_rtt_ps)
{
    struct uet_config c = {.model = (uint8_t)model,
                           .control = (uint8_t)control,
                           .trimming = trimming,
                           .payload_bytes = payload_bytes,
                           .line_bps = line_bps,
                           .base_rtt_ps = base_rtt_ps,
                           .policy = UET_MIXED,
                           .paths = 64,
                           .ack_bytes = 16384,
                           .pull_bytes = 16384,
                           .pull_permille = 990,
                           .qa_gate = 3,
                           .adjust_ps = base_rtt_ps,
                           .trimmed_last_dscp = UET_NO_DSCP,
                           .ttl = 64,
                           .net = PKT_NET_IPV4};
    uint64_t under_way = rate_bytes_in(line_bps, base_rtt_ps);
    bool htsim = model == UET_HTSIM;

    c.infer_loss = !trimming && !htsim;
    c.max_window = under_way * 3 / 2;
    c.factor_q16 = (uint32_t)(under_way * 65536 / REFERENCE_BYTES);
    c.target_ps = trimming ? base_rtt_ps * 3 / 4 : base_rtt_ps;
    c.fast_ps = htsim ? PS_US : c.target_ps / 8;
    c.qa_threshold_ps = trimming && !htsim ? PS_NEVER : 4 * c.target_ps;
    c.rto_ps = htsim ? htsim_rto(&c) : PS_MS;
    c.retries = htsim ? 0 : 5;
    set_sizes(&c);
    if (c.max_window < (uint64_t)payload_bytes + c.nominal_bytes)
        c.max_window = (uint64_t)payload_bytes + c.nominal_bytes;
    c.window_packets = window_packets(&c);
    return c;
}

bool uet_config_valid(const struct uet_config *config)
{
    if (config->line_bps < 1000000 || config->base_rtt_ps == 0 || config->base_rtt_ps > PS_S) return false;
    if (config->payload_bytes == 0 || config->payload_bytes + config->data_bytes > UINT16_MAX) return false;
    if (!is_power_of_two(config->paths) || config->paths > UET_PATHS_MAX) return false;
    if (!is_power_of_two(config->window_packets) || config->window_packets < 64) return false;
    if (config->window_packets > UET_WINDOW_MAX || config->ends == 0 || config->received_unit == 0) return false;
    return config->pull_bytes >= UET_QUANTUM && config->pull_permille > 0 && config->rto_ps > 0 &&
           config->control >= UET_NSCC && config->control <= UET_BOTH && config->retries < 16;
}
