/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The uncommon half of a port's clock: rates at which a byte is no whole number of picoseconds, corruption, cut-through
 * receivers, control frames.
 */
#include "node/port.h"

#include "base/wide.h"

static ps_t cut(ps_t span, const struct line_model *model)
{
    return model->whole_ns ? span - span % PS_NS : span;
}

static ps_t line_time(struct port_extra *extra, uint32_t bytes, const struct line_model *model)
{
    return cut(rate_take(&extra->rate, bytes), model);
}

/* How long `bytes` take, rounded down, without touching the clock's carry. */
static ps_t line_span(const struct port_extra *extra, uint32_t bytes, const struct line_model *model)
{
    struct rate rate = extra->rate;
    return cut(rate_take(&rate, bytes), model);
}

/* base^count, both fractions of 2^64, rounded down at each step: less than 2^-50 too low for any frame. */
static uint64_t power(uint64_t base, uint32_t count)
{
    uint64_t result = UINT64_MAX;

    for (; count; count >>= 1) {
        if (count & 1) result = (uint64_t)((u128)result * base >> 64);
        base = (uint64_t)((u128)base * base >> 64);
    }
    return result;
}

static bool corrupts(struct port_extra *extra, uint32_t bytes)
{
    bool lost = extra->loss_ppm && rng_chance(&extra->rng, extra->loss_ppm);

    if (extra->keeps && rng_u64(&extra->rng) > power(extra->keeps, bytes)) lost = true;
    extra->corrupted += lost;
    if (extra->drop_every && --extra->until_drop == 0) {
        extra->until_drop = extra->drop_every;
        lost = true;
    }
    return lost;
}

struct port_sent port_send_slowly(struct port *port, struct port_extra *extra, const struct line_model *model,
                                  uint32_t line, ps_t now)
{
    uint32_t bytes = line - model->gap, header = PORT_CUT_BYTES + model->before;
    uint32_t first = port->flags & PORT_CUT && bytes > header ? header : bytes;
    struct port_sent sent = {.last_bit = now + line_span(extra, bytes, model),
                             .arrival = now + line_span(extra, first, model) + extra->latency};

    port->sent_bytes += line;
    port->sent_frames++;
    port->free_at = now + line_time(extra, line, model);
    sent.lost = port->flags & PORT_CORRUPT && corrupts(extra, bytes);
    return sent;
}

struct port_sent port_send_control(struct port *port, struct port_extra *extra, const struct line_model *model,
                                   ps_t now)
{
    ps_t start = port->free_at > now ? port->free_at : now;
    uint32_t gap = model->gap < model->pause_bytes ? model->gap : 0; /* an ordered set has none */
    ps_t last_bit = start + line_span(extra, model->pause_bytes - gap, model);

    port->free_at = start + line_time(extra, model->pause_bytes, model);
    port->sent_bytes += model->pause_bytes;
    port->sent_frames++;
    extra->pauses_sent++;
    return (struct port_sent){.last_bit = last_bit, .arrival = last_bit + extra->control_latency};
}

struct port_sent port_send_set(struct port *port, struct port_extra *extra, const struct line_model *model,
                               uint32_t bytes, ps_t latency, ps_t now)
{
    ps_t start = now < port->free_at ? port->free_at : now;
    bool errors = port->flags & PORT_CORRUPT && extra->keeps;
    struct port_sent sent = {.last_bit = start + line_span(extra, bytes, model)};

    sent.arrival = sent.last_bit + latency;
    sent.lost = errors && rng_u64(&extra->rng) > power(extra->keeps, bytes);
    port->free_at = start + line_time(extra, bytes, model);
    port->sent_bytes += bytes;
    return sent;
}

void port_set_rate(struct port *port, struct port_extra *extra, const struct line_model *model, uint64_t rate_bps)
{
    rate_set(&extra->rate, rate_bps);
    port->flags &= (uint16_t)~PORT_DIVIDED;
    if (extra->rate.ps_per_byte && extra->rate.ps_per_byte <= UINT32_MAX && !model->whole_ns)
        port->ps_per_byte = (uint32_t)extra->rate.ps_per_byte;
    else
        port->flags |= PORT_DIVIDED;
    port->behind = extra->latency - model->gap * (uint64_t)port->ps_per_byte;
}
