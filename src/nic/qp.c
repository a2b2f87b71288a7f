/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs: made, connected, moved between states (volume 1, 10.3.1), posted to, flushed.
 *
 * A QP's number is first_qpn plus its place in the table, so that finding it is an addition; QPs
 * whose owner insists on another number are found by a small hash beside.  Places are given out in order
 * until each was used once, then the one that has been free longest: packets still under way to a QP
 * that is gone find nobody, not its successor.
 *
 * Errors are final: the work request that failed completes with its status, all others are flushed in order,
 * and the QP says nothing more until it is reset.  On UC and UD a request that fails stops only the send queue
 * (NIC_SQE, 10.3.1.6); receiving goes on.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "base/time.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"

#define HEADERS_MAX 48u     /* extended headers and pad of any operation */
#define POST_MAX (1u << 30) /* PSNs given out and not acknowledged: those of 32 bits stay comparable */

/* Of a ring; 0: there is none. */
static bool size_fits(uint32_t n)
{
    return n == 0 || is_power_of_two(n);
}

struct nic_qp_config nic_qp_config_default(void)
{
    return (struct nic_qp_config){
        .transport = NIC_RC,
        .recovery = NIC_GO_BACK_N,
        .mtu = 1024,
        .sport = 49152,
        .timeout = 14,
        .retry = 7,
        .rnr_retry = 7,
        .min_rnr_timer = 12,
        .max_read = 16,
        .access = NIC_REMOTE_ALL,
        .ack_every = 16,
        .ack_request_every = 16,
        .accept_reads = UINT32_MAX,
    };
}

static void hash_add(struct nic *nic, const struct nic_qp *qp)
{
    uint32_t at = qp->qpn & nic->qpn_hash_mask;

    while (nic->qpn_hash[at])
        at = (at + 1) & nic->qpn_hash_mask;
    nic->qpn_hash[at] = qp->index + 1;
}

static void hash_remove(struct nic *nic, const struct nic_qp *qp)
{
    uint32_t mask = nic->qpn_hash_mask, hole = qp->qpn & mask;

    while (nic->qpn_hash[hole] != qp->index + 1)
        hole = (hole + 1) & mask;
    for (uint32_t at = (hole + 1) & mask; nic->qpn_hash[at]; at = (at + 1) & mask) {
        uint32_t home = nic->qp[nic->qpn_hash[at] - 1].qpn & mask;
        if (((at - home) & mask) < ((at - hole) & mask)) continue; /* its chain begins after the hole */
        nic->qpn_hash[hole] = nic->qpn_hash[at];
        hole = at;
    }
    nic->qpn_hash[hole] = 0;
}

static void free_add(struct nic *nic, struct nic_qp *qp)
{
    qp->listed = true;
    qp->ready_next = QP_NONE;
    qp->free_prev = nic->free_tail;
    if (nic->free_tail == QP_NONE)
        nic->free_head = (uint32_t)(qp - nic->qp);
    else
        nic->qp[nic->free_tail].ready_next = (uint32_t)(qp - nic->qp);
    nic->free_tail = (uint32_t)(qp - nic->qp);
    nic->free_count++;
}

static void free_remove(struct nic *nic, struct nic_qp *qp)
{
    if (!qp->listed) return;
    qp->listed = false;
    nic->free_count--;
    if (qp->free_prev == QP_NONE)
        nic->free_head = qp->ready_next;
    else
        nic->qp[qp->free_prev].ready_next = qp->ready_next;
    if (qp->ready_next == QP_NONE)
        nic->free_tail = qp->free_prev;
    else
        nic->qp[qp->ready_next].free_prev = qp->free_prev;
}

/* A place whose own number is free too: one never used, else the one free longest. */
static struct nic_qp *place_any(struct nic *nic)
{
    for (; nic->fresh < nic->config.max_qps; nic->fresh++) {
        struct nic_qp *qp = &nic->qp[nic->fresh];
        if (qp->qpn || qp->listed) continue;
        if (qp_find(nic, nic->config.first_qpn + nic->fresh) == NULL) return qp;
        free_add(nic, qp); /* a QP elsewhere has its number, for now */
    }
    for (uint32_t tries = nic->free_count; tries > 0; tries--) {
        struct nic_qp *qp = &nic->qp[nic->free_head];
        if (qp_find(nic, nic->config.first_qpn + nic->free_head) == NULL) return qp;
        free_remove(nic, qp);
        free_add(nic, qp);
    }
    return NULL;
}

/* A free place: the number's own where it can be, else (a foreign number) the last free one. */
static struct nic_qp *edge_of(struct nic *nic, uint32_t qpn)
{
    uint32_t own = qpn - nic->config.first_qpn;

    if (qpn == 0) return place_any(nic);
    if (own < nic->config.max_qps && nic->qp[own].qpn == 0) return &nic->qp[own];
    while (nic->foreign > 0 && nic->qp[nic->foreign - 1].qpn)
        nic->foreign--;
    return nic->foreign ? &nic->qp[nic->foreign - 1] : NULL;
}

static int invalid(const struct nic *nic, const struct nic_qp_config *config)
{
    if (config->transport > NIC_UD || config->recovery > NIC_SELECTIVE || config->prio >= NIC_PRIOS) return -EINVAL;
    if (config->mtu == 0 || config->window_packets > NIC_WINDOW_MAX) return -EINVAL;
    if (nic->config.header_bytes + HEADERS_MAX + config->mtu > UINT16_MAX) return -EINVAL; /* pkt.frame_bytes */
    if (!size_fits(config->sq_size) || !size_fits(config->rq_size) || !size_fits(config->resource_size)) return -EINVAL;
    if ((config->sq_size && !config->sq) || (config->rq_size && !config->rq)) return -EINVAL;
    if (config->resource_size && (!config->resource || config->transport != NIC_RC)) return -EINVAL;
    if (config->recovery == NIC_SELECTIVE && (config->transport != NIC_RC || !config->selective ||
                                              config->selective_size < 64 || !is_power_of_two(config->selective_size)))
        return -EINVAL;
    if (config->reorder_window &&
        (config->recovery != NIC_SELECTIVE || config->reorder_window >= config->selective_size || !config->reorder_ps))
        return -EINVAL;
    if (config->timeout > 31 || config->min_rnr_timer > 31 || config->rnr_retry > 7) return -EINVAL;
    if (config->cc && cc_needs(config->cc)->telemetry && !nic->config.telemetry) return -EINVAL;
    if (config->cc && cc_needs(config->cc)->state_bytes > nic->config.cc_state_bytes) return -EINVAL;
    if (config->cc && cc_needs(config->cc)->rtt && nic->stamps == NULL) return -EINVAL;
    return 0;
}

size_t nic_selective_bytes(uint32_t packets)
{
    return sizeof(struct selective) + 3 * (packets / 8) + packets * sizeof(uint32_t);
}

static struct selective *selective_init(void *memory, uint32_t packets)
{
    struct selective *s = memory;
    uint64_t *bits = (uint64_t *)(s + 1);

    memset(memory, 0, nic_selective_bytes(packets));
    *s = (struct selective){.mask = packets - 1,
                            .sacked = bits,
                            .resend = bits + packets / 64,
                            .resent = bits + 2 * (packets / 64),
                            .kept = (uint32_t *)(bits + 3 * (packets / 64))};
    return s;
}

/* Where its packets go and in which class; its acknowledgements too. */
static void path_take(const struct nic *nic, struct nic_qp *qp, const struct nic_qp_config *config)
{
    const struct nic_config *own = &nic->config;

    qp->remote = config->remote;
    qp->sport = config->sport;
    qp->tos = (uint8_t)((config->tos & ~PKT_ECN_MASK) | (own->ecn ? PKT_ECN_ECT0 : PKT_ECN_NOT_ECT));
    qp->prio = config->prio;
    qp->ack_tos = own->ack_tos == NIC_AS_QP ? (uint8_t)(config->tos & ~PKT_ECN_MASK) : own->ack_tos;
    qp->ack_prio = own->ack_prio == NIC_AS_QP ? config->prio : own->ack_prio;
    qp->ack_id = qp->nak_id = PKT_NONE; /* one that waits may be in the other class's queue */
}

static void timeout_take(struct nic_qp *qp, const struct nic_qp_config *config)
{
    qp->rto_ps = qp->rto_max_ps = config->timeout ? (ps_t)4096 * PS_NS << config->timeout : 0;
    qp->adaptive = config->adaptive_ps != 0 && config->adaptive_ps < qp->rto_max_ps;
    qp->adaptive_ps = config->adaptive_ps;
    qp->adaptive_each = config->adaptive_each ? config->adaptive_each : 1;
    if (qp->adaptive) requester_timer_anew(qp);
}

/* The mark of requests to this QP that begin with this PSN. */
static uint8_t request_mark(uint32_t first_psn, uint32_t dest_qp)
{
    uint32_t mixed = (first_psn & PSN_MASK) * 0x9e3779b1u ^ dest_qp * 0x85ebca6bu;

    return (uint8_t)(NIC_MARK_REQUEST | mixed >> 27);
}
_Static_assert(NIC_MARK_REQUEST_BITS == UINT32_MAX >> 27, "so many bits are the connection's");

/* Congestion control from the start: of a new connection, or of one that was reset. */
static void start_cc(struct nic *nic, struct nic_qp *qp, const struct cc_config *config)
{
    cc_init(&qp->cc, config, nic->config.line_bps, qp->mtu, nic_beside(nic, qp->index));
    qp->cc.wants_rtt = nic->stamps != NULL && qp->transport == NIC_RC;
    if (nic->stamps) rtt_forget(&nic->stamps[qp->index]);
    uint32_t ask_bytes = cc_ask_bytes(config);
    if (ask_bytes == 0) return;
    uint32_t packets = ask_bytes > qp->mtu ? ask_bytes / qp->mtu : 1;
    if (qp->ack_request_every == 0 || qp->ack_request_every > packets)
        qp->ack_request_every = (uint16_t)(packets > UINT16_MAX ? UINT16_MAX : packets);
}

static void connect(struct nic *nic, struct nic_qp *qp, const struct nic_qp_config *config, ps_t now)
{
    static const struct cc_config none = {.kind = CC_NONE};

    path_take(nic, qp, config);
    qp->remote_qp = config->remote_qp;
    qp->transport = config->transport;
    qp->recovery = config->recovery;
    qp->mtu = config->mtu;
    qp->ack_every = config->ack_every;
    qp->ack_request_every = config->ack_request_every;
    if (config->window_packets) { /* acknowledgements must be on their way before the window closes */
        uint32_t quarter = config->window_packets > 4 ? config->window_packets / 4 : 1;
        if (qp->ack_request_every == 0 || qp->ack_request_every > quarter)
            qp->ack_request_every = (uint16_t)(quarter > UINT16_MAX ? UINT16_MAX : quarter);
    }
    qp->una = qp->nxt = qp->high = qp->post = config->send_psn & PSN_MASK;
    qp->epsn = qp->message_psn = qp->recv_done_psn = config->expect_psn & PSN_MASK;
    qp->mark = request_mark(config->send_psn, config->remote_qp);
    qp->peer_mark = request_mark(config->expect_psn, qp->qpn);
    timeout_take(qp, config);
    qp->rto_at = qp->rnr_at = qp->cnp_due = qp->patience_at = qp->patience_until = PS_NEVER;
    qp->window = config->window_packets ? config->window_packets : NIC_WINDOW_MAX;
    qp->max_read = config->max_read;
    qp->retry = qp->retry_left = config->retry;
    qp->rnr_retry = qp->rnr_left = config->rnr_retry;
    qp->min_rnr_timer = config->min_rnr_timer;
    qp->patience_ps = config->rnr_patience_ps;
    qp->access = config->access;
    qp->naks = 0;
    qp->repeats = false;
    qp->established = false;
    qp->pd = config->pd;
    qp->qkey = config->qkey;
    qp->accept_reads = config->accept_reads < qp->resource_size ? config->accept_reads : qp->resource_size;
    qp->selective = NULL;
    if (config->recovery == NIC_SELECTIVE) {
        qp->selective = selective_init(config->selective, config->selective_size);
        qp->selective->decided = qp->una;
        qp->selective->window = config->reorder_window;
        qp->selective->delay_ps = config->reorder_ps;
        qp->selective->gap_at = PS_NEVER;
        qp->selective->top = qp->selective->told = qp->epsn;
        if (qp->window > config->selective_size) qp->window = config->selective_size;
    }
    qp->next_tx = qp->last_start = now;
    qp->paced_bps = qp->ps_per_byte = 0;
    start_cc(nic, qp, config->cc ? config->cc : &none);
}

int nic_qp_create(struct nic *nic, uint32_t qpn, const struct nic_qp_config *config, ps_t now, struct nic_qp **ret)
{
    struct nic_io none = {.kick = false};

    if (qpn > PSN_MASK || invalid(nic, config)) return -EINVAL;
    if (qpn && qp_find(nic, qpn)) return -EEXIST;
    struct nic_qp *qp = edge_of(nic, qpn);
    if (qp == NULL) return -ENOMEM;
    free_remove(nic, qp);
    *qp = (struct nic_qp){.index = (uint32_t)(qp - nic->qp)};
    qp->qpn = qpn ? qpn : nic->config.first_qpn + qp->index;
    qp->sq = config->sq;
    qp->sq_size = config->sq_size;
    qp->sq_mask = config->sq_size ? config->sq_size - 1 : 0;
    qp->rq = config->rq;
    qp->rq_size = config->rq_size;
    qp->rq_mask = config->rq_size ? config->rq_size - 1 : 0;
    qp->srq = config->srq;
    qp->send_cq = config->send_cq;
    qp->recv_cq = config->recv_cq;
    qp->resource = config->resource;
    qp->resource_size = config->resource_size;
    qp->resource_mask = config->resource_size ? config->resource_size - 1 : 0;
    qp->app = config->app;
    if (qp->qpn != nic->config.first_qpn + qp->index) hash_add(nic, qp);
    nic->qps++;
    connect(nic, qp, config, now);
    qp->state = config->born_reset ? NIC_RESET : NIC_RTS;
    pace_rate(nic, qp, now, &none);
    *ret = qp;
    return 0;
}

int nic_qp_connect(struct nic *nic, struct nic_qp *qp, const struct nic_qp_config *config, ps_t now)
{
    struct nic_io none = {.kick = false};

    if (qp->state > NIC_INIT || invalid(nic, config) || config->transport != qp->transport) return -EINVAL;
    if (config->resource_size) {
        qp->resource = config->resource;
        qp->resource_size = config->resource_size;
        qp->resource_mask = config->resource_size - 1;
        qp->resource_next = qp->resource_tail = 0;
    }
    connect(nic, qp, config, now);
    pace_rate(nic, qp, now, &none);
    return 0;
}

/* Out of every list; packets that selective repeat kept go back to the pool. */
static void quiet(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    if (qp->sched == QP_READY) ready_remove(nic, qp);
    heap_remove(nic, HEAP_PACE, qp);
    heap_remove(nic, HEAP_TIMER, qp);
    qp->sched = QP_IDLE;
    qp->rto_at = qp->rnr_at = qp->cc.deadline = qp->cnp_due = qp->patience_at = qp->patience_until = PS_NEVER;
    nic->helds -= qp->held;
    qp->rnr_wait = qp->held = false;
    shut_end(nic, qp);
    qp->trail = false;
    qp->failing = 0;
    qp->resource_next = qp->resource_tail;
    if (qp->selective) selective_release(nic, qp, io);
}

static void flush_sends(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    for (; qp->sq_head != qp->sq_tail; qp->sq_head++)
        complete_send(nic, qp, wr_at(qp, qp->sq_head), NIC_WR_FLUSH_ERR, io);
    qp->sq_cur = qp->sq_head;
    qp->offset = 0;
    qp->reads_out = 0;
    qp->una = qp->nxt = qp->post;
    qp->given_up_bytes += qp->post_bytes - qp->una_bytes;
    qp->una_bytes = qp->nxt_bytes = qp->post_bytes;
    qp->locals = 0;
    qp->attend = false;
}

static void flush_receives(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    if (qp->recv_held) {
        complete_recv(nic, qp, &(struct nic_cqe){.wr_id = qp->recv.wr_id, .status = NIC_WR_FLUSH_ERR}, io);
        qp->recv_held = false;
    }
    for (; qp->rq_head != qp->rq_tail; qp->rq_head++)
        complete_recv(nic, qp,
                      &(struct nic_cqe){.wr_id = qp->rq[qp->rq_head & qp->rq_mask].wr_id, .status = NIC_WR_FLUSH_ERR},
                      io);
}

void qp_error(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    quiet(nic, qp, io);
    qp->state = NIC_ERROR;
    flush_sends(nic, qp, io);
    flush_receives(nic, qp, io);
    if (qp->srq) event_qp(nic, qp, NIC_EVENT_LAST_WQE);
}

void qp_send_error(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    CHECK(qp->transport != NIC_RC);
    qp->state = NIC_SQE;
    flush_sends(nic, qp, io);
    qp->high = qp->post;
}

void qp_fail_send(struct nic *nic, struct nic_qp *qp, enum nic_status status, ps_t now, struct nic_io *io)
{
    if (!QP_CHECK(nic, qp, qp->sq_head != qp->sq_tail)) return;
    nic_note(nic, RECORD_FAILED, qp->prio, qp->qpn, status, now);
    complete_send(nic, qp, wr_at(qp, qp->sq_head), status, io);
    qp->sq_head++;
    if (qp->transport == NIC_RC)
        qp_error(nic, qp, io);
    else
        qp_send_error(nic, qp, io);
}

void qp_fail_recv(struct nic *nic, struct nic_qp *qp, enum nic_status status, ps_t now, struct nic_io *io)
{
    nic_note(nic, RECORD_FAILED, qp->prio, qp->qpn, status, now);
    if (qp->recv_held) {
        complete_recv(nic, qp, &(struct nic_cqe){.wr_id = qp->recv.wr_id, .status = (uint8_t)status}, io);
        qp->recv_held = false;
    }
    qp_error(nic, qp, io);
}

bool qp_inconsistent(struct nic *nic, struct nic_qp *qp, const char *file, int line, const char *what)
{
    nic->counters.internal_errors++;
    nic->failed_check.file = file;
    nic->failed_check.line = line;
    nic->failed_check.what = what;
    nic->inconsistent = qp->inconsistent = true;
    qp->state = NIC_ERROR; /* so that nothing more is sent, taken or asked; what is queued ends in qp_settle() */
    qp->resource_next = qp->resource_tail;
    qp->trail = false;
    return false;
}

void qp_end_inconsistent(struct nic *nic, struct nic_io *io)
{
    nic->inconsistent = false;
    for (uint32_t i = 0; i < nic->config.max_qps; i++) {
        struct nic_qp *qp = &nic->qp[i];
        if (!qp->inconsistent) continue;
        qp->inconsistent = false;
        if (qp->qpn == 0 || qp->state != NIC_ERROR) continue; /* destroyed, or reset */
        event_qp(nic, qp, NIC_EVENT_QP_FATAL);
        if (qp->sq_head != qp->sq_tail) complete_send(nic, qp, wr_at(qp, qp->sq_head++), NIC_LOC_QP_OP_ERR, io);
        qp_error(nic, qp, io);
    }
}

void nic_qp_inconsistent(struct nic *nic, uint32_t qpn, struct nic_io *io)
{
    struct nic_qp *qp = qp_find(nic, qpn);

    if (qp == NULL) return;
    qp_inconsistent(nic, qp, __FILE__, __LINE__, "what the owner keeps for the queue pair agrees with it");
    qp_settle(nic, io);
    io->deadline = nic_deadline(nic);
}

static int modify(struct nic *nic, struct nic_qp *qp, enum nic_state state, ps_t now, struct nic_io *io)
{
    switch (state) {
    case NIC_ERROR:
        if (qp->state != NIC_ERROR) qp_error(nic, qp, io);
        return 0;
    case NIC_RESET:
        quiet(nic, qp, io);
        qp->sq_head = qp->sq_cur = qp->sq_tail;
        qp->rq_head = qp->rq_tail;
        qp->una = qp->nxt = qp->high = qp->post;
        qp->given_up_bytes += qp->post_bytes - qp->una_bytes;
        qp->una_bytes = qp->nxt_bytes = qp->post_bytes;
        qp->offset = 0;
        qp->reads_out = 0;
        qp->rx_verb = RX_NONE;
        qp->recv_held = qp->nak_sent = qp->implied = qp->drop_message = qp->attend = false;
        qp->msn = qp->locals = 0;
        qp->unacked = qp->since_request = 0;
        qp->resource_next = qp->resource_tail = 0; /* what it was asked belongs to the connection that was */
        qp->retry_left = qp->retry;
        qp->rnr_left = qp->rnr_retry;
        if (qp->adaptive) requester_timer_anew(qp);
        qp->state = NIC_RESET;
        start_cc(nic, qp, qp->cc.config);
        pace_rate(nic, qp, now, io);
        return 0;
    case NIC_INIT:
    case NIC_RTR:
    case NIC_RTS:
        if (qp->state == NIC_ERROR || (qp->state > state && state != NIC_RTS)) return -EINVAL;
        qp->state = (uint8_t)state;
        if (qp->attend) requester_attend(nic, qp, now, io);
        nic_wake(nic, qp, now, io);
        return 0;
    case NIC_SQD:
        if (qp->state != NIC_RTS && qp->state != NIC_SQD) return -EINVAL;
        if (qp->state == NIC_SQD) return 0;
        qp->state = NIC_SQD;
        requester_drain(nic, qp, now, io);
        return 0;
    case NIC_SQE:
        break;
    }
    return -EINVAL;
}

int nic_qp_modify(struct nic *nic, struct nic_qp *qp, enum nic_state state, ps_t now, struct nic_io *io)
{
    int status = modify(nic, qp, state, now, io);

    io->deadline = nic_deadline(nic);
    return status;
}

void nic_qp_destroy(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    CHECK(qp->qpn != 0);
    quiet(nic, qp, io);
    event_forget_qp(nic, qp);
    if (qp->qpn != nic->config.first_qpn + qp->index) hash_remove(nic, qp);
    qp->qpn = 0;
    qp->state = NIC_RESET;
    nic->qps--;
    if (nic->foreign <= qp->index) nic->foreign = qp->index + 1;
    free_add(nic, qp);
    io->deadline = nic_deadline(nic);
}

/* Another class: out of its ready ring and into the other. */
static void set_path(struct nic *nic, struct nic_qp *qp, const struct nic_qp_config *config)
{
    bool ready = qp->sched == QP_READY;

    if (ready) ready_remove(nic, qp);
    path_take(nic, qp, config);
    if (ready) ready_push(nic, qp);
}

int nic_qp_update(struct nic *nic, struct nic_qp *qp, const struct nic_qp_config *config, uint32_t mask, ps_t now,
                  struct nic_io *io)
{
    if (qp->state == NIC_ERROR || config->timeout > 31 || config->min_rnr_timer > 31 || config->rnr_retry > 7 ||
        config->prio >= NIC_PRIOS)
        return -EINVAL;
    if (mask & NIC_SET_SEND_PSN && qp->state >= NIC_RTS) return -EINVAL;
    if (mask & NIC_SET_SEND_PSN) {
        qp->una = qp->nxt = qp->high = qp->post = config->send_psn & PSN_MASK;
        qp->mark = request_mark(config->send_psn, qp->remote_qp);
    }
    if (mask & NIC_SET_RETRY) qp->retry = qp->retry_left = config->retry;
    if (mask & NIC_SET_RNR_RETRY) qp->rnr_retry = qp->rnr_left = config->rnr_retry;
    if (mask & NIC_SET_MIN_RNR) qp->min_rnr_timer = config->min_rnr_timer;
    if (mask & NIC_SET_RNR_PATIENCE) qp->patience_ps = config->rnr_patience_ps;
    if (mask & NIC_SET_ACCESS) qp->access = config->access;
    if (mask & NIC_SET_QKEY) qp->qkey = config->qkey;
    if (mask & NIC_SET_MAX_READ) qp->max_read = config->max_read;
    if (mask & NIC_SET_PD) qp->pd = config->pd;
    if (mask & NIC_SET_PATH) set_path(nic, qp, config);
    if (mask & NIC_SET_TIMEOUT) {
        timeout_take(qp, config);
        bool waits = qp->transport == NIC_RC && qp->una != qp->nxt && !qp->rnr_wait;
        qp->rto_at = waits && qp->rto_ps ? now + qp->rto_ps : PS_NEVER;
        if (qp->rto_at != PS_NEVER) timer_arm(nic, qp, qp->rto_at);
    }
    if (__builtin_expect(nic->link_down, 0)) requester_hold(nic, qp, now);
    nic_wake(nic, qp, now, io);
    io->deadline = nic_deadline(nic);
    return 0;
}

bool nic_qp_held(const struct nic_qp *qp, uint64_t *ret_wr_id)
{
    if (qp->recv_held) *ret_wr_id = qp->recv.wr_id;
    return qp->recv_held;
}

void nic_qp_psns(const struct nic_qp *qp, uint32_t *ret_send, uint32_t *ret_expect)
{
    *ret_send = qp->post & PSN_MASK;
    *ret_expect = qp->epsn & PSN_MASK;
}

uint64_t nic_qp_heard(const struct nic_qp *qp)
{
    return (uint64_t)qp->una << 32 | qp->epsn;
}

int nic_post_send(struct nic *nic, struct nic_qp *qp, const struct nic_wr *wr, ps_t now, struct nic_io *io)
{
    if (qp->state < NIC_RTS || !nic_postable(qp->transport, qp->mtu, qp->max_read, wr)) return -EINVAL;
    if (qp->state >= NIC_SQE) {
        complete_send(nic, qp, wr, NIC_WR_FLUSH_ERR, io);
        io->deadline = nic_deadline(nic);
        return 0;
    }
    if (qp->sq_tail - qp->sq_head >= qp->sq_size) return -ENOMEM;
    bool local = wr->verb >= NIC_BIND_MW;
    uint32_t packets = wr->length && wr->verb < NIC_CAS ? (uint32_t)((wr->length + qp->mtu - 1) / qp->mtu) : !local;
    if (packets > POST_MAX - (qp->post - qp->una)) return -ENOMEM;
    struct nic_wr *slot = wr_at(qp, qp->sq_tail);
    *slot = *wr;
    slot->first_psn = qp->post;
    slot->last_psn = qp->post + packets - 1;
    slot->stream = qp->post_bytes;
    qp->post += packets;
    qp->post_bytes += wr_payload(slot);
    bool first = qp->sq_tail++ == qp->sq_head;
    if (__builtin_expect(qp->transport == NIC_UD, 0) && first) ud_prio(nic, qp);
    if (__builtin_expect(local, 0)) {
        qp->locals++;
        requester_attend(nic, qp, now, io);
    }
    if (__builtin_expect(nic->link_down, 0)) requester_hold(nic, qp, now);
    nic_wake(nic, qp, now, io);
    io->deadline = nic_deadline(nic);
    return 0;
}
