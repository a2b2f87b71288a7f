/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Priority flow control, both ways (IEEE 802.1Q-2018 clause 36, the former 802.1Qbb; quanta: 802.3 annex 31B).
 *
 * Out: a priority group in XOFF means that the peer of that port shall not send its priorities.  `xoff` is what the
 * MMU decided, `told` what the peer knows; the difference is a frame.  All priorities of a port that change the same
 * way in one call share a frame.  A pause lasts pause_quanta times 512 bit times at the peer, so while XOFF holds the
 * frame is sent again after half that time, for all priorities of the port at once: one timer a port.
 *
 * In: each priority has a time until which it is paused; a queue may not send while any priority that maps to it is
 * paused.  XOFF replaces the time, quanta 0 ends it.  The frame being sent is not cut, and the reaction time lies
 * with the caller, who delivers the pause that much later.
 *
 * Timers are lazy: `due` of a port is the earliest moment something may be due there.  A renewed pause moves only its
 * own time; the tick that comes early finds nothing and names the next.  Without refresh_pauses there is
 * no timer at all: a pause holds until it is ended (the HPCC model).
 *
 * When the caller's lists are full the frame stays owed (told lags behind) and the port is due at once.
 */
#include "switch/switch_int.h"

void pfc_set_rate(struct sw *sw, uint32_t port, uint64_t rate_bps)
{
    sw->slow[port].rate_bps = rate_bps;
}

static bool emit(struct sw *sw, uint32_t port, uint16_t enable, uint16_t quanta, struct sw_io *io)
{
    if (io->pauses == SW_PAUSES_MAX) return false;
    io->pause[io->pauses++] = (struct sw_pause_out){.port = (uint16_t)port,
                                                    .enable = (uint8_t)enable, /* PFC has eight */
                                                    .quanta = quanta,
                                                    .cause = quanta ? sw->blamed : SW_NO_CAUSE,
                                                    .passed_on = sw->blamed_paused};
    sw->counters[port].tx_pfc_frames++;
    sw_note_pause(sw, port);
    return true;
}

/* Priorities the peer ought to hold back. */
static uint16_t wanted(const struct sw_port *port)
{
    uint16_t prios = 0;
    for (uint32_t mask = port->xoff; mask; mask &= mask - 1)
        prios |= port->profile->pg[__builtin_ctz(mask)].prios;
    return prios;
}

static void tell_xoff(struct sw *sw, uint32_t port, uint16_t prios, ps_t now, struct sw_io *io)
{
    struct sw_port *state = &sw->port[port];
    struct sw_port_slow *slow = &sw->slow[port];
    if (!emit(sw, port, prios, state->profile->pause_quanta, io)) {
        sw_due(sw, port, now);
        return;
    }
    for (uint32_t mask = prios; mask; mask &= mask - 1) {
        uint32_t prio = (uint32_t)__builtin_ctz(mask);
        slow->told_since[prio] = now;
        sw->counters[port].prio[prio].tx_xoff++;
        sw_note(sw, RECORD_XOFF, port, prio, sw->blamed, sw->blamed != SW_NO_CAUSE && sw->blamed_paused, now);
    }
    if (sw->config->refresh_pauses && !slow->told) {
        slow->refresh_at = ps_add(now, pause_quanta_ps(state->profile->pause_quanta, slow->rate_bps) / 2);
        sw_due(sw, port, slow->refresh_at);
    }
    slow->told |= prios;
}

static void tell_xon(struct sw *sw, uint32_t port, uint16_t prios, ps_t now, struct sw_io *io)
{
    if (!emit(sw, port, prios, 0, io)) {
        sw_due(sw, port, now);
        return;
    }
    for (uint32_t mask = prios; mask; mask &= mask - 1) {
        struct sw_prio_counters *count = &sw->counters[port].prio[__builtin_ctz(mask)];
        count->tx_pause_ps += now - sw->slow[port].told_since[__builtin_ctz(mask)];
        count->tx_xon++;
        sw_note(sw, RECORD_XON, port, (uint32_t)__builtin_ctz(mask), 0, 0, now);
    }
    sw->slow[port].told &= (uint16_t)~prios;
}

static void tell(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    const struct sw_port_slow *slow = &sw->slow[port];
    uint16_t want = wanted(&sw->port[port]);
    uint16_t stop = want & (uint16_t)~slow->told, go = slow->told & (uint16_t)~want;
    if (go) tell_xon(sw, port, go, now, io);
    if (stop) tell_xoff(sw, port, stop, now, io);
}

void pfc_xoff(struct sw *sw, uint32_t port, uint32_t pg, ps_t now, struct sw_io *io)
{
    if (sw->slow[port].down) return;
    sw->port[port].xoff |= (uint16_t)(1u << pg);
    tell(sw, port, now, io);
}

void pfc_xon(struct sw *sw, uint32_t port, uint32_t pg, ps_t now, struct sw_io *io)
{
    sw->port[port].xoff &= (uint16_t) ~(1u << pg);
    tell(sw, port, now, io);
}

void pfc_renew(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    struct sw_port *state = &sw->port[port];
    for (uint32_t pg = 0; pg < SW_PRIOS; pg++) {
        const struct sw_pg_rule *rule = &state->profile->pg[pg];
        if (rule->lossless && mmu_must_pause(sw, sw_pg_at(sw, port, pg), rule)) state->xoff |= (uint16_t)(1u << pg);
    }
    if (state->xoff) tell(sw, port, now, io);
}

void pfc_review(struct sw *sw, ps_t now, struct sw_io *io)
{
    for (uint32_t port = 0; port < sw->ports; port++) {
        struct sw_port *state = &sw->port[port];
        for (uint32_t mask = state->xoff; mask; mask &= mask - 1) {
            uint32_t pg = (uint32_t)__builtin_ctz(mask);
            if (mmu_may_resume(sw, sw_pg_at(sw, port, pg), &state->profile->pg[pg]))
                state->xoff &= (uint16_t) ~(1u << pg);
        }
        if (sw->slow[port].told) tell(sw, port, now, io);
    }
}

void sw_kick(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    if (io->kicks < SW_PAUSES_MAX) {
        io->kick[io->kicks++] = (uint16_t)port;
        sw->slow[port].kick_owed = 0;
    } else {
        sw->slow[port].kick_owed = 1;
        sw_due(sw, port, now);
    }
}

static uint16_t queues_of(const struct sw_profile *profile, uint16_t prios)
{
    uint16_t queues = 0;
    for (uint32_t mask = prios; mask; mask &= mask - 1)
        queues |= (uint16_t)(1u << profile->queue_of[__builtin_ctz(mask)]);
    return queues;
}

void pfc_apply(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    struct sw_port *state = &sw->port[port];
    struct sw_port_slow *slow = &sw->slow[port];
    uint16_t queues = queues_of(state->profile, slow->paused_prio);
    if (!sw->config->watchdog.drop) queues &= (uint16_t)~slow->storm;
    uint16_t released = state->paused & (uint16_t)~queues;
    state->paused = queues;
    for (uint32_t mask = released; mask; mask &= mask - 1)
        slow->stuck_since[__builtin_ctz(mask)] = PS_NEVER;
    if (released & state->filled) sw_kick(sw, port, now, io);
}

static void pause_ended(struct sw *sw, uint32_t port, uint32_t prio, ps_t now)
{
    sw->counters[port].prio[prio].rx_pause_ps += now - sw->slow[port].paused_since[prio];
    sw->slow[port].paused_prio &= (uint16_t) ~(1u << prio);
    sw_note(sw, RECORD_RESUMED, port, prio, 0, 0, now);
}

static void pause_began(struct sw *sw, uint32_t port, uint32_t prio, uint16_t quanta, ps_t now)
{
    struct sw_port_slow *slow = &sw->slow[port];
    slow->pause_seen[prio] = now;
    slow->paused_until[prio] =
        sw->config->refresh_pauses ? ps_add(now, pause_quanta_ps(quanta, slow->rate_bps)) : PS_NEVER;
    sw_due(sw, port, slow->paused_until[prio]);
    if (slow->paused_prio >> prio & 1) return;
    slow->paused_prio |= (uint16_t)(1u << prio);
    slow->paused_since[prio] = slow->paused_from[prio] = now;
    sw_note(sw, RECORD_PAUSED, port, prio, 0, 0, now);
}

void sw_pause(struct sw *sw, uint16_t port, uint8_t enable, const uint16_t quanta[8], ps_t now, struct sw_io *io)
{
    CHECK(port < sw->ports);
    const struct sw_port *state = &sw->port[port];
    const struct sw_port_slow *slow = &sw->slow[port];
    struct sw_port_counters *count = &sw->counters[port];
    count->rx_pfc_frames++;
    uint16_t before = slow->paused_prio;
    for (uint32_t mask = enable; mask; mask &= mask - 1) {
        uint32_t prio = (uint32_t)__builtin_ctz(mask);
        if (quanta[prio])
            count->prio[prio].rx_xoff++;
        else
            count->prio[prio].rx_xon++;
        if (slow->down || !(state->profile->pfc_rx >> prio & 1)) continue;
        if (quanta[prio])
            pause_began(sw, port, prio, quanta[prio], now);
        else if (slow->paused_prio >> prio & 1)
            pause_ended(sw, port, prio, now);
    }
    if (slow->paused_prio != before) pfc_apply(sw, port, now, io);
    if (slow->paused_prio) watchdog_arm(sw, port, now);
    io->deadline = sw->deadline;
}

static void refresh(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    struct sw_port *state = &sw->port[port];
    struct sw_port_slow *slow = &sw->slow[port];
    slow->refresh_at = PS_NEVER;
    if (!slow->told) return;
    if (!emit(sw, port, slow->told, state->profile->pause_quanta, io)) {
        slow->refresh_at = now;
        return;
    }
    for (uint32_t mask = slow->told; mask; mask &= mask - 1)
        sw->counters[port].prio[__builtin_ctz(mask)].tx_xoff_refresh++;
    slow->refresh_at = ps_add(now, pause_quanta_ps(state->profile->pause_quanta, slow->rate_bps) / 2);
}

static ps_t expire(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    struct sw_port_slow *slow = &sw->slow[port];
    uint16_t before = slow->paused_prio;
    ps_t next = PS_NEVER;
    for (uint32_t mask = before; mask; mask &= mask - 1) {
        uint32_t prio = (uint32_t)__builtin_ctz(mask);
        ps_t until = slow->paused_until[prio];
        if (until <= now)
            pause_ended(sw, port, prio, now);
        else if (until < next)
            next = until;
    }
    if (slow->paused_prio != before) pfc_apply(sw, port, now, io);
    return next;
}

ps_t pfc_tick(struct sw *sw, uint32_t port, ps_t now, struct sw_io *io)
{
    struct sw_port_slow *slow = &sw->slow[port];
    tell(sw, port, now, io);
    if (slow->refresh_at <= now) refresh(sw, port, now, io);
    ps_t next = expire(sw, port, now, io);
    if (slow->kick_owed) sw_kick(sw, port, now, io);
    return slow->refresh_at < next ? slow->refresh_at : next;
}

void pfc_forget(struct sw *sw, uint32_t port, ps_t now)
{
    struct sw_port *state = &sw->port[port];
    struct sw_port_slow *slow = &sw->slow[port];
    for (uint32_t prio = 0; prio < SW_PRIOS; prio++) {
        if (slow->paused_prio >> prio & 1) pause_ended(sw, port, prio, now);
        if (slow->told >> prio & 1) sw->counters[port].prio[prio].tx_pause_ps += now - slow->told_since[prio];
        slow->stuck_since[prio] = PS_NEVER;
    }
    slow->told = 0;
    state->xoff = 0;
    state->paused = 0;
    slow->refresh_at = PS_NEVER;
    slow->kick_owed = 0;
}

void sw_settle(struct sw *sw, ps_t now)
{
    for (uint32_t port = 0; port < sw->ports; port++) {
        struct sw_port_slow *slow = &sw->slow[port];
        if (sw->credits) credit_settle(sw, port, now);
        for (uint32_t prio = 0; prio < SW_PRIOS; prio++) {
            struct sw_prio_counters *count = &sw->counters[port].prio[prio];
            if (sw->slow[port].told >> prio & 1 && slow->told_since[prio] < now) {
                count->tx_pause_ps += now - slow->told_since[prio];
                slow->told_since[prio] = now;
            }
            /* The caller's end of a run may lie before a pause that was under way then. */
            if (slow->storm >> prio & 1 && slow->storm_since[prio] < now) {
                count->watchdog_ps += now - slow->storm_since[prio];
                slow->storm_since[prio] = now;
            }
            if (sw->slow[port].paused_prio >> prio & 1 && slow->paused_since[prio] < now) {
                count->rx_pause_ps += now - slow->paused_since[prio];
                slow->paused_since[prio] = now;
            }
        }
    }
}
