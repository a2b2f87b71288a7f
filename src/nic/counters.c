/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter's counters by name, what can be asked about a QP, and the audit.
 *
 * Totals that follow from the counters by priority are not counted while packets go by: nic_counters()
 * adds them up when somebody looks.
 */
#include "nic/counters.h"

#include "base/check.h"
#include "nic/nic_int.h"

const struct nic_counter nic_counter_list[] = {
#define COUNTER(field, text) {.name = #field, .help = text, .offset = offsetof(struct nic_counters, field)},
#define DROP(field, text)                                                                                              \
    {.name = "drop_" #field,                                                                                           \
     .help = text,                                                                                                     \
     .offset = offsetof(struct nic_counters, drop) + NIC_DROP_##field * sizeof(uint64_t)},
#include "nic/counters.def"
    {.name = NULL},
};

const struct nic_counter nic_prio_counter_list[] = {
#define PRIO(field, text) {.name = #field, .help = text, .offset = offsetof(struct nic_prio_counters, field)},
#include "nic/counters.def"
    {.name = NULL},
};

const char *const nic_drop_name[NIC_DROPS] = {
#define DROP(field, text) #field,
#include "nic/counters.def"
};

struct nic_counters *nic_counters(struct nic *nic)
{
    struct nic_counters *c = &nic->counters;

    c->tx_packets = c->tx_bytes = 0;
    for (int p = 0; p < NIC_PRIOS; p++) {
        c->tx_packets += c->prio[p].tx_packets;
        c->tx_bytes += c->prio[p].tx_bytes;
    }
    /* what was made and still waits in the control queues is not data either */
    c->tx_data_packets = c->tx_packets + nic->control_count - c->tx_ack_packets - c->np_cnp_sent;
    return c;
}

struct nic_qp *nic_qp_find(struct nic *nic, uint32_t qpn)
{
    return qp_find(nic, qpn);
}

bool nic_qp_awaits(const struct nic_qp *qp, uint32_t psn)
{
    uint32_t wide = psn_wide(psn, qp->una);

    return psn_diff(wide, qp->una) >= 0 && psn_diff(wide, qp->high) < 0;
}

uint32_t nic_qp_number(const struct nic_qp *qp)
{
    return qp->qpn;
}

uint32_t nic_qp_count(const struct nic *nic)
{
    return nic->qps;
}

enum nic_state nic_qp_state(const struct nic_qp *qp)
{
    return (enum nic_state)qp->state;
}

void *nic_qp_app(const struct nic_qp *qp)
{
    return qp->app;
}

uint64_t nic_qp_rate(const struct nic_qp *qp)
{
    return qp->cc.rate_bps;
}

uint64_t nic_qp_window(const struct nic_qp *qp)
{
    return qp->cc.window_bytes == CC_WINDOW_NONE ? UINT64_MAX : qp->cc.window_bytes;
}

uint32_t nic_qp_alpha_ppm(const struct nic_qp *qp)
{
    return cc_alpha_ppm(&qp->cc);
}

uint64_t nic_qp_in_flight(const struct nic_qp *qp)
{
    return qp->nxt_bytes - qp->una_bytes;
}

uint64_t nic_qp_acked_bytes(const struct nic_qp *qp)
{
    return qp->una_bytes - qp->given_up_bytes;
}

uint64_t nic_qp_resent_packets(const struct nic_qp *qp)
{
    return qp->resent_packets;
}

uint32_t nic_qp_receives(const struct nic_qp *qp)
{
    return qp->rq_tail - qp->rq_head;
}

uint32_t nic_qp_queued(const struct nic_qp *qp)
{
    return qp->sq_tail - qp->sq_head;
}

static void audit_heap(const struct nic *nic, enum heap_kind kind)
{
    const struct heap_of_qps *heap = &nic->heap[kind];

    for (uint32_t i = 0; i < heap->count; i++) {
        const struct nic_qp *qp = &nic->qp[heap->entry[i].qp];
        CHECK(qp->qpn && qp->heap_slot[kind] == i + 1);
        CHECK(i == 0 || heap->entry[(i - 1) / 2].at <= heap->entry[i].at);
        if (kind == HEAP_PACE) CHECK(qp->sched == QP_PACED && qp->next_tx == heap->entry[i].at);
    }
}

static void audit_qp(const struct nic *nic, const struct nic_qp *qp)
{
    ps_t timer = qp->heap_slot[HEAP_TIMER] ? nic->heap[HEAP_TIMER].entry[qp->heap_slot[HEAP_TIMER] - 1].at : PS_NEVER;

    CHECK(qp->sched <= QP_PACED);
    CHECK((qp->sched == QP_PACED) == (qp->heap_slot[HEAP_PACE] != 0));
    CHECK(qp->sched != QP_IDLE || !qp_has_work(qp));
    CHECK(qp->sq_tail - qp->sq_head <= qp->sq_size && qp->sq_cur - qp->sq_head <= qp->sq_tail - qp->sq_head);
    CHECK(qp->rq_tail - qp->rq_head <= qp->rq_size);
    CHECK(psn_diff(qp->nxt, qp->una) >= 0 && psn_diff(qp->post, qp->nxt) >= 0 && psn_diff(qp->post, qp->high) >= 0);
    CHECK(qp->nxt_bytes >= qp->una_bytes && qp->post_bytes >= qp->nxt_bytes);
    CHECK(timer <= qp->rto_at && (!qp->rnr_wait || timer <= qp->rnr_at) && timer <= qp->cc.deadline);
    CHECK(!qp->trail || responder_has_work(qp));
    if (qp->state == NIC_ERROR) CHECK(qp->sq_head == qp->sq_tail && qp->rq_head == qp->rq_tail);
    /* whoever has sent and hears nothing has a timer, if any was asked for */
    if (qp->transport == NIC_RC && qp->rto_ps && qp->una != qp->nxt && qp->sched == QP_IDLE)
        CHECK(qp->rto_at != PS_NEVER || qp->rnr_wait);
    uint32_t reads = 0;
    for (uint32_t i = qp->sq_head; i != qp->sq_cur; i++) {
        reads += wr_at(qp, i)->verb >= NIC_READ;
        CHECK(!wr_local(wr_at(qp, i))); /* nothing overtakes what makes no packets */
    }
    CHECK(reads == qp->reads_out);
    CHECK(qp->rx_verb != RX_WRITE || qp->rx_left <= NIC_LENGTH_MAX);
    if (qp->selective) {
        uint32_t kept = 0, resend = 0;
        for (uint32_t i = 0; i <= qp->selective->mask; i++) {
            kept += qp->selective->kept[i] != 0;
            resend += qp->selective->resend[i / 64] >> (i % 64) & 1;
        }
        CHECK(kept == qp->selective->kept_count && resend == qp->selective->resend_count);
    }
}

void nic_audit(const struct nic *nic, const struct pktpool *pool)
{
    uint32_t qps = 0, ready = 0, in_ready = 0, control = 0, shut = 0;

    /* A QP that ended by a QP_CHECK is a bug too, where books are audited. */
    if (nic->failed_check.what) check_failed(nic->failed_check.file, nic->failed_check.line, nic->failed_check.what);
    for (uint32_t i = 0; i < nic->config.max_qps; i++) {
        if (nic->qp[i].qpn == 0) continue;
        qps++;
        shut += nic->qp[i].shut;
        ready += nic->qp[i].sched == QP_READY;
        audit_qp(nic, &nic->qp[i]);
    }
    CHECK(qps == nic->qps && shut == nic->shut);
    CHECK(nic->idle == NIC_IDLE_OTHERWISE || nic->starved);
    CHECK(nic->stopped == (nic->fetch_at == PS_NEVER ? nic->paused : UINT16_MAX));
    CHECK(nic->pause_next <= nic->fetch_at);
    audit_heap(nic, HEAP_PACE);
    audit_heap(nic, HEAP_TIMER);
    for (unsigned p = 0; p < NIC_PRIOS; p++) {
        bool any = nic->ready_mask >> p & 1;
        for (uint32_t at = any ? nic->ready[p].head : QP_NONE; at != QP_NONE; at = nic->qp[at].ready_next) {
            CHECK(nic->qp[at].sched == QP_READY && nic->qp[at].prio == p);
            CHECK(++in_ready <= ready);
        }
        CHECK((nic->control[p].head != PKT_NONE) == (nic->control_mask >> p & 1));
        for (pkt_t id = nic->control[p].head; id != PKT_NONE; id = pool->hot[id].next)
            CHECK(++control <= nic->control_count);
    }
    CHECK(in_ready == ready && control == nic->control_count);
}
