/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credits of an adapter's port: see credit_port.h.
 */
#include "base/credit_port.h"

#include "base/check.h"

static struct credit_lane *lane_of(struct credit_port *port, uint8_t tos)
{
    return &port->lane[port->config.vl_of_dscp[tos >> 2]];
}

static uint32_t blocks_of(const struct credit_port *port, uint32_t bytes)
{
    return credit_blocks_of(bytes + port->config.added_bytes, port->config.block_extra);
}

static ps_t period(const struct credit_port *port)
{
    return port->config.period_ps ? port->config.period_ps : CREDIT_PERIOD;
}

static bool say(struct credit_words *out, uint32_t word)
{
    if (out->count == CREDIT_PORT_WORDS) return false;
    out->word[out->count++] = word;
    return true;
}

static void arm(struct credit_port *port, ps_t at)
{
    if (at < port->timer_at) port->timer_at = at;
}

static void tell(struct credit_port *port, struct credit_lane *lane, ps_t now, struct credit_words *out)
{
    if (port->down) return;
    if (say(out, credit_word(CREDIT_LIMIT, (uint32_t)(lane - port->lane), lane->rx.limit)))
        (void)credit_tell(&lane->rx);
    else
        arm(port, now);
}

static void freed(struct credit_port *port, struct credit_lane *lane, uint32_t blocks, ps_t now,
                  struct credit_words *out)
{
    credit_freed(&lane->rx, blocks);
    if (credit_tells(&lane->rx, port->config.packet_blocks)) tell(port, lane, now, out);
    arm(port, ps_add(now, period(port)));
}

/* The host has taken some of what waits; all of it where its rate has no limit. */
static void drain(struct credit_port *port, ps_t now, struct credit_words *out)
{
    uint64_t gone = UINT64_MAX;

    if (port->rx_bps)
        gone = rate_bytes_in(port->rx_bps, now - port->taken_at) / (CREDIT_BLOCK_BYTES << port->config.block_extra);
    if (gone == 0) return; /* keep the time until it is worth a block */
    port->taken_at = now;
    for (uint32_t vl = 0; vl < port->config.vls; vl++) {
        struct credit_lane *lane = &port->lane[vl];
        uint32_t part = lane->waiting < gone ? lane->waiting : (uint32_t)gone;
        if (part == 0) continue;
        lane->waiting -= part;
        gone -= part;
        freed(port, lane, part, now, out);
    }
}

static bool anything_waits(const struct credit_port *port)
{
    for (uint32_t vl = 0; vl < port->config.vls; vl++)
        if (port->lane[vl].waiting) return true;
    return false;
}

/* When the host will have taken a packet more. */
static void arm_drain(struct credit_port *port, ps_t now)
{
    struct rate rate = rate_of(port->rx_bps);
    uint32_t bytes = port->config.packet_blocks * (CREDIT_BLOCK_BYTES << port->config.block_extra);

    if (anything_waits(port)) arm(port, ps_add(now, rate_take(&rate, bytes)));
}

void credit_port_rx(struct credit_port *port, uint32_t bytes, uint8_t tos, ps_t now, struct credit_words *out)
{
    struct credit_lane *lane = lane_of(port, tos);
    uint32_t blocks = blocks_of(port, bytes);

    credit_arrived(&lane->rx, blocks, now);
    if (__builtin_expect(port->rx_bps == 0, 1)) {
        freed(port, lane, blocks, now, out);
        return;
    }
    if (!anything_waits(port)) port->taken_at = now;
    drain(port, now, out);
    lane->waiting += blocks;
    arm_drain(port, now);
}

static bool in_use(const struct credit_port *port, uint32_t vl)
{
    return !port->config.used || port->config.used >> vl & 1;
}

static void judge(struct credit_port *port, const struct credit_lane *lane)
{
    uint16_t bit = (uint16_t)(1u << (lane - port->lane));

    if (in_use(port, (uint32_t)(lane - port->lane)) && credit_dry(&lane->tx, port->config.packet_blocks))
        port->dry |= bit;
    else
        port->dry &= (uint16_t)~bit;
}

void credit_port_tx(struct credit_port *port, uint32_t bytes, uint8_t tos, ps_t now)
{
    struct credit_lane *lane = lane_of(port, tos);
    uint32_t blocks = blocks_of(port, bytes);

    CHECK(!credit_dry(&lane->tx, blocks));
    credit_sent(&lane->tx, blocks);
    judge(port, lane);
    if (port->timer_at == PS_NEVER) arm(port, ps_add(now, period(port)));
}

void credit_port_word(struct credit_port *port, uint32_t word, ps_t now)
{
    uint32_t vl = credit_word_vl(word);

    if (vl >= port->config.vls || port->down) return;
    struct credit_lane *lane = &port->lane[vl];
    if (credit_word_kind(word) == CREDIT_LIMIT) {
        credit_limit(&lane->tx, word);
        judge(port, lane);
    } else {
        credit_heard(&lane->rx, word, port->config.skew_ps, now);
        arm(port, ps_add(now, period(port)));
    }
}

void credit_port_tick(struct credit_port *port, ps_t now, struct credit_words *out)
{
    bool busy = false, says = !port->config.says_nothing;

    if (port->timer_at > now) return;
    port->timer_at = PS_NEVER;
    if (anything_waits(port)) drain(port, now, out);
    for (uint32_t vl = 0; vl < port->config.vls && !port->down; vl++) {
        struct credit_lane *lane = &port->lane[vl];
        if (now > lane->rx.heard_at) credit_repair(&lane->rx);
        busy |= lane->rx.heard_at != PS_NEVER || credit_untold(&lane->rx) || (says && credit_says(&lane->tx));
        if (now < port->report_at) continue;
        if (credit_untold(&lane->rx)) tell(port, lane, now, out);
        if (says && credit_says(&lane->tx) && say(out, credit_word(CREDIT_SENT, vl, lane->tx.sent)))
            (void)credit_say(&lane->tx);
    }
    if (now >= port->report_at) port->report_at = ps_add(now, period(port));
    if (busy) arm(port, port->report_at);
    if (port->rx_bps) arm_drain(port, now);
}

void credit_port_rate(struct credit_port *port, uint64_t bps, ps_t now, struct credit_words *out)
{
    if (anything_waits(port)) drain(port, now, out);
    port->rx_bps = bps;
    port->taken_at = now;
    if (anything_waits(port)) drain(port, now, out);
    if (bps) arm_drain(port, now);
}

void credit_port_link(struct credit_port *port, bool up, ps_t now, struct credit_words *out)
{
    port->down = !up;
    for (uint32_t vl = 0; vl < port->config.vls; vl++) {
        struct credit_lane *lane = &port->lane[vl];
        credit_tx_reset(&lane->tx, 0);
        credit_rx_reset(&lane->rx, lane->rx.size, credit_held(&lane->rx), 0);
        judge(port, lane);
        if (up && in_use(port, vl)) tell(port, lane, now, out);
    }
}

void credit_port_init(struct credit_port *port, const struct credit_port_config *config, uint64_t rx_bps)
{
    *port = (struct credit_port){.config = *config, .rx_bps = rx_bps, .timer_at = PS_NEVER};
    CHECK(config->vls <= CREDIT_LANES && config->block_extra < 8);
    CHECK(config->peer_blocks == 0 || config->peer_blocks >= config->packet_blocks);
    for (uint32_t vl = 0; vl < config->vls; vl++) {
        bool used = in_use(port, vl);
        credit_tx_reset(&port->lane[vl].tx, used ? config->peer_blocks : 0);
        port->lane[vl].rx.calm = config->calm_blocks;
        credit_rx_reset(&port->lane[vl].rx, used ? config->own_blocks : 0, 0, used ? config->own_blocks : 0);
        judge(port, &port->lane[vl]);
    }
}
