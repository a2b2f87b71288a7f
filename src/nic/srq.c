/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives: a QP's own ring, or one shared by several QPs.
 *
 * A receive is taken when the message that needs it begins (SEND) or ends (WRITE with immediate) and is
 * held in the QP until the message is complete; a message that is begun again (go-back-0, or UC
 * after a loss) finds the one already held.
 */
#include <errno.h>

#include "base/bits.h"
#include "base/check.h"
#include "nic/nic_int.h"

void nic_srq_init(struct nic_srq *srq, struct nic_recv *slot, uint32_t size)
{
    CHECK(is_power_of_two(size));
    *srq = (struct nic_srq){.slot = slot, .mask = size - 1};
}

int nic_srq_post(struct nic_srq *srq, const struct nic_recv *recv)
{
    if (srq->tail - srq->head > srq->mask) return -ENOMEM;
    srq->slot[srq->tail++ & srq->mask] = *recv;
    return 0;
}

bool recv_take(struct nic *nic, struct nic_qp *qp)
{
    struct nic_srq *srq = qp->srq;

    if (qp->recv_held) return true;
    if (srq) {
        if (srq->head == srq->tail) return false;
        qp->recv = srq->slot[srq->head++ & srq->mask];
        if (srq->limit && srq->tail - srq->head < srq->limit) {
            srq->limit = 0;
            event_srq(nic, srq);
        }
    } else {
        if (qp->rq_head == qp->rq_tail) return false;
        qp->recv = qp->rq[qp->rq_head++ & qp->rq_mask];
    }
    qp->recv_held = true;
    return true;
}

int nic_post_recv(struct nic *nic, struct nic_qp *qp, const struct nic_recv *recv, ps_t now, struct nic_io *io)
{
    (void)now;
    io->deadline = nic_deadline(nic);
    if (qp->srq || qp->rq_size == 0 || qp->state == NIC_RESET) return -EINVAL;
    if (qp->state == NIC_ERROR) {
        complete_recv(nic, qp, &(struct nic_cqe){.wr_id = recv->wr_id, .status = NIC_WR_FLUSH_ERR}, io);
        return 0;
    }
    if (qp->rq_tail - qp->rq_head >= qp->rq_size) return -ENOMEM;
    qp->rq[qp->rq_tail++ & qp->rq_mask] = *recv;
    return 0;
}
