/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NAKs, one after the other, at a queue pair with work outstanding: whatever a peer or a forger says, the requester
 * keeps its books, and a connection whose books are wrong all the same ends alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nic/lone.h"

#define NAK_SEQUENCE 0x60u
#define RNR_SHORTEST 0x21u /* 10 us */

static void post_writes(uint32_t count, uint32_t length)
{
    struct nic_wr wr = {.verb = NIC_WRITE, .length = length, .flags = NIC_SIGNALED};

    for (wr.wr_id = 0; wr.wr_id < count; wr.wr_id++)
        assert_int_equal(nic_post_send(nic, qp, &wr, now, &io), 0);
    while (out())
        continue;
}

static void give_answer(uint32_t psn, uint8_t syndrome, uint8_t mark, uint32_t named)
{
    struct pkt p = packet(OPCODE_RC_ACK, psn, 0);

    p.ack.syndrome = syndrome;
    p.ack.msn = named;
    p.mark = mark;
    give(p);
    nic_audit(nic, &pool);
}

static void wait_for_timer(void)
{
    now = nic_deadline(nic);
    assert_true(now != PS_NEVER);
    nic_tick(nic, now, &io);
}

/*
 * A plain NAK takes the requester back to the oldest packet; a refusal that follows it, by one who keeps packets, finds
 * nothing under way that could be sent again alone.
 */
static void test_refused_after_going_back(void **state)
{
    (void)state;
    start_selective();
    post_writes(1, 3 * MTU);
    give_answer(0, NAK_SEQUENCE, 0, 0);
    give_answer(0, RNR_SHORTEST, NIC_MARK_KEPT, 0);
    wait_for_timer();
    nic_audit(nic, &pool);
    for (uint32_t psn = 0; psn < 3; psn++)
        expect_out(psn == 0 ? OPCODE_RC_WRITE_FIRST : psn == 1 ? OPCODE_RC_WRITE_MIDDLE : OPCODE_RC_WRITE_LAST, psn, 0);
    give_answer(2, 0x1f, 0, 1);
    const struct nic_cqe *cqe = nic_cq_poll(&cq);
    assert_non_null(cqe);
    assert_int_equal(cqe->status, NIC_SUCCESS);
}

/* After a plain NAK all is sent anew: what is lost of that is found missing as at first, without the timer. */
static void test_gap_after_going_back(void **state)
{
    (void)state;
    start_selective();
    post_writes(1, 8 * MTU);
    give_answer(2, NAK_SEQUENCE, NIC_MARK_KEPT, 6);
    while (out())
        continue;
    give_answer(2, NAK_SEQUENCE, 0, 0);
    while (out())
        continue;
    give_answer(2, NAK_SEQUENCE, NIC_MARK_KEPT, 5);
    for (uint32_t psn = 2; psn < 5; psn++)
        expect_out(OPCODE_RC_WRITE_MIDDLE, psn, 0);
    expect_nothing();
}

/*
 * A second refusal while the first is waited out.  Of the same packet it changes nothing; of a later one, when what
 * was refused first has been taken after all, it is waited for anew, for as long as it says itself.
 */
static void test_refused_twice(void **state)
{
    static const uint8_t rnr_long = 0x20 | 14; /* 1.28 ms */

    (void)state;
    qp_config.rnr_retry = 2;
    start();
    post_writes(4, MTU);
    give_answer(1, RNR_SHORTEST, 0, 0);
    ps_t first = nic_deadline(nic);
    assert_int_equal(first - now, 10 * PS_US);
    now += PS_US;
    give_answer(1, rnr_long, 0, 0);
    assert_int_equal(nic_deadline(nic), first);
    assert_int_equal(qp->rnr_left, 1);
    give_answer(2, 0x1f, 0, 0); /* it had a receive by then: ACK of 1 and 2 */
    now += PS_US;
    give_answer(3, rnr_long, 0, 0);
    assert_int_equal(qp->rnr_left, 1); /* progress has set it back to 2 */
    ps_t until = now + 1280 * PS_US;
    while (nic_deadline(nic) < until) { /* of the first, which is void */
        wait_for_timer();
        expect_nothing();
    }
    assert_int_equal(nic_deadline(nic), until);
    wait_for_timer();
    expect_out(OPCODE_RC_WRITE_ONLY, 3, 0);
    expect_nothing();
}

static void expect_status(uint64_t wr_id, bool receive, enum nic_status status)
{
    const struct nic_cqe *cqe = nic_cq_poll(&cq);

    assert_non_null(cqe);
    assert_int_equal(cqe->wr_id, wr_id);
    assert_int_equal(cqe->receive, receive);
    assert_string_equal(nic_status_name(cqe->status), nic_status_name(status));
}

static void expect_fatal(void)
{
    struct nic_event event;

    assert_int_equal(nic_qp_state(qp), NIC_ERROR);
    assert_int_equal(nic_counters(nic)->internal_errors, 1);
    assert_true(nic_event_next(nic, &event));
    assert_int_equal(event.kind, NIC_EVENT_QP_FATAL);
    expect_nothing();
    assert_int_equal(pool.free_count, POOL);
    assert_non_null(nic->failed_check.what);
    nic->failed_check.what = NULL; /* else the audit says so */
}

/* Books made wrong by hand: the QP ends with an internal error, the program does not. */
static void test_requester_inconsistent(void **state)
{
    struct nic_wr wr = {.wr_id = 7, .verb = NIC_WRITE, .length = MTU};

    (void)state;
    start_selective();
    post_writes(2, MTU);
    qp->selective->resend_count = 1;
    assert_int_equal(nic_post_send(nic, qp, &wr, now, &io), 0);
    expect_nothing();
    expect_status(0, false, NIC_LOC_QP_OP_ERR);
    expect_status(1, false, NIC_WR_FLUSH_ERR);
    expect_status(7, false, NIC_WR_FLUSH_ERR);
    expect_fatal();
    assert_int_equal(nic_qp_modify(nic, qp, NIC_RESET, now, &io), 0);
    assert_int_equal(nic_qp_connect(nic, qp, &qp_config, now), 0);
    assert_int_equal(nic_qp_modify(nic, qp, NIC_RTS, now, &io), 0);
    assert_int_equal(nic_post_send(nic, qp, &wr, now, &io), 0);
    expect_out(OPCODE_RC_WRITE_ONLY, 0, 0);
}

static void test_responder_inconsistent(void **state)
{
    struct nic_recv recv = {.wr_id = 5, .length = 4 * MTU};

    (void)state;
    start();
    assert_int_equal(nic_post_recv(nic, qp, &recv, now, &io), 0);
    recv.wr_id = 6;
    assert_int_equal(nic_post_recv(nic, qp, &recv, now, &io), 0);
    give(packet(OPCODE_RC_SEND_FIRST, 0, MTU));
    expect_out(OPCODE_RC_ACK, 0, 0x1f);
    qp->recv_held = false;
    struct pkt last = packet(OPCODE_RC_SEND_LAST, 1, 1);
    last.flags = 0;
    give(last);
    expect_status(6, true, NIC_WR_FLUSH_ERR);
    expect_fatal();
}

/*
 * One packet ahead of its turn, and then silence (a forger's, or the last of a peer that died): the gap is asked for
 * less and less often, then not at all, and nothing is kept for it any more.
 */
static void test_gap_that_stays(void **state)
{
    struct nic_recv recv = {.length = MTU};
    uint32_t naks = 0;

    (void)state;
    qp_config.reorder_window = 1;
    qp_config.reorder_ps = 4 * PS_MS;
    start_selective();
    struct pkt early = packet(OPCODE_RC_SEND_ONLY, 5, 1);
    early.mark = qp->peer_mark;
    give(early);
    assert_int_equal(io.keep != PKT_NONE, true);
    ps_t begin = now;
    for (ps_t last = now, apart = 0; nic_deadline(nic) != PS_NEVER;) {
        const struct pkt *p;
        while ((p = out())) {
            if (p->mark != NIC_MARK_GAP) continue;
            naks++;
            assert_true(now - last >= apart);
            apart = now - last;
            last = now;
        }
        if (nic_deadline(nic) == PS_NEVER) break;
        wait_for_timer();
        assert_true(now - begin < 60 * PS_S);
    }
    assert_in_range(naks, 3, 16);
    assert_true(now - begin >= PS_S);
    assert_int_equal(pool.free_count, POOL);
    assert_int_equal(qp->selective->kept_count, 0);
    /* and the connection goes on as if it had never come */
    for (uint32_t psn = 0; psn < 6; psn++) {
        assert_int_equal(nic_post_recv(nic, qp, &recv, now, &io), 0);
        give(packet(OPCODE_RC_SEND_ONLY, psn, 1));
        assert_int_equal(io.place.kind, NIC_PLACE_RECV);
        expect_out(OPCODE_RC_ACK, psn, 0x1f);
    }
}

/* While something comes, a gap is asked for as often as ever. */
static void test_gap_of_one_who_speaks(void **state)
{
    uint32_t naks = 0;

    (void)state;
    qp_config.reorder_window = 1;
    qp_config.reorder_ps = 4 * PS_MS;
    start_selective();
    for (uint32_t psn = 5; psn < 45; psn++) {
        struct pkt early = packet(OPCODE_RC_SEND_ONLY, psn, 1);
        const struct pkt *p;
        early.mark = qp->peer_mark;
        give(early);
        while ((p = out()))
            naks += p->mark == NIC_MARK_GAP && p->psn == 0;
        wait_for_timer();
    }
    assert_true(naks >= 38);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(test_refused_after_going_back), LONE(test_gap_after_going_back),   LONE(test_refused_twice),
        LONE(test_requester_inconsistent),   LONE(test_responder_inconsistent), LONE(test_gap_that_stays),
        LONE(test_gap_of_one_who_speaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
