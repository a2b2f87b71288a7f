/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port: who sends when (turns, priorities, pacing, pauses), notifications, the slow receiver, and
 * the unreliable transports.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/time.h"
#include "nic/rig.h"
#include "packet/opcode.h"
#include "packet/telemetry.h"

#define LINE_BPS (100 * 1000000000ULL)

static struct pair_end more[3][2];

static struct cc_config fixed_rate(uint64_t bps)
{
    struct cc_config cc;
    assert_int_equal(cc_preset("dcqcn/paper", &cc), 0);
    cc.rpg_max_rate = bps;
    return cc;
}

/* Three QPs of one priority take turns, a packet each. */
static void test_turns(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    for (int i = 0; i < 3; i++)
        pair_connect(&pair, &config, more[i]);
    for (int i = 0; i < 3; i++)
        pair_send(&pair, 0, &more[i][0], (struct nic_wr){.verb = NIC_WRITE, .length = 5 * 1024});
    pair_run(&pair, PS_NEVER);
    uint32_t n = 0;
    for (uint32_t i = 0; i < pair.seen_count && n < 15; i++)
        if (pair.seen[i].from == 0) assert_int_equal(seen(i)->dest_qp, 0x11 + n++ % 3);
    assert_int_equal(n, 15);
    for (int i = 0; i < 3; i++)
        pair_disconnect(&pair, more[i]);
}

/* Priorities take turns too, whatever the number of QPs in them; a paused one gives nothing. */
static void test_priorities(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    uint16_t quanta[8] = {0};
    uint32_t of_prio[8] = {0};
    (void)state;
    for (int i = 0; i < 3; i++) {
        config.prio = i < 2 ? 3 : 5;
        config.tos = (uint8_t)(config.prio << 5);
        pair_connect(&pair, &config, more[i]);
        pair_send(&pair, 0, &more[i][0], (struct nic_wr){.verb = NIC_WRITE, .length = 20 * 1024});
    }
    pair_run(&pair, 8 * 89 * PS_NS); /* a packet of 1082 and 24 bytes takes 88.48 ns */
    for (uint32_t i = 0; i < pair.seen_count; i++)
        of_prio[seen(i)->tos >> 5] += pair.seen[i].from == 0;
    assert_in_range(of_prio[5], of_prio[3] - 1, of_prio[3] + 1);
    quanta[5] = 65535;
    nic_pause(pair.nic[0], 1 << 5, quanta, pair.now, &pair.io[0]);
    assert_int_equal(nic_paused(pair.nic[0]), 1 << 5);
    uint32_t from = pair.seen_count;
    pair_run(&pair, pair.now + 2 * PS_US);
    for (uint32_t i = from; i < pair.seen_count; i++)
        if (pair.seen[i].from == 0) assert_int_equal(seen(i)->pcp, 3);
    assert_true(pair.seen_count > from + 10);
    pair_run(&pair, PS_NEVER);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nic_qp_queued(more[i][0].qp), 0);
        pair_disconnect(&pair, more[i]);
    }
}

/* 65535 quanta of 512 bits at 100G: 335.5392 us, and it goes on by itself. */
static void test_pause_expires(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    uint16_t quanta[8] = {65535};
    (void)state;
    config.timeout = 0;
    rig_connect(&config);
    nic_pause(pair.nic[0], 1, quanta, 1000, &pair.io[0]);
    assert_int_equal(pair.io[0].deadline, 1000 + 65535ULL * 5120);
    pair.tick_at[0] = pair.io[0].deadline;
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 10, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    assert_int_equal(pair.seen[0].at, 1000 + 65535ULL * 5120);
    struct nic_prio_counters *c = &nic_counters(pair.nic[0])->prio[0];
    assert_int_equal(c->rx_pause, 1);
    assert_int_equal(c->rx_pause_transition, 1);
    assert_int_equal(c->rx_pause_ps, 65535ULL * 5120);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
}

static void test_pause_resumed(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    uint16_t quanta[8] = {65535};
    (void)state;
    rig_connect(&config);
    nic_pause(pair.nic[0], 1, quanta, 0, &pair.io[0]);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 10, .flags = NIC_SIGNALED});
    pair_run(&pair, 5 * PS_US);
    assert_int_equal(pair.seen_count, 0);
    nic_pause(pair.nic[0], 1, quanta, 6 * PS_US, &pair.io[0]); /* again: not a new transition */
    quanta[0] = 0;
    nic_pause(pair.nic[0], 1, quanta, 7 * PS_US, &pair.io[0]);
    assert_true(pair.io[0].kick);
    pair.now = 7 * PS_US;
    pair.tick_at[0] = pair.io[0].deadline;
    pair.ask[0] = true;
    pair_run(&pair, PS_NEVER);
    assert_int_equal(pair.seen[0].at, 7 * PS_US);
    assert_int_equal(nic_counters(pair.nic[0])->prio[0].rx_pause_ps, 7 * PS_US);
    assert_int_equal(nic_counters(pair.nic[0])->prio[0].rx_pause_transition, 1);
    assert_int_equal(nic_counters(pair.nic[0])->prio[0].rx_resume, 1);
}

static void test_pause_forever(void **state)
{
    struct nic_config config[2] = {nic_config_hpcc_ns3(LINE_BPS, 10, false), nic_config_hpcc_ns3(LINE_BPS, 11, false)};
    struct nic_qp_config qp = pair_qp_config();
    uint16_t quanta[8] = {1};
    (void)state;
    pair_release(&pair);
    pair_init(&pair, config, 1);
    rig_connect(&qp);
    nic_pause(pair.nic[0], 1, quanta, 0, &pair.io[0]);
    assert_int_equal(pair.io[0].deadline, PS_NEVER);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 10});
    pair_run(&pair, PS_S);
    assert_int_equal(pair.seen_count, 0);
}

/* At about a third of the line rate packets start at exact distances, the fractions of picoseconds carried. */
static void test_pacing(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct cc_config cc = fixed_rate(33123456789);
    (void)state;
    config.cc = &cc;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 3000 * 1024, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    uint64_t bytes = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < pair.seen_count; i++) {
        if (pair.seen[i].from != 0) continue;
        __extension__ unsigned __int128 due = (unsigned __int128)bytes * 8 * PS_S / cc.rpg_max_rate;
        assert_in_range(pair.seen[i].at, (uint64_t)due - (due > 0), (uint64_t)due + 1);
        bytes += seen(i)->frame_bytes + 24u;
        n++;
    }
    assert_int_equal(n, 3000);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
}

/* From the first packet of adapter 0 to its last, the time for which its line was idle. */
static ps_t idle_of_seen(void)
{
    ps_t idle = 0, free_at = PS_NEVER;

    for (uint32_t i = 0; i < pair.seen_count; i++) {
        if (pair.seen[i].from != 0) continue;
        if (free_at < pair.seen[i].at) idle += pair.seen[i].at - free_at;
        free_at = pair.seen[i].at + (seen(i)->frame_bytes + 24u) * 8 * PS_S / LINE_BPS;
    }
    return idle;
}

/* Why a line is idle: congestion control's rate. */
static void test_idle_for_rate(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct cc_config cc = fixed_rate(33123456789);
    (void)state;
    config.cc = &cc;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 1000 * 1024});
    pair_run(&pair, PS_NEVER);
    const struct nic_counters *counters = nic_counters(pair.nic[0]);
    assert_int_equal(counters->idle_rate_ps, idle_of_seen());
    ps_t needs = 8 * PS_S / cc.rpg_max_rate * 1000 * 1106; /* headers and gaps are in it */
    assert_in_range(counters->idle_rate_ps * 1000 / needs, 660, 680);
    assert_int_equal(counters->idle_fetch_ps, 0);
    assert_int_equal(nic_counters(pair.nic[1])->idle_rate_ps, 0);
}

/* ... or its window. */
static void test_idle_for_window(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct cc_config cc = fixed_rate(LINE_BPS);
    (void)state;
    cc.window = 4096; /* far less than is under way in a round trip */
    config.cc = &cc;
    rig_connect(&config);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 1000 * 1024});
    pair_run(&pair, PS_NEVER);
    const struct nic_counters *counters = nic_counters(pair.nic[0]);
    assert_true(idle_of_seen() > 100 * PS_US);
    assert_in_range(counters->idle_rate_ps, idle_of_seen() - idle_of_seen() / 100, idle_of_seen());
}

/* A QP that waits for its time does not hold others back. */
static void test_pacing_two(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct cc_config slow = fixed_rate(LINE_BPS / 100);
    (void)state;
    config.timeout = 14;
    config.cc = &slow;
    pair_connect(&pair, &config, more[0]);
    config.cc = NULL;
    pair_connect(&pair, &config, more[1]);
    for (int i = 0; i < 2; i++)
        pair_send(&pair, 0, &more[i][0],
                  (struct nic_wr){.verb = NIC_WRITE, .length = 100 * 1024, .flags = NIC_SIGNALED});
    pair_run(&pair, 105 * 8848 * 10);
    uint32_t n[2] = {0};
    for (uint32_t i = 0; i < pair.seen_count; i++)
        if (pair.seen[i].from == 0) n[seen(i)->dest_qp - 0x11]++;
    assert_in_range(n[0], 1, 3);
    assert_int_equal(n[1], 100);
    pair_run(&pair, PS_NEVER);
    for (int i = 0; i < 2; i++) {
        expect_cqe(&more[i][0].send_cq, 0, NIC_SUCCESS);
        pair_disconnect(&pair, more[i]);
    }
}

static enum pair_fate mark_all(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    (void)p;
    (void)now;
    if (from == 0 && pkt->tos & 3) pkt->tos |= PKT_ECN_CE;
    return PAIR_PASS;
}

static void run_marked(const struct nic_config config[2], uint32_t qps)
{
    struct nic_qp_config qp = pair_qp_config();
    static struct cc_config cc;
    assert_int_equal(cc_preset("dcqcn/connectx", &cc), 0);
    qp.cc = &cc;
    qp.timeout = 14; /* rates become low */
    pair_release(&pair);
    pair_init(&pair, config, 1);
    pair.filter = mark_all;
    for (uint32_t i = 0; i < qps; i++)
        pair_connect(&pair, &qp, more[i]);
    for (uint32_t i = 0; i < qps; i++)
        pair_send(&pair, 0, &more[i][0], (struct nic_wr){.verb = NIC_WRITE, .length = 300 * 1024});
    pair_run(&pair, PS_NEVER);
    for (uint32_t i = 0; i < qps; i++)
        pair_disconnect(&pair, more[i]);
}

/* CNPs: to the right QP, in their own class, and never closer than the gap. */
static void test_cnp_gap(void **state)
{
    struct nic_config config[2] = {nic_config_default(LINE_BPS, 10), nic_config_default(LINE_BPS, 11)};
    ps_t last[2] = {0}, closest = PS_NEVER;
    (void)state;
    config[0].any_key = config[1].any_key = true;
    config[1].cnp_min_gap_ps = 7 * PS_US;
    run_marked(config, 2);
    uint32_t cnps = 0;
    for (uint32_t i = 0; i < pair.seen_count; i++) {
        const struct pkt *p = seen(i);
        if (p->opcode != OPCODE_CNP) continue;
        assert_int_equal(pair.seen[i].from, 1);
        assert_int_equal(p->tos, 48 << 2);
        assert_int_equal(p->pcp, 6);
        assert_int_equal(p->frame_bytes, 58 + 16);
        uint32_t qp = p->dest_qp - 0x11;
        assert_in_range(qp, 0, 1);
        if (last[qp] && pair.seen[i].at - last[qp] < closest) closest = pair.seen[i].at - last[qp];
        last[qp] = pair.seen[i].at;
        cnps++;
    }
    assert_true(closest + 200 * PS_NS > 7 * PS_US); /* it may have waited for a frame being sent */
    assert_true(cnps > 10);
    assert_int_equal(nic_counters(pair.nic[1])->np_cnp_sent, cnps);
    assert_int_equal(nic_counters(pair.nic[0])->rp_cnp_handled, cnps);
    assert_true(nic_counters(pair.nic[1])->np_ecn_marked_roce_packets >= 600);
}

/* The first packets of the sender are marked, as many as the test wants. */
static uint32_t marks_left;
static enum pair_fate mark_first(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    (void)p;
    (void)now;
    if (from == 0 && marks_left > 0) {
        pkt->tos |= PKT_ECN_CE;
        marks_left--;
    }
    return PAIR_PASS;
}

/* Three marks within the gap: one CNP at once, and one at the end of the gap where marks are remembered. */
static void test_cnp_remember(void **state)
{
    (void)state;
    for (uint32_t remember = 0; remember < 2; remember++) {
        struct nic_config config[2] = {nic_config_default(LINE_BPS, 10), nic_config_default(LINE_BPS, 11)};
        struct nic_qp_config qp = pair_qp_config();
        ps_t last = 0, apart = 0;
        config[0].any_key = config[1].any_key = true;
        config[1].cnp_min_gap_ps = 50 * PS_US;
        config[1].cnp_remember = remember;
        pair_release(&pair);
        pair_init(&pair, config, 1);
        pair.filter = mark_first;
        marks_left = 3;
        pair_connect(&pair, &qp, more[0]);
        pair_send(&pair, 0, &more[0][0], (struct nic_wr){.verb = NIC_WRITE, .length = 300 * 1024});
        pair_run(&pair, PS_NEVER);
        assert_int_equal(count_seen(1, OPCODE_CNP), 1 + remember);
        for (uint32_t i = 0; i < pair.seen_count; i++) {
            if (seen(i)->opcode != OPCODE_CNP) continue;
            if (last) apart = pair.seen[i].at - last;
            last = pair.seen[i].at;
        }
        if (remember) assert_in_range(apart, 50 * PS_US - 200 * PS_NS, 50 * PS_US + 200 * PS_NS);
        pair_disconnect(&pair, more[0]);
    }
}

static void test_cnp_per_nic(void **state)
{
    struct nic_config config[2] = {nic_config_default(LINE_BPS, 10), nic_config_default(LINE_BPS, 11)};
    ps_t last = 0;
    (void)state;
    config[0].any_key = config[1].any_key = true;
    config[1].cnp_min_gap_ps = 7 * PS_US;
    config[1].cnp_per_nic = true;
    run_marked(config, 2);
    for (uint32_t i = 0; i < pair.seen_count; i++) {
        if (seen(i)->opcode != OPCODE_CNP) continue;
        assert_true(last == 0 || pair.seen[i].at - last + 200 * PS_NS > 7 * PS_US);
        last = pair.seen[i].at;
    }
    assert_true(last > 0);
}

/* The HPCC ns-3 model: frame sizes, and marks that travel in ACKs. */
static void test_hpcc_ns3(void **state)
{
    struct nic_config config[2] = {nic_config_hpcc_ns3(LINE_BPS, 10, false), nic_config_hpcc_ns3(LINE_BPS, 11, false)};
    (void)state;
    run_marked(config, 1);
    assert_int_equal(count_seen(1, OPCODE_CNP), 0);
    for (uint32_t i = 0; i < pair.seen_count; i++) {
        assert_int_equal(seen(i)->frame_bytes, pair.seen[i].from ? 60 : 1024 + 48);
        if (pair.seen[i].from) assert_true(seen(i)->flags & PKT_BECN);
    }
    assert_true(nic_counters(pair.nic[0])->rp_cnp_handled > 10);
}

/* What switches wrote into a data packet comes back in its ACK, once. */
static enum pair_fate write_telemetry(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    pkt_t id = (pkt_t)(pkt - p->pool.hot);
    pkt_int_add(&p->pool.telemetry[id], now, 1000 + now, LINE_BPS, 17);
    if (from == 0) {
        assert_int_equal(p->pool.telemetry[id].hops, 1);
        assert_false(p->pool.telemetry[id].echo);
    } else {
        assert_int_equal(p->pool.telemetry[id].hops, 1);
        assert_true(p->pool.telemetry[id].echo);
        assert_true(p->pool.telemetry[id].hop[0].at < now);
        assert_int_equal(p->pool.telemetry[id].hop[0].queue_bytes, 17);
    }
    return PAIR_PASS;
}

static void test_telemetry(void **state)
{
    struct nic_config config[2] = {nic_config_hpcc_ns3(LINE_BPS, 10, true), nic_config_hpcc_ns3(LINE_BPS, 11, true)};
    struct nic_qp_config qp = pair_qp_config();
    struct cc_config cc;
    (void)state;
    assert_int_equal(cc_preset("hpcc/paper", &cc), 0);
    qp.cc = &cc;
    qp.mtu = 1000;
    pair_release(&pair);
    pair_init(&pair, config, 1);
    pair.filter = write_telemetry;
    rig_connect(&qp);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 200 * 1000, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
    assert_int_equal(seen(0)->frame_bytes, 1090);
    assert_int_equal(count_seen(1, OPCODE_RC_ACK), 200);
}

/* A receiver that drains at a tenth of the line pauses the sender, loses nothing, and lets it go on. */
static void test_slow_receiver(void **state)
{
    struct nic_config config[2] = {nic_config_default(LINE_BPS, 10), nic_config_default(LINE_BPS, 11)};
    struct nic_qp_config qp = pair_qp_config();
    (void)state;
    config[1].any_key = true;
    config[1].rx_bps = LINE_BPS / 10;
    config[1].rx_buffer_bytes = 100000;
    config[1].rx_xoff_bytes = 40000;
    config[1].rx_xon_bytes = 30000;
    qp.prio = 3;
    qp.timeout = 0;
    pair_release(&pair);
    pair_init(&pair, config, 1);
    rig_connect(&qp);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 1000000, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
    struct nic_counters *b = nic_counters(pair.nic[1]);
    assert_int_equal(b->drop[NIC_DROP_rx_buffer], 0);
    assert_in_range(b->rx_buffer_max_bytes, 40001, 70000);
    assert_true(b->prio[3].tx_pause > 5);
    assert_int_equal(b->prio[3].tx_pause, b->prio[3].tx_resume);
    /* about 800 us for 8 Mb at 10 Gb/s */
    assert_in_range(pair.now, 770 * PS_US, 900 * PS_US);
}

static void test_slow_receiver_overflows(void **state)
{
    struct nic_config config[2] = {nic_config_default(LINE_BPS, 10), nic_config_default(LINE_BPS, 11)};
    struct nic_qp_config qp = pair_qp_config();
    (void)state;
    config[1].any_key = true;
    config[1].rx_bps = LINE_BPS / 10;
    config[1].rx_buffer_bytes = 20000;
    config[1].rx_xoff_bytes = UINT32_MAX; /* no PFC */
    qp.retry = NIC_RETRY_FOREVER;
    pair_release(&pair);
    pair_init(&pair, config, 1);
    rig_connect(&qp);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 200000, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    assert_true(nic_counters(pair.nic[1])->drop[NIC_DROP_rx_buffer] > 0);
    assert_int_equal(nic_counters(pair.nic[1])->rx_payload_bytes, 200000);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
}

/* A bus that fetches at a quarter of the line: packets with payload are so far apart, requests of two QPs and answers
 * to READs alike; ACKs go in between. */
static void test_slow_bus(void **state)
{
    struct nic_config config[2] = {nic_config_default(LINE_BPS, 10), nic_config_default(LINE_BPS, 11)};
    struct nic_qp_config qp = pair_qp_config();
    ps_t before = 0, span = 0;
    uint32_t carried = 0, between = 0;
    (void)state;
    config[0].any_key = config[1].any_key = true;
    config[0].tx_bps = LINE_BPS / 4;
    qp.ack_every = qp.ack_request_every = 1;
    pair_release(&pair);
    pair_init(&pair, config, 1);
    rig_connect(&qp);
    pair_connect(&pair, &qp, more[0]);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 100 * 1024, .flags = NIC_SIGNALED});
    pair_send(&pair, 0, &more[0][0], (struct nic_wr){.verb = NIC_WRITE, .length = 100 * 1024});
    pair_send(&pair, 1, &end[1], (struct nic_wr){.verb = NIC_READ, .length = 100 * 1024});
    pair_send(&pair, 1, &more[0][1], (struct nic_wr){.verb = NIC_WRITE, .length = 100 * 1024});
    pair_run(&pair, PS_NEVER);
    expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
    for (uint32_t i = 0; i < pair.seen_count; i++) {
        if (pair.seen[i].from != 0) continue;
        if (seen(i)->payload_bytes == 0) {
            between += carried && pair.seen[i].at < before + span;
            continue;
        }
        if (carried++) assert_true(pair.seen[i].at >= before + span);
        before = pair.seen[i].at;
        span = (ps_t)seen(i)->frame_bytes * 8 * PS_S / (LINE_BPS / 4);
    }
    assert_int_equal(carried, 300);
    assert_true(between > 20);
    const struct nic_counters *counters = nic_counters(pair.nic[0]);
    assert_in_range(counters->idle_fetch_ps, idle_of_seen() - 20 * PS_US, idle_of_seen());
    assert_int_equal(counters->idle_rate_ps, 0);
    /* one after the other, with no more between them than a longer header and the first round trip */
    assert_in_range(before, 297 * span, 300 * span + 5 * PS_US);
    pair_disconnect(&pair, more[0]);
}

/* Where fetching waits for what is not drained, a host that receives sends more slowly; pauses and losses change
 * nothing about its end. */
static void test_bus_in_order(void **state)
{
    struct nic_config config[2] = {nic_config_default(LINE_BPS, 10), nic_config_default(LINE_BPS, 11)};
    struct nic_qp_config qp = pair_qp_config();
    ps_t took[2];
    (void)state;
    qp.prio = 3;
    qp.retry = NIC_RETRY_FOREVER;
    for (int in_order = 0; in_order < 2; in_order++) {
        config[0].any_key = config[1].any_key = true;
        config[0].rx_bps = LINE_BPS / 4;
        config[0].rx_buffer_bytes = 100000;
        config[0].rx_xoff_bytes = 40000;
        config[0].rx_xon_bytes = 30000;
        config[0].tx_bps = LINE_BPS;
        config[0].tx_behind_bytes = in_order ? 4096 : 0;
        pair_release(&pair);
        pair_init(&pair, config, 7);
        pair.lose_ppm = 2000;
        rig_connect(&qp);
        pair_send(&pair, 1, &end[1], (struct nic_wr){.verb = NIC_WRITE, .length = 1000000});
        pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 300000, .flags = NIC_SIGNALED});
        while (end[0].send_cq.head == end[0].send_cq.tail)
            assert_true(pair_step(&pair, PS_NEVER));
        took[in_order] = pair.now;
        pair_run(&pair, PS_NEVER);
        expect_cqe(&end[0].send_cq, 0, NIC_SUCCESS);
        rig_disconnect();
    }
    assert_true(took[1] > 2 * took[0]);
}

/* UC: the message with the lost packet is gone, its receive serves the next. */
static enum pair_fate lose_sixth(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    (void)pkt;
    (void)now;
    return from == 0 && p->seen_count == 5 ? PAIR_LOSE : PAIR_PASS;
}

static void test_uc(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    (void)state;
    config.transport = NIC_UC;
    rig_connect(&config);
    pair.filter = lose_sixth;
    for (uint64_t i = 0; i < 3; i++) {
        pair_recv(&pair, 1, &end[1], 10 + i, 5000);
        pair_send(&pair, 0, &end[0],
                  (struct nic_wr){.wr_id = i, .verb = NIC_SEND_IMM, .length = 4096, .imm = (uint32_t)i, .flags = 1});
    }
    pair_send(&pair, 0, &end[0], (struct nic_wr){.wr_id = 3, .verb = NIC_WRITE, .length = 2000, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    assert_int_equal(pair.seen_count, 14); /* nothing comes back, nothing is repeated */
    assert_int_equal(seen(0)->opcode, OPCODE_UC_SEND_FIRST);
    for (uint64_t i = 0; i < 4; i++)
        expect_cqe(&end[0].send_cq, i, NIC_SUCCESS);
    const struct nic_cqe *cqe = nic_cq_poll(&end[1].recv_cq);
    assert_true(cqe->wr_id == 10 && cqe->imm == 0);
    cqe = nic_cq_poll(&end[1].recv_cq);
    assert_true(cqe->wr_id == 11 && cqe->imm == 2 && cqe->bytes == 4096);
    expect_empty(&end[1].recv_cq);
    assert_int_equal(nic_counters(pair.nic[1])->drop[NIC_DROP_unreliable], 2); /* the two behind the lost one */
}

static void test_ud(void **state)
{
    struct nic_qp_config config = pair_qp_config();
    struct nic_wr wr = {.verb = NIC_SEND_IMM, .length = 1000, .imm = 5, .dest = 11, .dest_qp = 0x11, .qkey = 0x1111};
    (void)state;
    config.transport = NIC_UD;
    rig_connect(&config);
    pair_recv(&pair, 1, &end[1], 1, 1040);
    pair_recv(&pair, 1, &end[1], 2, 1039);
    pair_send(&pair, 0, &end[0], wr); /* received */
    pair_send(&pair, 0, &end[0], wr); /* too long for the receive and the 40 bytes before it */
    pair_send(&pair, 0, &end[0], wr); /* no receive */
    wr.qkey = 0x2222;
    pair_send(&pair, 0, &end[0], wr);
    pair_run(&pair, PS_NEVER);
    assert_int_equal(seen(0)->opcode, OPCODE_UD_SEND_ONLY_IMM);
    assert_int_equal(seen(0)->frame_bytes, 58 + 8 + 4 + 1000);
    const struct nic_cqe *cqe = nic_cq_poll(&end[1].recv_cq);
    assert_int_equal(cqe->bytes, 1040);
    assert_int_equal(cqe->src_qp, 0x11);
    assert_int_equal(cqe->src, 10);
    assert_int_equal(cqe->imm, 5);
    expect_cqe(&end[1].recv_cq, 2, NIC_LOC_LEN_ERR);
    expect_empty(&end[1].recv_cq);
    assert_int_equal(nic_counters(pair.nic[1])->out_of_buffer, 1);
    assert_int_equal(nic_counters(pair.nic[1])->drop[NIC_DROP_qkey], 1);
    wr.length = 1025; /* a datagram is one packet */
    assert_int_equal(nic_post_send(pair.nic[0], end[0].qp, &wr, pair.now, &pair.io[0]), -EINVAL);
}

static void test_counter_names(void **state)
{
    uint32_t counters = 0, drops = 0;
    (void)state;
    for (const struct nic_counter *c = nic_counter_list; c->name; c++) {
        assert_true(c->help[0] && c->offset % 8 == 0 && c->offset < sizeof(struct nic_counters));
        counters++;
        drops += strncmp(c->name, "drop_", 5) == 0;
    }
    assert_int_equal(drops, NIC_DROPS);
    assert_int_equal(counters, offsetof(struct nic_counters, drop) / 8 + NIC_DROPS);
    for (const struct nic_counter *c = nic_prio_counter_list; c->name; c++)
        assert_true(c->offset < sizeof(struct nic_prio_counters));
    assert_string_equal(nic_drop_name[NIC_DROP_qkey], "qkey");
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_turns),
        T(test_priorities),
        T(test_pause_expires),
        T(test_pause_resumed),
        T(test_pause_forever),
        T(test_pacing),
        T(test_idle_for_rate),
        T(test_idle_for_window),
        T(test_pacing_two),
        T(test_cnp_gap),
        T(test_cnp_remember),
        T(test_cnp_per_nic),
        T(test_hpcc_ns3),
        T(test_telemetry),
        T(test_slow_receiver),
        T(test_slow_receiver_overflows),
        T(test_slow_bus),
        T(test_bus_in_order),
        T(test_uc),
        T(test_ud),
        T(test_counter_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
