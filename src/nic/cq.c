/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion queues: the owner's ring, the adapter's tail.
 *
 * A completion that finds the ring full is lost, and the queue says so (`overrun`): the specification
 * makes that an error of the queue (volume 1, chapter 11), and an event tells of it.  A successful send is
 * reported only when its work request asked for it; failures always are.
 */
#include "base/bits.h"
#include "base/check.h"
#include "nic/nic_int.h"

void nic_cq_init(struct nic_cq *cq, struct nic_cqe *slot, uint32_t size)
{
    CHECK(is_power_of_two(size));
    *cq = (struct nic_cq){.slot = slot, .mask = size - 1};
}

const char *nic_status_name(unsigned status)
{
    static const char *const name[] = {
#define X(id, text) text,
        NIC_STATUS_LIST(X)
#undef X
    };
    return status < NIC_STATUSES ? name[status] : "unknown status";
}

static struct nic_cqe *cq_push(struct nic *nic, struct nic_cq *cq, struct nic_io *io)
{
    if (cq == NULL) return NULL;
    if (cq->tail - cq->head > cq->mask) {
        if (!cq->overrun) event_cq(nic, cq);
        cq->overrun = true;
        return NULL;
    }
    nic->counters.completions++;
    io->completed = true;
    return &cq->slot[cq->tail++ & cq->mask];
}

void complete_send(struct nic *nic, struct nic_qp *qp, const struct nic_wr *wr, enum nic_status status,
                   struct nic_io *io)
{
    if (status == NIC_SUCCESS && !(wr->flags & NIC_SIGNALED)) return;
    if (status != NIC_SUCCESS) {
        nic->counters.completion_errors++;
        nic->counters.req_cqe_error++;
        nic->counters.req_cqe_flush_error += status == NIC_WR_FLUSH_ERR;
    }
    struct nic_cqe *cqe = cq_push(nic, qp->send_cq, io);
    if (cqe == NULL) return;
    *cqe = (struct nic_cqe){.wr_id = wr->wr_id,
                            .bytes = wr->verb >= NIC_BIND_MW ? 0
                                     : wr->verb >= NIC_CAS   ? 8
                                                             : wr->length,
                            .qpn = qp->qpn,
                            .status = (uint8_t)status,
                            .verb = (uint8_t)(wr->verb & ~WR_DOOMED)};
}

void complete_recv(struct nic *nic, struct nic_qp *qp, const struct nic_cqe *cqe, struct nic_io *io)
{
    if (cqe->status != NIC_SUCCESS) {
        nic->counters.completion_errors++;
        nic->counters.resp_cqe_error++;
        nic->counters.resp_cqe_flush_error += cqe->status == NIC_WR_FLUSH_ERR;
    }
    struct nic_cqe *slot = cq_push(nic, qp->recv_cq, io);
    if (slot == NULL) return;
    *slot = *cqe;
    slot->qpn = qp->qpn;
    slot->receive = true;
}
