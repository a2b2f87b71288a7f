/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NAKs, one after the other, at a queue pair with work outstanding: whatever a peer or a forger says, the requester
 * keeps its books.
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
    start_selective(true);
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
    start_selective(true);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(test_refused_after_going_back),
        LONE(test_gap_after_going_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
