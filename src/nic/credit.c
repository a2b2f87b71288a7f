/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credits of the adapter's port (base/credit_port.h), as the adapter feels them: the priorities that travel in a dry
 * lane are paused, without an end, until there are credits again.
 *
 * Whoever drives an adapter with credits calls nic_credit_rx() before nic_rx(), nic_credit_tx() after nic_tx(),
 * nic_credit_tick() before nic_tick(); an adapter without them is not asked, and pays nothing.
 */
#include "base/check.h"
#include "nic/nic_int.h"

/* Lanes that are dry now, or are not any more.  The time is counted once a lane, at the lowest of its priorities. */
static void obey(struct nic *nic, uint16_t was, ps_t now, struct nic_io *io)
{
    uint16_t changed = was ^ nic->credit.dry, counted = 0;

    if (__builtin_expect(changed == 0, 1)) return;
    for (unsigned p = 0; p < NIC_PRIOS; p++) {
        uint16_t lane = (uint16_t)(1u << nic->config.credit.vl_of_prio[p]);
        if (!(changed & lane)) continue;
        if (nic->credit.dry & lane)
            pause_begin(nic, p, !(counted & lane), now);
        else
            pause_end(nic, p, now);
        counted |= lane;
    }
    if (changed & ~nic->credit.dry) io->kick = true;
}

static void after(struct nic *nic, uint32_t words, struct nic_io *io)
{
    nic->counters.tx_credit_words += io->credit.count - words;
    pause_set_deadline(nic);
}

void nic_credit_rx(struct nic *nic, const struct pkt *p, ps_t now, struct nic_io *io)
{
    uint32_t words = io->credit.count;

    credit_port_rx(&nic->credit, p->frame_bytes, p->tos, now, &io->credit);
    after(nic, words, io);
}

void nic_credit_tx(struct nic *nic, const struct pkt *p, ps_t now, struct nic_io *io)
{
    uint16_t was = nic->credit.dry;
    bool rests = nic->credit.timer_at == PS_NEVER;

    credit_port_tx(&nic->credit, p->frame_bytes, p->tos, now);
    obey(nic, was, now, io);
    if (!rests) return;
    pause_set_deadline(nic);
    io->deadline = nic_deadline(nic);
}

void nic_credit(struct nic *nic, uint32_t word, ps_t now, struct nic_io *io)
{
    uint16_t was = nic->credit.dry;

    nic->counters.rx_credit_words++;
    credit_port_word(&nic->credit, word, now);
    obey(nic, was, now, io);
    pause_set_deadline(nic);
    io->deadline = nic_deadline(nic);
}

void nic_credit_tick(struct nic *nic, ps_t now, struct nic_io *io)
{
    uint32_t words = io->credit.count;

    if (nic->credit.timer_at > now) return;
    credit_port_tick(&nic->credit, now, &io->credit);
    after(nic, words, io);
}

void nic_credit_rate(struct nic *nic, uint64_t bps, ps_t now, struct nic_io *io)
{
    uint32_t words = io->credit.count;

    credit_port_rate(&nic->credit, bps, now, &io->credit);
    nic_receive_rate(nic, bps, now, io);
    after(nic, words, io);
    io->deadline = nic_deadline(nic);
}

void nic_credit_link(struct nic *nic, bool up, ps_t now, struct nic_io *io)
{
    uint32_t words = io->credit.count;

    nic_link_changed(nic, up, now, io); /* ends all pauses */
    credit_port_link(&nic->credit, up, now, &io->credit);
    obey(nic, 0, now, io);
    after(nic, words, io);
    io->deadline = nic_deadline(nic);
}

void nic_credit_init(struct nic *nic)
{
    struct nic_io none = {0};

    credit_port_init(&nic->credit, &nic->config.credit, nic->config.rx_bps);
    obey(nic, 0, 0, &none);
}

int32_t nic_credit_left(const struct nic *nic, uint32_t vl)
{
    return credit_left(&nic->credit.lane[vl].tx);
}

uint32_t nic_credit_held(const struct nic *nic, uint32_t vl)
{
    return credit_held(&nic->credit.lane[vl].rx);
}
