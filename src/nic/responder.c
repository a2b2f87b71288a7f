/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RC responder (volume 1, 9.7.4 and 9.9.3): takes requests in order of PSN, says what it has, refuses what it must.
 *
 * What is next in order is executed.  What was seen before is acknowledged again (READs and atomics are
 * answered again, responder_read.c).  What comes after a gap is dropped with one NAK for the gap,
 * or, in selective repeat, kept until the gap is filled; go-back-0 forgets the message in progress
 * and asks for its beginning.  After an RNR NAK nothing but the refused packet is taken.
 *
 * ACKs: at once when the A bit asks or the packet was here before, else after ack_every packets.  An ACK is written
 * over the packet it acknowledges.  One that still waits to be sent is moved on instead of adding another, unless each
 * packet is to have its own.  Responses leave in order of PSN, so an ACK that comes after a READ not yet answered
 * waits behind it in the QP (`trail`).  The AETH says 31: no credits are counted (9.7.7.2), as
 * adapters with shared receive queues do.  A NAK that still waits gives its place to the next, so that a peer who
 * asks for trouble while the port is paused gets one descriptor of the pool, not all.
 *
 * Keys are looked up again for each packet of a WRITE: its region may have gone since the first (10.6.3.5: once
 * deregistration returns, nothing is touched any more).
 */
#include "base/check.h"
#include "base/hot.h"
#include "base/time.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"
#include "packet/telemetry.h"

/* Turns the descriptor into an ACK or NAK of this QP. */
static void answer_fill(const struct nic *nic, struct nic_qp *qp, pkt_t id, const struct answer *answer,
                        struct nic_io *io)
{
    struct pkt *p = &io->pool->hot[id];

    packet_begin(nic, p, OPCODE_RC_ACK, qp->remote, qp->remote_qp);
    p->flags |= answer->flags;
    p->tos = qp->ack_tos;
    p->pcp = qp->ack_prio;
    p->sport = qp->sport;
    p->psn = answer->psn & PSN_MASK;
    p->frame_bytes = nic->config.ack_frame_bytes ? nic->config.ack_frame_bytes : frame_of(nic, OPCODE_RC_ACK, 0, 0);
    p->ack.msn = qp->msn & PSN_MASK;
    p->ack.syndrome = answer->syndrome;
    p->ack.original = 0; /* and held */
    if (__builtin_expect(nic->config.rx_bps != 0, 0)) {
        ps_t held = receive_delay(nic) / PKT_HELD_PS;
        p->ack.held = (uint16_t)(held < UINT16_MAX ? held : UINT16_MAX);
    }
    if (!answer->names) return;
    p->ack.msn = answer->trigger & PSN_MASK;
    p->mark = answer->not_kept ? NIC_MARK_NOT_KEPT : NIC_MARK_KEPT;
}

/* The answer goes into the place of one that waits.  An ACK is only ever moved on. */
static void answer_over(const struct nic *nic, struct nic_qp *qp, pkt_t waiting, pkt_t id, const struct answer *answer,
                        struct nic_io *io)
{
    struct pkt *p = &io->pool->hot[waiting];

    if (aeth_kind(answer->syndrome) != AETH_ACK) {
        pkt_t next = p->next;
        answer_fill(nic, qp, waiting, answer, io);
        p->next = next;
        p->answers = qp->qpn;
    } else if (psn_diff(answer->psn, psn_wide(p->psn, qp->epsn)) >= 0) {
        p->psn = answer->psn & PSN_MASK;
        p->ack.msn = qp->msn & PSN_MASK;
    }
    p->flags |= answer->flags;
    if (id == PKT_NONE) return;
    if (nic->config.telemetry) {
        io->pool->telemetry[waiting] = io->pool->telemetry[id];
        io->pool->telemetry[waiting].echo = true;
    }
    pktpool_put(io->pool, id);
}

void responder_answer(struct nic *nic, struct nic_qp *qp, pkt_t id, const struct answer *answer, struct nic_io *io)
{
    bool plain = answer->syndrome == AETH_SYNDROME_ACK;

    qp->unacked = 0;
    if (responder_has_work(qp)) {
        /* What comes after a packet refused as not ready (selective repeat keeps it) must not hide the refusal. */
        bool hides = qp->trail && qp->trailing.psn == answer->psn && aeth_kind(qp->trailing.syndrome) == AETH_RNR_NAK &&
                     answer->syndrome == (AETH_SYNDROME_NAK | NAK_PSN_SEQUENCE);
        if (!hides) qp->trailing = *answer;
        qp->trail = true;
        if (id != PKT_NONE) pktpool_put(io->pool, id);
        return;
    }
    qp->trail = false;
    pkt_t waiting = plain ? qp->ack_id : qp->naks >= (qp->selective ? NAKS_WAITING : 1) ? qp->nak_id : PKT_NONE;
    if (waiting != PKT_NONE) {
        answer_over(nic, qp, waiting, id, answer, io);
        return;
    }
    bool fresh = id == PKT_NONE;
    if (fresh) id = pktpool_get(io->pool);
    if (id == PKT_NONE) { /* the requester's timer will ask */
        nic->counters.drop[NIC_DROP_no_packet]++;
        return;
    }
    answer_fill(nic, qp, id, answer, io);
    if (nic->config.telemetry) {
        if (fresh) io->pool->telemetry[id] = (struct pkt_int){.hops = 0};
        io->pool->telemetry[id].echo = true;
    }
    nic->counters.tx_ack_packets++;
    qp->ack_id = PKT_NONE;
    struct pkt *p = &io->pool->hot[id];
    if (!plain) {
        qp->nak_id = id;
        if (qp->naks < UINT8_MAX) qp->naks++;
    } else if (qp->ack_every != 1) {
        qp->ack_id = id;
    }
    if (!plain || qp->ack_every != 1) p->answers = qp->qpn; /* until nic_tx takes it */
    control_push(nic, id, qp->ack_prio, io);
}

bool responder_gap(struct nic *nic, struct nic_qp *qp, uint32_t from, uint32_t to, struct nic_io *io)
{
    struct answer answer = {
        .psn = from, .trigger = to, .syndrome = AETH_SYNDROME_NAK | NAK_PSN_SEQUENCE, .names = true};

    if (qp->naks >= NAKS_WAITING) return false;
    pkt_t id = pktpool_get(io->pool);
    if (id == PKT_NONE) {
        nic->counters.drop[NIC_DROP_no_packet]++;
        return false;
    }
    answer_fill(nic, qp, id, &answer, io);
    if (nic->config.telemetry) io->pool->telemetry[id] = (struct pkt_int){.echo = true};
    struct pkt *p = &io->pool->hot[id];
    p->mark = NIC_MARK_GAP;
    p->answers = qp->qpn;
    qp->nak_id = id;
    qp->naks++;
    nic->counters.tx_ack_packets++;
    nic->counters.tx_nak_sequence++;
    control_push(nic, id, qp->ack_prio, io);
    return true;
}

void responder_also(struct nic *nic, struct nic_qp *qp, uint32_t psn, bool marked, struct nic_io *io)
{
    struct answer answer = {.psn = qp->epsn - 1,
                            .trigger = psn,
                            .syndrome = AETH_SYNDROME_ACK,
                            .flags = (uint8_t)(marked ? PKT_BECN : 0),
                            .names = true};
    pkt_t id = pktpool_get(io->pool);

    if (id == PKT_NONE) { /* the next acknowledgement says as much */
        nic->counters.drop[NIC_DROP_no_packet]++;
        return;
    }
    answer_fill(nic, qp, id, &answer, io);
    if (nic->config.telemetry) io->pool->telemetry[id] = (struct pkt_int){.echo = true};
    io->pool->hot[id].mark = NIC_MARK_ALSO;
    nic->counters.tx_ack_packets++;
    control_push(nic, id, qp->ack_prio, io);
}

/* The packet fits the message in progress, or begins one. */
static bool sequence_fits(const struct nic_qp *qp, const struct opcode_info *info)
{
    enum rx_verb verb = info->verb == OP_SEND ? RX_SEND : info->verb == OP_WRITE ? RX_WRITE : RX_NONE;

    if (info->flags & OP_FIRST) return qp->rx_verb == RX_NONE;
    return verb != RX_NONE && qp->rx_verb == verb;
}

/* First and middle packets are full, last ones are not empty. */
static bool length_fits(const struct nic_qp *qp, const struct pkt *p, uint16_t flags)
{
    if (!(flags & OP_LAST)) return p->payload_bytes == qp->mtu;
    return p->payload_bytes <= qp->mtu && (flags & OP_FIRST || p->payload_bytes > 0);
}

static inline void place_write(struct nic_qp *qp, const struct pkt *p, struct nic_io *io)
{
    io->place.va = qp->rx_va;
    io->place.rkey = qp->rx_rkey;
    io->place.bytes = p->payload_bytes;
    io->place.kind = NIC_PLACE_MEMORY;
    qp->rx_va += p->payload_bytes;
    qp->rx_left -= p->payload_bytes;
    qp->rx_got += p->payload_bytes;
}

static enum verdict begin_write(struct nic *nic, struct nic_qp *qp, const struct pkt *p)
{
    if (!(qp->access & NIC_REMOTE_WRITE)) return REFUSED_INVALID;
    if (p->rdma.dma_bytes > NIC_LENGTH_MAX) return REFUSED_INVALID;
    enum verdict verdict = mr_check(nic, qp, p->rdma.rkey, p->rdma.va, p->rdma.dma_bytes, NIC_REMOTE_WRITE);
    if (verdict != DONE) return verdict;
    nic->counters.rx_write_requests++;
    qp->rx_va = p->rdma.va;
    qp->rx_rkey = p->rdma.rkey;
    qp->rx_left = p->rdma.dma_bytes;
    qp->rx_got = 0;
    return DONE;
}

static enum verdict execute_write(struct nic *nic, struct nic_qp *qp, const struct pkt *p, uint16_t flags,
                                  struct nic_io *io)
{
    if (flags & OP_FIRST) {
        enum verdict verdict = begin_write(nic, qp, p);
        if (verdict != DONE) return verdict;
    }
    bool last = flags & OP_LAST;
    if (last ? p->payload_bytes != qp->rx_left : p->payload_bytes >= qp->rx_left) return REFUSED_INVALID;
    if (!(flags & OP_FIRST)) {
        enum verdict verdict = key_check(nic, qp, qp->rx_rkey, qp->rx_va, p->payload_bytes, NIC_REMOTE_WRITE);
        if (verdict != DONE) return verdict;
    }
    if (flags & OP_IMMDT && !recv_take(nic, qp)) return REFUSED_RNR;
    place_write(qp, p, io);
    return DONE;
}

static enum verdict execute_send(struct nic *nic, struct nic_qp *qp, const struct pkt *p, uint16_t flags,
                                 struct nic_io *io)
{
    if (flags & OP_FIRST) {
        if (!recv_take(nic, qp)) return REFUSED_RNR;
        nic->counters.rx_send_requests++;
        qp->rx_got = 0;
    }
    if (qp->rx_got + p->payload_bytes > qp->recv.length) return REFUSED_LENGTH;
    if (flags & OP_IETH && !mr_invalidate(nic, qp, p->imm, true)) return REFUSED_ACCESS;
    io->place.local = qp->recv.local;
    io->place.offset = qp->rx_got;
    io->place.bytes = p->payload_bytes;
    io->place.kind = NIC_PLACE_RECV;
    qp->rx_got += p->payload_bytes;
    return DONE;
}

static enum verdict finish_message(struct nic *nic, struct nic_qp *qp, const struct pkt *p,
                                   const struct opcode_info *info, struct nic_io *io)
{
    bool imm = info->flags & OP_IMMDT, inv = info->flags & OP_IETH;

    qp->rx_verb = RX_NONE;
    if (info->verb == OP_WRITE && !imm) return DONE;
    if (!QP_CHECK(nic, qp, qp->recv_held)) {
        io->place.kind = NIC_PLACE_NONE;
        return INCONSISTENT;
    }
    qp->recv_held = false;
    qp->recv_done_psn = qp->epsn;
    struct nic_cqe cqe = {.wr_id = qp->recv.wr_id,
                          .bytes = qp->rx_got,
                          .imm = p->imm,
                          .src = p->src_node,
                          .src_qp = qp->remote_qp,
                          .verb = info->verb == OP_WRITE ? NIC_WRITE_IMM
                                  : imm                  ? NIC_SEND_IMM
                                  : inv                  ? NIC_SEND_INV
                                                         : NIC_SEND,
                          .has_imm = imm,
                          .invalidated = inv,
                          .solicited = p->flags & PKT_SOLICITED};
    complete_recv(nic, qp, &cqe, io);
    return DONE;
}

/* The packet most seen: a full one from the middle of a WRITE. */
static inline bool middle_of_write(const struct nic_qp *qp, const struct pkt *p)
{
    bool middle = p->opcode == OPCODE_RC_WRITE_MIDDLE || p->opcode == OPCODE_UC_WRITE_MIDDLE;
    return middle && qp->rx_verb == RX_WRITE && p->payload_bytes == qp->mtu && qp->rx_left > qp->mtu;
}

/* A request packet that is next in order.  On any refusal the QP is as it was. */
NO_CANARY enum verdict responder_execute(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];
    const struct opcode_info *info = opcode_info(p->opcode);
    enum verdict verdict;

    (void)now;
    if (middle_of_write(qp, p)) {
        verdict = key_check(nic, qp, qp->rx_rkey, qp->rx_va, p->payload_bytes, NIC_REMOTE_WRITE);
        if (__builtin_expect(verdict != DONE, 0)) return verdict;
        place_write(qp, p, io);
        nic->counters.rx_payload_bytes += p->payload_bytes;
        qp->epsn++;
        return DONE;
    }
    if (!sequence_fits(qp, info)) return REFUSED_INVALID;
    if (info->verb == OP_READ || info->verb == OP_ATOMIC) return responder_accept(nic, qp, id, io);
    if (!length_fits(qp, p, info->flags)) return REFUSED_INVALID;
    if (info->flags & OP_FIRST) qp->message_psn = qp->epsn;
    verdict =
        info->verb == OP_WRITE ? execute_write(nic, qp, p, info->flags, io) : execute_send(nic, qp, p, info->flags, io);
    if (verdict != DONE) return verdict;
    nic->counters.rx_payload_bytes += p->payload_bytes;
    qp->rx_verb = info->verb == OP_WRITE ? RX_WRITE : RX_SEND;
    qp->epsn++;
    if (!(info->flags & OP_LAST)) return DONE;
    qp->msn++;
    return finish_message(nic, qp, p, info, io);
}

static void refuse(struct nic *nic, struct nic_qp *qp, pkt_t id, enum verdict verdict, ps_t now, struct nic_io *io)
{
    static const uint8_t code_of[] = {[REFUSED_INVALID] = NAK_INVALID_REQUEST,
                                      [REFUSED_ACCESS] = NAK_REMOTE_ACCESS,
                                      [REFUSED_LENGTH] = NAK_INVALID_REQUEST};
    struct answer answer = {.psn = qp->epsn};

    if (verdict == INCONSISTENT) {
        drop(nic, id, NIC_DROP_qp_state, io);
        return;
    }
    if (verdict == REFUSED_RNR) {
        nic->counters.out_of_buffer++;
        nic->counters.drop[NIC_DROP_rnr]++;
        answer.syndrome = (uint8_t)(AETH_SYNDROME_RNR | qp->min_rnr_timer);
        if (qp->recovery == NIC_GO_BACK_0 && qp->rx_verb != RX_NONE) {
            qp->epsn = answer.psn = qp->message_psn;
            qp->rx_verb = RX_NONE;
        }
        qp->nak_sent = true; /* silence until it is tried again */
        qp->nak_next = PS_NEVER;
        if (patience_begin(nic, qp, now)) {
            pktpool_put(io->pool, id);
            return;
        }
        nic->counters.tx_nak_rnr++;
        responder_answer(nic, qp, id, &answer, io);
        return;
    }
    nic->counters.tx_nak_fatal++;
    nic->counters.drop[NIC_DROP_refused]++;
    nic->counters.resp_remote_access_errors += verdict == REFUSED_ACCESS;
    nic->counters.resp_invalid_requests += verdict == REFUSED_INVALID;
    nic->counters.resp_local_length_error += verdict == REFUSED_LENGTH;
    if (verdict == REFUSED_ACCESS)
        event_qp(nic, qp, NIC_EVENT_QP_ACCESS);
    else if (verdict != REFUSED_LENGTH)
        event_qp(nic, qp, verdict == REFUSED_INVALID ? NIC_EVENT_QP_REQUEST : NIC_EVENT_QP_FATAL);
    answer.syndrome = (uint8_t)(AETH_SYNDROME_NAK | code_of[verdict]);
    responder_answer(nic, qp, id, &answer, io);
    qp->failing = verdict == REFUSED_LENGTH ? NIC_LOC_LEN_ERR : NIC_WR_FLUSH_ERR;
    if (!qp->trail) qp_fail_recv(nic, qp, qp->failing, now, io); /* else when the responses before it are sent */
}

void responder_reserved(struct nic *nic, struct nic_qp *qp, pkt_t id, struct nic_io *io)
{
    if (io->pool->hot[id].psn == (qp->epsn & PSN_MASK) && !qp->failing)
        refuse(nic, qp, id, REFUSED_INVALID, 0, io); /* when does not matter to it */
    else
        drop(nic, id, NIC_DROP_wrong_kind, io);
}

/* Selective repeat: the packet waits here for those before it; false: it cannot, and is the caller's still. */
static bool keep(struct nic_qp *qp, pkt_t id, uint32_t psn, struct nic_io *io)
{
    struct selective *s = qp->selective;
    const struct pkt *p = &io->pool->hot[id];
    uint32_t *slot = &s->kept[psn & s->mask];

    if (opcode_info(p->opcode)->verb == OP_ATOMIC) return false; /* a call asks its caller for one atomic at most */
    if (p->payload_bytes > qp->mtu) return false;
    io->keep = id;
    if (*slot) { /* of a PSN that a READ before it has taken: only a peer that lies sends such */
        pktpool_put(io->pool, *slot - 1);
        s->kept_count--;
    }
    *slot = id + 1;
    s->kept_count++;
    return true;
}

/* A packet after a gap. */
static void out_of_sequence(struct nic *nic, struct nic_qp *qp, pkt_t id, uint32_t psn, ps_t now, struct nic_io *io)
{
    struct selective *s = qp->selective;
    struct answer answer = {.psn = qp->epsn, .trigger = psn, .syndrome = AETH_SYNDROME_NAK | NAK_PSN_SEQUENCE};

    nic->counters.out_of_sequence++;
    if (s && io->pool->hot[id].mark == qp->peer_mark) {
        uint32_t known = s->kept[psn & s->mask];
        bool twin = known && io->pool->hot[known - 1].psn == (psn & PSN_MASK);
        if (psn - qp->epsn > s->mask || twin) {
            drop(nic, id, twin ? NIC_DROP_duplicate : NIC_DROP_out_of_sequence, io);
            return;
        }
        answer.names = true;
        answer.not_kept = !keep(qp, id, psn, io);
        nic->counters.reordered_packets += !answer.not_kept;
        nic->counters.drop[NIC_DROP_out_of_sequence] += answer.not_kept;
        if (s->window) {
            if (answer.not_kept) pktpool_put(io->pool, id);
            reorder_arrived(nic, qp, answer.not_kept ? PKT_NONE : id, psn, now, io);
            return;
        }
        nic->counters.tx_nak_sequence++;
        if (answer.not_kept && responder_has_work(qp) && (!s->unsaid || psn_diff(psn, s->dropped) > 0)) {
            s->dropped = psn;
            s->unsaid = true;
        }
        responder_answer(nic, qp, answer.not_kept ? id : PKT_NONE, &answer, io);
        return;
    }
    nic->counters.drop[NIC_DROP_out_of_sequence]++;
    bool due = nic->config.nak_repeat_ps && now >= qp->nak_next;
    if (qp->nak_sent && (qp->nak_next == PS_NEVER || !due)) {
        pktpool_put(io->pool, id);
        return;
    }
    if (qp->recovery == NIC_GO_BACK_0 && qp->rx_verb != RX_NONE) {
        qp->epsn = answer.psn = qp->message_psn;
        qp->rx_verb = RX_NONE;
    }
    qp->nak_sent = true;
    qp->nak_next = now + nic->config.nak_repeat_ps;
    nic->counters.tx_nak_sequence++;
    responder_answer(nic, qp, id, &answer, io);
}

static void duplicate(struct nic *nic, struct nic_qp *qp, pkt_t id, uint32_t psn, ps_t now, struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];
    const struct opcode_info *info = opcode_info(p->opcode);

    nic->counters.duplicate_request++;
    nic->counters.drop[NIC_DROP_duplicate]++;
    if (info->verb == OP_READ || info->verb == OP_ATOMIC) {
        if (responder_replay(qp, p, psn)) nic_wake(nic, qp, now, io);
        pktpool_put(io->pool, id);
        return;
    }
    /* Asked or not (C9-105): whoever repeats misses the acknowledgement.  All that is here is acknowledged, but not
     * past a READ whose answer the requester may still miss. */
    struct answer answer = {.psn = qp->epsn - 1, .syndrome = AETH_SYNDROME_ACK};
    for (uint32_t i = 0; i < qp->resource_size && i < qp->resource_tail; i++) {
        const struct nic_resource *r = &qp->resource[(qp->resource_tail - 1 - i) & qp->resource_mask];
        if (psn_diff(r->first_psn, psn) > 0) answer.psn = psn;
    }
    if (responder_has_work(qp)) { /* they say it all */
        pktpool_put(io->pool, id);
        return;
    }
    responder_answer(nic, qp, id, &answer, io);
}

/* The packet is next in order: execute it and answer. */
NO_CANARY static void in_order(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];
    bool asked = p->flags & PKT_ACK_REQUEST;
    bool marked = nic->config.echo_ce && (p->tos & PKT_ECN_MASK) == PKT_ECN_CE;
    enum verdict verdict = responder_execute(nic, qp, id, now, io);

    if (__builtin_expect(verdict > DONE_RESPONSE, 0)) {
        refuse(nic, qp, id, verdict, now, io);
        return;
    }
    qp->nak_sent = false;
    if (verdict == DONE_RESPONSE) {
        qp->unacked = 0;
        qp->trail = false; /* the response acknowledges what came before */
        pktpool_put(io->pool, id);
        nic_wake(nic, qp, now, io);
        return;
    }
    qp->unacked++;
    if (asked || qp->unacked == qp->ack_every) {
        struct answer answer = {
            .psn = qp->epsn - 1, .syndrome = AETH_SYNDROME_ACK, .flags = (uint8_t)(marked ? PKT_BECN : 0)};
        responder_answer(nic, qp, id, &answer, io);
    } else {
        pktpool_put(io->pool, id);
    }
}

void responder_forget_kept(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    struct selective *s = qp->selective;

    for (uint32_t i = 0; i <= s->mask && s->kept_count; i++) {
        if (s->kept[i] == 0) continue;
        pktpool_put(io->pool, s->kept[i] - 1);
        s->kept[i] = 0;
        s->kept_count--;
    }
    if (!QP_CHECK(nic, qp, s->kept_count == 0)) s->kept_count = 0;
}

/* Selective repeat: the kept packet that is next in order now, taken out; PKT_NONE: none. */
static pkt_t take_kept(struct nic_qp *qp, struct nic_io *io)
{
    struct selective *s = qp->selective;
    uint32_t *slot = &s->kept[qp->epsn & s->mask];

    if (*slot == 0 || qp->failing || qp->state == NIC_ERROR) return PKT_NONE;
    pkt_t id = *slot - 1;
    *slot = 0;
    s->kept_count--;
    if (io->pool->hot[id].psn == (qp->epsn & PSN_MASK)) return id;
    pktpool_put(io->pool, id); /* a READ before it has taken its PSN */
    return PKT_NONE;
}

/* What waited goes on one packet a call, so that each has its placement: the caller is told which is next. */
static void name_kept(const struct nic_qp *qp, struct nic_io *io)
{
    const struct selective *s = qp->selective;
    uint32_t known = s->kept[qp->epsn & s->mask];

    if (known && !qp->failing && qp->state != NIC_ERROR) io->kept = known - 1;
}

void responder_kept(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    bool changes_places = qp->selective->window != 0;
    uint32_t epsn = qp->epsn;
    uint16_t every = qp->ack_every;
    pkt_t id = take_kept(qp, io);

    if (id != PKT_NONE) {
        /* Those that may change places have been spoken of: one acknowledgement for all that waited. */
        if (changes_places) qp->ack_every = 0;
        in_order(nic, qp, id, now, io);
        qp->ack_every = every;
        if (qp->epsn == epsn) return; /* refused for now */
        name_kept(qp, io);
    }
    if (!changes_places || io->kept != PKT_NONE || qp->unacked == 0 || qp->failing || qp->state == NIC_ERROR) return;
    struct answer answer = {.psn = qp->epsn - 1, .syndrome = AETH_SYNDROME_ACK};
    responder_answer(nic, qp, PKT_NONE, &answer, io);
}

NO_CANARY void responder_rx(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];
    uint32_t psn = psn_wide(p->psn, qp->epsn);

    if (__builtin_expect(psn == qp->epsn && !qp->failing, 1)) {
        in_order(nic, qp, id, now, io);
    } else if (qp->failing && psn_diff(psn, qp->epsn) >= 0) {
        drop(nic, id, NIC_DROP_qp_state, io);
        return;
    } else if (psn_diff(psn, qp->epsn) > 0) {
        out_of_sequence(nic, qp, id, psn, now, io);
        return;
    } else if (qp->recovery == NIC_GO_BACK_0 && qp->rx_verb != RX_NONE && psn == qp->message_psn &&
               opcode_info(p->opcode)->flags & OP_FIRST) {
        qp->epsn = psn;
        qp->rx_verb = RX_NONE;
        in_order(nic, qp, id, now, io);
    } else {
        duplicate(nic, qp, id, psn, now, io);
        return;
    }
    if (qp->selective && qp->selective->kept_count) name_kept(qp, io);
}
