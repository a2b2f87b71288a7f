/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses: obeyed per priority (IEEE 802.1Qbb: a quantum is 512 bit times of the port), and sent when
 * this adapter's receiver is slow.
 *
 * The slow receiver is a bucket: what arrives fills it, rx_bps empties it, evenly.  Above xoff the priority of the
 * packet that crossed it is paused, and again before the pause runs out; when the level has sunk to
 * xon it is resumed.  What does not fit is lost.  Packets are handled when they arrive all the same: the
 * bucket stands for a slow host behind the adapter, not for a delay in it.
 */
#include "base/check.h"
#include "base/time.h"
#include "nic/nic_int.h"

void pause_set_deadline(struct nic *nic)
{
    ps_t at = nic->rx_resume_at < nic->rx_refresh_at ? nic->rx_resume_at : nic->rx_refresh_at;
    if (nic->credit.timer_at < at) at = nic->credit.timer_at;
    nic->pause_deadline = nic->pause_next < at ? nic->pause_next : at;
}

static void find_next_end(struct nic *nic)
{
    nic->pause_next = nic->fetch_at;
    for (unsigned p = 0; p < NIC_PRIOS; p++)
        if (nic->paused & 1u << p && nic->paused_until[p] < nic->pause_next) nic->pause_next = nic->paused_until[p];
    pause_set_deadline(nic);
}

/* Whose timers ran because they could not send: they can, or (the link is down) none can. */
static void tell_held(struct nic *nic, uint16_t prios, ps_t now)
{
    for (uint32_t i = 0; i < nic->config.max_qps; i++)
        if (nic->qp[i].qpn && prios >> nic->qp[i].prio & 1) requester_held(nic, &nic->qp[i], !nic->link_down, now);
}

void pause_end(struct nic *nic, unsigned prio, ps_t at)
{
    if (!(nic->paused & 1u << prio)) return;
    nic->paused &= (uint16_t) ~(1u << prio);
    stopped_set(nic);
    if (nic->paused_since[prio] != PS_NEVER) nic->counters.prio[prio].rx_pause_ps += at - nic->paused_since[prio];
    nic_note(nic, RECORD_RESUMED, prio, 0, 0, at);
    if (__builtin_expect(nic->helds != 0, 0)) tell_held(nic, (uint16_t)(1u << prio), at);
}

void pause_begin(struct nic *nic, unsigned prio, bool counts, ps_t now)
{
    if (nic->paused & 1u << prio) return;
    nic->counters.prio[prio].rx_pause_transition += counts;
    nic->paused_since[prio] = counts ? now : PS_NEVER;
    nic->paused_until[prio] = PS_NEVER;
    nic->paused |= (uint16_t)(1u << prio);
    stopped_set(nic);
    nic_note(nic, RECORD_PAUSED, prio, 0, 0, now);
}

void nic_settle(struct nic *nic, ps_t now)
{
    for (unsigned p = 0; p < NIC_PRIOS; p++) {
        ps_t until = nic->paused_until[p] < now ? nic->paused_until[p] : now;
        if (!(nic->paused & 1u << p) || until <= nic->paused_since[p]) continue;
        nic->counters.prio[p].rx_pause_ps += until - nic->paused_since[p];
        nic->paused_since[p] = until;
    }
}

void pause_expire(struct nic *nic, ps_t now)
{
    if (nic->fetch_at <= now) fetch_end(nic);
    for (unsigned p = 0; p < NIC_PRIOS; p++)
        if (nic->paused & 1u << p && nic->paused_until[p] <= now) pause_end(nic, p, nic->paused_until[p]);
    find_next_end(nic);
}

void nic_link_changed(struct nic *nic, bool up, ps_t now, struct nic_io *io)
{
    if (nic->pause_next <= now) pause_expire(nic, now);
    nic->link_down = !up;
    for (unsigned p = 0; p < NIC_PRIOS; p++)
        pause_end(nic, p, now);
    nic->rx_paused = 0;
    nic->rx_resume_at = nic->rx_refresh_at = PS_NEVER;
    find_next_end(nic);
    tell_held(nic, UINT16_MAX, now);
    io->kick = true;
    io->deadline = nic_deadline(nic);
}

void nic_pause(struct nic *nic, uint8_t enable, const uint16_t quanta[NIC_PRIOS], ps_t now, struct nic_io *io)
{
    if (nic->pause_next <= now) pause_expire(nic, now);
    for (unsigned p = 0; p < NIC_PRIOS; p++) {
        struct nic_prio_counters *counters = &nic->counters.prio[p];
        if (!(enable & 1u << p)) continue;
        if (quanta[p] == 0) {
            counters->rx_resume++;
            pause_end(nic, p, now);
            io->kick = true;
            continue;
        }
        counters->rx_pause++;
        if (!(nic->paused & 1u << p)) {
            counters->rx_pause_transition++;
            nic->paused_since[p] = now;
            nic->paused |= (uint16_t)(1u << p);
            stopped_set(nic);
            nic_note(nic, RECORD_PAUSED, p, 0, 0, now);
        }
        nic->paused_until[p] =
            nic->config.pause_forever ? PS_NEVER : ps_add(now, pause_quanta_ps(quanta[p], nic->config.line_bps));
    }
    find_next_end(nic);
    io->deadline = nic_deadline(nic);
}

static void drain(struct nic *nic, ps_t now)
{
    uint64_t gone = rate_bytes_in(nic->config.rx_bps, now - nic->rx_level_at);

    if (gone == 0 && nic->rx_level > 0) return; /* keep the time until it is worth a byte */
    nic->rx_level = gone < nic->rx_level ? nic->rx_level - gone : 0;
    nic->rx_level_at = now;
}

static void say(struct nic *nic, uint16_t enable, uint16_t quanta, struct nic_io *io)
{
    io->pauses = 1;
    io->pause_enable = (uint8_t)enable; /* PFC has eight */
    io->pause_quanta = quanta;
    for (unsigned p = 0; p < NIC_PRIOS; p++) {
        if (!(enable & 1u << p)) continue;
        nic->counters.prio[p].tx_pause += quanta != 0;
        nic->counters.prio[p].tx_resume += quanta == 0;
    }
}

static void say_resume(struct nic *nic, ps_t now, struct nic_io *io)
{
    say(nic, nic->rx_paused, 0, io);
    for (uint32_t mask = nic->rx_paused; mask; mask &= mask - 1)
        nic_note(nic, RECORD_XON, (unsigned)__builtin_ctz(mask), 0, 0, now);
    nic->rx_paused = 0;
    nic->rx_resume_at = nic->rx_refresh_at = PS_NEVER;
}

/* When the level will be xon. */
static void set_resume(struct nic *nic, ps_t now)
{
    struct rate rate = nic->rx_rate;
    uint64_t above = nic->rx_level > nic->config.rx_xon_bytes ? nic->rx_level - nic->config.rx_xon_bytes : 0;

    nic->rx_resume_at = ps_add(now, ps_add(rate_take(&rate, above), 1));
}

bool receive_admit(struct nic *nic, const struct pkt *p, unsigned prio, ps_t now, struct nic_io *io)
{
    const struct nic_config *config = &nic->config;

    drain(nic, now);
    if (nic->rx_level + p->frame_bytes > config->rx_buffer_bytes) return false;
    nic->rx_level += p->frame_bytes;
    if (nic->rx_level > nic->counters.rx_buffer_max_bytes) nic->counters.rx_buffer_max_bytes = nic->rx_level;
    if (nic->rx_level > config->rx_xoff_bytes && !(nic->rx_paused & 1u << prio)) {
        nic->rx_paused |= (uint16_t)(1u << prio);
        nic_note(nic, RECORD_XOFF, prio, RECORD_NO_PORT, 0, now);
        say(nic, nic->rx_paused, config->rx_pause_quanta, io);
        nic->rx_refresh_at = now + pause_quanta_ps(config->rx_pause_quanta, nic->config.line_bps) / 2;
    }
    if (nic->rx_paused) {
        set_resume(nic, now);
        pause_set_deadline(nic);
    }
    return true;
}

void nic_receive_rate(struct nic *nic, uint64_t bps, ps_t now, struct nic_io *io)
{
    if (nic->config.rx_bps) drain(nic, now);
    nic->config.rx_bps = bps;
    nic->rx_level_at = now;
    if (bps) nic->rx_rate = rate_of(bps);
    if (bps == 0) nic->rx_level = 0;
    if (nic->rx_paused && bps) set_resume(nic, now);
    if (nic->rx_paused && bps == 0) {
        say_resume(nic, now, io);
    }
    pause_set_deadline(nic);
    io->deadline = nic_deadline(nic);
}

ps_t receive_delay(const struct nic *nic)
{
    struct rate rate = nic->rx_rate;
    return rate_take(&rate, nic->rx_level);
}

ps_t receive_ahead(struct nic *nic, uint64_t most, ps_t now)
{
    struct rate rate = nic->rx_rate;

    if (nic->config.rx_bps == 0) return 0;
    drain(nic, now);
    return rate_take(&rate, nic->rx_level < most ? nic->rx_level : most);
}

void receive_drain(struct nic *nic, ps_t now, struct nic_io *io)
{
    drain(nic, now);
    CHECK(nic->rx_paused);
    if (nic->rx_level <= nic->config.rx_xon_bytes) {
        say_resume(nic, now, io);
        pause_set_deadline(nic);
        return;
    }
    if (nic->rx_refresh_at <= now) {
        say(nic, nic->rx_paused, nic->config.rx_pause_quanta, io);
        nic->rx_refresh_at = now + pause_quanta_ps(nic->config.rx_pause_quanta, nic->config.line_bps) / 2;
    }
    set_resume(nic, now);
    pause_set_deadline(nic);
}
