/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What applications see beyond data transfer: a QP's states, asynchronous events, memory windows, copies
 * that fail.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/time.h"
#include "nic/rig.h"
#include "packet/opcode.h"

#define MTU 1024u

static void expect_event(int side, enum nic_event_kind kind, const struct nic_qp *qp)
{
    struct nic_event event;
    assert_true(nic_event_next(pair.nic[side], &event));
    assert_int_equal(event.kind, kind);
    assert_int_equal(event.qpn, qp ? nic_qp_number(qp) : 0);
}

static void expect_no_event(int side)
{
    struct nic_event event;
    assert_false(nic_event_next(pair.nic[side], &event));
}

static int modify(int side, enum nic_state state)
{
    return nic_qp_modify(pair.nic[side], end[side].qp, state, pair.now, &pair.io[side]);
}

/* One packet of `side`; PKT_NONE: none. */
static pkt_t transmit(int side)
{
    pkt_t id = nic_tx(pair.nic[side], pair.now, &pair.io[side]);
    return id;
}

static void deliver(int side, pkt_t id)
{
    assert_int_not_equal(id, PKT_NONE);
    nic_rx(pair.nic[side], id, pair.now, &pair.io[side]);
}

/* All that both have to say to each other, now. */
static void talk(void)
{
    for (bool said = true; said;) {
        said = false;
        for (int s = 0; s < 2; s++) {
            pkt_t id = transmit(s);
            if (id == PKT_NONE) continue;
            said = true;
            deliver(1 - s, id);
        }
    }
    nic_audit(pair.nic[0], &pair.pool);
    nic_audit(pair.nic[1], &pair.pool);
}

static struct nic_wr write_of(uint64_t wr_id, uint64_t length)
{
    return (struct nic_wr){.wr_id = wr_id, .verb = NIC_WRITE, .length = length, .flags = NIC_SIGNALED};
}

static struct nic_wr wr_of(enum nic_verb verb, uint64_t wr_id, uint64_t length)
{
    return (struct nic_wr){.wr_id = wr_id, .verb = (uint8_t)verb, .length = length, .flags = NIC_SIGNALED};
}

static void test_states(void **state)
{
    static struct nic_wr sq[4];
    static struct nic_recv rq[4];
    static struct nic_resource resource[4];
    struct nic_qp_config config = pair_qp_config();
    struct nic_wr wr = write_of(1, 10);
    struct nic_recv recv = {.wr_id = 5, .length = 100};
    struct nic_io *io = &pair.io[1];
    uint32_t send_psn, expect_psn;
    struct nic_qp *qp;

    (void)state;
    wr.rkey = 0x1234;
    wr.remote_va = 0x10000;
    rig_connect(&config);
    /* side 1's QP is born again, unconnected */
    config.sq = sq;
    config.rq = rq;
    config.sq_size = config.rq_size = 4;
    config.send_cq = &end[1].send_cq;
    config.recv_cq = &end[1].recv_cq;
    config.born_reset = true;
    uint32_t qpn = nic_qp_number(end[1].qp);
    nic_qp_destroy(pair.nic[1], end[1].qp, io);
    assert_int_equal(nic_qp_create(pair.nic[1], qpn, &config, 0, &qp), 0);
    end[1].qp = qp;
    assert_int_equal(nic_qp_state(qp), NIC_RESET);
    assert_int_equal(nic_post_recv(pair.nic[1], qp, &recv, 0, io), -EINVAL);
    assert_int_equal(modify(1, NIC_SQD), -EINVAL);
    assert_int_equal(modify(1, NIC_SQE), -EINVAL);
    assert_int_equal(modify(1, NIC_INIT), 0);
    assert_int_equal(nic_post_recv(pair.nic[1], qp, &recv, 0, io), 0);
    assert_int_equal(nic_post_send(pair.nic[1], qp, &wr, 0, io), -EINVAL);
    /* a packet before NIC_RTR is nobody's */
    pair_send(&pair, 0, &end[0], wr_of(NIC_SEND, 9, 10));
    deliver(1, transmit(0));
    assert_int_equal(nic_counters(pair.nic[1])->drop[NIC_DROP_qp_state], 1);
    config.remote = 10;
    config.remote_qp = nic_qp_number(end[0].qp);
    config.expect_psn = 0xfffff0;
    config.resource = resource;
    config.resource_size = 4;
    assert_int_equal(nic_qp_connect(pair.nic[1], qp, &config, 0), 0);
    assert_int_equal(modify(1, NIC_RTR), 0);
    assert_int_equal(nic_post_send(pair.nic[1], qp, &wr, 0, io), -EINVAL);
    pair_run(&pair, PS_NEVER); /* the timer repeats what was lost */
    expect_cqe(&end[1].recv_cq, 5, NIC_SUCCESS);
    expect_cqe(&end[0].send_cq, 9, NIC_SUCCESS);
    expect_event(1, NIC_EVENT_COMM_EST, qp);
    pair_send(&pair, 0, &end[0], wr_of(NIC_READ, 10, 3000)); /* READs are answered in NIC_RTR too */
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 10, NIC_SUCCESS);
    expect_no_event(1);
    config.send_psn = 0xfffffa;
    assert_int_equal(nic_qp_update(pair.nic[1], qp, &config, NIC_SET_SEND_PSN, 0, io), 0);
    assert_int_equal(modify(1, NIC_RTS), 0);
    assert_int_equal(nic_qp_update(pair.nic[1], qp, &config, NIC_SET_SEND_PSN, 0, io), -EINVAL);
    nic_qp_psns(qp, &send_psn, &expect_psn);
    assert_int_equal(send_psn, 0xfffffa);
    assert_int_equal(expect_psn, 0xfffff4);
    pair_send(&pair, 1, &end[1], wr);
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[1].send_cq, 1, NIC_SUCCESS);
    assert_int_equal(modify(1, NIC_INIT), -EINVAL);
    assert_int_equal(modify(1, NIC_RTR), -EINVAL);
    assert_int_equal(modify(1, NIC_ERROR), 0);
    assert_int_equal(modify(1, NIC_RTS), -EINVAL);
    assert_int_equal(nic_qp_connect(pair.nic[1], qp, &config, 0), -EINVAL);
    assert_int_equal(modify(1, NIC_RESET), 0);
    expect_empty(&end[1].recv_cq);
}

static void test_drain(void **state)
{
    struct nic_qp_config config = pair_qp_config();

    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], write_of(1, 20 * MTU));
    pair_send(&pair, 0, &end[0], wr_of(NIC_READ, 2, 3 * MTU));
    pair_send(&pair, 0, &end[0], write_of(3, 2 * MTU));
    pair_send(&pair, 0, &end[0], write_of(4, MTU));
    for (int i = 0; i < 22; i++) /* 20 packets of the first, the READ, one of the third */
        deliver(1, transmit(0));
    assert_int_equal(modify(0, NIC_SQD), 0);
    assert_int_equal(modify(0, NIC_SQD), 0);
    expect_no_event(0);
    pair_send(&pair, 0, &end[0], write_of(5, MTU));
    talk();
    for (uint64_t i = 1; i <= 3; i++)
        expect_cqe(&end[0].send_cq, i, NIC_SUCCESS);
    expect_empty(&end[0].send_cq);
    expect_event(0, NIC_EVENT_SQ_DRAINED, end[0].qp);
    expect_no_event(0);
    assert_int_equal(nic_qp_queued(end[0].qp), 2);
    assert_int_equal(modify(0, NIC_RTS), 0);
    talk();
    expect_cqe(&end[0].send_cq, 4, NIC_SUCCESS);
    expect_cqe(&end[0].send_cq, 5, NIC_SUCCESS);
    /* with nothing begun it is drained at once */
    assert_int_equal(modify(0, NIC_SQD), 0);
    expect_event(0, NIC_EVENT_SQ_DRAINED, end[0].qp);
    assert_int_equal(modify(0, NIC_ERROR), 0);
}

/* What was begun is finished in NIC_SQD though packets of it are lost. */
static void test_drain_with_loss(void **state)
{
    struct nic_qp_config config = pair_qp_config();

    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], write_of(1, 8 * MTU));
    pair_send(&pair, 0, &end[0], write_of(2, 8 * MTU));
    for (int i = 0; i < 5; i++) {
        pkt_t id = transmit(0);
        if (i == 2)
            pktpool_put(&pair.pool, id);
        else
            deliver(1, id);
    }
    assert_int_equal(modify(0, NIC_SQD), 0);
    pair.ask[0] = pair.ask[1] = true;
    pair_run(&pair, PS_S);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_empty(&end[0].send_cq);
    expect_event(0, NIC_EVENT_SQ_DRAINED, end[0].qp);
    assert_int_equal(nic_counters(pair.nic[0])->packet_seq_err, 1);
    assert_int_equal(nic_counters(pair.nic[0])->local_ack_timeout_err, 0);
    assert_int_equal(modify(0, NIC_RTS), 0);
    pair.ask[0] = true;
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 2, NIC_SUCCESS);
}

static void test_shared_receives(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct nic_recv slot[8], recv = {.length = 4 * MTU};
    struct nic_srq srq;
    struct nic_event event;
    uint64_t held = 0;

    (void)state;
    nic_srq_init(&srq, slot, 8);
    for (recv.wr_id = 1; recv.wr_id <= 4; recv.wr_id++)
        assert_int_equal(nic_srq_post(&srq, &recv), 0);
    srq.limit = 3;
    config.srq = &srq;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], wr_of(NIC_SEND, 1, 10));
    pair_send(&pair, 0, &end[0], wr_of(NIC_SEND, 2, 3 * MTU));
    deliver(1, transmit(0));
    expect_no_event(1);
    assert_false(nic_qp_held(end[1].qp, &held));
    deliver(1, transmit(0));
    assert_true(nic_event_next(pair.nic[1], &event));
    assert_int_equal(event.kind, NIC_EVENT_SRQ_LIMIT);
    assert_ptr_equal(event.srq, &srq);
    assert_int_equal(srq.limit, 0);
    assert_true(nic_qp_held(end[1].qp, &held));
    assert_int_equal(held, 2);
    /* in error the receive that was taken is flushed, and the others are the queue's */
    assert_int_equal(modify(1, NIC_ERROR), 0);
    expect_cqe(&end[1].recv_cq, 1, NIC_SUCCESS);
    expect_cqe(&end[1].recv_cq, 2, NIC_WR_FLUSH_ERR);
    expect_empty(&end[1].recv_cq);
    expect_event(1, NIC_EVENT_LAST_WQE, end[1].qp);
    assert_false(nic_qp_held(end[1].qp, &held));
    assert_int_equal(srq.tail - srq.head, 2);
    srq.limit = 8;
    assert_int_equal(modify(0, NIC_ERROR), 0);
    nic_srq_forget(pair.nic[1], &srq);
    expect_no_event(1);
    while (nic_event_next(pair.nic[0], &event))
        assert_int_equal(event.kind, NIC_EVENT_LAST_WQE);
}

static void test_events(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct nic_event event;
    struct nic_wr wr = write_of(1, 10);

    (void)state;
    rig_connect(&config);
    end[0].send_cq.mask = 1; /* room for two */
    for (int i = 0; i < 4; i++)
        pair_send(&pair, 0, &end[0], write_of(1, 10));
    talk();
    assert_true(end[0].send_cq.overrun);
    assert_true(nic_event_next(pair.nic[0], &event));
    assert_int_equal(event.kind, NIC_EVENT_CQ_OVERRUN);
    assert_ptr_equal(event.cq, &end[0].send_cq);
    expect_no_event(0);
    wr.rkey = 0x999;
    pair_send(&pair, 0, &end[0], wr);
    talk();
    expect_event(1, NIC_EVENT_QP_ACCESS, end[1].qp);
    expect_no_event(1);
    assert_int_equal(nic_qp_state(end[1].qp), NIC_ERROR);
    /* an event whose QP goes is not told */
    assert_int_equal(modify(0, NIC_RESET), 0);
    assert_int_equal(modify(0, NIC_RTR), 0);
    pkt_t id = pktpool_get(&pair.pool);
    pair.pool.hot[id] =
        (struct pkt){.kind = PKT_ROCE, .opcode = OPCODE_RC_ACK, .dest_qp = nic_qp_number(end[0].qp), .src_node = 11};
    deliver(0, id);
    nic_qp_destroy(pair.nic[0], end[0].qp, &pair.io[0]);
    nic_qp_destroy(pair.nic[1], end[1].qp, &pair.io[1]);
    free(end[0].selective);
    free(end[1].selective);
    connected = false;
    expect_no_event(0);
}

static struct nic_mr window_mr(uint32_t key, bool type2)
{
    return (struct nic_mr){.key = key, .pd = 7, .live = true, .window = true, .type2 = type2};
}

static struct nic_wr bind_of(uint64_t wr_id, uint32_t key, uint32_t new_key, uint64_t va, uint64_t bytes)
{
    struct nic_wr wr = wr_of(NIC_BIND_MW, wr_id, bytes);
    wr.mw_key = key;
    wr.new_key = new_key;
    wr.remote_va = va;
    wr.rkey = 0x500;
    wr.imm = NIC_REMOTE_WRITE;
    return wr;
}

static void regions(void)
{
    struct nic_mr region = {.va = 0x10000,
                            .bytes = 0x10000,
                            .key = 0x500,
                            .pd = 7,
                            .rights = NIC_MW_BIND | NIC_LOCAL_WRITE,
                            .live = true,
                            .fixed = true};
    struct nic_mr window[2] = {window_mr(0x600, true), window_mr(0x700, false)};

    assert_int_equal(nic_mr_set(pair.nic[1], &region), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(nic_mr_set(pair.nic[1], &window[i]), 0);
}

static void test_window(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct nic_wr wr = write_of(20, 100), invalidate = wr_of(NIC_LOCAL_INV, 3, 0);

    (void)state;
    rig_connect(&config);
    regions();
    /* bound only when the WRITE before it is complete */
    pair_send(&pair, 1, &end[1], write_of(1, 10));
    pair_send(&pair, 1, &end[1], bind_of(2, 0x600, 0x601, 0x12000, 0x100));
    assert_non_null(nic_mr_find(pair.nic[1], 0x600));
    assert_null(nic_mr_find(pair.nic[1], 0x601));
    talk();
    expect_cqe(&end[1].send_cq, 1, NIC_SUCCESS);
    const struct nic_cqe *cqe = nic_cq_poll(&end[1].send_cq);
    assert_non_null(cqe);
    assert_int_equal(cqe->verb, NIC_BIND_MW);
    assert_int_equal(cqe->bytes, 0);
    assert_null(nic_mr_find(pair.nic[1], 0x600));
    const struct nic_mr *bound = nic_mr_find(pair.nic[1], 0x601);
    assert_non_null(bound);
    assert_int_equal(bound->qpn, nic_qp_number(end[1].qp));
    assert_int_equal(bound->parent, 0x500);
    wr.rkey = 0x601;
    wr.remote_va = 0x12000 + 0x100 - 100;
    pair_send(&pair, 0, &end[0], wr);
    talk();
    expect_cqe(&end[0].send_cq, 20, NIC_SUCCESS);
    /* invalidated it allows nothing, and can be bound again; more of the same in one go */
    invalidate.imm = 0x601;
    pair_send(&pair, 1, &end[1], invalidate);
    expect_cqe(&end[1].send_cq, 3, NIC_SUCCESS);
    pair_send(&pair, 1, &end[1], bind_of(4, 0x601, 0x602, 0x10000, 0x10000));
    expect_cqe(&end[1].send_cq, 4, NIC_SUCCESS);
    wr = wr_of(NIC_SEND_INV, 21, 5);
    wr.imm = 0x602;
    pair_recv(&pair, 1, &end[1], 50, 100);
    pair_send(&pair, 0, &end[0], wr);
    talk();
    expect_cqe(&end[0].send_cq, 21, NIC_SUCCESS);
    cqe = nic_cq_poll(&end[1].recv_cq);
    assert_non_null(cqe);
    assert_true(cqe->invalidated && cqe->imm == 0x602);
    wr = write_of(22, 1);
    wr.rkey = 0x602;
    pair_send(&pair, 0, &end[0], wr);
    talk();
    expect_cqe(&end[0].send_cq, 22, NIC_REM_ACCESS_ERR);
}

static void test_window_refused(void **state)
{
    struct nic_wr bad[] = {bind_of(1, 0x600, 0x601, 0x0ffff, 0x100), bind_of(1, 0x600, 0x601, 0x1ff01, 0x100),
                           bind_of(1, 0x666, 0x601, 0x10000, 0x100), bind_of(1, 0x600, 0x700, 0x10000, 0x100),
                           bind_of(1, 0x500, 0x601, 0x10000, 0x100), bind_of(1, 0x600, 0x601, 0x10000, 0x100)};
    struct nic_qp_config config = pair_qp_config();

    (void)state;
    bad[5].rkey = 0x1234; /* a region without NIC_MW_BIND */
    rig_connect(&config);
    regions();
    /* type 1: bound anew without invalidation, unbound by length 0, not invalidated */
    pair_send(&pair, 1, &end[1], bind_of(7, 0x700, 0x701, 0x10000, 0x100));
    pair_send(&pair, 1, &end[1], bind_of(8, 0x701, 0x702, 0x10000, 0x10));
    pair_send(&pair, 1, &end[1], bind_of(9, 0x702, 0x700, 0x10000, 0));
    for (uint64_t i = 7; i <= 9; i++)
        expect_cqe(&end[1].send_cq, i, NIC_SUCCESS);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        pair_send(&pair, 1, &end[1], bad[i]);
        expect_cqe(&end[1].send_cq, 1, NIC_MW_BIND_ERR);
        assert_int_equal(nic_qp_state(end[1].qp), NIC_ERROR);
        assert_int_equal(modify(1, NIC_RESET), 0);
        assert_int_equal(modify(1, NIC_RTS), 0);
    }
    static const uint32_t key[] = {0x700, 0x500, 0x600, 0x4444}; /* type 1, fixed region, not bound, nothing */
    for (size_t i = 0; i < 4; i++) {
        struct nic_wr wr = wr_of(NIC_LOCAL_INV, 1, 0);
        wr.imm = key[i];
        pair_send(&pair, 1, &end[1], wr);
        expect_cqe(&end[1].send_cq, 1, NIC_LOC_QP_OP_ERR);
        assert_int_equal(modify(1, NIC_RESET), 0);
        assert_int_equal(modify(1, NIC_RTS), 0);
    }
}

static void fail_gather(int side, pkt_t id)
{
    struct pkt p = pair.pool.hot[id];

    assert_int_not_equal(id, PKT_NONE);
    pktpool_put(&pair.pool, id);
    nic_gather_failed(pair.nic[side], nic_qp_number(end[side].qp), &p, pair.now, &pair.io[side]);
    nic_audit(pair.nic[side], &pair.pool);
}

/* The second of three cannot be read, in its first or a later packet: the first completes, the third is flushed. */
static void test_gather_failed(void **state)
{
    (void)state;
    for (int packet = 0; packet < 3; packet++) {
        struct nic_qp_config config = pair_qp_config();
        rig_connect(&config);
        pair_send(&pair, 0, &end[0], write_of(1, 2 * MTU));
        pair_send(&pair, 0, &end[0], write_of(2, 3 * MTU));
        pair_send(&pair, 0, &end[0], write_of(3, MTU));
        for (int i = 0; i < 2 + packet; i++)
            deliver(1, transmit(0));
        fail_gather(0, transmit(0));
        assert_int_equal(transmit(0), PKT_NONE);
        talk();
        expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
        const struct nic_cqe *cqe = nic_cq_poll(&end[0].send_cq);
        assert_non_null(cqe);
        assert_int_equal(cqe->status, NIC_LOC_PROT_ERR);
        assert_int_equal(cqe->verb, NIC_WRITE);
        expect_cqe(&end[0].send_cq, 3, NIC_WR_FLUSH_ERR);
        assert_int_equal(nic_qp_state(end[0].qp), NIC_ERROR);
        pair_disconnect(&pair, end);
        connected = false;
        pair_release(&pair);
        pair_init_default(&pair, 4, 1);
    }
}

/* What was sent before it is lost: it is repeated before the failure is told. */
static void test_gather_failed_after_loss(void **state)
{
    struct nic_qp_config config = pair_qp_config();

    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], write_of(1, 2 * MTU));
    pair_send(&pair, 0, &end[0], write_of(2, MTU));
    pktpool_put(&pair.pool, transmit(0));
    pktpool_put(&pair.pool, transmit(0));
    fail_gather(0, transmit(0));
    pair.tick_at[0] = nic_deadline(pair.nic[0]);
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_cqe(&end[0].send_cq, 2, NIC_LOC_PROT_ERR);
    assert_int_equal(nic_counters(pair.nic[0])->local_ack_timeout_err, 1);
}

static void test_gather_failed_unreliable(void **state)
{
    (void)state;
    for (unsigned transport = NIC_UC; transport <= NIC_UD; transport++) {
        for (unsigned flags = 0; flags <= NIC_SIGNALED; flags++) {
            struct nic_qp_config config = pair_qp_config();
            config.transport = (uint8_t)transport;
            rig_connect(&config);
            struct nic_wr wr = wr_of(NIC_SEND, 1, 10);
            wr.flags = (uint8_t)flags;
            wr.dest = 11;
            wr.dest_qp = nic_qp_number(end[1].qp);
            pair_send(&pair, 0, &end[0], wr);
            wr.wr_id = 2;
            pair_send(&pair, 0, &end[0], wr);
            fail_gather(0, transmit(0));
            expect_cqe(&end[0].send_cq, 1, NIC_LOC_PROT_ERR);
            expect_cqe(&end[0].send_cq, 2, NIC_WR_FLUSH_ERR);
            assert_int_equal(nic_qp_state(end[0].qp), NIC_SQE);
            wr.wr_id = 3;
            pair_send(&pair, 0, &end[0], wr);
            expect_cqe(&end[0].send_cq, 3, NIC_WR_FLUSH_ERR);
            expect_empty(&end[0].send_cq);
            assert_int_equal(modify(0, NIC_INIT), -EINVAL);
            assert_int_equal(modify(0, NIC_SQD), -EINVAL);
            assert_int_equal(modify(0, NIC_RTS), 0);
            wr.flags = NIC_SIGNALED;
            pair_send(&pair, 0, &end[0], wr);
            deliver(1, transmit(0));
            expect_cqe(&end[0].send_cq, 3, NIC_SUCCESS);
            pair_disconnect(&pair, end);
            connected = false;
            pair_release(&pair);
            pair_init_default(&pair, 4, 1);
        }
    }
}

/* The second packet of a READ's answer cannot be read: the responder refuses and stops, the READ fails as remote
 * operation error. */
static void test_read_failed(void **state)
{
    struct nic_qp_config config = pair_qp_config();

    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], wr_of(NIC_READ, 1, 3 * MTU));
    deliver(1, transmit(0));
    deliver(0, transmit(1));
    fail_gather(1, transmit(1));
    expect_event(1, NIC_EVENT_QP_FATAL, end[1].qp);
    assert_int_equal(nic_qp_state(end[1].qp), NIC_ERROR);
    talk();
    expect_cqe(&end[0].send_cq, 1, NIC_REM_OP_ERR);
}

/* An atomic that cannot be performed: what was asked before it is answered, then it is refused. */
static void test_atomic_failed(void **state)
{
    struct nic_qp_config config = pair_qp_config();

    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], wr_of(NIC_READ, 1, 3 * MTU));
    pair_send(&pair, 0, &end[0], wr_of(NIC_CAS, 2, 8));
    deliver(1, transmit(0));
    pkt_t id = transmit(0);
    struct pkt response = {.opcode = OPCODE_RC_ATOMIC_ACK, .psn = pair.pool.hot[id].psn};
    deliver(1, id);
    assert_int_equal(pair.io[1].atomic.verb, NIC_CAS);
    nic_gather_failed(pair.nic[1], nic_qp_number(end[1].qp), &response, pair.now, &pair.io[1]);
    nic_audit(pair.nic[1], &pair.pool);
    talk();
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_cqe(&end[0].send_cq, 2, NIC_REM_OP_ERR);
    assert_int_equal(nic_qp_state(end[1].qp), NIC_ERROR);
}

static void fail_place(int side, pkt_t id, enum nic_place kind)
{
    deliver(side, id);
    assert_int_equal(pair.io[side].place.kind, kind);
    nic_place_failed(pair.nic[side], nic_qp_number(end[side].qp), pair.now, &pair.io[side]);
    assert_int_equal(nic_qp_state(end[side].qp), NIC_ERROR);
    nic_audit(pair.nic[side], &pair.pool);
}

/* A SEND, a WRITE and a WRITE with immediate that cannot be placed, in the middle of a message or at its end:
 * the requester learns of a remote operation error, the receive in use of a local protection error. */
static void test_place_failed(void **state)
{
    static const struct {
        enum nic_verb verb;
        int packet;
        bool receive; /* it completes */
        enum nic_status status;
        uint16_t ack_every;
    } of[] = {{NIC_SEND, 2, true, NIC_LOC_PROT_ERR, 16},     {NIC_SEND, 0, true, NIC_LOC_PROT_ERR, 16},
              {NIC_SEND, 2, true, NIC_LOC_PROT_ERR, 1},      {NIC_WRITE, 2, true, NIC_WR_FLUSH_ERR, 16},
              {NIC_WRITE, 1, true, NIC_WR_FLUSH_ERR, 1},     {NIC_WRITE_IMM, 2, true, NIC_LOC_PROT_ERR, 16},
              {NIC_WRITE_IMM, 1, true, NIC_WR_FLUSH_ERR, 16}};

    (void)state;
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        struct nic_qp_config config = pair_qp_config();
        config.ack_every = of[i].ack_every;
        rig_connect(&config);
        pair_recv(&pair, 1, &end[1], 40, 4 * MTU);
        pair_recv(&pair, 1, &end[1], 41, 4 * MTU);
        pair_send(&pair, 0, &end[0], write_of(1, 10));
        pair_send(&pair, 0, &end[0], wr_of(of[i].verb, 2, 3 * MTU));
        for (int n = 0; n < 1 + of[i].packet; n++)
            deliver(1, transmit(0));
        fail_place(1, transmit(0), of[i].verb == NIC_SEND ? NIC_PLACE_RECV : NIC_PLACE_MEMORY);
        talk();
        expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
        expect_cqe(&end[0].send_cq, 2, NIC_REM_OP_ERR);
        expect_cqe(&end[1].recv_cq, 40, of[i].status);
        expect_cqe(&end[1].recv_cq, 41, NIC_WR_FLUSH_ERR);
        expect_empty(&end[1].recv_cq);
        pair_disconnect(&pair, end);
        connected = false;
        pair_release(&pair);
        pair_init_default(&pair, 4, 1);
    }
}

/* The answer to our own READ or atomic cannot be placed: it fails as a local protection error, signaled or not, and
 * what was posted after it is flushed. */
static void test_response_failed(void **state)
{
    static const struct {
        enum nic_verb verb;
        int packet;
        uint8_t flags;
    } of[] = {{NIC_READ, 0, NIC_SIGNALED}, {NIC_READ, 2, NIC_SIGNALED}, {NIC_READ, 2, 0}, {NIC_CAS, 0, NIC_SIGNALED}};

    (void)state;
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        struct nic_qp_config config = pair_qp_config();
        rig_connect(&config);
        struct nic_wr wr = wr_of(of[i].verb, 1, of[i].verb == NIC_READ ? 3 * MTU : 8);
        wr.flags = of[i].flags;
        pair_send(&pair, 0, &end[0], wr);
        pair_send(&pair, 0, &end[0], write_of(2, 5));
        deliver(1, transmit(0));
        for (int n = 0; n < of[i].packet; n++)
            deliver(0, transmit(1));
        fail_place(0, transmit(1), of[i].verb == NIC_READ ? NIC_PLACE_READ : NIC_PLACE_ATOMIC);
        expect_cqe(&end[0].send_cq, 1, NIC_LOC_PROT_ERR);
        expect_cqe(&end[0].send_cq, 2, NIC_WR_FLUSH_ERR);
        expect_empty(&end[0].send_cq);
        pair_disconnect(&pair, end);
        connected = false;
        pair_release(&pair);
        pair_init_default(&pair, 4, 1);
    }
}

/* Under a window smaller than the distance of A bits nothing waits for a timer, and the window never runs dry. */
static void test_small_window(void **state)
{
    static const uint32_t window[] = {1, 2, 3, 8, 33};

    (void)state;
    for (size_t i = 0; i < sizeof(window) / sizeof(window[0]); i++) {
        struct nic_qp_config config = pair_qp_config();
        config.window_packets = window[i];
        config.ack_request_every = i % 2 ? 0 : 64;
        config.ack_every = 0;
        rig_connect(&config);
        pair_send(&pair, 0, &end[0], write_of(1, 200 * MTU));
        pair_run(&pair, PS_NEVER);
        expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
        assert_int_equal(nic_counters(pair.nic[0])->local_ack_timeout_err, 0);
        assert_int_equal(nic_counters(pair.nic[0])->retransmitted_packets, 0);
        /* 2 us there and back is 24 packets of 84 ns: a window of 33 keeps the line busy */
        if (window[i] == 33) assert_true(pair.seen[pair.seen_count - 1].at < 200 * 92 * PS_NS + 2 * PS_US);
        pair_disconnect(&pair, end);
        connected = false;
        pair_release(&pair);
        pair_init_default(&pair, 4, 1);
    }
}

static void test_update(void **state)
{
    struct nic_qp_config config = pair_qp_config(), other = config;
    struct nic_wr wr = write_of(1, 10);

    (void)state;
    rig_connect(&config);
    other.timeout = 0;
    other.tos = 26 << 2;
    other.prio = 3;
    other.remote = 11;
    other.access = NIC_REMOTE_READ;
    other.qkey = 5;
    pair_send(&pair, 0, &end[0], wr);
    assert_int_equal(nic_qp_update(pair.nic[0], end[0].qp, &other, NIC_SET_PATH | NIC_SET_TIMEOUT, 0, &pair.io[0]), 0);
    nic_audit(pair.nic[0], &pair.pool);
    pkt_t id = transmit(0);
    assert_int_not_equal(id, PKT_NONE);
    assert_int_equal(pair.pool.hot[id].tos >> 2, 26);
    assert_int_equal(nic_deadline(pair.nic[0]), PS_NEVER); /* no timer was asked for */
    /* and one is from here on, for what is under way too */
    other.timeout = 5;
    assert_int_equal(nic_qp_update(pair.nic[0], end[0].qp, &other, NIC_SET_TIMEOUT, 0, &pair.io[0]), 0);
    assert_int_equal(nic_deadline(pair.nic[0]), 131072 * PS_NS);
    assert_int_equal(nic_qp_update(pair.nic[1], end[1].qp, &other, NIC_SET_ACCESS, 0, &pair.io[1]), 0);
    deliver(1, id);
    talk();
    expect_cqe(&end[0].send_cq, 1, NIC_REM_INV_REQ_ERR);
    assert_int_equal(nic_qp_update(pair.nic[0], end[0].qp, &other, NIC_SET_QKEY, 0, &pair.io[0]), -EINVAL);
}

static void test_multicast_copy(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct nic_wr wr = wr_of(NIC_SEND, 1, 10);

    (void)state;
    config.transport = NIC_UD;
    rig_connect(&config);
    pair_recv(&pair, 1, &end[1], 7, 100);
    wr.dest = 11;
    wr.dest_qp = 0xffffff;
    wr.qkey = config.qkey;
    pair_send(&pair, 0, &end[0], wr);
    nic_rx_to(pair.nic[1], end[1].qp, transmit(0), 0, &pair.io[1]);
    assert_int_equal(pair.io[1].place.kind, NIC_PLACE_RECV);
    assert_int_equal(pair.io[1].place.offset, 40);
    expect_cqe(&end[1].recv_cq, 7, NIC_SUCCESS);
}

/* Datagrams of one queue pair have the priorities and DSCPs of their addresses: one that is paused stops it until it
 * may go. */
static void test_datagram_priorities(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    const uint16_t forever[NIC_PRIOS] = {[3] = 0xffff}, resume[NIC_PRIOS] = {0};
    struct nic_wr wr = wr_of(NIC_SEND, 1, 10);

    (void)state;
    config.transport = NIC_UD;
    rig_connect(&config);
    wr.dest = 11;
    wr.dest_qp = 0x77;
    wr.prio = NIC_PRIOS;
    assert_int_equal(nic_post_send(pair.nic[0], end[0].qp, &wr, 0, &pair.io[0]), -EINVAL);
    nic_pause(pair.nic[0], 1 << 3, forever, 0, &pair.io[0]);
    for (unsigned i = 0; i < 3; i++) {
        wr.wr_id = i;
        wr.prio = i == 1 ? 3 : 5;
        wr.tos = i == 1 ? 26 << 2 : 0;
        pair_send(&pair, 0, &end[0], wr);
    }
    const struct nic_counters *counters = nic_counters(pair.nic[0]);
    pkt_t id = nic_tx(pair.nic[0], 0, &pair.io[0]);
    assert_int_equal(pair.pool.hot[id].pcp, 5);
    assert_int_equal(counters->prio[5].tx_packets, 1);
    pktpool_put(&pair.pool, id);
    assert_int_equal(nic_tx(pair.nic[0], 0, &pair.io[0]), PKT_NONE);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
    nic_pause(pair.nic[0], 1 << 3, resume, 0, &pair.io[0]);
    for (unsigned i = 1; i < 3; i++) {
        id = nic_tx(pair.nic[0], 0, &pair.io[0]);
        assert_int_equal(pair.pool.hot[id].pcp, i == 1 ? 3 : 5);
        assert_int_equal(pair.pool.hot[id].tos >> 2, i == 1 ? 26 : 0);
        pktpool_put(&pair.pool, id);
        expect_cqe(&end[0].send_cq, i, NIC_SUCCESS);
    }
    assert_int_equal(counters->prio[3].tx_packets, 1);
    nic_audit(pair.nic[0], &pair.pool);
}

int main(void)
{
#define IN_RIG(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)
    const struct CMUnitTest tests[] = {
        IN_RIG(test_states),
        IN_RIG(test_drain),
        IN_RIG(test_drain_with_loss),
        IN_RIG(test_shared_receives),
        IN_RIG(test_events),
        IN_RIG(test_window),
        IN_RIG(test_window_refused),
        IN_RIG(test_gather_failed),
        IN_RIG(test_gather_failed_after_loss),
        IN_RIG(test_gather_failed_unreliable),
        IN_RIG(test_read_failed),
        IN_RIG(test_atomic_failed),
        IN_RIG(test_place_failed),
        IN_RIG(test_response_failed),
        IN_RIG(test_small_window),
        IN_RIG(test_update),
        IN_RIG(test_multicast_copy),
        IN_RIG(test_datagram_priorities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
