/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One adapter with QPs of every transport and recovery, and an owner and a peer who both do whatever the script says.
 *
 * The peer's packets are made by what an attacker who sees the connection could know: PSNs near those that the QP
 * expects or waits for, sometimes anywhere; opcodes of any transport; payloads around the MTU.  One step in five is
 * a burst of NAKs to a QP with work outstanding, since what they say together decides what is sent again: drawn like
 * the other packets, two that matter to each other would hardly ever meet.  The owner posts, changes states,
 * connects again, lets copies fail and time pass.  A packet that is not the adapter's at the end is lost: the pool
 * is counted.
 */
#include "nic/hostile.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/time.h"
#include "nic/nic.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"

#define QPS 7u
#define PACKETS 256u
#define RING 8u
#define CQ_SIZE 16u
#define SELECTIVE 64u
#define MTU 256u
#define PEER 9u
#define QKEY 0x1111u

struct end {
    struct nic_qp *qp;
    struct nic_qp_config config;
    struct nic_wr sq[RING];
    struct nic_recv rq[RING];
    struct nic_resource resource[4];
    void *selective;
};

struct rig {
    const uint8_t *script;
    size_t left;
    bool naks; /* instead of any packets */
    struct nic *nic;
    struct nic_io io;
    struct pktpool pool;
    struct nic_cq cq;
    struct nic_cqe cqe[CQ_SIZE];
    struct nic_srq srq;
    struct nic_recv shared[RING];
    struct end end[QPS];
    ps_t now;
    struct hostile_result result;
};

static void *zeroed(size_t bytes)
{
    size_t rounded = (bytes + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, rounded ? rounded : 64);
    CHECK(memory != NULL);
    return memset(memory, 0, rounded);
}

static uint32_t take(struct rig *rig)
{
    if (rig->left == 0) return 0;
    rig->left--;
    return *rig->script++;
}

static uint32_t take_wide(struct rig *rig)
{
    uint32_t word = take(rig) << 16;
    word |= take(rig) << 8;
    return word | take(rig);
}

static void set_up(struct rig *rig)
{
    struct nic_config config = nic_config_default(100000000000, 5);

    config.max_qps = QPS + 2;
    config.max_mrs = 8;
    config.nak_repeat_ps = 10 * PS_US;
    config.free_naks = rig->left & 2 ? 3 : 0;
    rig->nic = nic_init(zeroed(nic_memory_bytes(&config)), &config);
    rig->pool = (struct pktpool){.hot = zeroed(PACKETS * sizeof(struct pkt)),
                                 .cold = zeroed(PACKETS * sizeof(struct pkt_cold)),
                                 .free = zeroed(PACKETS * sizeof(pkt_t)),
                                 .free_capacity = PACKETS,
                                 .free_count = PACKETS};
    for (uint32_t i = 0; i < PACKETS; i++)
        rig->pool.free[i] = i;
    rig->io = (struct nic_io){.pool = &rig->pool};
    nic_cq_init(&rig->cq, rig->cqe, CQ_SIZE);
    nic_srq_init(&rig->srq, rig->shared, RING);
    struct nic_mr region = {.va = 0x10000,
                            .bytes = 1 << 20,
                            .key = 0x100,
                            .pd = 7,
                            .rights = NIC_REMOTE_ALL | NIC_LOCAL_WRITE | NIC_MW_BIND,
                            .live = true,
                            .fixed = true};
    struct nic_mr window = {.key = 0x200, .pd = 7, .live = true, .window = true, .type2 = true};
    CHECK(nic_mr_set(rig->nic, &region) == 0 && nic_mr_set(rig->nic, &window) == 0);
}

static void create(struct rig *rig, uint32_t i, bool born_reset)
{
    static const uint8_t transport[QPS] = {NIC_RC, NIC_RC, NIC_UC, NIC_UD, NIC_RC, NIC_RC, NIC_RC};
    static const uint8_t recovery[QPS] = {NIC_GO_BACK_N, NIC_GO_BACK_N, NIC_GO_BACK_N, NIC_GO_BACK_N,
                                          NIC_SELECTIVE, NIC_GO_BACK_0, NIC_SELECTIVE};
    struct end *end = &rig->end[i];
    struct nic_qp_config config = nic_qp_config_default();

    config.transport = transport[i];
    config.recovery = recovery[i];
    config.mtu = MTU;
    config.remote = PEER;
    config.remote_qp = 0x33;
    config.send_psn = 0xfffffc;
    config.expect_psn = 0xfffffe;
    config.qkey = QKEY;
    config.timeout = 4;
    config.retry = config.rnr_retry = 3;
    config.adaptive_ps = rig->left & 8 ? 10 * PS_US : 0;
    config.pd = 7;
    config.max_read = 2;
    config.send_cq = config.recv_cq = &rig->cq;
    config.sq = end->sq;
    config.sq_size = RING;
    config.born_reset = born_reset;
    if (i == 1) {
        config.srq = &rig->srq;
    } else {
        config.rq = end->rq;
        config.rq_size = RING;
    }
    if (config.transport == NIC_RC) {
        config.resource = end->resource;
        config.resource_size = 4;
    }
    if (end->selective == NULL) end->selective = zeroed(nic_selective_bytes(SELECTIVE));
    config.selective = config.recovery == NIC_SELECTIVE ? end->selective : NULL;
    config.selective_size = SELECTIVE;
    if (i == 6) { /* gaps are given time */
        config.reorder_window = rig->left & 4 ? 1 : 12;
        config.reorder_ps = 3 * PS_US;
    }
    end->config = config;
    CHECK(nic_qp_create(rig->nic, 0, &config, rig->now, &end->qp) == 0);
}

/* A PSN near one that matters to the QP, or any. */
static uint32_t some_psn(struct rig *rig, const struct nic_qp *qp)
{
    uint32_t how = take(rig);
    uint32_t base[] = {qp->epsn, qp->epsn, qp->una, qp->una, qp->nxt, qp->high, qp->post};

    if (how % 8 == 7) return take_wide(rig);
    return (base[how % 8] + (how >> 3) % 8 - (how & 0x40 ? 4 : 0)) & PSN_MASK;
}

static void fill_headers(struct rig *rig, pkt_t id, const struct opcode_info *info)
{
    static const uint32_t length[] = {0, 1, 8, MTU, MTU + 1, 4 * MTU, 100 * MTU, 0x7fffffff, 0x80000001, UINT32_MAX};
    struct pkt *p = &rig->pool.hot[id];
    uint32_t what = take(rig);

    if (info->flags & (OP_RETH | OP_ATOMICETH)) {
        p->rdma.rkey = what & 1 ? 0x100 : what & 2 ? 0x200 + (what >> 6) : what;
        p->rdma.va = what & 4 ? take_wide(rig) : 0x10000 + (what & 8);
        p->rdma.dma_bytes = length[what / 16 % 10];
        rig->pool.cold[id].swap = what;
    }
    if (info->flags & OP_AETH) {
        p->ack.syndrome = (uint8_t)(what & 0x80 ? take(rig) : what & 0x40 ? 0x60 | (what & 7) : 0x1f);
        p->ack.msn = what;
        p->ack.original = what & 1 ? take_wide(rig) : 0;
    }
    if (info->flags & OP_DETH) {
        p->ud.qkey = what & 7 ? QKEY : what;
        p->src_qp = take(rig);
    }
    if (info->flags & (OP_IMMDT | OP_IETH)) p->imm = what & 1 ? 0x200 + (what >> 5) : 0x100;
}

/* A request that the QP waits for, or an answer that it does: so that scripts get somewhere. */
static void honest(struct rig *rig, const struct nic_qp *qp, struct pkt *p)
{
    static const uint8_t begin[] = {OPCODE_RC_SEND_FIRST, OPCODE_RC_SEND_ONLY,    OPCODE_RC_SEND_ONLY_IMM,
                                    OPCODE_RC_WRITE_ONLY, OPCODE_RC_WRITE_FIRST,  OPCODE_RC_WRITE_ONLY_IMM,
                                    OPCODE_RC_FETCH_ADD,  OPCODE_RC_READ_REQUEST, OPCODE_RC_WRITE_FIRST};
    static const uint8_t send[] = {OPCODE_RC_SEND_MIDDLE, OPCODE_RC_SEND_LAST, OPCODE_RC_SEND_LAST_IMM};
    static const uint8_t write[] = {OPCODE_RC_WRITE_MIDDLE, OPCODE_RC_WRITE_LAST, OPCODE_RC_WRITE_LAST_IMM};
    const struct nic_wr *wr = wr_at(qp, qp->sq_head);
    uint32_t what = take(rig);

    p->src_node = PEER;
    p->dest_qp = qp->qpn;
    p->kind = PKT_ROCE;
    if (qp->transport == NIC_RC && what & 1 && qp->una != qp->high) {
        p->psn = (qp->una + (wr->verb < NIC_READ ? what >> 5 : 0)) & PSN_MASK; /* the one after may be refused too */
        p->opcode = wr->verb == NIC_READ  ? OPCODE_RC_READ_RESPONSE_ONLY
                    : wr->verb > NIC_READ ? OPCODE_RC_ATOMIC_ACK
                                          : OPCODE_RC_ACK;
        uint64_t left = wr->length - (uint64_t)(qp->una - wr->first_psn) * MTU;
        p->payload_bytes = (uint16_t)(wr->verb != NIC_READ ? 0 : left < MTU ? left : MTU);
        p->ack.syndrome = (uint8_t)(what & 0x10 ? take(rig) & 0x7f : 0x1f);
        return;
    }
    p->psn = qp->epsn & PSN_MASK;
    p->opcode = qp->rx_verb == RX_SEND    ? send[what / 2 % 3]
                : qp->rx_verb == RX_WRITE ? write[qp->rx_left > MTU ? 0 : 1 + what / 2 % 2]
                                          : begin[what / 2 % 9];
    uint16_t flags = opcode_info(p->opcode)->flags;
    p->payload_bytes = p->opcode < OPCODE_RC_READ_REQUEST ? (flags & OP_LAST ? 5 : MTU) : 0;
    if (qp->rx_verb == RX_WRITE && flags & OP_LAST) p->payload_bytes = (uint16_t)qp->rx_left;
    if (flags & (OP_RETH | OP_ATOMICETH)) {
        p->rdma.rkey = 0x100;
        p->rdma.va = 0x10000;
        p->rdma.dma_bytes =
            p->payload_bytes ? p->payload_bytes + (flags & OP_LAST ? 0 : what) + !(flags & OP_LAST) : what;
    }
    if (qp->transport == NIC_UC && p->opcode < OPCODE_RC_READ_REQUEST) p->opcode += 0x20;
    if (qp->transport != NIC_UD) return;
    p->opcode = OPCODE_UD_SEND_ONLY;
    p->ud.qkey = QKEY;
}

/* Memory is touched by a key that is good for it at this moment, or not at all. */
static void check_memory(const struct rig *rig, uint32_t key, uint64_t at, uint64_t bytes, uint8_t right)
{
    const struct nic_mr *mr = nic_mr_find(rig->nic, key);

    CHECK(bytes == 0 || (mr && mr->rights & right && at >= mr->va && at - mr->va + bytes <= mr->bytes));
}

static void check_place(const struct rig *rig, bool ud)
{
    CHECK(rig->io.place.kind == NIC_PLACE_NONE || ud || rig->io.place.bytes <= MTU);
    if (rig->io.place.kind == NIC_PLACE_RECV) CHECK(rig->io.place.offset + rig->io.place.bytes <= 3 * MTU);
    if (rig->io.place.kind == NIC_PLACE_MEMORY)
        check_memory(rig, rig->io.place.rkey, rig->io.place.va, rig->io.place.bytes, NIC_REMOTE_WRITE);
}

static void packet(struct rig *rig, struct nic_qp *qp)
{
    static const uint16_t payload[] = {0, 1, MTU, MTU, MTU, MTU - 1, MTU + 1, 4096, UINT16_MAX};
    pkt_t id = pktpool_get(&rig->pool);
    struct pkt *p = &rig->pool.hot[id];
    uint32_t shape = take(rig), opcode = take(rig), kind = qp->transport;

    CHECK(id != PKT_NONE);
    if (opcode < 0xe0)
        opcode = (kind == NIC_UD ? 0x64 + opcode % 2 : kind == NIC_UC ? 0x20 + opcode % 12 : opcode % 24);
    *p = (struct pkt){.kind = shape == 255 ? PKT_OTHER : PKT_ROCE,
                      .opcode = (uint8_t)(opcode == 0xe0   ? OPCODE_CNP
                                          : opcode == 0xe1 ? take(rig)
                                                           : opcode),
                      .flags = (uint8_t)(shape & 0x17),
                      .tos = (uint8_t)(shape & 3),
                      .dest_qp = shape == 254 ? take(rig) : qp->qpn,
                      .src_node = shape == 253 ? 77 : PEER,
                      .frame_bytes = 100,
                      .mark = (uint8_t)(!(shape & 0x40) ? 0
                                        : shape & 0x80  ? NIC_MARK_KEPT + take(rig) % 4
                                                        : qp->peer_mark),
                      .psn = some_psn(rig, qp),
                      .payload_bytes = payload[take(rig) % 9]};
    const struct opcode_info *info = opcode_info(p->opcode);
    rig->pool.cold[id] = (struct pkt_cold){.compare = 0};
    if (shape & 0x20)
        honest(rig, qp, p);
    else
        fill_headers(rig, id, info);
    rig->result.packets++;
    uint64_t before = nic_counters(rig->nic)->rx_payload_bytes;
    if (shape == 252 && kind == NIC_UD)
        nic_rx_to(rig->nic, qp, id, rig->now, &rig->io);
    else
        nic_rx(rig->nic, id, rig->now, &rig->io);
    rig->result.accepted += nic_counters(rig->nic)->rx_payload_bytes > before;
    if (rig->io.atomic.verb && shape % 16 == 9) {
        struct pkt response = {.opcode = OPCODE_RC_ATOMIC_ACK, .psn = (qp->epsn - 1) & PSN_MASK};
        nic_gather_failed(rig->nic, qp->qpn, &response, rig->now, &rig->io);
    } else if (rig->io.atomic.verb) {
        nic_atomic_done(rig->nic, rig->io.atomic.qpn, rig->io.atomic.slot, 5);
    }
    check_place(rig, kind == NIC_UD);
    if (shape % 16 == 9 && kind != NIC_UD) nic_place_failed(rig->nic, qp->qpn, rig->now, &rig->io);
    while (rig->io.kept != PKT_NONE) {
        CHECK(rig->io.keep == PKT_NONE);
        nic_rx_kept(rig->nic, qp->qpn, rig->now, &rig->io);
        CHECK(rig->io.atomic.verb == 0);
        check_place(rig, false);
        if (shape % 16 == 10) nic_place_failed(rig->nic, qp->qpn, rig->now, &rig->io);
    }
}

static void post(struct rig *rig, struct nic_qp *qp)
{
    static const uint32_t length[] = {0, 8, 1, MTU, 3 * MTU, 5 * MTU + 1, 40 * MTU, 8};
    uint32_t what = take(rig), how = take(rig);
    struct nic_wr wr = {.wr_id = how,
                        .verb = (uint8_t)(what % (NIC_VERBS + 1)),
                        .flags = (uint8_t)take(rig),
                        .length = length[how % 8],
                        .rkey = 0x100,
                        .remote_va = 0x10000,
                        .imm = 0x200 + (how >> 6),
                        .dest = PEER};
    if (wr.verb == NIC_BIND_MW) {
        wr.mw_key = 0x200 + (how >> 6);
        wr.new_key = 0x200 + (what >> 6);
        wr.imm = what % 8;
    }
    (void)nic_post_send(rig->nic, qp, &wr, rig->now, &rig->io);
}

static void receive(struct rig *rig, struct nic_qp *qp)
{
    struct nic_recv recv = {.wr_id = take(rig), .length = take(rig) % 4 * MTU};

    if (qp->srq) {
        (void)nic_srq_post(&rig->srq, &recv);
        rig->srq.limit = recv.wr_id % 4;
    } else {
        (void)nic_post_recv(rig->nic, qp, &recv, rig->now, &rig->io);
    }
}

static void transmit(struct rig *rig)
{
    uint32_t count = take(rig);

    for (uint32_t i = 0; i < 1 + count % 16; i++) {
        pkt_t id = nic_tx(rig->nic, rig->now, &rig->io);
        if (id == PKT_NONE) return;
        struct pkt p = rig->pool.hot[id];
        rig->result.sent++;
        if (rig->io.gather.bytes && rig->io.gather.read)
            check_memory(rig, rig->io.gather.rkey, rig->io.gather.local, rig->io.gather.bytes, NIC_REMOTE_READ);
        pktpool_put(&rig->pool, id);
        if (count < 0xc0 || rig->io.gather.bytes == 0) continue;
        /* whose it was is told by what the QP has just sent */
        for (uint32_t q = 0; q < QPS; q++) {
            const struct nic_qp *qp = rig->end[q].qp;
            bool response = !(opcode_info(p.opcode)->flags & OP_REQUEST);
            if (opcode_info(p.opcode)->transport != qp->transport || (qp->transport != NIC_UD && qp->sport != p.sport))
                continue;
            if (response ? responder_has_work(qp) : ((qp->nxt - 1) & PSN_MASK) == p.psn) {
                nic_gather_failed(rig->nic, qp->qpn, &p, rig->now, &rig->io);
                break;
            }
        }
    }
}

/* A PSN between the oldest that is outstanding and the newest, or beside them. */
static uint32_t psn_outstanding(struct rig *rig, const struct nic_qp *qp)
{
    uint32_t how = take(rig), span = qp->high - qp->una;

    return how < 0x60 || span == 0 ? qp->una + how % 3 : how < 0xf0 ? qp->una + how % span : qp->high + how % 2 - 1;
}

static void nak(struct rig *rig, const struct nic_qp *qp)
{
    static const uint8_t marks[] = {
        0, 0, NIC_MARK_KEPT, NIC_MARK_KEPT, NIC_MARK_NOT_KEPT, NIC_MARK_GAP, NIC_MARK_GAP, NIC_MARK_ALSO};
    uint32_t what = take(rig);
    pkt_t id = pktpool_get(&rig->pool);
    struct pkt *p = &rig->pool.hot[id];

    CHECK(id != PKT_NONE);
    *p = (struct pkt){.kind = PKT_ROCE,
                      .opcode = OPCODE_RC_ACK,
                      .dest_qp = qp->qpn,
                      .src_node = PEER,
                      .frame_bytes = 100,
                      .mark = marks[what % 8],
                      .psn = psn_outstanding(rig, qp) & PSN_MASK};
    p->ack.syndrome = (uint8_t)(what < 0x80   ? AETH_SYNDROME_NAK | NAK_PSN_SEQUENCE
                                : what < 0xc8 ? AETH_SYNDROME_RNR | (what / 8 % 2)
                                : what < 0xf8 ? AETH_SYNDROME_ACK
                                              : AETH_SYNDROME_NAK | (what / 2 % 4));
    p->ack.msn = psn_outstanding(rig, qp) & PSN_MASK;
    rig->result.packets++;
    rig->result.naks++;
    nic_rx(rig->nic, id, rig->now, &rig->io);
    nic_audit(rig->nic, &rig->pool);
}

/* Work is outstanding, and NAKs come for it; then what they led to is sent, at once or when its timer is over. */
static void naks(struct rig *rig, struct nic_qp *qp)
{
    uint32_t what = take(rig);

    if (qp->transport != NIC_RC) return;
    if (qp->una == qp->high) {
        post(rig, qp);
        transmit(rig);
    }
    for (uint32_t n = 0; n <= what % 4 && qp->una != qp->high && rig->pool.free_count > 2; n++)
        nak(rig, qp);
    if (what & 0x40 && nic_deadline(rig->nic) != PS_NEVER) {
        if (nic_deadline(rig->nic) > rig->now) rig->now = nic_deadline(rig->nic);
        nic_tick(rig->nic, rig->now, &rig->io);
        nic_audit(rig->nic, &rig->pool);
    }
    if (what & 0x80) transmit(rig);
}

/* All the way up again. */
static void connect_again(struct rig *rig, struct end *end)
{
    CHECK(nic_qp_modify(rig->nic, end->qp, NIC_RESET, rig->now, &rig->io) == 0);
    end->config.send_psn = take_wide(rig);
    end->config.expect_psn = take_wide(rig);
    CHECK(nic_qp_connect(rig->nic, end->qp, &end->config, rig->now) == 0);
    for (int state = NIC_INIT; state <= NIC_RTS; state++)
        CHECK(nic_qp_modify(rig->nic, end->qp, (enum nic_state)state, rig->now, &rig->io) == 0);
}

static void owner(struct rig *rig, uint32_t i)
{
    struct end *end = &rig->end[i];
    uint32_t what = take(rig);

    switch (what % 8) {
    case 0:
    case 1:
        (void)nic_qp_modify(rig->nic, end->qp, (enum nic_state)(what / 8 % 7), rig->now, &rig->io);
        break;
    case 2:
        connect_again(rig, end);
        break;
    case 3: {
        struct nic_qp_config config = end->config;
        config.timeout = (uint8_t)(what / 8 % 8);
        config.prio = (uint8_t)(what / 8 % 8);
        config.max_read = (uint8_t)(what / 32);
        (void)nic_qp_update(rig->nic, end->qp, &config, take_wide(rig), rig->now, &rig->io);
        break;
    }
    case 4:
        nic_qp_destroy(rig->nic, end->qp, &rig->io);
        create(rig, i, what & 0x80);
        break;
    case 7: { /* the region goes, or comes again */
        struct nic_mr region = {.va = 0x10000,
                                .bytes = 1 << (8 + what / 32),
                                .key = 0x100,
                                .pd = 7,
                                .rights = NIC_REMOTE_ALL | NIC_LOCAL_WRITE | NIC_MW_BIND,
                                .live = what & 0x10,
                                .fixed = what & 8};
        (void)nic_mr_set(rig->nic, &region);
        break;
    }
    case 5:
        rig->cq = (struct nic_cq){.slot = rig->cqe,
                                  .mask = CQ_SIZE - 1,
                                  .event_waits = rig->cq.event_waits,
                                  .event_next = rig->cq.event_next};
        break;
    default:
        rig->now += (ps_t)1 << (what / 8);
        nic_tick(rig->nic, rig->now, &rig->io);
        break;
    }
}

static void harvest(struct rig *rig)
{
    struct nic_event event;
    const struct nic_cqe *cqe;

    while (nic_event_next(rig->nic, &event)) {
        CHECK(event.kind > NIC_EVENT_NONE && event.kind < NIC_EVENTS);
        CHECK(event.srq == NULL || event.srq == &rig->srq);
        rig->result.events++;
    }
    while ((cqe = nic_cq_poll(&rig->cq))) {
        CHECK(cqe->status < NIC_STATUSES);
        rig->result.completions++;
        rig->result.errors += cqe->status != NIC_SUCCESS;
    }
}

static void step(struct rig *rig)
{
    uint32_t what = take(rig), i = what / 16 % QPS;
    enum nic_state state = nic_qp_state(rig->end[i].qp);

    if ((state < NIC_RTS || state > NIC_SQD) && take(rig) % 4 == 0) connect_again(rig, &rig->end[i]);
    switch (what % 16) {
    case 0:
    case 1:
        post(rig, rig->end[i].qp);
        break;
    case 2:
    case 3:
        receive(rig, rig->end[i].qp);
        break;
    case 4:
    case 5:
        transmit(rig);
        break;
    case 6:
        owner(rig, i);
        break;
    case 7:
        harvest(rig);
        break;
    case 8:
    case 9:
    case 10:
        naks(rig, rig->end[i].qp);
        break;
    default:
        (rig->naks ? naks : packet)(rig, rig->end[i].qp);
        break;
    }
    nic_audit(rig->nic, &rig->pool);
}

struct hostile_result hostile_run(const uint8_t *script, size_t bytes, bool only_naks)
{
    struct rig *rig = zeroed(sizeof(*rig));

    rig->script = script;
    rig->left = bytes;
    rig->naks = only_naks;
    set_up(rig);
    for (uint32_t i = 0; i < QPS; i++)
        create(rig, i, false);
    while (rig->left) {
        if (rig->pool.free_count < 8) transmit(rig); /* a pool that is used up is another test's */
        if (rig->pool.free_count < 2) break;
        step(rig);
    }
    harvest(rig);
    for (uint32_t i = 0; i < QPS; i++)
        nic_qp_destroy(rig->nic, rig->end[i].qp, &rig->io);
    for (pkt_t id; (id = nic_tx(rig->nic, rig->now, &rig->io)) != PKT_NONE;)
        pktpool_put(&rig->pool, id);
    CHECK(rig->pool.free_count == PACKETS); /* none lost, none given back twice */
    struct hostile_result result = rig->result;
    for (uint32_t i = 0; i < QPS; i++)
        free(rig->end[i].selective);
    free(rig->pool.hot);
    free(rig->pool.cold);
    free(rig->pool.free);
    free(rig->nic);
    free(rig);
    return result;
}
