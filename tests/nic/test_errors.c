/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RC when things go wrong: losses in each recovery, timers to the picosecond, refusals and what they
 * do to both ends.
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

#define TIMEOUT_PS (65536 * PS_NS) /* timeout 4 */

static uint32_t lose_from[8], lose_count; /* numbers, in order sent by side 0 (or 1: see lose_side), to be lost */
static int lose_side;
static uint32_t sent_by_side;

static enum pair_fate lose_listed(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    (void)p;
    (void)pkt;
    (void)now;
    if (from != lose_side) return PAIR_PASS;
    uint32_t number = sent_by_side++;
    for (uint32_t i = 0; i < lose_count; i++)
        if (lose_from[i] == number) return PAIR_LOSE;
    return PAIR_PASS;
}

static void lose(int side, uint32_t count, const uint32_t numbers[])
{
    lose_side = side;
    lose_count = count;
    sent_by_side = 0;
    for (uint32_t i = 0; i < count; i++)
        lose_from[i] = numbers[i];
    pair.filter = lose_listed;
}
#define LOSE(side, ...)                                                                                                \
    do {                                                                                                               \
        static const uint32_t numbers_[] = {__VA_ARGS__};                                                              \
        lose(side, sizeof(numbers_) / sizeof(numbers_[0]), numbers_);                                                  \
    } while (0)

static enum pair_fate lose_all(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    (void)p;
    (void)pkt;
    (void)now;
    return from == 0 ? PAIR_LOSE : PAIR_PASS;
}

static void write_ten(enum nic_recovery recovery)
{
    struct nic_qp_config config = pair_qp_config();
    config.recovery = (uint8_t)recovery;
    config.ack_every = 1;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0],
              (struct nic_wr){.wr_id = 1, .verb = NIC_WRITE, .length = 10240, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_empty(&end[0].send_cq);
}

static void test_go_back_n(void **state)
{
    (void)state;
    LOSE(0, 3);
    write_ten(NIC_GO_BACK_N);
    struct nic_counters *a = nic_counters(pair.nic[0]), *b = nic_counters(pair.nic[1]);
    assert_int_equal(b->tx_nak_sequence, 1);
    assert_int_equal(a->packet_seq_err, 1);
    assert_int_equal(b->out_of_sequence, 6); /* 4 .. 9 */
    assert_int_equal(a->retransmitted_packets, 7);
    assert_int_equal(a->local_ack_timeout_err, 0);
    assert_int_equal(b->rx_payload_bytes, 10240);
}

/* The NAK names the message's beginning, and all of it comes again. */
static void test_go_back_0(void **state)
{
    (void)state;
    LOSE(0, 3);
    write_ten(NIC_GO_BACK_0);
    struct nic_counters *a = nic_counters(pair.nic[0]), *b = nic_counters(pair.nic[1]);
    assert_int_equal(b->tx_nak_sequence, 1);
    assert_int_equal(a->retransmitted_packets, 10);
    assert_int_equal(a->tx_data_packets, 20);
    assert_int_equal(b->rx_payload_bytes, 13 * 1024);
    assert_int_equal(b->duplicate_request, 0);
    for (uint32_t i = 0; i < pair.seen_count; i++)
        if (pair.seen[i].from == 1 && seen(i)->ack.syndrome == 0x60) assert_int_equal(seen(i)->psn, 0xfffff0);
}

/* Every fourth packet lost, messages longer than that: go-back-0 never ends, go-back-N does. */
static enum pair_fate lose_fourth(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    (void)p;
    (void)pkt;
    (void)now;
    return from == 0 && sent_by_side++ % 4 == 3 ? PAIR_LOSE : PAIR_PASS;
}

static void test_livelock(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.recovery = NIC_GO_BACK_0;
    config.retry = NIC_RETRY_FOREVER;
    config.ack_every = 1;
    rig_connect(&config);
    sent_by_side = 0;
    pair.filter = lose_fourth;
    pair_send(&pair, 0, &end[0],
              (struct nic_wr){.wr_id = 1, .verb = NIC_WRITE, .length = 10240, .flags = NIC_SIGNALED});
    pair_run(&pair, 20 * PS_MS);
    expect_empty(&end[0].send_cq);
    assert_true(nic_counters(pair.nic[0])->retransmitted_packets > 1000);
}

static void test_selective(void **state)
{
    (void)state;
    LOSE(0, 2, 5, 6);
    write_ten(NIC_SELECTIVE);
    struct nic_counters *a = nic_counters(pair.nic[0]), *b = nic_counters(pair.nic[1]);
    assert_int_equal(a->retransmitted_packets, 3);
    assert_int_equal(a->local_ack_timeout_err, 0);
    assert_int_equal(b->rx_payload_bytes, 10240);
    assert_int_equal(b->reordered_packets, 5); /* 3, 4, 7, 8, 9 */
    assert_int_equal(pair.placed_bytes[1], 10240);
}

/* What was repeated and lost again comes with the timer. */
static void test_selective_twice(void **state)
{
    (void)state;
    LOSE(0, 2, 10);
    write_ten(NIC_SELECTIVE);
    struct nic_counters *a = nic_counters(pair.nic[0]);
    assert_int_equal(a->retransmitted_packets, 2);
    assert_int_equal(a->local_ack_timeout_err, 1);
}

/* The last packet lost: no NAK; sent again exactly one timeout after the last acknowledgement that moved. */
static void test_tail_loss(void **state)
{
    (void)state;
    LOSE(0, 9);
    write_ten(NIC_GO_BACK_N);
    ps_t last_ack = 0, again = 0;
    for (uint32_t i = 0; i < pair.seen_count; i++) {
        if (pair.seen[i].from == 1 && again == 0) last_ack = pair.seen[i].at;
        if (pair.seen[i].from == 0 && pair.seen[i].pkt.opcode == OPCODE_RC_WRITE_LAST) again = pair.seen[i].at;
    }
    for (uint32_t i = 0; i < pair.seen_count; i++)
        if (pair.seen[i].from == 1 && pair.seen[i].at < again) last_ack = pair.seen[i].at;
    /* an ACK of 62 bytes takes 86 byte times of 80 ps and 1 us to arrive */
    assert_int_equal(again, last_ack + 86 * 80 + PS_US + TIMEOUT_PS);
    assert_int_equal(nic_counters(pair.nic[0])->local_ack_timeout_err, 1);
}

static void test_lost_ack(void **state)
{
    (void)state;
    LOSE(1, 9); /* the last of the ACKs */
    write_ten(NIC_GO_BACK_N);
    struct nic_counters *a = nic_counters(pair.nic[0]), *b = nic_counters(pair.nic[1]);
    assert_int_equal(a->local_ack_timeout_err, 1);
    assert_int_equal(a->retransmitted_packets, 1);
    assert_int_equal(b->duplicate_request, 1);
    assert_int_equal(b->rx_payload_bytes, 10240);
}

static void test_retry_exceeded(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    ps_t sent_at = 0;
    (void)state;
    config.retry = 3;
    rig_connect(&config);
    pair.filter = lose_all;
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 1, .verb = NIC_WRITE, .length = 100});
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 2, .verb = NIC_WRITE, .length = 100});
    pair_recv(&pair, 0, &end[0], 3, 100);
    while (nic_qp_state(end[0].qp) != NIC_ERROR)
        assert_true(pair_step(&pair, PS_NEVER));
    assert_int_equal(pair.now, sent_at + 4 * TIMEOUT_PS); /* the first and three repetitions */
    assert_int_equal(count_seen(0, OPCODE_RC_WRITE_ONLY), 8);
    expect_cqe(&end[0].send_cq, 1, NIC_RETRY_EXC_ERR);
    expect_cqe(&end[0].send_cq, 2, NIC_WR_FLUSH_ERR);
    expect_empty(&end[0].send_cq);
    expect_cqe(&end[0].recv_cq, 3, NIC_WR_FLUSH_ERR);
    assert_int_equal(nic_counters(pair.nic[0])->retry_exceeded, 1);
    /* what is posted to a dead QP is flushed at once */
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 4, .verb = NIC_WRITE, .length = 100});
    expect_cqe(&end[0].send_cq, 4, NIC_WR_FLUSH_ERR);
    pair_run(&pair, PS_NEVER);
    assert_int_equal(nic_qp_acked_bytes(end[0].qp), 0); /* given up is not acknowledged */
}

/* More losses than retries, but never without progress between them. */
static void test_retries_renewed(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.retry = 1;
    rig_connect(&config);
    LOSE(0, 0, 2, 4, 6);
    for (uint64_t i = 0; i < 4; i++) {
        pair_send(&pair, 0, &end[0],
                  (struct nic_wr){.wr_id = i, .verb = NIC_WRITE, .length = 10, .flags = NIC_SIGNALED});
        pair_run(&pair, PS_NEVER);
        expect_cqe(&end[0].send_cq, i, NIC_SUCCESS);
    }
    assert_int_equal(nic_counters(pair.nic[0])->local_ack_timeout_err, 4);
}

/* A WRITE repeated before a READ whose answer was lost: only the WRITE is acknowledged. */
static void test_duplicate_before_read(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    rig_connect(&config);
    LOSE(1, 0, 1);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 1, .verb = NIC_WRITE, .length = 10, .flags = NIC_SIGNALED});
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 2, .verb = NIC_READ, .length = 10, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_cqe(&end[0].send_cq, 2, NIC_SUCCESS);
    assert_int_equal(nic_counters(pair.nic[0])->implied_nak_seq_err, 0);
    for (uint32_t i = 0; i < pair.seen_count; i++)
        if (seen(i)->opcode == OPCODE_RC_ACK) assert_int_equal(seen(i)->psn, 0xfffff0);
}

/* When a READ is asked for again, what was left to send of the next is not sent before that is asked for again too. */
static void test_replay_drops_later(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    uint32_t again = 0;
    (void)state;
    rig_connect(&config);
    LOSE(1, 1);
    pair_send(&pair, 0, &end[0],
              (struct nic_wr){.wr_id = 1, .verb = NIC_READ, .length = 3 * 1024, .flags = NIC_SIGNALED});
    pair_send(&pair, 0, &end[0],
              (struct nic_wr){.wr_id = 2, .verb = NIC_READ, .length = 90 * 1024, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_cqe(&end[0].send_cq, 2, NIC_SUCCESS);
    for (uint32_t i = 0; i < pair.seen_count; i++)
        if (seen(i)->opcode == OPCODE_RC_READ_RESPONSE_FIRST) again = i; /* the last of them: the second READ's */
    assert_int_equal(seen(again)->psn, 0xfffff3);
    assert_int_equal(count_seen(1, OPCODE_RC_READ_RESPONSE_LAST), 3); /* 1st (in vain), 1st again, 2nd once */
}

static void test_rnr(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.min_rnr_timer = 8;
    config.rnr_retry = 7;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 1, .verb = NIC_SEND, .length = 3000, .flags = NIC_SIGNALED});
    ps_t nak_arrives = 0, again = 0;
    uint32_t firsts = 0;
    while (firsts < 2) {
        assert_true(pair_step(&pair, PS_NEVER));
        firsts = count_seen(0, OPCODE_RC_SEND_FIRST);
    }
    again = pair.now;
    for (uint32_t i = 0; i < pair.seen_count; i++) {
        if (pair.seen[i].from != 1) continue;
        assert_int_equal(seen(i)->ack.syndrome, 0x20 | 8);
        assert_int_equal(seen(i)->psn, 0xfffff0);
        nak_arrives = pair.seen[i].at + 86 * 80 + PS_US;
    }
    assert_int_equal(again, nak_arrives + rnr_timer_ps(8));
    assert_int_equal(nic_counters(pair.nic[1])->tx_nak_rnr, 1); /* one, for all three packets */
    assert_int_equal(nic_counters(pair.nic[1])->tx_nak_sequence, 0);
    pair_recv(&pair, 1, &end[1], 5, 3000);
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_cqe(&end[1].recv_cq, 5, NIC_SUCCESS);
}

/* The receive is wanted by the last packet of a WRITE with immediate.  A responder that goes back to 0 then names the
 * message's first packet, which has been acknowledged: the requester must not take that for an old NAK. */
static void test_rnr_at_the_end_going_back_to_0(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.recovery = NIC_GO_BACK_0;
    config.min_rnr_timer = 8;
    config.rnr_retry = 7;
    config.timeout = 0; /* nothing else would wake it */
    config.ack_every = 1;
    config.ack_request_every = 1;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0],
              (struct nic_wr){.wr_id = 1, .verb = NIC_WRITE_IMM, .length = 3000, .flags = NIC_SIGNALED});
    while (nic_counters(pair.nic[1])->tx_nak_rnr == 0)
        assert_true(pair_step(&pair, PS_NEVER));
    pair_recv(&pair, 1, &end[1], 5, 3000);
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_cqe(&end[1].recv_cq, 5, NIC_SUCCESS);
}

static void test_rnr_exceeded(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.min_rnr_timer = 1;
    config.rnr_retry = 2;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 1, .verb = NIC_SEND, .length = 100});
    pair_run(&pair, PS_NEVER);
    assert_int_equal(count_seen(0, OPCODE_RC_SEND_ONLY), 3); /* as the kernel does */
    expect_cqe(&end[0].send_cq, 1, NIC_RNR_RETRY_EXC_ERR);
    assert_int_equal(nic_qp_state(end[0].qp), NIC_ERROR);
    assert_int_equal(nic_qp_state(end[1].qp), NIC_RTS);
}

/* Each refusal: what the requester completes with, and that both ends stop. */
static void refused(struct nic_wr wr, struct nic_qp_config config, enum nic_status status)
{
    rig_connect(&config);
    wr.wr_id = 1;
    pair_recv(&pair, 1, &end[1], 8, 1000);
    pair_recv(&pair, 1, &end[1], 9, 1000);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 10});
    pair_send(&pair, 0, &end[0], wr);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 2, .verb = NIC_WRITE, .length = 10});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, status);
    expect_cqe(&end[0].send_cq, 2, NIC_WR_FLUSH_ERR);
    expect_empty(&end[0].send_cq);
    assert_int_equal(nic_qp_state(end[0].qp), NIC_ERROR);
    assert_int_equal(nic_qp_state(end[1].qp), NIC_ERROR);
    assert_int_equal(nic_counters(pair.nic[0])->local_ack_timeout_err, 0);
}

static void test_bad_key(void **state)
{
    (void)state;
    refused((struct nic_wr){.verb = NIC_WRITE, .length = 10, .rkey = 0x999}, pair_qp_config(), NIC_REM_ACCESS_ERR);
}

static void test_out_of_bounds(void **state)
{
    (void)state;
    refused((struct nic_wr){.verb = NIC_READ, .length = 10, .remote_va = 0x10000 + (1 << 30) - 9}, pair_qp_config(),
            NIC_REM_ACCESS_ERR);
}

static void test_wrong_domain(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    assert_int_equal(
        nic_mr_set(pair.nic[1],
                   &(struct nic_mr){
                       .va = 0x10000, .bytes = 100, .key = 0x55, .pd = 8, .rights = NIC_REMOTE_ALL, .live = true}),
        0);
    refused((struct nic_wr){.verb = NIC_WRITE, .length = 10, .rkey = 0x55}, config, NIC_REM_ACCESS_ERR);
}

static void test_no_right(void **state)
{
    (void)state;
    assert_int_equal(
        nic_mr_set(pair.nic[1],
                   &(struct nic_mr){
                       .va = 0x10000, .bytes = 100, .key = 0x55, .pd = 7, .rights = NIC_REMOTE_READ, .live = true}),
        0);
    refused((struct nic_wr){.verb = NIC_FETCH_ADD, .length = 8, .rkey = 0x55}, pair_qp_config(), NIC_REM_ACCESS_ERR);
}

static void test_unaligned_atomic(void **state)
{
    (void)state;
    refused((struct nic_wr){.verb = NIC_CAS, .length = 8, .remote_va = 0x10004}, pair_qp_config(), NIC_REM_INV_REQ_ERR);
}

static void test_qp_without_access(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.access = NIC_REMOTE_WRITE;
    refused((struct nic_wr){.verb = NIC_READ, .length = 8}, config, NIC_REM_INV_REQ_ERR);
}

static void test_send_too_long(void **state)
{
    (void)state;
    refused((struct nic_wr){.verb = NIC_SEND, .length = 1001}, pair_qp_config(), NIC_REM_INV_REQ_ERR);
    expect_cqe(&end[1].recv_cq, 8, NIC_LOC_LEN_ERR);
    expect_cqe(&end[1].recv_cq, 9, NIC_WR_FLUSH_ERR);
}

/* A WRITE of 0 bytes with a key that nobody has succeeds: it touches nothing. */
static void test_empty_needs_no_key(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .rkey = 0x999, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
}

/* A READ before the refused WRITE is answered all the same. */
static void test_read_before_refusal(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 1, .verb = NIC_READ, .length = 20000, .flags = NIC_SIGNALED});
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 2, .verb = NIC_WRITE, .length = 10, .rkey = 0x999});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_cqe(&end[0].send_cq, 2, NIC_REM_ACCESS_ERR);
    assert_int_equal(nic_qp_state(end[1].qp), NIC_ERROR);
}

/* A response lost: the READ is asked for again from there, at once. */
static void test_lost_response(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    rig_connect(&config);
    LOSE(1, 3);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 1, .verb = NIC_READ, .length = 10000, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    assert_int_equal(count_seen(0, OPCODE_RC_READ_REQUEST), 2);
    const struct pkt *again = NULL;
    for (uint32_t i = 1; i < pair.seen_count; i++)
        if (seen(i)->opcode == OPCODE_RC_READ_REQUEST) again = seen(i);
    assert_int_equal(again->psn, 0xfffff3);
    assert_int_equal(again->rdma.va, 0x10000 + 3 * 1024);
    assert_int_equal(again->rdma.dma_bytes, 10000 - 3 * 1024);
    assert_int_equal(nic_counters(pair.nic[0])->implied_nak_seq_err, 1);
    assert_int_equal(nic_counters(pair.nic[0])->local_ack_timeout_err, 0);
    assert_int_equal(nic_counters(pair.nic[0])->rx_payload_bytes, 10000);
    assert_int_equal(count_seen(1, OPCODE_RC_READ_RESPONSE_FIRST), 2);
}

/* The answer to an atomic lost: it is answered again, not executed again. */
static void test_lost_atomic(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    rig_connect(&config);
    pair.atomic_value = 40;
    LOSE(1, 0);
    pair_send(&pair, 0, &end[0],
              (struct nic_wr){.wr_id = 1, .verb = NIC_FETCH_ADD, .length = 8, .swap = 2, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    assert_int_equal(pair.atomic_value, 42);
    assert_int_equal(count_seen(1, OPCODE_RC_ATOMIC_ACK), 2);
    assert_int_equal(pair.io[0].place.kind, NIC_PLACE_ATOMIC);
    assert_int_equal(pair.io[0].place.original, 40);
    assert_int_equal(nic_counters(pair.nic[1])->duplicate_request, 1);
}

/* More outstanding than the responder has room for is the requester's fault. */
static void test_too_many_reads(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.max_read = PAIR_RESOURCES + 1;
    rig_connect(&config);
    for (uint64_t i = 0; i <= PAIR_RESOURCES; i++)
        pair_send(&pair, 0, &end[0],
                  (struct nic_wr){.wr_id = i, .verb = NIC_READ, .length = 60000, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    for (uint64_t i = 0; i < PAIR_RESOURCES; i++)
        expect_cqe(&end[0].send_cq, i, NIC_SUCCESS);
    expect_cqe(&end[0].send_cq, PAIR_RESOURCES, NIC_REM_INV_REQ_ERR);
}

static void test_ghosts(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    rig_connect(&config);
    for (uint32_t psn = 0xffffe0; psn < 0xfffff5; psn += 4) { /* before, at and after what was sent: nothing */
        pkt_t id = pktpool_get(&pair.pool);
        pair.pool.hot[id] = (struct pkt){.kind = PKT_ROCE,
                                         .opcode = OPCODE_RC_ACK,
                                         .dest_qp = 0x11,
                                         .psn = psn,
                                         .src_node = 11,
                                         .ack = {.syndrome = psn & 4 ? 0x60 : 0x1f}};
        nic_rx(pair.nic[0], id, 0, &pair.io[0]);
    }
    assert_int_equal(nic_counters(pair.nic[0])->drop[NIC_DROP_ghost], 6);
    pair_run(&pair, PS_NEVER);
}

static void test_strangers(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    static const struct {
        struct pkt pkt;
        enum nic_drop why;
    } cases[] = {
        {{.kind = PKT_ROCE, .opcode = OPCODE_RC_ACK, .dest_qp = 0x99, .src_node = 11}, NIC_DROP_no_qp},
        {{.kind = PKT_ROCE, .flags = PKT_STRAY, .opcode = OPCODE_RC_ACK, .dest_qp = 0x11, .src_node = 11},
         NIC_DROP_no_qp},
        {{.kind = PKT_ROCE, .opcode = OPCODE_RC_ACK, .dest_qp = 0x11, .src_node = 12}, NIC_DROP_wrong_peer},
        {{.kind = PKT_ROCE, .opcode = OPCODE_UD_SEND_ONLY, .dest_qp = 0x11, .src_node = 11}, NIC_DROP_wrong_kind},
        {{.kind = PKT_ROCE, .opcode = 0xf7, .dest_qp = 0x11, .src_node = 11}, NIC_DROP_wrong_kind},
        {{.kind = PKT_OTHER, .dest_qp = 0x11, .src_node = 11}, NIC_DROP_wrong_kind},
    };
    (void)state;
    rig_connect(&config);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t before = nic_counters(pair.nic[0])->drop[cases[i].why];
        pkt_t id = pktpool_get(&pair.pool);
        pair.pool.hot[id] = cases[i].pkt;
        nic_rx(pair.nic[0], id, 0, &pair.io[0]);
        assert_int_equal(nic_counters(pair.nic[0])->drop[cases[i].why], before + 1);
    }
    pair_run(&pair, PS_NEVER); /* counts the packets: all are back */
}

/*
 * A queue pair so slow that its timer runs out between two packets that ask for an acknowledgement.  Nothing is lost:
 * it must not run out of retries.
 */
static void test_slow(void **state)
{
    static const struct {
        enum nic_recovery recovery;
        uint16_t every;
    } kinds[] = {{NIC_GO_BACK_N, 62}, {NIC_GO_BACK_N, 0}, {NIC_SELECTIVE, 62}};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct nic_qp_config config = pair_qp_config();
        pair_release(&pair);
        pair_init_default(&pair, 1, 1);
        pair.rate[0] = rate_of(100 * 1000000ULL);
        config.recovery = (uint8_t)kinds[i].recovery;
        config.timeout = 8; /* a dozen packets */
        config.retry = 7;
        config.ack_every = 64;
        config.ack_request_every = kinds[i].every;
        pair_connect(&pair, &config, end);
        pair_send(&pair, 0, &end[0],
                  (struct nic_wr){.wr_id = 1, .verb = NIC_WRITE, .length = 1 << 20, .flags = NIC_SIGNALED});
        pair_run(&pair, PS_NEVER);
        expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
        assert_true(nic_counters(pair.nic[0])->local_ack_timeout_err > 20); /* else it was not slow */
        pair_disconnect(&pair, end);
    }
}

static enum pair_fate lose_first_repetition(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    (void)p;
    (void)now;
    if (from != 0 || pkt->psn != 0xfffff3) return PAIR_PASS;
    return sent_by_side++ < 2 ? PAIR_LOSE : PAIR_PASS;
}

/* A packet and its repetition are lost: the QP's own timeout is 67 ms, adaptive retransmission's first is 1. */
static void test_adaptive(void **state)
{
    (void)state;
    for (int adaptive = 0; adaptive < 2; adaptive++) {
        struct nic_qp_config config = pair_qp_config();
        if (adaptive) pair_disconnect(&pair, end);
        pair_release(&pair);
        pair_init_default(&pair, 1, 1);
        config.timeout = 14;
        config.adaptive_ps = adaptive ? PS_MS : 0;
        rig_connect(&config);
        sent_by_side = 0;
        pair.filter = lose_first_repetition;
        pair_send(&pair, 0, &end[0],
                  (struct nic_wr){.wr_id = 1, .verb = NIC_WRITE, .length = 10240, .flags = NIC_SIGNALED});
        pair_run(&pair, PS_NEVER);
        expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
        ps_t last = pair.seen[pair.seen_count - 1].at;
        assert_true(adaptive ? last < 2 * PS_MS : last > 67 * PS_MS);
        assert_int_equal(nic_counters(pair.nic[0])->local_ack_timeout_err, 1);
        assert_int_equal(nic_counters(pair.nic[0])->roce_adp_retrans, adaptive);
    }
}

/* Each length so often, then twice as long, up to the QP's own; in all its timeout, retry times. */
static void test_adaptive_timeouts(void **state)
{
    static const uint32_t apart_us[] = {1000, 1000, 2000, 2000, 4000, 4000, 8000, 8000};
    struct nic_qp_config config = pair_qp_config();
    ps_t own = (ps_t)4096 * PS_NS << 11; /* 8.4 ms */

    (void)state;
    config.timeout = 11;
    config.retry = 5;
    config.adaptive_ps = PS_MS;
    config.adaptive_each = 2;
    rig_connect(&config);
    pair.filter = lose_all;
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 1, .verb = NIC_WRITE, .length = 1, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 1, NIC_RETRY_EXC_ERR);
    assert_true(pair.now >= 5 * own && pair.now < 6 * own + PS_MS);
    assert_true(pair.seen_count > 8);
    for (uint32_t i = 1; i < pair.seen_count; i++)
        assert_int_equal(pair.seen[i].at - pair.seen[i - 1].at, i <= 8 ? apart_us[i - 1] * PS_US : own);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_go_back_n),
        T(test_go_back_0),
        T(test_livelock),
        T(test_selective),
        T(test_selective_twice),
        T(test_tail_loss),
        T(test_lost_ack),
        T(test_retries_renewed),
        T(test_duplicate_before_read),
        T(test_replay_drops_later),
        T(test_retry_exceeded),
        T(test_rnr),
        T(test_rnr_at_the_end_going_back_to_0),
        T(test_rnr_exceeded),
        T(test_bad_key),
        T(test_out_of_bounds),
        T(test_wrong_domain),
        T(test_no_right),
        T(test_unaligned_atomic),
        T(test_qp_without_access),
        T(test_send_too_long),
        T(test_empty_needs_no_key),
        T(test_read_before_refusal),
        T(test_lost_response),
        T(test_lost_atomic),
        T(test_slow),
        T(test_adaptive),
        T(test_adaptive_timeouts),
        T(test_too_many_reads),
        T(test_ghosts),
        T(test_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
