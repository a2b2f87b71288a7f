/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets out of order that are not lost: what a network that sprays, or changes paths, does to a connection.
 *
 * Selective repeat takes each packet after a gap as the proof of a loss, and says so at once.  Here a gap is given
 * time: it is asked for when a packet has come that is `window` packets or more ahead of it, or when it is older
 * than `delay`; until then nothing is said.  What comes meanwhile is kept as selective repeat keeps it
 * (responder.c). Acknowledgements stay cumulative: they speak of what is in order (volume 1, 9.7.5).  Where one is
 * asked for by a packet that came early it names that packet beside (NIC_MARK_ALSO), so that a window in bytes
 * counts what is under way and not what waits for its turn at the receiver.
 *
 * A NAK for a hole names both its ends, NIC_MARK_GAP in `mark`: the PSN is the first packet missing, and
 * acknowledges nothing; the end is where a NAK of selective repeat has its trigger.  So all holes that are due can
 * be asked for at once, and exactly what is missing is sent again.  A hole is asked for once by distance, and once
 * in each `delay` while it stays: the requester then sends again even what it has sent again before, so a repetition
 * that is lost costs a delay, not the requester's timeout.  Delay should be longer than a round trip.  While nothing
 * comes at all the delay doubles, and after SILENCE_PS what waits behind the gap is forgotten and nothing more is
 * asked for: the peer has died, or there never was one that sent this.  A requester that lives has its own timer.
 *
 * One timer a QP: it is set when the first gap opens and speaks for the gaps there were then; a gap is therefore
 * asked for after one to two delays.
 */
#include "base/time.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"

#define HOLES_AT_ONCE 16u     /* of one call; the timer asks for the rest */
#define SILENCE_PS (4 * PS_S) /* longer than the retries of most requesters last */

static bool is_kept(const struct selective *s, uint32_t psn)
{
    return s->kept[psn & s->mask] != 0;
}

/* PSNs that a packet stands for: a READ takes those of its answer.  What a peer writes there is not believed beyond
 * what can be kept. */
static uint32_t span(const struct nic_qp *qp, const struct pkt *p)
{
    if (opcode_info(p->opcode)->verb != OP_READ || p->rdma.dma_bytes <= qp->mtu) return 1;
    uint32_t packets = (p->rdma.dma_bytes - 1) / qp->mtu + 1;
    return packets < qp->selective->mask ? packets : qp->selective->mask;
}

/* Asks for the holes that begin in [from, to); answers where it stopped. */
static uint32_t ask(struct nic *nic, struct nic_qp *qp, uint32_t from, uint32_t to, struct nic_io *io)
{
    const struct selective *s = qp->selective;
    uint32_t psn = from, asked = 0;

    while (psn_diff(to, psn) > 0) {
        if (is_kept(s, psn)) {
            psn += span(qp, &io->pool->hot[s->kept[psn & s->mask] - 1]);
            continue;
        }
        uint32_t end = psn + 1;
        while (psn_diff(s->top, end) > 0 && !is_kept(s, end))
            end++;
        if (asked++ == HOLES_AT_ONCE || !responder_gap(nic, qp, psn, end, io)) break;
        psn = end;
    }
    return psn;
}

/* An acknowledgement that is asked for is not put off until the gap closes: windows would stand still meanwhile. */
static void speak_of(struct nic *nic, struct nic_qp *qp, pkt_t id, uint32_t psn, struct nic_io *io)
{
    struct pkt *p = &io->pool->hot[id];
    bool marked = nic->config.echo_ce && (p->tos & PKT_ECN_MASK) == PKT_ECN_CE;

    if (!(p->flags & PKT_ACK_REQUEST) || responder_has_work(qp) || qp->failing) return;
    if (!(opcode_info(p->opcode)->flags & OP_LAST)) p->flags &= (uint16_t)~PKT_ACK_REQUEST; /* it has been answered */
    responder_also(nic, qp, psn, marked, io);
}

void reorder_arrived(struct nic *nic, struct nic_qp *qp, pkt_t id, uint32_t psn, ps_t now, struct nic_io *io)
{
    struct selective *s = qp->selective;
    uint32_t after = psn + (id != PKT_NONE ? span(qp, &io->pool->hot[id]) : 1);

    if (id != PKT_NONE) speak_of(nic, qp, id, psn, io);
    s->heard = true;
    if (psn_diff(s->top, qp->epsn) < 0) s->top = qp->epsn;
    if (psn_diff(after, s->top) > 0) s->top = after;
    if (s->gap_at == PS_NEVER) {
        s->gap_at = now + s->delay_ps;
        s->wait_ps = s->delay_ps;
        s->horizon = s->top;
        timer_arm(nic, qp, s->gap_at);
    }
    if (psn_diff(s->told, qp->epsn) < 0) s->told = qp->epsn;
    /* in a window of one nothing changes places: then what could not be kept is as lost as the gap before it */
    uint32_t due = id == PKT_NONE && s->window == 1 ? s->top : s->top - s->window;
    if (psn_diff(due, s->told) > 0) s->told = ask(nic, qp, s->told, due, io);
}

/* The gap is given up, and what waits behind it. */
static void forget(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    struct selective *s = qp->selective;

    nic->counters.drop[NIC_DROP_out_of_sequence] += s->kept_count;
    responder_forget_kept(nic, qp, io);
    s->top = s->told = qp->epsn;
}

void reorder_due(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    struct selective *s = qp->selective;

    s->gap_at = PS_NEVER;
    if (psn_diff(s->top, qp->epsn) <= 0 || qp->failing || qp->state < NIC_RTR || qp->state == NIC_ERROR) return;
    bool silent = !s->heard && s->asked_at == qp->epsn;
    s->wait_ps = silent ? 2 * s->wait_ps : s->delay_ps;
    s->heard = false;
    s->asked_at = qp->epsn;
    if (s->wait_ps >= SILENCE_PS) { /* the waits before it add up to as much */
        forget(nic, qp, io);
        return;
    }
    if (psn_diff(s->horizon, qp->epsn) > 0) ask(nic, qp, qp->epsn, s->horizon, io);
    s->horizon = s->top;
    s->gap_at = now + s->wait_ps;
    timer_arm(nic, qp, s->gap_at);
}
