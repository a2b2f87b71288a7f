/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter's port: what comes in goes to its QP, what goes out is chosen here.
 *
 * Order of sending: first what the adapter itself has to say (ACK, NAK, CNP: short, and somebody waits), the
 * highest priority first; then data: priorities take turns, and in a priority the ready QPs take
 * turns, a packet each.  A paused priority gives nothing, in either.  Packets come from the pool when
 * they are sent; an ACK is written over the packet it acknowledges.
 *
 * Deadlines: pacing times count only while the port has nothing to send (`starved`): a busy port
 * asks by itself when it is free.
 */
#include "nic/nic.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "base/time.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"
#include "packet/telemetry.h"

struct layout {
    size_t qp, heap[2], mr, qpn_hash, beside, stamps, total;
    uint32_t mr_size, hash_size;
};

static size_t beside_bytes(const struct nic_config *config)
{
    size_t path = config->telemetry ? sizeof(struct cc_path) : 0;

    return ((path > config->cc_state_bytes ? path : config->cc_state_bytes) + 7) & ~(size_t)7;
}

void *nic_beside(const struct nic *nic, uint32_t qp)
{
    return nic->beside ? nic->beside + qp * beside_bytes(&nic->config) : NULL;
}

static struct layout layout_of(const struct nic_config *config)
{
    CHECK(config->max_mrs <= 1u << 30 && config->max_qps <= 1u << 23);
    struct layout l = {.mr_size = config->max_mrs ? power_of_two_up(2 * config->max_mrs) : 0,
                       .hash_size = power_of_two_up(2 * config->max_qps)};
    size_t at = lines_up(sizeof(struct nic));

    l.qp = at;
    at += lines_up(config->max_qps * sizeof(struct nic_qp));
    for (int i = 0; i < 2; i++) {
        l.heap[i] = at;
        at += lines_up(config->max_qps * sizeof(struct heap_entry));
    }
    l.mr = at;
    at += lines_up(l.mr_size * sizeof(struct nic_mr));
    l.qpn_hash = at;
    at += lines_up(l.hash_size * sizeof(uint32_t));
    l.beside = at;
    at += lines_up(config->max_qps * beside_bytes(config));
    l.stamps = at;
    at += config->rtt ? lines_up(config->max_qps * sizeof(struct rtt_stamps)) : 0;
    l.total = at;
    return l;
}

size_t nic_memory_bytes(const struct nic_config *config)
{
    return layout_of(config).total;
}

struct nic *nic_init(void *memory, const struct nic_config *config)
{
    struct layout l = layout_of(config);
    char *base = memory;
    struct nic *nic = memory;

    CHECK(config->line_bps > 0 && config->max_qps > 0 && config->max_qps <= 1u << 23);
    CHECK(config->cnp_prio < NIC_PRIOS && (config->ack_prio < NIC_PRIOS || config->ack_prio == NIC_AS_QP));
    CHECK(config->rx_bps == 0 || config->rx_pause_quanta > 0);
    CHECK(((uintptr_t)memory & 63) == 0);
    nic->config = *config;
    if (nic->config.first_qpn < 2) nic->config.first_qpn = 2; /* 0 and 1 are the management QPs */
    nic->qp = (struct nic_qp *)(base + l.qp);
    for (int i = 0; i < 2; i++)
        nic->heap[i] = (struct heap_of_qps){.entry = (struct heap_entry *)(base + l.heap[i]), .first = PS_NEVER};
    nic->mr = l.mr_size ? (struct nic_mr *)(base + l.mr) : NULL;
    nic->mr_mask = l.mr_size ? l.mr_size - 1 : 0;
    nic->qpn_hash = (uint32_t *)(base + l.qpn_hash);
    nic->qpn_hash_mask = l.hash_size - 1;
    nic->beside = l.stamps > l.beside ? base + l.beside : NULL;
    nic->stamps = config->rtt ? (struct rtt_stamps *)(base + l.stamps) : NULL;
    nic->extension_mask = config->fixed_headers ? 0 : UINT8_MAX;
    nic->pause_next = nic->rx_resume_at = nic->rx_refresh_at = nic->pause_deadline = PS_NEVER;
    nic->rx_rate = rate_of(config->rx_bps);
    nic->tx_rate = rate_of(config->tx_bps);
    nic->fetch_at = PS_NEVER;
    nic->sent_more = config->telemetry || config->tx_bps;
    nic_credit_init(nic);
    nic->starved = true;
    nic->free_head = nic->free_tail = nic->event_head = nic->event_tail = QP_NONE;
    nic->foreign = config->max_qps;
    for (int p = 0; p < NIC_PRIOS; p++)
        nic->control[p] = (struct packet_list){.head = PKT_NONE, .tail = PKT_NONE};
    return nic;
}

struct nic_config nic_config_default(uint64_t line_bps, uint32_t endpoint)
{
    return (struct nic_config){
        .line_bps = line_bps,
        .endpoint = endpoint,
        .max_qps = 8,
        .first_qpn = 0x11,
        .header_bytes = 14 + 20 + 8 + 12 + 4,
        .line_overhead_bytes = 24,
        .net = PKT_NET_IPV4,
        .ttl = 64,
        .ecn = true,
        .ack_tos = NIC_AS_QP,
        .ack_prio = NIC_AS_QP,
        .cnp_tos = 48 << 2,
        .cnp_prio = 6,
        .cnp_min_gap_ps = 4 * PS_US,
        .rx_pause_quanta = UINT16_MAX,
    };
}

struct nic_config nic_config_hpcc_ns3(uint64_t line_bps, uint32_t endpoint, bool telemetry)
{
    struct nic_config config = nic_config_default(line_bps, endpoint);

    config.header_bytes = telemetry ? 90 : 48;
    config.ack_frame_bytes = telemetry ? 88 : 60;
    config.fixed_headers = true;
    config.line_overhead_bytes = 0;
    config.any_key = true;
    config.echo_ce = true;
    config.cnp_off = true;
    config.pause_forever = true;
    config.pace_ns = true;
    config.telemetry = telemetry;
    config.nak_repeat_ps = 500 * PS_US;
    return config;
}

ps_t nic_deadline(const struct nic *nic)
{
    ps_t at = heap_first(nic, HEAP_TIMER);

    if (nic->pause_deadline < at) at = nic->pause_deadline;
    if (nic->starved && heap_first(nic, HEAP_PACE) < at) at = heap_first(nic, HEAP_PACE);
    return at;
}

struct nic_qp *qp_find(struct nic *nic, uint32_t qpn)
{
    uint32_t index = qpn - nic->config.first_qpn;

    if (__builtin_expect(index < nic->config.max_qps && nic->qp[index].qpn == qpn, 1)) return &nic->qp[index];
    if (qpn == 0) return NULL;
    for (uint32_t at = qpn & nic->qpn_hash_mask; nic->qpn_hash[at]; at = (at + 1) & nic->qpn_hash_mask) {
        struct nic_qp *qp = &nic->qp[nic->qpn_hash[at] - 1];
        if (qp->qpn == qpn) return qp;
    }
    return NULL;
}

void control_push(struct nic *nic, pkt_t id, unsigned prio, struct nic_io *io)
{
    struct packet_list *list = &nic->control[prio];

    io->pool->hot[id].next = PKT_NONE;
    if (list->head == PKT_NONE)
        list->head = id;
    else
        io->pool->hot[list->tail].next = id;
    list->tail = id;
    nic->control_mask |= (uint16_t)(1u << prio);
    nic->control_count++;
    io->kick = true;
}

static pkt_t control_pop(struct nic *nic, uint16_t mask, struct nic_io *io)
{
    unsigned prio = 31u - (unsigned)__builtin_clz(mask);
    struct packet_list *list = &nic->control[prio];
    pkt_t id = list->head;
    struct pkt *p = &io->pool->hot[id];

    list->head = p->next;
    if (list->head == PKT_NONE) nic->control_mask &= (uint16_t) ~(1u << prio);
    nic->control_count--;
    if (p->answers) { /* later answers could be merged into it: not any more */
        struct nic_qp *qp = qp_find(nic, p->answers);
        if (qp && qp->ack_id == id) qp->ack_id = PKT_NONE;
        if (qp && aeth_kind(p->ack.syndrome) != AETH_ACK) {
            if (qp->nak_id == id) qp->nak_id = PKT_NONE;
            if (qp->naks) qp->naks--;
        }
        p->answers = 0;
    }
    nic->counters.prio[prio].tx_packets++;
    nic->counters.prio[prio].tx_bytes += p->frame_bytes;
    return id;
}

/* One packet of a QP: its READ responses and its requests take turns. */
static pkt_t qp_tx(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    const unsigned prio = qp->prio; /* sending may change it */
    bool response = responder_has_work(qp);
    pkt_t id;

    if (response && requester_can_send(qp)) {
        response = qp->response_turn;
        qp->response_turn = !qp->response_turn;
    }
    qp->sched = QP_SERVED;
    id = response ? responder_tx(nic, qp, now, io) : requester_can_send(qp) ? requester_tx(nic, qp, now, io) : PKT_NONE;
    if (id == PKT_NONE) {
        qp->sched = QP_IDLE;
        qp_settle(nic, io);
        nic_wake(nic, qp, now, io);
        return PKT_NONE;
    }
    const struct pkt *p = &io->pool->hot[id];
    nic->counters.prio[prio].tx_packets++;
    nic->counters.prio[prio].tx_bytes += p->frame_bytes;
    nic->counters.tx_payload_bytes += p->payload_bytes;
    if (nic->sent_more) {
        if (nic->config.telemetry) io->pool->telemetry[id] = (struct pkt_int){.hops = 0};
        if (nic->config.tx_bps && p->payload_bytes) fetch_begin(nic, p, now);
    }
    if (qp->cc.wants_sent) {
        cc_on_sent(&qp->cc, p->frame_bytes + nic->config.line_overhead_bytes, now);
        pace_rate(nic, qp, now, io);
    }
    pace_sent(nic, qp, p->frame_bytes, now);
    return id;
}

pkt_t nic_tx(struct nic *nic, ps_t now, struct nic_io *io)
{
    io->gather.bytes = 0;
    if (__builtin_expect(nic->pause_next <= now, 0)) pause_expire(nic, now);
    uint16_t control = nic->control_mask & (uint16_t)~nic->paused;
    if (control) {
        nic->starved = false;
        if (__builtin_expect(nic->idle, 0)) idle_over(nic, now);
        pkt_t id = control_pop(nic, control, io);
        io->deadline = nic_deadline(nic);
        return id;
    }
    if (heap_first(nic, HEAP_PACE) <= now) pace_release(nic, now);
    for (;;) {
        unsigned mask = nic->ready_mask & (uint16_t)~nic->stopped;
        if (mask == 0) break;
        unsigned later = mask & (0xfffeu << nic->last_prio);
        unsigned prio = (unsigned)__builtin_ctz(later ? later : mask);
        nic->last_prio = (uint8_t)prio;
        if (io->pool->free_count == 0) break; /* the pool is refilled by its owner, who asks again */
        pkt_t id = qp_tx(nic, ready_pop(nic, prio), now, io);
        if (id == PKT_NONE) {
            control = nic->control_mask & (uint16_t)~nic->paused; /* a response refused is a NAK now */
            if (control == 0) continue;
            id = control_pop(nic, control, io);
        }
        nic->starved = false;
        if (__builtin_expect(nic->idle, 0)) idle_over(nic, now);
        io->deadline = nic_deadline(nic);
        return id;
    }
    nic->starved = true;
    if (nic->idle | nic->heap[HEAP_PACE].count | nic->shut | nic->ready_mask) idle_because(nic, now);
    io->deadline = nic_deadline(nic);
    return PKT_NONE;
}

static void cnp_rx(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io)
{
    pktpool_put(io->pool, id);
    if (!qp->cc.wants_cnp) {
        nic->counters.rp_cnp_ignored++;
        return;
    }
    nic->counters.rp_cnp_handled++;
    nic_note(nic, RECORD_CNP, qp->prio, qp->qpn, 0, now);
    cc_on_cnp(&qp->cc, now);
    pace_rate(nic, qp, now, io);
}

static void dispatch(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io)
{
    struct pkt *p = &io->pool->hot[id];
    const struct opcode_info *info = opcode_info(p->opcode);

    if (p->src_node != qp->remote && qp->transport != NIC_UD) {
        drop(nic, id, NIC_DROP_wrong_peer, io);
        return;
    }
    if (p->opcode == OPCODE_CNP) {
        cnp_rx(nic, qp, id, now, io);
        return;
    }
    if (info->name == NULL || info->transport != qp->transport) {
        /* the reserved operations of a transport are for its responder to refuse (volume 1, 9.7.4.1.3) */
        if (info->name == NULL && qp->transport == NIC_RC && p->opcode >> 5 == 0)
            responder_reserved(nic, qp, id, io);
        else
            drop(nic, id, NIC_DROP_wrong_kind, io);
        return;
    }
    if (__builtin_expect(qp->state == NIC_RTR, 0) && !qp->established) {
        qp->established = true;
        event_qp(nic, qp, NIC_EVENT_COMM_EST);
    }
    if ((p->tos & PKT_ECN_MASK) == PKT_ECN_CE && (qp->transport != NIC_UD || p->ud.qkey == qp->qkey))
        notify_marked(nic, qp, p, now, io);
    if (qp->transport == NIC_UD)
        ud_rx(nic, qp, id, now, io);
    else if (qp->transport == NIC_UC)
        uc_rx(nic, qp, id, now, io);
    else if (info->flags & OP_REQUEST)
        responder_rx(nic, qp, id, now, io);
    else if (p->opcode == OPCODE_RC_ACK)
        requester_ack(nic, qp, id, now, io);
    else
        requester_response(nic, qp, id, now, io);
}

_Static_assert((int)OP_RC == NIC_RC && (int)OP_UC == NIC_UC && (int)OP_UD == NIC_UD, "dispatch compares the two");

void nic_rx(struct nic *nic, pkt_t id, ps_t now, struct nic_io *io)
{
    struct pkt *p = &io->pool->hot[id];

    io->place.kind = NIC_PLACE_NONE;
    io->atomic.verb = 0;
    io->keep = io->kept = PKT_NONE;
    nic->counters.rx_packets++;
    nic->counters.rx_bytes += p->frame_bytes;
    struct nic_qp *qp = p->flags & PKT_STRAY ? NULL : qp_find(nic, p->dest_qp);
    if (p->kind != PKT_ROCE)
        drop(nic, id, NIC_DROP_wrong_kind, io);
    else if (qp == NULL)
        drop(nic, id, NIC_DROP_no_qp, io);
    else if (qp->state != NIC_RTS && (qp->state < NIC_RTR || qp->state == NIC_ERROR))
        drop(nic, id, NIC_DROP_qp_state, io);
    else if (nic->config.rx_bps && !receive_admit(nic, p, qp->prio, now, io))
        drop(nic, id, NIC_DROP_rx_buffer, io);
    else
        dispatch(nic, qp, id, now, io);
    qp_settle(nic, io);
    io->deadline = nic_deadline(nic);
}

void nic_expect(const struct nic *nic, const struct pkt *p)
{
    uint32_t index = p->dest_qp - nic->config.first_qpn;

    if (index >= nic->config.max_qps) return;
    const struct nic_qp *qp = &nic->qp[index];
    __builtin_prefetch(qp, 1);
    if (p->opcode == OPCODE_RC_ACK) {
        __builtin_prefetch(nic->heap[HEAP_TIMER].entry);
        __builtin_prefetch(&qp->rto_at, 1);
        __builtin_prefetch(&qp->cc, 1);
        if (qp->sq) __builtin_prefetch(wr_at(qp, qp->sq_head));
        return;
    }
    for (uint32_t line = 0; line < 4; line++)
        __builtin_prefetch((const char *)&qp->epsn + 64 * line, 1);
    if (qp->rq) __builtin_prefetch(&qp->rq[qp->rq_head & qp->rq_mask], 1);
}

/* The queue pair may be another host's, which runs beside this one: where its ring ends is read for a hint alone. */
__attribute__((no_sanitize_thread)) void nic_expect_post(const struct nic_qp *qp)
{
    __builtin_prefetch(qp, 1);
    __builtin_prefetch(&qp->rto_at, 1);
    __builtin_prefetch(&qp->cc, 1);
    __builtin_prefetch(&qp->post_bytes, 1);
    if (!qp->sq) return;
    const struct nic_wr *wr = wr_at(qp, qp->sq_tail);
    __builtin_prefetch(wr, 1);
    __builtin_prefetch((const char *)(wr + 1) - 1, 1);
}

void nic_rx_to(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io)
{
    io->pool->hot[id].dest_qp = qp->qpn;
    nic_rx(nic, id, now, io);
}

void nic_rx_kept(struct nic *nic, uint32_t qpn, ps_t now, struct nic_io *io)
{
    struct nic_qp *qp = qp_find(nic, qpn);

    io->place.kind = NIC_PLACE_NONE;
    io->atomic.verb = 0;
    io->keep = io->kept = PKT_NONE;
    if (qp && qp->selective && qp->state >= NIC_RTR && qp->state != NIC_ERROR) responder_kept(nic, qp, now, io);
    qp_settle(nic, io);
    io->deadline = nic_deadline(nic);
}

void nic_tick(struct nic *nic, ps_t now, struct nic_io *io)
{
    if (nic->pause_next <= now) {
        pause_expire(nic, now);
        io->kick = true;
    }
    if (nic->rx_resume_at <= now || nic->rx_refresh_at <= now) receive_drain(nic, now, io);
    timers_run(nic, now, io);
    if (heap_first(nic, HEAP_PACE) <= now) {
        pace_release(nic, now);
        io->kick = true;
    }
    qp_settle(nic, io);
    io->deadline = nic_deadline(nic);
}

bool nic_ready(const struct nic *nic, ps_t now)
{
    return nic->ready_mask & (uint16_t)~nic->stopped || heap_first(nic, HEAP_PACE) <= now;
}

bool nic_idle(const struct nic *nic)
{
    if (nic->control_mask || nic->ready_mask || nic->heap[HEAP_PACE].count) return false;
    for (uint32_t i = 0; i < nic->config.max_qps; i++)
        if (nic->qp[i].qpn && (nic->qp[i].sq_head != nic->qp[i].sq_tail || nic->qp[i].trail)) return false;
    return true;
}

uint16_t nic_paused(const struct nic *nic)
{
    return nic->paused;
}
