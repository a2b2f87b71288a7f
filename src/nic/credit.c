/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credits of the adapter's port: who may send, and what the other end is told (base/credit.h has the counting).
 *
 * A virtual lane without a whole packet's blocks left is dry: the priorities that travel in it are paused, without an
 * end, until there are credits again.  What arrives lies in the lane's receive buffer until the host has taken it: at
 * once, or at the receive rate, the lowest lane first; then its blocks are given back.  So a slow host stops its peer
 * without a packet lost.
 *
 * One timer, while there is traffic: what is untold is told, what was sent is said.  Whoever drives an adapter with
 * credits calls nic_credit_rx() before nic_rx(), nic_credit_tx() after nic_tx(), nic_credit_tick() before nic_tick();
 * an adapter without them is not asked, and pays nothing.
 */
#include "base/check.h"
#include "nic/nic_int.h"

static struct nic_lane *lane_of(struct nic *nic, uint8_t tos)
{
    return &nic->lane[nic->config.credit.vl_of_dscp[tos >> 2]];
}

static bool say(struct nic *nic, uint32_t word, struct nic_io *io)
{
    if (io->words == NIC_WORDS_MAX) return false;
    io->word[io->words++] = word;
    nic->counters.tx_credit_words++;
    return true;
}

static void arm(struct nic *nic, ps_t at)
{
    if (at >= nic->credit_at) return;
    nic->credit_at = at;
    pause_set_deadline(nic);
}

static void tell(struct nic *nic, struct nic_lane *lane, ps_t now, struct nic_io *io)
{
    if (nic->link_down) return;
    if (say(nic, credit_word(CREDIT_LIMIT, (uint32_t)(lane - nic->lane), lane->rx.limit), io))
        (void)credit_tell(&lane->rx);
    else
        arm(nic, now);
}

static void freed(struct nic *nic, struct nic_lane *lane, uint32_t blocks, ps_t now, struct nic_io *io)
{
    credit_freed(&lane->rx, blocks);
    if (credit_tells(&lane->rx, nic->config.credit.packet_blocks)) tell(nic, lane, now, io);
    arm(nic, ps_add(now, CREDIT_PERIOD));
}

/* The host has taken some of what waits; all of it where its rate has no limit. */
static void drain(struct nic *nic, ps_t now, struct nic_io *io)
{
    uint64_t gone = UINT64_MAX;

    if (nic->config.rx_bps) gone = rate_bytes_in(nic->config.rx_bps, now - nic->taken_at) / CREDIT_BLOCK_BYTES;
    if (gone == 0) return; /* keep the time until it is worth a block */
    nic->taken_at = now;
    for (uint32_t vl = 0; vl < nic->config.credit.vls; vl++) {
        struct nic_lane *lane = &nic->lane[vl];
        uint32_t part = lane->waiting < gone ? lane->waiting : (uint32_t)gone;
        if (part == 0) continue;
        lane->waiting -= part;
        gone -= part;
        freed(nic, lane, part, now, io);
    }
}

static bool anything_waits(const struct nic *nic)
{
    for (uint32_t vl = 0; vl < nic->config.credit.vls; vl++)
        if (nic->lane[vl].waiting) return true;
    return false;
}

/* When the host will have taken a packet more. */
static void arm_drain(struct nic *nic, ps_t now)
{
    struct rate rate = rate_of(nic->config.rx_bps);

    if (anything_waits(nic))
        arm(nic, ps_add(now, rate_take(&rate, nic->config.credit.packet_blocks * CREDIT_BLOCK_BYTES)));
}

void nic_credit_rx(struct nic *nic, const struct pkt *p, ps_t now, struct nic_io *io)
{
    struct nic_lane *lane = lane_of(nic, p->tos);
    uint32_t blocks = credit_blocks(p->frame_bytes + nic->config.credit.added_bytes);

    credit_arrived(&lane->rx, blocks, now);
    if (__builtin_expect(nic->config.rx_bps == 0, 1)) {
        freed(nic, lane, blocks, now, io);
        return;
    }
    if (!anything_waits(nic)) nic->taken_at = now;
    drain(nic, now, io);
    lane->waiting += blocks;
    arm_drain(nic, now);
}

/* Of a lane that is dry, or is not any more: its priorities are paused or not.  The time is counted once, at the
 * lowest of them. */
static void judge(struct nic *nic, struct nic_lane *lane, ps_t now, struct nic_io *io)
{
    bool dry = credit_dry(&lane->tx, nic->config.credit.packet_blocks), first = true;

    if (dry == lane->dry) return;
    lane->dry = dry;
    for (unsigned p = 0; p < NIC_PRIOS; p++) {
        if (nic->config.credit.vl_of_prio[p] != lane - nic->lane) continue;
        if (dry)
            pause_begin(nic, p, first, now);
        else
            pause_end(nic, p, now);
        first = false;
    }
    if (!dry) io->kick = true;
}

void nic_credit_tx(struct nic *nic, const struct pkt *p, ps_t now, struct nic_io *io)
{
    struct nic_lane *lane = lane_of(nic, p->tos);

    credit_sent(&lane->tx, credit_blocks(p->frame_bytes + nic->config.credit.added_bytes));
    if (__builtin_expect(credit_dry(&lane->tx, nic->config.credit.packet_blocks), 0)) judge(nic, lane, now, io);
    if (nic->credit_at == PS_NEVER) {
        arm(nic, ps_add(now, CREDIT_PERIOD));
        io->deadline = nic_deadline(nic);
    }
}

void nic_credit(struct nic *nic, uint32_t word, ps_t now, struct nic_io *io)
{
    uint32_t vl = credit_word_vl(word);

    nic->counters.rx_credit_words++;
    if (vl < nic->config.credit.vls && !nic->link_down) {
        struct nic_lane *lane = &nic->lane[vl];
        if (credit_word_kind(word) == CREDIT_LIMIT) {
            credit_limit(&lane->tx, word);
            judge(nic, lane, now, io);
        } else {
            credit_heard(&lane->rx, word, nic->config.credit.skew_ps, now);
            arm(nic, ps_add(now, CREDIT_PERIOD));
        }
    }
    io->deadline = nic_deadline(nic);
}

void nic_credit_tick(struct nic *nic, ps_t now, struct nic_io *io)
{
    bool busy = false;

    if (nic->credit_at > now) return;
    nic->credit_at = PS_NEVER;
    if (anything_waits(nic)) drain(nic, now, io);
    for (uint32_t vl = 0; vl < nic->config.credit.vls && !nic->link_down; vl++) {
        struct nic_lane *lane = &nic->lane[vl];
        if (now > lane->rx.heard_at) credit_repair(&lane->rx);
        busy |= lane->rx.heard_at != PS_NEVER || credit_untold(&lane->rx) || credit_says(&lane->tx);
        if (now < nic->report_at) continue;
        if (credit_untold(&lane->rx)) tell(nic, lane, now, io);
        if (credit_says(&lane->tx) && say(nic, credit_word(CREDIT_SENT, vl, lane->tx.sent), io))
            (void)credit_say(&lane->tx);
    }
    if (now >= nic->report_at) nic->report_at = ps_add(now, CREDIT_PERIOD);
    if (busy) arm(nic, nic->report_at);
    if (nic->config.rx_bps) arm_drain(nic, now);
    pause_set_deadline(nic);
}

void nic_credit_rate(struct nic *nic, uint64_t bps, ps_t now, struct nic_io *io)
{
    if (anything_waits(nic)) drain(nic, now, io);
    nic_receive_rate(nic, bps, now, io);
    nic->taken_at = now;
    if (anything_waits(nic)) drain(nic, now, io);
    if (bps) arm_drain(nic, now);
    io->deadline = nic_deadline(nic);
}

void nic_credit_link(struct nic *nic, bool up, ps_t now, struct nic_io *io)
{
    nic_link_changed(nic, up, now, io); /* ends all pauses */
    for (uint32_t vl = 0; vl < nic->config.credit.vls; vl++) {
        struct nic_lane *lane = &nic->lane[vl];
        credit_tx_reset(&lane->tx, 0);
        credit_rx_reset(&lane->rx, lane->rx.size, credit_held(&lane->rx), 0);
        lane->dry = false;
        judge(nic, lane, now, io);
        if (up) tell(nic, lane, now, io);
    }
    io->deadline = nic_deadline(nic);
}

void nic_credit_init(struct nic *nic)
{
    const struct nic_credit_config *config = &nic->config.credit;
    struct nic_io none = {0};

    nic->credit_at = PS_NEVER;
    CHECK(config->vls <= NIC_PRIOS);
    for (uint32_t vl = 0; vl < config->vls; vl++) {
        CHECK(config->peer_blocks == 0 || config->peer_blocks >= config->packet_blocks);
        credit_tx_reset(&nic->lane[vl].tx, config->peer_blocks);
        credit_rx_reset(&nic->lane[vl].rx, config->own_blocks, 0, config->own_blocks);
        judge(nic, &nic->lane[vl], 0, &none);
    }
}

int32_t nic_credit_left(const struct nic *nic, uint32_t vl)
{
    return credit_left(&nic->lane[vl].tx);
}

uint32_t nic_credit_held(const struct nic *nic, uint32_t vl)
{
    return credit_held(&nic->lane[vl].rx);
}
