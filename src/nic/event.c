/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous events (volume 1, 11.6.3): what no completion can tell.
 *
 * An event waits in the object it is about, as a bit of its QP or a flag of its queue, and the objects with something
 * to tell are linked: no event is lost for want of room, none waits twice, and an object that goes takes its own along.
 */
#include <stddef.h>

#include "base/check.h"
#include "nic/nic_int.h"

_Static_assert(NIC_EVENTS <= 16, "a QP keeps its events as bits");

void event_qp(struct nic *nic, struct nic_qp *qp, enum nic_event_kind kind)
{
    if (qp->events == 0) {
        qp->event_prev = nic->event_tail;
        qp->event_next = QP_NONE;
        if (nic->event_tail == QP_NONE)
            nic->event_head = qp->index;
        else
            nic->qp[nic->event_tail].event_next = qp->index;
        nic->event_tail = qp->index;
    }
    qp->events |= (uint16_t)(1u << kind);
}

void event_forget_qp(struct nic *nic, struct nic_qp *qp)
{
    if (qp->events == 0) return;
    if (qp->event_prev == QP_NONE)
        nic->event_head = qp->event_next;
    else
        nic->qp[qp->event_prev].event_next = qp->event_next;
    if (qp->event_next == QP_NONE)
        nic->event_tail = qp->event_prev;
    else
        nic->qp[qp->event_next].event_prev = qp->event_prev;
    qp->events = 0;
}

void event_srq(struct nic *nic, struct nic_srq *srq)
{
    if (srq->event_waits) return;
    srq->event_waits = true;
    srq->event_next = nic->srq_event;
    nic->srq_event = srq;
}

void event_cq(struct nic *nic, struct nic_cq *cq)
{
    if (cq->event_waits) return;
    cq->event_waits = true;
    cq->event_next = nic->cq_event;
    nic->cq_event = cq;
}

void nic_srq_forget(struct nic *nic, struct nic_srq *srq)
{
    struct nic_srq **at = &nic->srq_event;

    if (!srq->event_waits) return;
    while (*at != srq)
        at = &(*at)->event_next;
    *at = srq->event_next;
    srq->event_waits = false;
}

void nic_cq_forget(struct nic *nic, struct nic_cq *cq)
{
    struct nic_cq **at = &nic->cq_event;

    if (!cq->event_waits) return;
    while (*at != cq)
        at = &(*at)->event_next;
    *at = cq->event_next;
    cq->event_waits = false;
}

bool nic_event_next(struct nic *nic, struct nic_event *ret)
{
    if (nic->event_head != QP_NONE) {
        struct nic_qp *qp = &nic->qp[nic->event_head];
        unsigned kind = (unsigned)__builtin_ctz(qp->events);
        CHECK(qp->qpn != 0 && kind < NIC_EVENTS);
        *ret = (struct nic_event){.kind = (uint8_t)kind, .qpn = qp->qpn};
        uint16_t left = (uint16_t)(qp->events & (qp->events - 1));
        if (left == 0) event_forget_qp(nic, qp);
        qp->events = left;
        return true;
    }
    if (nic->srq_event) {
        *ret = (struct nic_event){.kind = NIC_EVENT_SRQ_LIMIT, .srq = nic->srq_event};
        nic_srq_forget(nic, nic->srq_event);
        return true;
    }
    if (nic->cq_event) {
        *ret = (struct nic_event){.kind = NIC_EVENT_CQ_OVERRUN, .cq = nic->cq_event};
        nic_cq_forget(nic, nic->cq_event);
        return true;
    }
    return false;
}
