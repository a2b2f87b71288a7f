/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives that come late, for requesters that do not survive being told so.
 *
 * A requester that was given no RNR retries ends with the first RNR NAK.  Programs ask for that (0 is what an empty
 * structure says) and do well with adapters of hardware: whoever polls there has posted its next receive within
 * microseconds, less than the next message takes.  Here the receiver may not even have a core.  So a QP can be given
 * patience: a message that finds no receive is dropped without a word, as if the wire had lost it.  When there is a
 * receive, a sequence NAK asks for the message, which costs no RNR retry.  When patience is over, the RNR NAK is sent.
 *
 * In a simulation nobody has patience unless it is asked for.  Not here: the RNR NAK and its timer (responder.c,
 * requester_retry.c).
 */
#include "nic/nic_int.h"

#define LOOK_PS (50 * PS_US) /* for a receive, at first; later an eighth of the time waited */

static bool has_receive(const struct nic_qp *qp)
{
    return qp->srq ? qp->srq->head != qp->srq->tail : qp->rq_head != qp->rq_tail;
}

bool patience_begin(struct nic *nic, struct nic_qp *qp, ps_t now)
{
    bool again = qp->patience_until != PS_NEVER && qp->patience_psn == qp->epsn;

    if (qp->patience_ps == 0) return false;
    if (again && now >= qp->patience_until) {
        qp->patience_until = qp->patience_at = PS_NEVER;
        return false;
    }
    if (again) return true; /* the requester's own timer sent it once more */
    qp->patience_psn = qp->epsn;
    qp->patience_until = now + qp->patience_ps;
    qp->patience_at = now + LOOK_PS;
    timer_arm(nic, qp, qp->patience_at);
    return true;
}

void patience_due(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    struct answer answer = {.psn = qp->epsn};
    bool ready = has_receive(qp), waits = qp->nak_sent && qp->patience_psn == qp->epsn;

    if (waits && !ready && now < qp->patience_until) {
        ps_t waited = qp->patience_ps - (qp->patience_until - now), next = now + LOOK_PS + waited / 8;
        qp->patience_at = next < qp->patience_until ? next : qp->patience_until;
        return;
    }
    qp->patience_at = qp->patience_until = PS_NEVER;
    if (!waits) return; /* it came again, and was taken */
    if (ready) {
        nic->counters.tx_nak_sequence++;
        answer.syndrome = AETH_SYNDROME_NAK | NAK_PSN_SEQUENCE;
    } else {
        nic->counters.tx_nak_rnr++;
        answer.syndrome = (uint8_t)(AETH_SYNDROME_RNR | qp->min_rnr_timer);
    }
    responder_answer(nic, qp, PKT_NONE, &answer, io);
}
