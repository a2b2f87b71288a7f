/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may send next: ready rings, the pacing heap, timers.
 *
 * A QP's rate is kept as picoseconds a byte with 32 fraction bits, so that a packet costs one multiplication;
 * the fraction of a picosecond that is left over is carried to the next packet.  A rate at or above
 * the line's is not paced at all: the port itself is the clock.  When the rate changes while a packet's time runs,
 * the time that is left is that of the new rate.
 *
 * Both heaps are binary, hold each QP once, and know where it is, so that a time can be moved.  Equal
 * times leave by QP index: the order is part of the result.  A QP has one timer for all its deadlines; it
 * is only ever moved earlier, and when it fires too soon it is set again (an ACK must not touch the heap).
 */
#include "base/check.h"
#include "base/time.h"
#include "nic/cc/algorithm.h"
#include "nic/nic_int.h"

static bool before(struct heap_entry a, struct heap_entry b)
{
    return a.at != b.at ? a.at < b.at : a.qp < b.qp;
}

static void put(struct nic *nic, enum heap_kind kind, uint32_t at, struct heap_entry entry)
{
    nic->heap[kind].entry[at] = entry;
    nic->qp[entry.qp].heap_slot[kind] = at + 1;
}

static void settle(struct nic *nic, enum heap_kind kind, uint32_t at, struct heap_entry entry)
{
    struct heap_of_qps *heap = &nic->heap[kind];

    while (at > 0 && before(entry, heap->entry[(at - 1) / 2])) {
        put(nic, kind, at, heap->entry[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap->count) break;
        if (child + 1 < heap->count && before(heap->entry[child + 1], heap->entry[child])) child++;
        if (!before(heap->entry[child], entry)) break;
        put(nic, kind, at, heap->entry[child]);
        at = child;
    }
    put(nic, kind, at, entry);
}

void heap_set(struct nic *nic, enum heap_kind kind, struct nic_qp *qp, ps_t at)
{
    struct heap_of_qps *heap = &nic->heap[kind];
    uint32_t slot = qp->heap_slot[kind];

    if (slot == 0) {
        CHECK(heap->count < nic->config.max_qps);
        slot = ++heap->count;
    }
    settle(nic, kind, slot - 1, (struct heap_entry){.at = at, .qp = qp->index});
    heap->first = heap->entry[0].at;
}

void heap_remove(struct nic *nic, enum heap_kind kind, struct nic_qp *qp)
{
    struct heap_of_qps *heap = &nic->heap[kind];
    uint32_t slot = qp->heap_slot[kind];

    if (slot == 0) return;
    qp->heap_slot[kind] = 0;
    struct heap_entry last = heap->entry[--heap->count];
    if (slot - 1 < heap->count) settle(nic, kind, slot - 1, last);
    heap->first = heap->count ? heap->entry[0].at : PS_NEVER;
}

void ready_push(struct nic *nic, struct nic_qp *qp)
{
    struct qp_list *list = &nic->ready[qp->prio];

    qp->sched = QP_READY;
    qp->ready_next = QP_NONE;
    if (nic->ready_mask & 1u << qp->prio)
        nic->qp[list->tail].ready_next = qp->index;
    else
        list->head = qp->index;
    list->tail = qp->index;
    nic->ready_mask |= (uint16_t)(1u << qp->prio);
}

struct nic_qp *ready_pop(struct nic *nic, unsigned prio)
{
    struct qp_list *list = &nic->ready[prio];
    struct nic_qp *qp = &nic->qp[list->head];

    list->head = qp->ready_next;
    if (list->head == QP_NONE) nic->ready_mask &= (uint16_t) ~(1u << prio);
    qp->sched = QP_IDLE;
    return qp;
}

void ready_remove(struct nic *nic, struct nic_qp *qp)
{
    struct qp_list *list = &nic->ready[qp->prio];
    uint32_t before_it = QP_NONE;

    CHECK(qp->sched == QP_READY && nic->ready_mask & 1u << qp->prio);
    for (uint32_t at = list->head; at != qp->index; at = nic->qp[at].ready_next) {
        CHECK(at != QP_NONE);
        before_it = at;
    }
    if (before_it == QP_NONE)
        list->head = qp->ready_next;
    else
        nic->qp[before_it].ready_next = qp->ready_next;
    if (list->tail == qp->index) list->tail = before_it;
    if (list->head == QP_NONE) nic->ready_mask &= (uint16_t) ~(1u << qp->prio);
    qp->sched = QP_IDLE;
}

/* --- why a port is idle --- */

void shut_end(struct nic *nic, struct nic_qp *qp)
{
    nic->shut -= qp->shut;
    qp->shut = false;
}

/* A queue pair without more to send now: it has data, and its window is closed. */
static void shut_begin(struct nic *nic, struct nic_qp *qp)
{
    if (qp->shut || qp->state != NIC_RTS || qp->rnr_wait) return;
    qp->shut = qp->nxt != qp->post && qp->nxt_bytes - qp->una_bytes >= qp->cc.window_bytes;
    nic->shut += qp->shut;
}

void idle_over(struct nic *nic, ps_t now)
{
    ps_t span = now - nic->idle_since;

    if (nic->idle == NIC_IDLE_RATE) nic->counters.idle_rate_ps += span;
    if (nic->idle == NIC_IDLE_FETCH) nic->counters.idle_fetch_ps += span;
    nic->idle = NIC_IDLE_OTHERWISE;
}

/* A pause is told by its own counters. */
void idle_because(struct nic *nic, ps_t now)
{
    enum nic_idle why = NIC_IDLE_OTHERWISE;

    if (nic->ready_mask & (uint16_t)~nic->paused && nic->fetch_at != PS_NEVER)
        why = NIC_IDLE_FETCH;
    else if (!nic->ready_mask && (nic->heap[HEAP_PACE].count || nic->shut))
        why = NIC_IDLE_RATE;
    if (why == nic->idle) return;
    idle_over(nic, now);
    nic->idle = (uint8_t)why;
    nic->idle_since = now;
}

void nic_wake(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    if (qp->sched != QP_IDLE || !qp_has_work(qp)) return;
    if (qp->shut) shut_end(nic, qp);
    if (qp->next_tx > now) {
        qp->sched = QP_PACED;
        heap_set(nic, HEAP_PACE, qp, qp->next_tx);
        if (nic->starved) idle_because(nic, now);
        return;
    }
    ready_push(nic, qp);
    io->kick = true;
}

void pace_release(struct nic *nic, ps_t now)
{
    while (heap_first(nic, HEAP_PACE) <= now) {
        struct nic_qp *qp = &nic->qp[nic->heap[HEAP_PACE].entry[0].qp];
        heap_remove(nic, HEAP_PACE, qp);
        ready_push(nic, qp);
    }
}

/* How long `bytes` take at the QP's rate, and the fraction carried on. */
static ps_t span_of(const struct nic *nic, struct nic_qp *qp, uint32_t bytes)
{
    u128 span = (u128)bytes * qp->ps_per_byte + qp->fraction;
    ps_t whole = (ps_t)(span >> 32);

    if (__builtin_expect(nic->config.pace_ns, 0)) return whole - whole % PS_NS;
    qp->fraction = (uint32_t)span;
    return whole;
}

void pace_sent(struct nic *nic, struct nic_qp *qp, uint32_t frame_bytes, ps_t now)
{
    uint32_t bytes = frame_bytes + nic->config.line_overhead_bytes;

    qp->last_start = now;
    qp->last_bytes = bytes;
    qp->next_tx = qp->ps_per_byte ? now + span_of(nic, qp, bytes) : now;
    if (!qp_has_work(qp)) {
        qp->sched = QP_IDLE;
        if (qp->cc.window_bytes != CC_WINDOW_NONE) shut_begin(nic, qp);
    } else if (qp->next_tx > now) {
        qp->sched = QP_PACED;
        heap_set(nic, HEAP_PACE, qp, qp->next_tx);
    } else {
        ready_push(nic, qp);
    }
}

/* 8e12 / bps with 32 fraction bits, in two divisions of 64 bits: 8e12 * 2^20 still fits. */
static uint64_t ps_per_byte_of(uint64_t bps)
{
    uint64_t whole = (8 * PS_S << 20) / bps;
    uint64_t rest = (8 * PS_S << 20) % bps;

    return (whole << 12) + ((rest << 12) / bps);
}

/* Model hpcc-ns3: DCQCN's changes wait for the next packet; HPCC's move the time of the next one wherever the QP
 * stands, which holds back also a QP that was at line rate, or that a window had stopped beyond its time. */
static void rate_changed_hpcc_ns3(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    if (!qp->cc.algorithm->moves_waiting) return;
    qp->next_tx = qp->ps_per_byte ? qp->last_start + span_of(nic, qp, qp->last_bytes) : now;
    if (qp->sched == QP_READY && qp->next_tx > now) {
        ready_remove(nic, qp);
        qp->sched = QP_PACED;
    }
    if (qp->sched != QP_PACED) return;
    heap_set(nic, HEAP_PACE, qp, qp->next_tx);
    if (qp->next_tx <= now) io->kick = true;
}

static void rate_changed(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    if (qp->next_tx <= now && qp->sched != QP_PACED) return;
    ps_t due = qp->ps_per_byte ? qp->last_start + span_of(nic, qp, qp->last_bytes) : now;
    qp->next_tx = due > now ? due : now;
    if (qp->sched != QP_PACED) return;
    heap_set(nic, HEAP_PACE, qp, qp->next_tx);
    if (qp->next_tx <= now) io->kick = true;
}

void pace_rate(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    if (qp->cc.deadline != PS_NEVER) timer_arm(nic, qp, qp->cc.deadline);
    if (qp->cc.rate_bps != qp->paced_bps) {
        if (!QP_CHECK(nic, qp, qp->cc.rate_bps > 0 && qp->cc.rate_bps < 1ULL << 51)) return;
        qp->paced_bps = qp->cc.rate_bps;
        qp->ps_per_byte = qp->paced_bps >= nic->config.line_bps ? 0 : ps_per_byte_of(qp->paced_bps);
        if (__builtin_expect(nic->config.pace_ns, 0))
            rate_changed_hpcc_ns3(nic, qp, now, io);
        else
            rate_changed(nic, qp, now, io);
    }
    if (qp->sched == QP_IDLE) nic_wake(nic, qp, now, io);
}

static void timer_fire(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    if (qp->rnr_wait && qp->rnr_at <= now) requester_rnr_over(nic, qp, now, io);
    if (qp->rto_at <= now) requester_timeout(nic, qp, now, io);
    if (qp->cnp_due <= now) notify_due(nic, qp, now, io);
    if (qp->selective && qp->selective->gap_at <= now) reorder_due(nic, qp, now, io);
    if (qp->patience_at <= now) patience_due(nic, qp, now, io);
    if (qp->cc.deadline <= now) {
        cc_on_timer(&qp->cc, now);
        if (!QP_CHECK(nic, qp, qp->cc.deadline > now)) qp->cc.deadline = PS_NEVER;
        pace_rate(nic, qp, now, io);
    }
    ps_t next = qp->rto_at < qp->cc.deadline ? qp->rto_at : qp->cc.deadline;
    if (qp->rnr_wait && qp->rnr_at < next) next = qp->rnr_at;
    if (qp->cnp_due < next) next = qp->cnp_due;
    if (qp->selective && qp->selective->gap_at < next) next = qp->selective->gap_at;
    if (qp->patience_at < next) next = qp->patience_at;
    if (next != PS_NEVER) timer_arm(nic, qp, next);
}

void timers_run(struct nic *nic, ps_t now, struct nic_io *io)
{
    while (heap_first(nic, HEAP_TIMER) <= now) {
        struct nic_qp *qp = &nic->qp[nic->heap[HEAP_TIMER].entry[0].qp];
        heap_remove(nic, HEAP_TIMER, qp);
        timer_fire(nic, qp, now, io);
    }
}
