/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RC between two adapters: what goes onto the wire, packet for packet, and what completes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/time.h"
#include "nic/nic_int.h"
#include "nic/rig.h"
#include "packet/opcode.h"

static void test_write(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.ack_every = 1;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 5, .verb = NIC_WRITE, .length = 2500, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    assert_int_equal(pair.seen_count, 6);
    const struct pkt *p = seen(0);
    assert_int_equal(p->opcode, OPCODE_RC_WRITE_FIRST);
    assert_int_equal(p->psn, 0xfffff0);
    assert_int_equal(p->rdma.va, 0x10000);
    assert_int_equal(p->rdma.dma_bytes, 2500);
    assert_int_equal(p->frame_bytes, 14 + 20 + 8 + 12 + 16 + 1024 + 4);
    assert_int_equal(p->src_node, 10);
    assert_int_equal(p->dst_node, 11);
    assert_int_equal(p->tos, PKT_ECN_ECT0);
    expect_cqe(&end[0].send_cq, 5, NIC_SUCCESS);
    expect_empty(&end[0].send_cq);
    assert_int_equal(nic_counters(pair.nic[1])->rx_payload_bytes, 2500);
    assert_int_equal(pair.placed_bytes[1], 2500);
    assert_int_equal(nic_counters(pair.nic[0])->tx_data_packets, 3);
    assert_int_equal(nic_counters(pair.nic[1])->tx_ack_packets, 3);
    assert_int_equal(nic_counters(pair.nic[0])->tx_bytes,
                     3 * (14 + 20 + 8 + 12 + 4) + 16 + 2500); /* 2500 - 2048 = 452: no pad */
}

/* First, middle, last and only of each verb, with the headers they carry. */
static void test_opcodes(void **state)
{
    static const struct {
        uint8_t verb;
        uint64_t length;
        uint8_t opcode[3];
    } cases[] = {
        {NIC_SEND, 0, {OPCODE_RC_SEND_ONLY}},
        {NIC_SEND, 1024, {OPCODE_RC_SEND_ONLY}},
        {NIC_SEND, 1025, {OPCODE_RC_SEND_FIRST, OPCODE_RC_SEND_LAST}},
        {NIC_SEND_IMM, 1, {OPCODE_RC_SEND_ONLY_IMM}},
        {NIC_SEND_IMM, 3000, {OPCODE_RC_SEND_FIRST, OPCODE_RC_SEND_MIDDLE, OPCODE_RC_SEND_LAST_IMM}},
        {NIC_WRITE, 0, {OPCODE_RC_WRITE_ONLY}},
        {NIC_WRITE, 2049, {OPCODE_RC_WRITE_FIRST, OPCODE_RC_WRITE_MIDDLE, OPCODE_RC_WRITE_LAST}},
        {NIC_WRITE_IMM, 7, {OPCODE_RC_WRITE_ONLY_IMM}},
        {NIC_WRITE_IMM, 2048, {OPCODE_RC_WRITE_FIRST, OPCODE_RC_WRITE_LAST_IMM}},
        {NIC_READ, 3000, {OPCODE_RC_READ_REQUEST}},
        {NIC_CAS, 8, {OPCODE_RC_COMPARE_SWAP}},
        {NIC_FETCH_ADD, 8, {OPCODE_RC_FETCH_ADD}},
    };
    struct nic_qp_config config = pair_qp_config();
    uint32_t at = 0, psn = 0xfffff0;

    (void)state;
    rig_connect(&config);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool takes = cases[i].verb <= NIC_SEND_INV || cases[i].verb == NIC_WRITE_IMM;
        if (takes) pair_recv(&pair, 1, &end[1], 100 + i, 4096);
        pair_send(&pair, 0, &end[0],
                  (struct nic_wr){.wr_id = i, .verb = cases[i].verb, .length = cases[i].length, .imm = 77, .flags = 3});
        pair_run(&pair, PS_NEVER);
        for (int k = 0; k < 3 && (k == 0 || cases[i].opcode[k]); k++) {
            while (pair.seen[at].from != 0)
                at++;
            const struct pkt *p = seen(at++);
            assert_int_equal(p->opcode, cases[i].opcode[k]);
            assert_int_equal(p->psn, psn & 0xffffff);
            psn += cases[i].verb == NIC_READ ? 3 : 1; /* a READ takes the PSNs of its answer */
            assert_int_equal(p->frame_bytes, 58 + opcode_info(p->opcode)->header_bytes + p->payload_bytes + p->pad);
            assert_int_equal((p->payload_bytes + p->pad) % 4, 0);
            bool last = k == 2 || cases[i].opcode[k + 1] == 0;
            assert_int_equal(!!(p->flags & PKT_ACK_REQUEST), last);
            assert_int_equal(!!(p->flags & PKT_SOLICITED), last && takes);
        }
        expect_cqe(&end[0].send_cq, i, NIC_SUCCESS);
        if (takes) {
            const struct nic_cqe *cqe = nic_cq_poll(&end[1].recv_cq);
            assert_non_null(cqe);
            assert_int_equal(cqe->wr_id, 100 + i);
            assert_int_equal(cqe->bytes, cases[i].length);
            assert_int_equal(cqe->verb, cases[i].verb);
            assert_true(cqe->solicited);
            if (cqe->has_imm) assert_int_equal(cqe->imm, 77);
        }
        expect_empty(&end[1].recv_cq);
    }
    assert_int_equal(nic_counters(pair.nic[1])->rx_read_requests, 1);
    assert_int_equal(nic_counters(pair.nic[1])->rx_atomic_requests, 2);
}

static void test_ack_coalescing(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.ack_every = 4;
    config.ack_request_every = 0;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 10 * 1024, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    /* after 4, 8, and 10 because its A bit asks */
    assert_int_equal(count_seen(1, OPCODE_RC_ACK), 3);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
}

static void test_ack_requests(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.ack_every = 0;
    config.ack_request_every = 3;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 10 * 1024, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    assert_int_equal(count_seen(1, OPCODE_RC_ACK), 4); /* 3, 6, 9, last */
    assert_true(seen(2)->flags & PKT_ACK_REQUEST);
    assert_false(seen(1)->flags & PKT_ACK_REQUEST);
}

/* An ACK that waits for the port is moved on; with an ACK for each packet it is not. */
static void test_ack_merged(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    uint16_t quanta[8] = {65535, 0};
    (void)state;
    config.ack_every = 2;
    rig_connect(&config);
    nic_pause(pair.nic[1], 1, quanta, 0, &pair.io[1]);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 8 * 1024, .flags = NIC_SIGNALED});
    pair_run(&pair, 10 * PS_US);
    quanta[0] = 0;
    nic_pause(pair.nic[1], 1, quanta, pair.now, &pair.io[1]);
    pair.ask[1] = true;
    pair_run(&pair, PS_NEVER);
    assert_int_equal(count_seen(1, OPCODE_RC_ACK), 1);
    assert_int_equal(nic_counters(pair.nic[0])->local_ack_timeout_err, 0);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
}

static void test_window(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.window_packets = 2;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 8 * 1024, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_US);
    assert_int_equal(pair.seen_count, 2);
    assert_int_equal(nic_qp_in_flight(end[0].qp), 2048);
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
    assert_int_equal(nic_qp_in_flight(end[0].qp), 0);
    assert_int_equal(nic_qp_acked_bytes(end[0].qp), 8 * 1024);
    assert_int_equal(count_seen(0, OPCODE_RC_WRITE_FIRST), 1);
}

static void test_max_read(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.max_read = 2;
    rig_connect(&config);
    for (uint64_t i = 0; i < 5; i++)
        pair_send(&pair, 0, &end[0],
                  (struct nic_wr){.wr_id = i, .verb = NIC_READ, .length = 100, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_US);
    assert_int_equal(pair.seen_count, 2);
    pair_run(&pair, PS_NEVER);
    for (uint64_t i = 0; i < 5; i++)
        expect_cqe(&end[0].send_cq, i, NIC_SUCCESS);
    assert_int_equal(nic_counters(pair.nic[0])->rx_payload_bytes, 500);
}

static void test_fence(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_READ, .length = 100});
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 10});
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 10, .flags = NIC_FENCE | NIC_SIGNALED});
    pair_run(&pair, PS_US);
    assert_int_equal(pair.seen_count, 2); /* the fenced WRITE waits for the READ */
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
    expect_empty(&end[0].send_cq);
}

/* READ responses and own requests of a QP take turns. */
static void test_responses_interleave(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_READ, .length = 8 * 1024, .flags = NIC_SIGNALED});
    pair_run(&pair, 1100 * PS_NS); /* the request has arrived */
    pair_send(&pair, 1, &end[1], (struct nic_wr){.verb = NIC_WRITE, .length = 8 * 1024, .flags = NIC_SIGNALED});
    uint32_t from = pair.seen_count, responses = 0, requests = 0;
    pair_run(&pair, PS_NEVER);
    for (uint32_t i = from; i < from + 12; i++) {
        if (pair.seen[i].from != 1) continue;
        responses += (seen(i)->opcode >= OPCODE_RC_READ_RESPONSE_FIRST);
        requests += (seen(i)->opcode < OPCODE_RC_READ_REQUEST);
    }
    assert_in_range(responses, requests - 1, requests + 1);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
    expect_cqe(&end[1].send_cq, 0, NIC_SUCCESS);
}

/* An ACK for what came after a READ does not overtake its response. */
static void test_ack_behind_response(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0],
              (struct nic_wr){.wr_id = 1, .verb = NIC_READ, .length = 8 * 1024, .flags = NIC_SIGNALED});
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 2, .verb = NIC_WRITE, .length = 10, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    assert_int_equal(pair.seen_count, 2 + 8 + 1);
    for (uint32_t i = 2; i < 10; i++)
        assert_int_equal(seen(i)->psn, (0xfffff0 + i - 2) & 0xffffff);
    assert_int_equal(seen(10)->opcode, OPCODE_RC_ACK);
    assert_int_equal(seen(10)->psn, 0xfffff8);
    assert_int_equal(seen(10)->ack.msn, 2);
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_cqe(&end[0].send_cq, 2, NIC_SUCCESS);
    assert_int_equal(nic_counters(pair.nic[0])->implied_nak_seq_err, 0);
}

/*
 * Acknowledgements in a class of their own, until a READ comes: from then on they follow the responses, in the QP's
 * class.  The ACK that waited in the other, which was paused, is not moved on past the response.
 */
static void test_ack_class_with_reads(void **state)
{
    struct nic_config own[2];
    struct nic_qp_config config = pair_qp_config();
    const uint16_t stop[NIC_PRIOS] = {[5] = 65535}, go[NIC_PRIOS] = {0};

    (void)state;
    pair_release(&pair);
    for (uint32_t s = 0; s < 2; s++) {
        own[s] = nic_config_default(100 * 1000000000ULL, s + 10);
        own[s].ack_tos = 46 << 2;
        own[s].ack_prio = 5;
        own[s].any_key = true;
        own[s].pause_forever = true;
    }
    pair_init(&pair, own, 1);
    config.prio = 3;
    config.tos = 26 << 2;
    config.timeout = 0;
    rig_connect(&config);
    struct nic_wr write = {.verb = NIC_WRITE, .length = 10};
    pair_send(&pair, 0, &end[0], write);
    pair_run(&pair, PS_NEVER);
    assert_int_equal(seen(1)->pcp, 5);
    assert_int_equal(seen(1)->tos, 46 << 2);

    nic_pause(pair.nic[1], 1u << 5, stop, pair.now, &pair.io[1]);
    pair_send(&pair, 0, &end[0], write);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_READ, .length = 2 * 1024});
    pair_send(&pair, 0, &end[0], write);
    pair_run(&pair, 100 * PS_US);
    assert_int_equal(pair.seen_count, 2 + 3 + 2 + 1);
    assert_int_equal(seen(7)->opcode, OPCODE_RC_ACK);
    assert_int_equal(seen(7)->psn, 0xfffff4);
    assert_int_equal(seen(7)->pcp, 3);
    assert_int_equal(seen(7)->tos, 26 << 2);
    assert_int_equal(nic_qp_queued(end[0].qp), 0);

    nic_pause(pair.nic[1], 1u << 5, go, pair.now, &pair.io[1]);
    pair.ask[1] = true;
    pair_run(&pair, PS_NEVER);
    assert_int_equal(pair.seen_count, 9);
    assert_int_equal(seen(8)->psn, 0xfffff1);
    assert_int_equal(seen(8)->pcp, 5);
    assert_int_equal(nic_counters(pair.nic[0])->implied_nak_seq_err, 0);
    assert_int_equal(nic_counters(pair.nic[0])->retransmitted_packets, 0);
}

/* Selective repeat: a refusal waits behind a response, and what is kept after it asks for nothing in its stead. */
static void test_refusal_behind_response(void **state)
{
    struct nic_qp_config config = pair_qp_config();

    (void)state;
    config.recovery = NIC_SELECTIVE;
    config.timeout = 0;
    config.min_rnr_timer = 1;
    rig_connect(&config);
    end[0].qp->repeats = true; /* the peer has shown that it keeps packets */
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 1, .verb = NIC_READ, .length = 8 * 1024, .flags = 1});
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 2, .verb = NIC_SEND, .length = 10, .flags = 1});
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 3, .verb = NIC_WRITE, .length = 10, .flags = 1});
    pair_run(&pair, 6 * PS_US);
    assert_int_equal(count_seen(1, OPCODE_RC_ACK), 1);
    assert_int_equal(nic_counters(pair.nic[0])->rnr_nak_retry_err, 1);
    pair_recv(&pair, 1, &end[1], 4, 100);
    pair_run(&pair, PS_NEVER);
    for (uint64_t i = 1; i <= 3; i++)
        expect_cqe(&end[0].send_cq, i, NIC_SUCCESS);
    assert_int_equal(nic_counters(pair.nic[0])->packet_seq_err, 0);
    assert_int_equal(nic_counters(pair.nic[0])->retransmitted_packets, 1);
}

/* A requester without RNR retries.  Its message is not refused while there is patience: a receive that comes meanwhile
 * is in time, and without one the refusal comes at last. */
static void test_patience(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++)
        for (int recovery = 0; recovery < 2 - late; recovery++) { /* selective repeat keeps what is never asked for */
            struct nic_qp_config config = pair_qp_config();

            if (connected) pair_disconnect(&pair, end);
            pair_release(&pair);
            pair_init_default(&pair, 4, 1);
            config.recovery = recovery ? NIC_SELECTIVE : NIC_GO_BACK_N;
            config.rnr_retry = 0;
            config.timeout = 14; /* 67 ms */
            config.rnr_patience_ps = 100 * PS_MS;
            rig_connect(&config);
            for (uint64_t i = 1; i <= 3; i++)
                pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = i, .verb = NIC_SEND, .length = 5000, .flags = 1});
            pair_run(&pair, 30 * PS_MS);
            assert_int_equal(nic_counters(pair.nic[1])->tx_nak_rnr, 0);
            for (uint64_t i = 4; i <= 6 && !late; i++)
                pair_recv(&pair, 1, &end[1], i, 5000);
            pair_run(&pair, PS_NEVER);
            assert_int_equal(nic_counters(pair.nic[1])->tx_nak_rnr, late);
            expect_cqe(&end[0].send_cq, 1, late ? NIC_RNR_RETRY_EXC_ERR : NIC_SUCCESS);
            for (uint64_t i = 2; i <= 3; i++)
                expect_cqe(&end[0].send_cq, i, late ? NIC_WR_FLUSH_ERR : NIC_SUCCESS);
        }
}

static void post(uint64_t wr_id, uint8_t verb, uint64_t length)
{
    pair_send(&pair, 0, &end[0],
              (struct nic_wr){.wr_id = wr_id, .verb = verb, .length = length, .swap = 1, .flags = NIC_SIGNALED});
}

/* Selective repeat without a timer: what is lost by silence is lost for good. */
static void begin_selective(void)
{
    struct nic_qp_config config = pair_qp_config();

    if (connected) pair_disconnect(&pair, end);
    pair_release(&pair);
    pair_init_default(&pair, 4, 1);
    config.recovery = NIC_SELECTIVE;
    config.timeout = 0;
    config.min_rnr_timer = 1;
    rig_connect(&config);
    end[0].qp->repeats = true; /* the peer has shown that it keeps packets */
}

/* An atomic is not kept.  A NAK says so, though it waits behind a response together with a refusal. */
static void test_dropped_behind_refusal(void **state)
{
    (void)state;
    begin_selective();
    post(1, NIC_READ, 64 * 1024);
    post(2, NIC_SEND, 10);
    post(3, NIC_WRITE, 10);
    post(4, NIC_FETCH_ADD, 8);
    post(5, NIC_WRITE, 10);
    pair_run(&pair, 9 * PS_US);
    assert_int_equal(nic_counters(pair.nic[0])->rnr_nak_retry_err, 1);
    pair_recv(&pair, 1, &end[1], 6, 100);
    pair_run(&pair, PS_NEVER);
    for (uint64_t i = 1; i <= 5; i++)
        expect_cqe(&end[0].send_cq, i, NIC_SUCCESS);
    assert_int_equal(pair.atomic_value, 1);
}

/* The NAK for an atomic waits behind a READ's response when the gap before it is filled, by another atomic: the
 * response that takes its place does not make it unnecessary. */
static void test_dropped_and_gap_filled(void **state)
{
    static const uint16_t stop[NIC_PRIOS] = {0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff};
    static const uint16_t go[NIC_PRIOS];

    (void)state;
    begin_selective();
    post(1, NIC_SEND, 10);
    post(2, NIC_READ, 64 * 1024);
    post(3, NIC_FETCH_ADD, 8);
    while (count_seen(1, OPCODE_RC_ACK) == 0)
        assert_true(pair_step(&pair, PS_NEVER));
    nic_pause(pair.nic[1], 0xff, stop, pair.now, &pair.io[1]); /* what it says after the refusal it says late */
    pair_recv(&pair, 1, &end[1], 6, 100);
    pair_run(&pair, pair.now + 13 * PS_US);
    assert_int_equal(nic_counters(pair.nic[1])->rx_read_requests, 1);
    post(4, NIC_FETCH_ADD, 8);
    pair_run(&pair, pair.now + 3 * PS_US);
    nic_pause(pair.nic[1], 0xff, go, pair.now, &pair.io[1]);
    pair.ask[1] = true;
    pair_run(&pair, PS_NEVER);
    for (uint64_t i = 1; i <= 4; i++)
        expect_cqe(&end[0].send_cq, i, NIC_SUCCESS);
    assert_int_equal(pair.atomic_value, 2);
}

static void test_srq(void **state)
{
    struct nic_recv slot[4];
    struct nic_srq srq;
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    nic_srq_init(&srq, slot, 4);
    config.srq = &srq;
    rig_connect(&config);
    struct nic_recv recv = {.wr_id = 40, .length = 2000};
    for (int i = 0; i < 4; i++, recv.wr_id++)
        assert_int_equal(nic_srq_post(&srq, &recv), 0);
    assert_int_equal(nic_srq_post(&srq, &recv), -ENOMEM);
    assert_int_equal(nic_post_recv(pair.nic[1], end[1].qp, &recv, 0, &pair.io[1]), -EINVAL);
    for (int i = 0; i < 2; i++)
        pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_SEND, .length = 2000});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[1].recv_cq, 40, NIC_SUCCESS);
    expect_cqe(&end[1].recv_cq, 41, NIC_SUCCESS);
    expect_empty(&end[1].recv_cq);
}

static void test_send_invalidate(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    rig_connect(&config);
    pair_recv(&pair, 1, &end[1], 9, 100);
    pair_send(&pair, 0, &end[0],
              (struct nic_wr){.wr_id = 1, .verb = NIC_SEND_INV, .length = 10, .imm = 0x1234, .flags = NIC_SIGNALED});
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 2, .verb = NIC_WRITE, .length = 10});
    pair_run(&pair, PS_NEVER);
    const struct nic_cqe *cqe = nic_cq_poll(&end[1].recv_cq);
    assert_true(cqe->invalidated && cqe->imm == 0x1234);
    assert_null(nic_mr_find(pair.nic[1], 0x1234));
    expect_cqe(&end[0].send_cq, 1, NIC_SUCCESS);
    expect_cqe(&end[0].send_cq, 2, NIC_REM_ACCESS_ERR);
}

static void test_cq_overrun(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct nic_cqe two[2];
    (void)state;
    rig_connect(&config);
    nic_cq_init(&end[0].send_cq, two, 2);
    for (uint64_t i = 0; i < 3; i++)
        pair_send(&pair, 0, &end[0],
                  (struct nic_wr){.wr_id = i, .verb = NIC_WRITE, .length = 1, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    assert_true(end[0].send_cq.overrun);
    assert_int_equal(nic_cq_poll(&end[0].send_cq)->wr_id, 0);
    assert_int_equal(nic_cq_poll(&end[0].send_cq)->wr_id, 1);
    assert_null(nic_cq_poll(&end[0].send_cq));
}

static void test_posting_refused(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct nic_wr wr = {.verb = NIC_WRITE, .length = NIC_LENGTH_MAX + 1};
    struct nic_recv recv = {.length = 1};
    (void)state;
    config.max_read = 0;
    rig_connect(&config);
    assert_int_equal(nic_post_send(pair.nic[0], end[0].qp, &wr, 0, &pair.io[0]), -EINVAL);
    wr = (struct nic_wr){.verb = NIC_READ, .length = 1}; /* none may be outstanding */
    assert_int_equal(nic_post_send(pair.nic[0], end[0].qp, &wr, 0, &pair.io[0]), -EINVAL);
    wr = (struct nic_wr){.verb = NIC_VERBS, .length = 1};
    assert_int_equal(nic_post_send(pair.nic[0], end[0].qp, &wr, 0, &pair.io[0]), -EINVAL);
    wr = (struct nic_wr){.verb = NIC_WRITE, .rkey = 0x1234, .remote_va = 0x10000, .length = 1};
    for (uint32_t i = 0; i < PAIR_SQ; i++)
        assert_int_equal(nic_post_send(pair.nic[0], end[0].qp, &wr, 0, &pair.io[0]), 0);
    assert_int_equal(nic_post_send(pair.nic[0], end[0].qp, &wr, 0, &pair.io[0]), -ENOMEM);
    for (uint32_t i = 0; i < PAIR_RQ; i++)
        assert_int_equal(nic_post_recv(pair.nic[0], end[0].qp, &recv, 0, &pair.io[0]), 0);
    assert_int_equal(nic_post_recv(pair.nic[0], end[0].qp, &recv, 0, &pair.io[0]), -ENOMEM);
    pair.ask[0] = true;
    pair_run(&pair, PS_NEVER);
    assert_int_equal(nic_qp_queued(end[0].qp), 0);
}

static void test_qp_numbers(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct nic_qp *qp[4], *more = NULL;
    (void)state;
    rig_connect(&config); /* takes 0x11 of 4 places */
    assert_int_equal(nic_qp_create(pair.nic[0], 0x11, &config, 0, &more), -EEXIST);
    assert_int_equal(nic_qp_create(pair.nic[0], 0x12, &config, 0, &qp[0]), 0);
    assert_int_equal(nic_qp_create(pair.nic[0], 0xabcdef, &config, 0, &qp[1]), 0);
    assert_int_equal(nic_qp_create(pair.nic[0], 0, &config, 0, &qp[2]), 0);
    assert_int_equal(nic_qp_number(qp[2]), 0x13);
    assert_int_equal(nic_qp_create(pair.nic[0], 0, &config, 0, &more), -ENOMEM);
    assert_null(more);
    assert_ptr_equal(nic_qp_find(pair.nic[0], 0xabcdef), qp[1]);
    assert_ptr_equal(nic_qp_find(pair.nic[0], 0x12), qp[0]);
    assert_null(nic_qp_find(pair.nic[0], 0x14));
    nic_qp_destroy(pair.nic[0], qp[1], &pair.io[0]);
    assert_null(nic_qp_find(pair.nic[0], 0xabcdef));
    assert_int_equal(nic_qp_create(pair.nic[0], 0xabcdee, &config, 0, &qp[1]), 0);
    assert_ptr_equal(nic_qp_find(pair.nic[0], 0xabcdee), qp[1]);
    config.mtu = 0;
    assert_int_equal(nic_qp_create(pair.nic[0], 0, &config, 0, &more), -EINVAL);
    for (int i = 0; i < 3; i++)
        nic_qp_destroy(pair.nic[0], qp[i], &pair.io[0]);
    nic_audit(pair.nic[0], &pair.pool);
}

/* Reset, connected anew with other PSNs, and it works again. */
static void test_states(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct nic_wr wr = {.verb = NIC_WRITE, .length = 5000, .flags = NIC_SIGNALED, .rkey = 0x1234, .remote_va = 0x10000};
    (void)state;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], wr);
    pair_run(&pair, 200 * PS_NS);
    for (int s = 0; s < 2; s++) {
        assert_int_equal(nic_qp_modify(pair.nic[s], end[s].qp, NIC_ERROR, pair.now, &pair.io[s]), 0);
        assert_int_equal(nic_qp_modify(pair.nic[s], end[s].qp, NIC_RTS, pair.now, &pair.io[s]), -EINVAL);
        assert_int_equal(nic_qp_connect(pair.nic[s], end[s].qp, &config, pair.now), -EINVAL);
        assert_int_equal(nic_qp_modify(pair.nic[s], end[s].qp, NIC_RESET, pair.now, &pair.io[s]), 0);
    }
    expect_cqe(&end[0].send_cq, 0, NIC_WR_FLUSH_ERR);
    pair_run(&pair, PS_NEVER); /* what was on the wire finds nobody */
    assert_true(nic_counters(pair.nic[1])->drop[NIC_DROP_qp_state] > 0);
    assert_int_equal(nic_post_send(pair.nic[0], end[0].qp, &wr, pair.now, &pair.io[0]), -EINVAL);
    for (int s = 0; s < 2; s++) {
        struct nic_qp_config own = config;
        own.remote = (uint32_t)(11 - s);
        own.remote_qp = 0x11;
        own.send_psn = s ? 500 : 400;
        own.expect_psn = s ? 400 : 500;
        assert_int_equal(nic_qp_connect(pair.nic[s], end[s].qp, &own, pair.now), 0);
        assert_int_equal(nic_qp_modify(pair.nic[s], end[s].qp, NIC_INIT, pair.now, &pair.io[s]), 0);
        assert_int_equal(nic_qp_modify(pair.nic[s], end[s].qp, NIC_RTR, pair.now, &pair.io[s]), 0);
        assert_int_equal(nic_qp_modify(pair.nic[s], end[s].qp, NIC_RTS, pair.now, &pair.io[s]), 0);
    }
    uint32_t from = pair.seen_count;
    pair_send(&pair, 0, &end[0], wr);
    pair_run(&pair, PS_NEVER);
    assert_int_equal(seen(from)->psn, 400);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_write),
        T(test_opcodes),
        T(test_ack_coalescing),
        T(test_ack_requests),
        T(test_ack_merged),
        T(test_window),
        T(test_max_read),
        T(test_fence),
        T(test_responses_interleave),
        T(test_ack_behind_response),
        T(test_ack_class_with_reads),
        T(test_refusal_behind_response),
        T(test_patience),
        T(test_dropped_behind_refusal),
        T(test_dropped_and_gap_filled),
        T(test_srq),
        T(test_send_invalidate),
        T(test_cq_overrun),
        T(test_posting_refused),
        T(test_qp_numbers),
        T(test_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
