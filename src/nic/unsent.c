/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work requests that end without a packet: memory windows bound, keys invalidated, and requests whose payload
 * could not be read.
 *
 * Such a request stands in the send queue like any other, with no PSN of its own, and stops the requester: it is
 * executed when all before it is complete, and only then does what is behind it begin.  The specification lets an
 * adapter overtake with these (volume 1, 10.8.3.3); one that does not cannot be told apart, and needs no
 * second bookkeeping when packets before it are sent again.
 *
 * A QP in NIC_SQD is watched here too: when what was begun is complete, it is drained (10.3.1.5).
 */
#include "base/check.h"
#include "nic/nic_int.h"

static bool drained(const struct nic_qp *qp)
{
    return psn_diff(qp->una, qp->drain_psn) >= 0 && qp->offset == 0;
}

static enum nic_status execute(struct nic *nic, struct nic_qp *qp, const struct nic_wr *wr)
{
    if (wr->verb & WR_DOOMED) return NIC_LOC_PROT_ERR;
    if (wr->verb == NIC_BIND_MW) return mr_bind(nic, qp, wr) ? NIC_SUCCESS : NIC_MW_BIND_ERR;
    CHECK(wr->verb == NIC_LOCAL_INV);
    return mr_invalidate(nic, qp, wr->imm, false) ? NIC_SUCCESS : NIC_LOC_QP_OP_ERR;
}

void requester_attend(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    while (qp->locals && qp->sq_head == qp->sq_cur && qp->sq_head != qp->sq_tail) {
        const struct nic_wr *wr = wr_at(qp, qp->sq_head);
        if (!wr_local(wr) || (qp->state != NIC_RTS && !(wr->verb & WR_DOOMED))) break;
        enum nic_status status = execute(nic, qp, wr);
        if (status != NIC_SUCCESS) {
            qp_fail_send(nic, qp, status, now, io);
            return;
        }
        qp->locals--;
        complete_send(nic, qp, wr, NIC_SUCCESS, io);
        qp->sq_head++;
        qp->sq_cur = qp->sq_head;
    }
    if (qp->state == NIC_SQD && !qp->drain_told && drained(qp)) {
        qp->drain_told = true;
        event_qp(nic, qp, NIC_EVENT_SQ_DRAINED);
    }
    qp->attend = qp->locals > 0 || qp->state == NIC_SQD;
}

void requester_drain(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    uint32_t psn = qp->una;

    for (uint32_t i = qp->sq_head; i != qp->sq_tail; i++) {
        const struct nic_wr *wr = wr_at(qp, i);
        if (psn_diff(qp->high, wr->first_psn) <= 0) break; /* not begun */
        psn = wr->last_psn + 1;
    }
    qp->drain_psn = psn;
    qp->drain_told = false;
    qp->attend = true;
    requester_attend(nic, qp, now, io);
}
