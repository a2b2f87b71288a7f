/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload that could not be copied: the memory of a work request, a receive or a region is not there (any more), which
 * only whoever copies can find out, when the protocol has already gone on.
 *
 * What the call before has said is taken back while nobody has heard it: its completion is still in the
 * queue and becomes NIC_LOC_PROT_ERR, its ACK is still in the control queue and becomes a NAK (remote operation error:
 * volume 1, 9.7.5.2.8), and the QP stops.
 */
#include "base/check.h"
#include "base/time.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"

/* The completion published last for a work request: failed it is, after all. */
static bool take_back(struct nic *nic, struct nic_cq *cq, uint32_t qpn, uint64_t wr_id, bool receive)
{
    if (cq == NULL) return false;
    for (uint32_t i = cq->tail; i != cq->head; i--) {
        struct nic_cqe *cqe = &cq->slot[(i - 1) & cq->mask];
        if (cqe->qpn != qpn || cqe->wr_id != wr_id || cqe->receive != receive) continue;
        if (cqe->status != NIC_SUCCESS) return true;
        cqe->status = NIC_LOC_PROT_ERR;
        cqe->bytes = 0;
        nic->counters.completion_errors++;
        nic->counters.resp_cqe_error += receive;
        nic->counters.req_cqe_error += !receive;
        return true;
    }
    return false;
}

/* A work request that has left the queue as a success. */
static void take_back_send(struct nic *nic, struct nic_qp *qp, const struct nic_wr *wr, ps_t now, struct nic_io *io)
{
    nic_note(nic, RECORD_FAILED, qp->prio, qp->qpn, NIC_LOC_PROT_ERR, now);
    if (wr->flags & NIC_SIGNALED)
        take_back(nic, qp->send_cq, qp->qpn, wr->wr_id, false);
    else
        complete_send(nic, qp, wr, NIC_LOC_PROT_ERR, io);
}

/* The work request of the packet: in the queue, or (unreliable) the last that left it. */
static struct nic_wr *wr_of(struct nic_qp *qp, uint32_t psn, uint32_t *ret_index)
{
    for (uint32_t n = 0; n < qp->sq_size; n++) {
        uint32_t index = qp->sq_tail - 1 - n;
        struct nic_wr *wr = wr_at(qp, index);
        if (wr->verb >= NIC_BIND_MW || psn_diff(psn, wr->first_psn) < 0 || psn_diff(psn, wr->last_psn) > 0) continue;
        *ret_index = index;
        return wr;
    }
    return NULL;
}

static void doom(struct nic *nic, struct nic_qp *qp, struct nic_wr *wr, ps_t now, struct nic_io *io)
{
    wr->verb |= WR_DOOMED;
    qp->locals++;
    qp->attend = true;
    uint32_t back = psn_diff(qp->una, wr->first_psn) > 0 ? qp->una : wr->first_psn;
    if (qp->selective) {
        selective_forget(qp, back, qp->nxt);
        qp->selective->decided = back;
    }
    requester_back_to(qp, back);
    if (qp->una != qp->nxt && qp->rto_ps) {
        qp->rto_at = now + qp->rto_ps;
        timer_arm(nic, qp, qp->rto_at);
    }
    requester_attend(nic, qp, now, io);
}

static void request_failed(struct nic *nic, struct nic_qp *qp, const struct pkt *p, ps_t now, struct nic_io *io)
{
    uint32_t index;
    struct nic_wr *wr = wr_of(qp, psn_wide(p->psn, qp->nxt), &index);

    if (wr == NULL) return;
    bool gone = psn_diff(index, qp->sq_head) < 0;
    if (qp->transport == NIC_RC) {
        if (!gone) doom(nic, qp, wr, now, io);
    } else if (gone) {
        take_back_send(nic, qp, wr, now, io);
        qp_send_error(nic, qp, io);
    } else {
        qp_fail_send(nic, qp, NIC_LOC_PROT_ERR, now, io);
    }
}

/* What was asked before it is answered still. */
void responder_unanswerable(struct nic *nic, struct nic_qp *qp, uint32_t psn, unsigned nak_code, ps_t now,
                            struct nic_io *io)
{
    struct answer answer = {.psn = psn, .syndrome = (uint8_t)(AETH_SYNDROME_NAK | nak_code)};
    uint32_t end = qp->resource_next;

    while (end != qp->resource_tail && psn_diff(psn, qp->resource[end & qp->resource_mask].last_psn) > 0)
        end++;
    qp->resource_tail = end;
    nic->counters.tx_nak_fatal++;
    responder_answer(nic, qp, PKT_NONE, &answer, io);
    qp->failing = NIC_WR_FLUSH_ERR;
    if (!qp->trail) qp_fail_recv(nic, qp, NIC_WR_FLUSH_ERR, now, io);
}

void nic_gather_failed(struct nic *nic, uint32_t qpn, const struct pkt *p, ps_t now, struct nic_io *io)
{
    struct nic_qp *qp = qp_find(nic, qpn);

    if (qp == NULL) return;
    if (opcode_info(p->opcode)->flags & OP_REQUEST) {
        if (qp->state == NIC_RTS || qp->state == NIC_SQD) request_failed(nic, qp, p, now, io);
        qp_settle(nic, io);
        io->deadline = nic_deadline(nic);
        return;
    }
    if (qp->state == NIC_ERROR) return; /* its last response took the QP there, and a NAK is on its way */
    event_qp(nic, qp, NIC_EVENT_QP_FATAL);
    responder_unanswerable(nic, qp, psn_wide(p->psn, qp->epsn), NAK_REMOTE_OPERATION, now, io);
    io->deadline = nic_deadline(nic);
}

/* The ACK that the call before has made for this packet, if it made one. */
static struct pkt *ack_of(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    pkt_t id = qp->ack_id != PKT_NONE ? qp->ack_id : nic->control[qp->ack_prio].tail;

    if (nic->control[qp->ack_prio].head == PKT_NONE) return NULL;
    struct pkt *p = &io->pool->hot[id];
    bool ours = p->opcode == OPCODE_RC_ACK && p->dst_node == qp->remote && p->dest_qp == qp->remote_qp;
    if (!ours || p->psn != ((qp->epsn - 1) & PSN_MASK) || aeth_kind(p->ack.syndrome) != AETH_ACK) return NULL;
    qp->ack_id = PKT_NONE;
    p->answers = 0;
    return p;
}

/* Answers NAK where an ACK was said or due; true: it waits behind responses, and the QP's end with it. */
static bool refuse_instead(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    struct answer answer = {.psn = qp->epsn - 1, .syndrome = AETH_SYNDROME_NAK | NAK_REMOTE_OPERATION};
    struct pkt *ack = qp->trail ? NULL : ack_of(nic, qp, io);

    nic->counters.tx_nak_fatal++;
    if (ack) {
        ack->ack.syndrome = answer.syndrome;
        return false;
    }
    responder_answer(nic, qp, PKT_NONE, &answer, io);
    if (qp->trail) qp->failing = NIC_WR_FLUSH_ERR;
    return qp->trail;
}

static void receive_failed(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    bool completed = qp->transport == NIC_UD || (!qp->recv_held && qp->recv_done_psn == qp->epsn);

    if (completed)
        take_back(nic, qp->recv_cq, qp->qpn, qp->recv.wr_id, true);
    else if (!qp->recv_held)
        event_qp(nic, qp, NIC_EVENT_QP_FATAL); /* a WRITE: nothing else would tell */
    if (qp->state == NIC_ERROR) return;
    if (qp->transport == NIC_RC && refuse_instead(nic, qp, io)) {
        qp->failing = qp->recv_held ? NIC_LOC_PROT_ERR : NIC_WR_FLUSH_ERR;
        return;
    }
    qp_fail_recv(nic, qp, NIC_LOC_PROT_ERR, now, io);
}

/* A response to a READ or atomic of ours: the work request is the queue's head, or has just left it. */
static void response_failed(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    const struct nic_wr *head = wr_at(qp, qp->sq_head);
    uint32_t index;

    if (qp->state != NIC_ERROR && qp->sq_head != qp->sq_tail && psn_diff(qp->una, head->first_psn) > 0) {
        qp_fail_send(nic, qp, NIC_LOC_PROT_ERR, now, io);
        return;
    }
    const struct nic_wr *wr = wr_of(qp, qp->response_psn, &index);
    if (wr) take_back_send(nic, qp, wr, now, io);
    if (qp->state != NIC_ERROR) qp_error(nic, qp, io);
}

void nic_place_failed(struct nic *nic, uint32_t qpn, ps_t now, struct nic_io *io)
{
    struct nic_qp *qp = qp_find(nic, qpn);

    if (qp == NULL || io->place.kind == NIC_PLACE_NONE) return;
    if (io->place.kind == NIC_PLACE_READ || io->place.kind == NIC_PLACE_ATOMIC)
        response_failed(nic, qp, now, io);
    else
        receive_failed(nic, qp, now, io);
    io->place.kind = NIC_PLACE_NONE;
    qp_settle(nic, io);
    io->deadline = nic_deadline(nic);
}
