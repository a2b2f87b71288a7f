/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a peer, or a stranger, may not do to an adapter: touch memory whose key has gone, end what is not its own,
 * slow a connection down, take the packet pool, lose an acknowledgement that waits.  And what an owner can
 * rely on: a reset forgets, posts have a limit, deadlines are told.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nic/lone.h"

static void test_write_key_gone(void **state)
{
    (void)state;
    start();
    give_rdma(OPCODE_RC_WRITE_FIRST, 0, MTU, KEY, VA, 4 * MTU);
    assert_int_equal(io.place.kind, NIC_PLACE_MEMORY);
    expect_out(OPCODE_RC_ACK, 0, 0x1f);
    give(packet(OPCODE_RC_WRITE_MIDDLE, 1, MTU));
    assert_int_equal(io.place.kind, NIC_PLACE_MEMORY);
    expect_out(OPCODE_RC_ACK, 1, 0x1f);
    region(0, false);
    give(packet(OPCODE_RC_WRITE_MIDDLE, 2, MTU));
    assert_int_equal(io.place.kind, NIC_PLACE_NONE);
    expect_out(OPCODE_RC_ACK, 2, NAK_ACCESS);
    assert_int_equal(nic_qp_state(qp), NIC_ERROR);
}

/* The last packet, with an immediate: refused before a receive is taken. */
static void test_write_key_less(void **state)
{
    struct nic_recv recv = {.wr_id = 5, .length = 10};

    (void)state;
    start();
    assert_int_equal(nic_post_recv(nic, qp, &recv, now, &io), 0);
    give_rdma(OPCODE_RC_WRITE_FIRST, 0, MTU, KEY, VA, 2 * MTU);
    expect_out(OPCODE_RC_ACK, 0, 0x1f);
    region(NIC_REMOTE_READ, true);
    give(packet(OPCODE_RC_WRITE_LAST_IMM, 1, MTU));
    assert_int_equal(io.place.kind, NIC_PLACE_NONE);
    expect_out(OPCODE_RC_ACK, 1, NAK_ACCESS);
    const struct nic_cqe *cqe = nic_cq_poll(&cq);
    assert_non_null(cqe);
    assert_int_equal(cqe->status, NIC_WR_FLUSH_ERR);
}

static void test_uc_write_key_gone(void **state)
{
    (void)state;
    qp_config.transport = NIC_UC;
    qp_config.resource = NULL;
    qp_config.resource_size = 0;
    start();
    give_rdma(OPCODE_UC_WRITE_FIRST, 0, MTU, KEY, VA, 3 * MTU);
    assert_int_equal(io.place.kind, NIC_PLACE_MEMORY);
    region(0, false);
    give(packet(OPCODE_UC_WRITE_MIDDLE, 1, MTU));
    assert_int_equal(io.place.kind, NIC_PLACE_NONE);
    region(NIC_REMOTE_ALL, true);
    give(packet(OPCODE_UC_WRITE_LAST, 2, MTU)); /* of a message that is lost */
    assert_int_equal(io.place.kind, NIC_PLACE_NONE);
    assert_int_equal(nic_qp_state(qp), NIC_RTS);
}

static void test_read_key_gone(void **state)
{
    struct nic_event event;

    (void)state;
    start();
    give_rdma(OPCODE_RC_READ_REQUEST, 0, 0, KEY, VA, 3 * MTU);
    expect_out(OPCODE_RC_READ_RESPONSE_FIRST, 0, 0);
    assert_int_equal(io.gather.bytes, MTU);
    region(0, false);
    expect_out(OPCODE_RC_ACK, 1, NAK_ACCESS);
    assert_int_equal(io.gather.bytes, 0);
    expect_nothing();
    assert_int_equal(nic_qp_state(qp), NIC_ERROR);
    assert_true(nic_event_next(nic, &event));
    assert_int_equal(event.kind, NIC_EVENT_QP_ACCESS);
}

/* A READ asked for again is answered for what is asked, if that is part of what was asked before. */
static void test_read_again(void **state)
{
    (void)state;
    start();
    give_rdma(OPCODE_RC_READ_REQUEST, 0, 0, KEY, VA, 4 * MTU);
    for (int i = 0; i < 4; i++)
        assert_non_null(out());
    give_rdma(OPCODE_RC_READ_REQUEST, 0, 0, 0xdead, VA, 0);
    expect_nothing();
    give_rdma(OPCODE_RC_READ_REQUEST, 0, 0, KEY, VA, 0);
    expect_nothing();
    give_rdma(OPCODE_RC_READ_REQUEST, 1, 0, KEY, VA + MTU, 3 * MTU + 1);
    expect_nothing();
    give_rdma(OPCODE_RC_READ_REQUEST, 1, 0, KEY, VA + MTU, MTU);
    expect_out(OPCODE_RC_READ_RESPONSE_ONLY, 1, 0);
    expect_nothing();
    give_rdma(OPCODE_RC_READ_REQUEST, 1, 0, KEY, VA + MTU, MTU + 10);
    expect_out(OPCODE_RC_READ_RESPONSE_FIRST, 1, 0);
    expect_out(OPCODE_RC_READ_RESPONSE_LAST, 2, 0);
    assert_int_equal(io.gather.bytes, 10);
    expect_nothing();
    region(NIC_REMOTE_WRITE, true);
    /* a copy that comes late: its answer was out before the memory went, so it says nothing of the connection */
    give_rdma(OPCODE_RC_READ_REQUEST, 3, 0, KEY, VA + 3 * MTU, MTU);
    expect_nothing();
    assert_int_equal(nic_qp_state(qp), NIC_RTS);
    give_rdma(OPCODE_RC_READ_REQUEST, 4, 0, KEY, VA, MTU);
    expect_out(OPCODE_RC_ACK, 4, NAK_ACCESS);
}

/* A reset forgets what the old connection was asked, its tries, and how slow it had become. */
static void test_reset_forgets(void **state)
{
    static struct cc_config cc;
    struct nic_wr wr = {.verb = NIC_WRITE, .length = 4};

    (void)state;
    assert_int_equal(cc_preset("dcqcn/paper", &cc), 0);
    qp_config.cc = &cc;
    qp_config.retry = 1;
    qp_config.timeout = 1;
    start();
    give_rdma(OPCODE_RC_READ_REQUEST, 0, 0, KEY, VA, 10 * MTU);
    while (out())
        continue;
    give(packet(OPCODE_CNP, 0, 16));
    assert_true(nic_qp_rate(qp) < config.line_bps);
    assert_int_equal(nic_post_send(nic, qp, &wr, now, &io), 0);
    for (int i = 0; i < 100 && nic_counters(nic)->local_ack_timeout_err == 0; i++) {
        now = nic_deadline(nic);
        nic_tick(nic, now, &io);
        (void)out();
    }
    assert_int_equal(qp->retry_left, 0);
    assert_int_equal(nic_qp_modify(nic, qp, NIC_RESET, now, &io), 0);
    assert_int_equal(qp->retry_left, 1);
    assert_int_equal(nic_qp_rate(qp), config.line_bps);
    qp_config.mtu = 4096;
    qp_config.expect_psn = 50;
    assert_int_equal(nic_qp_connect(nic, qp, &qp_config, now), 0);
    assert_int_equal(nic_qp_modify(nic, qp, NIC_RTS, now, &io), 0);
    give_rdma(OPCODE_RC_READ_REQUEST, 9, 0, KEY, VA + 9 * 4096, 0);
    expect_nothing();
}

static void invalidate(uint8_t rights, bool fixed, bool allowed)
{
    struct nic_mr mr = {.va = VA, .bytes = 100, .key = 0x200, .pd = 7, .rights = rights, .live = true, .fixed = fixed};
    struct nic_recv recv = {.length = 100};
    struct pkt p;

    assert_int_equal(nic_qp_modify(nic, qp, NIC_RESET, now, &io), 0);
    assert_int_equal(nic_qp_connect(nic, qp, &qp_config, now), 0);
    assert_int_equal(nic_qp_modify(nic, qp, NIC_RTS, now, &io), 0);
    assert_int_equal(nic_mr_set(nic, &mr), 0);
    assert_int_equal(nic_post_recv(nic, qp, &recv, now, &io), 0);
    p = packet(OPCODE_RC_SEND_ONLY_INV, 0, 4);
    p.imm = 0x200;
    give(p);
    expect_out(OPCODE_RC_ACK, 0, allowed ? 0x1f : NAK_ACCESS);
    assert_int_equal(nic_mr_find(nic, 0x200) == NULL, allowed);
}

static void test_invalidate_needs_right(void **state)
{
    (void)state;
    start();
    invalidate(NIC_REMOTE_ALL, false, false);
    invalidate(NIC_REMOTE_ALL | NIC_REMOTE_INVALIDATE, true, false);
    invalidate(NIC_REMOTE_INVALIDATE, false, true);
}

static void test_strange_cnp(void **state)
{
    static struct cc_config cc;
    struct pkt p;

    (void)state;
    assert_int_equal(cc_preset("dcqcn/paper", &cc), 0);
    qp_config.cc = &cc;
    start();
    p = packet(OPCODE_CNP, 0, 16);
    p.src_node = 66;
    give(p);
    assert_int_equal(nic_qp_rate(qp), config.line_bps);
    assert_int_equal(nic_counters(nic)->drop[NIC_DROP_wrong_peer], 1);
}

/* A copy of an old WRITE comes while the ACK of a later one waits: that ACK stays, and no second one is made. */
static void test_ack_not_moved_back(void **state)
{
    (void)state;
    start();
    give_rdma(OPCODE_RC_WRITE_ONLY, 0, 4, KEY, VA, 4);
    assert_non_null(out());
    give_rdma(OPCODE_RC_READ_REQUEST, 1, 0, KEY, VA, 4);
    assert_non_null(out());
    give_rdma(OPCODE_RC_WRITE_ONLY, 2, 4, KEY, VA, 4);
    give_rdma(OPCODE_RC_WRITE_ONLY, 0, 4, KEY, VA, 4);
    expect_out(OPCODE_RC_ACK, 2, 0x1f);
    expect_nothing();
}

/* While the port is paused a peer repeats a SEND that finds no receive: one RNR NAK waits, in one packet. */
static void test_pool_not_taken(void **state)
{
    uint16_t quanta[NIC_PRIOS] = {65535};

    (void)state;
    start();
    nic_pause(nic, 1, quanta, now, &io);
    for (int i = 0; i < 1000; i++)
        give(packet(OPCODE_RC_SEND_ONLY, 0, 4));
    assert_int_equal(pool.free_count, POOL - 1);
    quanta[0] = 0;
    nic_pause(nic, 1, quanta, now, &io);
    expect_out(OPCODE_RC_ACK, 0, 0x20 | qp_config.min_rnr_timer);
    expect_nothing();
    /* and the next one is a new one */
    give(packet(OPCODE_RC_SEND_ONLY, 0, 4));
    expect_out(OPCODE_RC_ACK, 0, 0x20 | qp_config.min_rnr_timer);
}

/* As its peer in selective repeat sends it, and what waited for it. */
static void give_marked(uint8_t opcode, uint32_t psn, uint16_t payload, uint32_t length)
{
    struct pkt p = packet(opcode, psn, payload);

    p.mark = qp->peer_mark;
    p.rdma.rkey = KEY;
    p.rdma.va = VA;
    p.rdma.dma_bytes = length;
    give(p);
    while (io.kept != PKT_NONE)
        nic_rx_kept(nic, nic_qp_number(qp), now, &io);
}

static void test_selective_naks_bounded(void **state)
{
    uint16_t quanta[NIC_PRIOS] = {65535};

    (void)state;
    start_selective();
    nic_pause(nic, 1, quanta, now, &io);
    for (uint32_t i = 0; i < 1000; i++)
        give_marked(OPCODE_RC_COMPARE_SWAP, 1 + i % 60, 0, 0); /* never kept, each is answered */
    assert_int_equal(pool.free_count, POOL - NAKS_WAITING);
    quanta[0] = 0;
    nic_pause(nic, 1, quanta, now, &io);
    uint32_t naks = 0;
    while (out())
        naks++;
    assert_int_equal(naks, NAKS_WAITING);
    assert_int_equal(pool.free_count, POOL);
}

static void test_reserved_operation(void **state)
{
    (void)state;
    start();
    give(packet(0x1f, 5, 0));
    expect_nothing();
    give(packet(0x1f, 0, 0));
    expect_out(OPCODE_RC_ACK, 0, NAK_INVALID);
    assert_int_equal(nic_qp_state(qp), NIC_ERROR);
}

static void test_post_limit(void **state)
{
    struct nic_wr wr = {.verb = NIC_WRITE, .length = NIC_LENGTH_MAX};
    uint32_t posted = 0;

    (void)state;
    start();
    while (nic_post_send(nic, qp, &wr, now, &io) == 0)
        posted++;
    assert_int_equal(posted, (1u << 30) / (uint32_t)(NIC_LENGTH_MAX / MTU));
    assert_int_equal(nic_post_send(nic, qp, &wr, now, &io), -ENOMEM);
    nic_audit(nic, &pool);
}

/* A datagram without the Q_Key makes no CNP. */
static void test_ud_mark(void **state)
{
    struct pkt p;

    (void)state;
    qp_config.transport = NIC_UD;
    qp_config.qkey = 5;
    qp_config.resource = NULL;
    qp_config.resource_size = 0;
    start();
    p = packet(OPCODE_UD_SEND_ONLY, 0, 4);
    p.tos = PKT_ECN_CE;
    p.ud.qkey = 6;
    give(p);
    expect_nothing();
    p.ud.qkey = 5;
    give(p);
    expect_out(OPCODE_CNP, 0, 0);
}

static void test_deadlines(void **state)
{
    struct nic_recv recv = {.length = 4};
    struct nic_wr wr = {.verb = NIC_WRITE, .length = 4};

    (void)state;
    start();
    assert_int_equal(nic_post_send(nic, qp, &wr, now, &io), 0);
    assert_non_null(out());
    io.deadline = 1;
    assert_int_equal(nic_post_recv(nic, qp, &recv, now, &io), 0);
    assert_int_equal(io.deadline, nic_deadline(nic));
    assert_true(io.deadline != PS_NEVER);
    assert_int_equal(nic_qp_modify(nic, qp, NIC_ERROR, now, &io), 0);
    assert_true(io.deadline == PS_NEVER);
    io.deadline = 1;
    assert_int_equal(nic_post_send(nic, qp, &wr, now, &io), 0);
    assert_true(io.deadline == PS_NEVER);
    io.deadline = 1;
    nic_qp_destroy(nic, qp, &io);
    assert_true(io.deadline == PS_NEVER);
}

/* Go-back-0: a refusal while one is waited out already moves the message back once more, and what is sent next too. */
static void test_back_to_0_twice(void **state)
{
    struct nic_wr wr = {.verb = NIC_SEND, .length = 4 * MTU};
    struct pkt answer;

    (void)state;
    qp_config.recovery = NIC_GO_BACK_0;
    start();
    assert_int_equal(nic_post_send(nic, qp, &wr, now, &io), 0);
    while (out())
        continue;
    answer = packet(OPCODE_RC_ACK, 2, 0);
    answer.ack.syndrome = 0x21;
    give(answer);
    answer.psn = 1;
    answer.ack.syndrome = 0x1f;
    give(answer); /* late */
    answer.psn = 0;
    answer.ack.syndrome = 0x21;
    give(answer);
    nic_audit(nic, &pool);
    now = nic_deadline(nic);
    nic_tick(nic, now, &io);
    expect_out(OPCODE_RC_SEND_FIRST, 0, 0);
}

/* A packet is kept, then a READ before it takes its PSN too: what is kept is given back when that PSN's place is used
 * again, and the connection goes on. */
static void test_kept_overtaken(void **state)
{
    (void)state;
    start_selective();
    give_marked(OPCODE_RC_WRITE_ONLY, 1, 4, 4);
    give_marked(OPCODE_RC_READ_REQUEST, 0, 0, 10 * MTU);
    while (out())
        continue;
    for (uint32_t psn = 10; psn < 65; psn++) {
        give_marked(OPCODE_RC_WRITE_ONLY, psn, 4, 4);
        while (out())
            continue;
    }
    assert_int_equal(qp->epsn, 65);
    assert_int_equal(qp->selective->kept_count, 0);
}

/* The packet waits, its payload is the caller's to keep, and each is answered by a call of its own. */
static void test_kept_payload(void **state)
{
    struct pkt p;

    (void)state;
    start_selective();
    p = packet(OPCODE_RC_WRITE_LAST, 2, 4);
    p.mark = qp->peer_mark;
    give(p);
    pkt_t last = io.keep;
    assert_int_not_equal(last, PKT_NONE);
    assert_int_equal(io.place.kind, NIC_PLACE_NONE);
    const struct pkt *nak = out();
    assert_non_null(nak);
    assert_int_equal(nak->ack.syndrome, 0x60);
    assert_int_equal(nak->ack.msn, 2); /* the packet that came after the gap */
    assert_int_equal(nak->mark, NIC_MARK_KEPT);
    p = packet(OPCODE_RC_WRITE_MIDDLE, 1, MTU);
    p.mark = qp->peer_mark;
    give(p);
    pkt_t middle = io.keep;
    assert_int_not_equal(middle, PKT_NONE);
    expect_out(OPCODE_RC_ACK, 0, 0x60);
    give_rdma(OPCODE_RC_WRITE_FIRST, 0, MTU, KEY, VA, 2 * MTU + 4);
    assert_int_equal(io.place.va, VA);
    assert_int_equal(io.kept, middle);
    nic_rx_kept(nic, nic_qp_number(qp), now, &io);
    assert_int_equal(io.place.kind, NIC_PLACE_MEMORY);
    assert_int_equal(io.place.va, VA + MTU);
    assert_int_equal(io.kept, last);
    nic_rx_kept(nic, nic_qp_number(qp), now, &io);
    assert_int_equal(io.place.va, VA + 2 * MTU);
    assert_int_equal(io.place.bytes, 4);
    assert_int_equal(io.kept, PKT_NONE);
    expect_out(OPCODE_RC_ACK, 2, 0x1f);
}

/* A peer that does not say that it understands gets go-back-N, and an MSN where an MSN belongs. */
static void test_foreign_peer(void **state)
{
    (void)state;
    start_selective();
    give_rdma(OPCODE_RC_WRITE_ONLY, 0, 4, KEY, VA, 4);
    expect_out(OPCODE_RC_ACK, 0, 0x1f);
    give_rdma(OPCODE_RC_WRITE_ONLY, 2, 4, KEY, VA, 4);
    assert_int_equal(io.keep, PKT_NONE);
    const struct pkt *nak = out();
    assert_non_null(nak);
    assert_int_equal(nak->ack.syndrome, 0x60);
    assert_int_equal(nak->ack.msn, 1);
    assert_int_equal(nak->mark, 0);
    give_rdma(OPCODE_RC_WRITE_ONLY, 3, 4, KEY, VA, 4);
    expect_nothing();
    assert_int_equal(pool.free_count, POOL);
}

/* Who does not know how the connection began cannot have a packet kept in the place of the genuine one. */
static void test_kept_needs_the_mark(void **state)
{
    uint32_t kept = 0;

    (void)state;
    qp_config.expect_psn = 1234567;
    start_selective();
    for (unsigned mark = 0; mark < 128; mark++) {
        struct pkt p = packet(OPCODE_RC_SEND_ONLY, 1234567 + 1 + mark % 60, 1);
        p.mark = (uint8_t)mark;
        give(p);
        kept += io.keep != PKT_NONE;
        assert_true(io.keep == PKT_NONE || mark == qp->peer_mark);
    }
    assert_int_equal(kept, 1);
    while (out())
        continue;
}

/* The bits differ from connection to connection, and both ends have the same. */
static void test_mark_of_connection(void **state)
{
    uint32_t seen = 0;

    (void)state;
    start_selective();
    for (uint32_t psn = 0; psn < 1000; psn++) {
        assert_int_equal(nic_qp_modify(nic, qp, NIC_RESET, now, &io), 0);
        qp_config.expect_psn = psn * 7919;
        qp_config.remote_qp = nic_qp_number(qp);
        assert_int_equal(nic_qp_connect(nic, qp, &qp_config, now), 0);
        assert_int_equal(nic_qp_modify(nic, qp, NIC_RTR, now, &io), 0);
        qp_config.send_psn = qp_config.expect_psn;
        assert_int_equal(nic_qp_update(nic, qp, &qp_config, NIC_SET_SEND_PSN, now, &io), 0);
        assert_int_equal(qp->mark, qp->peer_mark);
        assert_int_equal(qp->mark & ~NIC_MARK_REQUEST_BITS, NIC_MARK_REQUEST);
        seen |= 1u << (qp->mark & NIC_MARK_REQUEST_BITS);
    }
    assert_int_equal(seen, UINT32_MAX);
}

/* From the beginning, for the next case of a test. */
static void again(void **state)
{
    tear_down(state);
    set_up(state);
}

static void post_read(uint32_t length)
{
    struct nic_wr wr = {.wr_id = 1, .verb = NIC_READ, .length = length, .flags = NIC_SIGNALED};

    assert_int_equal(nic_post_send(nic, qp, &wr, now, &io), 0);
    while (out())
        continue;
}

/* A READ's answer begins with FIRST, ends with LAST, and its AETH acknowledges; ONLY is all of it. */
static void test_read_response_form(void **state)
{
    static const struct {
        uint8_t opcode[3], syndrome;
        uint32_t packets;
        enum nic_status status;
    } answers[] = {
        {{OPCODE_RC_READ_RESPONSE_FIRST, OPCODE_RC_READ_RESPONSE_MIDDLE, OPCODE_RC_READ_RESPONSE_LAST},
         0,
         3,
         NIC_SUCCESS},
        {{OPCODE_RC_READ_RESPONSE_ONLY}, 0x1f, 1, NIC_SUCCESS},
        {{OPCODE_RC_READ_RESPONSE_MIDDLE}, 0, 3, NIC_BAD_RESP_ERR},
        {{OPCODE_RC_READ_RESPONSE_ONLY}, 0, 3, NIC_BAD_RESP_ERR},
        {{OPCODE_RC_READ_RESPONSE_FIRST}, 0, 1, NIC_BAD_RESP_ERR},
        {{OPCODE_RC_READ_RESPONSE_LAST}, 0, 1, NIC_BAD_RESP_ERR},
        {{OPCODE_RC_READ_RESPONSE_FIRST, OPCODE_RC_READ_RESPONSE_FIRST}, 0, 3, NIC_BAD_RESP_ERR},
        {{OPCODE_RC_READ_RESPONSE_FIRST, OPCODE_RC_READ_RESPONSE_LAST}, 0, 3, NIC_BAD_RESP_ERR},
        {{OPCODE_RC_READ_RESPONSE_FIRST, OPCODE_RC_READ_RESPONSE_MIDDLE, OPCODE_RC_READ_RESPONSE_MIDDLE},
         0,
         3,
         NIC_BAD_RESP_ERR},
        {{OPCODE_RC_READ_RESPONSE_FIRST, OPCODE_RC_READ_RESPONSE_MIDDLE, OPCODE_RC_READ_RESPONSE_ONLY},
         0,
         3,
         NIC_BAD_RESP_ERR},
        {{OPCODE_RC_READ_RESPONSE_FIRST}, 0x60, 3, NIC_BAD_RESP_ERR},
        {{OPCODE_RC_READ_RESPONSE_ONLY}, 0x21, 1, NIC_BAD_RESP_ERR},
    };

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (i) again(state);
        start();
        post_read(answers[i].packets * MTU);
        for (uint32_t k = 0; k < 3 && (k == 0 || answers[i].opcode[k]); k++) {
            struct pkt p = packet(answers[i].opcode[k], k, MTU);
            p.ack.syndrome = answers[i].syndrome;
            give(p);
        }
        const struct nic_cqe *cqe = nic_cq_poll(&cq);
        assert_non_null(cqe);
        assert_int_equal(cqe->status, answers[i].status);
    }
}

/* What is asked for again begins anew where it was asked for; the rest of the first answer is as good. */
static void test_read_response_again(void **state)
{
    for (int late = 0; late < 2; late++) {
        if (late) again(state);
        start();
        post_read(4 * MTU);
        give(packet(OPCODE_RC_READ_RESPONSE_FIRST, 0, MTU));
        give(packet(OPCODE_RC_READ_RESPONSE_LAST, 3, MTU)); /* after a gap */
        expect_out(OPCODE_RC_READ_REQUEST, 1, 0);
        give(packet(late ? OPCODE_RC_READ_RESPONSE_MIDDLE : OPCODE_RC_READ_RESPONSE_FIRST, 1, MTU));
        give(packet(OPCODE_RC_READ_RESPONSE_MIDDLE, 2, MTU));
        give(packet(OPCODE_RC_READ_RESPONSE_LAST, 3, MTU));
        const struct nic_cqe *cqe = nic_cq_poll(&cq);
        assert_non_null(cqe);
        assert_int_equal(cqe->status, NIC_SUCCESS);
    }
}

/* As many READs and atomics at a time as the owner said, no more: also none, also three. */
static void test_accepts(void **state)
{
    for (uint32_t accepts = 0; accepts <= 4; accepts++) {
        if (accepts) again(state);
        qp_config.accept_reads = accepts;
        start();
        for (uint32_t psn = 0; psn < accepts; psn++)
            give_rdma(OPCODE_RC_READ_REQUEST, psn, 0, KEY, VA, 8);
        assert_int_equal(nic_qp_state(qp), NIC_RTS);
        give_rdma(OPCODE_RC_READ_REQUEST, accepts, 0, KEY, VA, 8);
        for (uint32_t psn = 0; psn < accepts; psn++)
            expect_out(OPCODE_RC_READ_RESPONSE_ONLY, psn, 0);
        expect_out(OPCODE_RC_ACK, accepts, NAK_INVALID);
        assert_int_equal(nic_qp_state(qp), NIC_ERROR);
    }
}

/* A requester that repeats without asking is told all the same what is here (C9-105), once for all that waits. */
static void test_duplicate_unasked(void **state)
{
    (void)state;
    start();
    give_rdma(OPCODE_RC_WRITE_FIRST, 0, MTU, KEY, VA, 5 * MTU);
    expect_out(OPCODE_RC_ACK, 0, 0x1f);
    struct pkt middle = packet(OPCODE_RC_WRITE_MIDDLE, 1, MTU);
    middle.flags = 0;
    give(middle);
    middle.psn = 2;
    give(middle);
    expect_nothing();
    middle.psn = 1;
    give(middle);
    middle.psn = 2;
    give(middle);
    expect_out(OPCODE_RC_ACK, 2, 0x1f);
    expect_nothing();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(test_write_key_gone),
        LONE(test_write_key_less),
        LONE(test_uc_write_key_gone),
        LONE(test_read_key_gone),
        LONE(test_read_again),
        LONE(test_reset_forgets),
        LONE(test_invalidate_needs_right),
        LONE(test_strange_cnp),
        LONE(test_ack_not_moved_back),
        LONE(test_pool_not_taken),
        LONE(test_selective_naks_bounded),
        LONE(test_reserved_operation),
        LONE(test_post_limit),
        LONE(test_ud_mark),
        LONE(test_deadlines),
        LONE(test_back_to_0_twice),

        LONE(test_kept_overtaken),
        LONE(test_kept_payload),
        LONE(test_foreign_peer),
        LONE(test_duplicate_unasked),
        LONE(test_read_response_form),
        LONE(test_read_response_again),
        LONE(test_accepts),
        LONE(test_kept_needs_the_mark),
        LONE(test_mark_of_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
