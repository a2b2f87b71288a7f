/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random verbs, sizes and settings over a wire that loses, doubles, reorders and marks: every work request
 * completes once, in order, with success; every receive holds the message that was sent for it; bytes are
 * conserved; atomics happen once.  For each of the three recoveries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/support.h"
#include "base/time.h"
#include "nic/pair.h"

#define MESSAGES 60u
#define RECV_ROOM 70000u

struct plan { /* what one side sends */
    struct nic_wr wr[MESSAGES];
    uint32_t posted, completed; /* next to be posted; next whose completion is expected */
    uint32_t receive;           /* next message of the peer that needs a receive: index into its wr */
    uint64_t recv_posted;
    uint64_t request_bytes, read_bytes;
};

static struct pair pair;
static struct pair_end end[2];
static struct plan plan[2];
static uint64_t added;

static bool needs_receive(const struct nic_wr *wr)
{
    return wr->verb <= NIC_SEND_INV || wr->verb == NIC_WRITE_IMM;
}

static void make_plan(struct plan *p, struct rng *rng, uint64_t longest)
{
    *p = (struct plan){.posted = 0};
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct nic_wr *wr = &p->wr[i];
        uint64_t length = rng_below(rng, 4) ? rng_below(rng, longest) : rng_below(rng, 5);
        *wr = (struct nic_wr){.wr_id = i, .verb = (uint8_t)rng_below(rng, NIC_VERBS), .length = length, .imm = i};
        if (wr->verb == NIC_SEND_INV) wr->verb = NIC_SEND;
        if (rng_below(rng, 3)) wr->flags |= NIC_SIGNALED;
        if (rng_below(rng, 8) == 0) wr->flags |= NIC_FENCE;
        if (wr->verb >= NIC_CAS) {
            wr->verb = NIC_FETCH_ADD;
            wr->length = 8;
            wr->swap = rng_below(rng, 1000);
            added += wr->swap;
        } else if (wr->verb == NIC_READ) {
            p->read_bytes += wr->length;
        } else {
            p->request_bytes += wr->length;
        }
    }
    p->wr[MESSAGES - 1].flags |= NIC_SIGNALED;
}

static uint64_t kept; /* packets that waited for those before them */

static struct nic_qp_config random_config(struct rng *rng, struct cc_config *cc, enum nic_recovery recovery)
{
    static const uint16_t mtus[] = {256, 1000, 1024, 4096};
    static const uint16_t every[] = {1, 2, 16, 0};
    static const uint32_t windows[] = {0, 1, 5, 64};
    struct nic_qp_config config = pair_qp_config();

    config.recovery = (uint8_t)recovery;
    config.mtu = mtus[rng_below(rng, 4)];
    config.ack_every = every[rng_below(rng, 4)];
    config.ack_request_every = every[rng_below(rng, 4)];
    config.window_packets = windows[rng_below(rng, 4)];
    config.max_read = (uint8_t)(1 + rng_below(rng, PAIR_RESOURCES));
    config.retry = NIC_RETRY_FOREVER;
    config.min_rnr_timer = 1; /* 10 us */
    config.prio = (uint8_t)rng_below(rng, NIC_PRIOS);
    config.cc = cc;
    return config;
}

/* Posts what there is room for, completes what is there; `generous` receives come before they are needed. */
static void drive(int side, bool generous, uint64_t step)
{
    struct plan *own = &plan[side], *peer = &plan[1 - side];
    const struct nic_cqe *cqe;

    while ((cqe = nic_cq_poll(&end[side].send_cq))) {
        while (own->completed < own->posted && !(own->wr[own->completed].flags & NIC_SIGNALED))
            own->completed++;
        EXPECT(cqe->status == NIC_SUCCESS, step);
        EXPECT(own->completed < own->posted && cqe->wr_id == own->completed, step);
        EXPECT(cqe->bytes == own->wr[own->completed].length && cqe->verb == own->wr[own->completed].verb, step);
        own->completed++;
    }
    while ((cqe = nic_cq_poll(&end[side].recv_cq))) {
        while (own->receive < MESSAGES && !needs_receive(&peer->wr[own->receive]))
            own->receive++;
        EXPECT(cqe->status == NIC_SUCCESS && cqe->receive, step);
        EXPECT(own->receive < MESSAGES && cqe->bytes == peer->wr[own->receive].length, step);
        EXPECT(cqe->verb == peer->wr[own->receive].verb, step);
        EXPECT(!cqe->has_imm || cqe->imm == own->receive, step);
        own->receive++;
    }
    while (own->recv_posted < MESSAGES && (generous || own->recv_posted < own->receive + 1)) {
        struct nic_recv recv = {.wr_id = own->recv_posted, .length = RECV_ROOM};
        if (nic_post_recv(pair.nic[side], end[side].qp, &recv, pair.now, &pair.io[side])) break;
        own->recv_posted++;
        if (!generous) break;
    }
    while (own->posted < MESSAGES && nic_qp_queued(end[side].qp) < 20) {
        pair_send(&pair, side, &end[side], own->wr[own->posted]);
        own->posted++;
    }
}

/* foreign: side 1 is not one of us, and drops what comes after a gap; reorder: gaps are
 * given time */
struct kind {
    bool foreign, reorder;
};

static void run_one(enum nic_recovery recovery, struct kind kind, uint64_t step)
{
    struct rng rng;
    struct cc_config cc;
    struct nic_counters *counters[2];
    bool rough;

    rng_init(&rng, test_seed() + step, (uint64_t)recovery);
    pair_init_default(&pair, 2, test_seed() * 31 + step);
    pair.foreign[0] = pair.foreign[1] = kind.foreign;
    assert_int_equal(cc_preset(rng_below(&rng, 2) ? "dcqcn/connectx" : "none", &cc), 0);
    cc.rpg_min_rate = 1000000000; /* keep runs short */
    if (rng_below(&rng, 3) == 0) cc.window = 3000;
    struct nic_qp_config config = random_config(&rng, &cc, recovery);
    rough = step % 4 != 0;
    if (kind.reorder) {
        config.reorder_window = (uint32_t)(1 + rng_below(&rng, 20));
        config.reorder_ps = (1 + rng_below(&rng, 60)) * PS_US;
    }
    if (rough && step % 4 == 1) config.adaptive_ps = 20 * PS_US;
    if (!rough) config.timeout = 14; /* nothing is lost: the timer has no reason, however slow the rate */
    pair_connect(&pair, &config, end);
    pair.lose_ppm = rough ? (uint32_t)rng_below(&rng, recovery == NIC_GO_BACK_0 ? 20000 : 80000) : 0;
    pair.double_ppm = rough ? (uint32_t)rng_below(&rng, 20000) : 0;
    pair.hold_ppm = rough ? (uint32_t)rng_below(&rng, 30000) : 0;
    pair.mark_ppm = (uint32_t)rng_below(&rng, 100000);
    added = 0;
    bool generous = rng_below(&rng, 2);
    uint64_t longest = (uint64_t)config.mtu * (recovery == NIC_GO_BACK_0 ? 6 : 12);
    make_plan(&plan[0], &rng, longest);
    make_plan(&plan[1], &rng, longest);
    for (;;) {
        drive(0, generous, step);
        drive(1, generous, step);
        if (!pair_step(&pair, PS_NEVER)) break;
        if (pair.steps % 16 == 0) nic_audit(pair.nic[pair.steps / 16 % 2], &pair.pool);
        EXPECT(pair.steps < 2000000, step);
    }
    for (int s = 0; s < 2; s++) {
        counters[s] = nic_counters(pair.nic[s]);
        EXPECT(plan[s].posted == MESSAGES && nic_qp_queued(end[s].qp) == 0, step);
        EXPECT(plan[s].completed == MESSAGES, step);
    }
    EXPECT(pair.atomic_value == added, step);
    EXPECT(pair.misplaced == 0, step);
    if (!kind.foreign) kept += pair.kept[0] + pair.kept[1];
    if (kind.foreign) EXPECT(pair.kept[0] + pair.kept[1] == 0, step);
    for (int s = 0; s < 2; s++)
        EXPECT(pair.placed_bytes[s] >= plan[1 - s].request_bytes + plan[s].read_bytes, step);
    for (int s = 0; s < 2; s++) {
        uint64_t due = plan[1 - s].request_bytes + plan[s].read_bytes;
        if (recovery == NIC_GO_BACK_0)
            EXPECT(counters[s]->rx_payload_bytes >= due, step);
        else
            EXPECT(counters[s]->rx_payload_bytes == due, step);
        if (!rough) EXPECT(counters[s]->local_ack_timeout_err == 0, step);
    }
    pair_run(&pair, PS_NEVER); /* nothing left; audits and counts packets */
    pair_disconnect(&pair, end);
    pair_release(&pair);
}

static void test_go_back_n(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < 60; step++)
        run_one(NIC_GO_BACK_N, (struct kind){.foreign = false}, step);
}

static void test_go_back_0(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < 40; step++)
        run_one(NIC_GO_BACK_0, (struct kind){.foreign = false}, step);
}

static void test_selective(void **state)
{
    (void)state;
    kept = 0;
    for (uint64_t step = 0; step < 60; step++)
        run_one(NIC_SELECTIVE, (struct kind){.foreign = false}, step);
    assert_true(kept > 100);
}

static void test_reorder(void **state)
{
    (void)state;
    kept = 0;
    for (uint64_t step = 0; step < 80; step++)
        run_one(NIC_SELECTIVE, (struct kind){.reorder = true}, step);
    assert_true(kept > 50);
}

static void test_selective_foreign(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < 60; step++)
        run_one(NIC_SELECTIVE, (struct kind){.foreign = true}, step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_go_back_n),         cmocka_unit_test(test_go_back_0), cmocka_unit_test(test_selective),
        cmocka_unit_test(test_selective_foreign), cmocka_unit_test(test_reorder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
