/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random switches under random traffic, against a simple model beside them.
 *
 * A seed gives a configuration (ports, cells, buffer, groups, thresholds, headroom dedicated or pooled, schedulers,
 * marking, watchdog) and a sequence of arrivals, departures, received pauses, ticks and, in some, ports going down.
 * After every step: the books balance; no packet is lost, doubled or out of order in its queue; a paused priority does
 * not send, and a queue that may send is sent from, strict ones first; a port that gave up asking is asked for again
 * when its pause ends; XOFF and XON take turns and a pause is refreshed before it ends at the peer; and where headroom
 * covers what a peer may send after XOFF, no lossless packet is dropped.
 *
 * ROCELAB_SWARM_SEEDS sets how many seeds; ROCELAB_SWARM_FIRST the first one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define SLACK_BYTES 20000u /* what a peer sends after XOFF, in whole cells */
#define MTU_BYTES 9216u
#define STEPS 1500

struct swarm {
    struct rng rng;
    int seed, step;
    bool lossless;               /* headroom suffices: no loss allowed */
    bool flaps;                  /* ports go down */
    struct sw_port_config other; /* of some ports */
    pkt_t head[LAB_PORTS][8], tail[LAB_PORTS][8];
    pkt_t follow[LAB_PACKETS];
    ps_t until[LAB_PORTS][8];     /* received pauses, by priority */
    bool storm[LAB_PORTS][8];     /* by queue */
    bool told[LAB_PORTS][8];      /* pauses sent, by priority */
    ps_t told_at[LAB_PORTS][8];   /* last XOFF */
    uint32_t slack[LAB_PORTS][8]; /* by PG: what may still come */
    bool awake[LAB_PORTS], down[LAB_PORTS];
};

static struct lab lab;
static struct swarm swarm;

static struct { /* what all seeds together came by */
    uint64_t rx, tx, xoff, refresh, kick, mark, drop[SW_DROPS], detected, restored, headroom, pool;
} covered;

#define EXPECT(cond)                                                                                                   \
    do {                                                                                                               \
        if (!(cond)) fail_msg("seed %d step %d: line %d: %s", swarm.seed, swarm.step, __LINE__, #cond);                \
    } while (0)

static uint32_t below(uint32_t bound)
{
    return (uint32_t)rng_below(&swarm.rng, bound);
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

static void draw_port(struct sw_port_config *port, uint32_t lossless)
{
    for (uint32_t i = 0; i < 8; i++) {
        struct sw_pg_config *pg = &port->pg[i];
        struct sw_queue_config *queue = &port->queue[i];
        *pg = (struct sw_pg_config){.lossless = lossless >> i & 1,
                                    .reserved_bytes = one_in(2) ? below(10000) : 0,
                                    .dynamic = one_in(2),
                                    .alpha_num = 1u << below(5),
                                    .alpha_den = 1u << below(5),
                                    .static_bytes = below(60000),
                                    .xon_offset_bytes = below(4000),
                                    .headroom_bytes = SLACK_BYTES + 2 * MTU_BYTES};
        *queue = (struct sw_queue_config){.strict = one_in(4),
                                          .weight_bytes = one_in(3) ? below(50) : 1500 + below(20000),
                                          .limit_bytes = one_in(3) ? below(50000) : UINT64_MAX,
                                          .alpha_num = one_in(3),
                                          .alpha_den = 1 + below(8)};
        uint32_t min = below(30000);
        queue->ecn = (struct sw_ecn){one_in(2), min, min + below(30000), below(1000001)};
        port->tc_to_queue[i] = (uint8_t)(one_in(4) ? below(8) : i);
    }
    port->trust = (uint8_t)below(2);
    port->pfc_tx = (uint8_t)lossless;
    port->pfc_rx = (uint8_t)lossless;
    port->pause_quanta = (uint16_t)(1 + below(one_in(2) ? 200 : 65535));
    port->mtu_bytes = one_in(2) ? 0 : MTU_BYTES - below(2000);
}

static void begin(int seed)
{
    static const uint64_t rates[] = {25000000000, 100000000000, 400000000000, 25781250000};
    static const uint32_t cells[] = {1, 80, 254, 420};
    memset(&swarm, 0, sizeof swarm);
    swarm.seed = seed;
    rng_init(&swarm.rng, (uint64_t)seed, 3);
    lab_defaults(&lab, (uint16_t)(2 + below(7)));
    uint32_t lossless = below(256), groups = (uint32_t)__builtin_popcount(lossless);
    draw_port(&lab.plain, lossless);
    draw_port(&swarm.other, lossless);
    memcpy(swarm.other.dscp_to_tc, lab.plain.dscp_to_tc, sizeof swarm.other.dscp_to_tc);
    for (uint8_t i = 0; i < 8; i++) {
        lab.plain.tc_to_pg[i] = swarm.other.tc_to_pg[i] = i;
        swarm.other.pcp_to_tc[i] = i;
        lab.port_of[i] = one_in(3) ? &swarm.other : &lab.plain;
        lab.rate_bps[i] = rates[below(4)];
    }
    /* Sometimes two classes of a kind share a group. */
    uint32_t a = below(8), b = below(8);
    if (one_in(2) && (lossless >> a & 1) == (lossless >> b & 1)) lab.plain.tc_to_pg[a] = (uint8_t)b;
    struct sw_config *config = &lab.config;
    config->cell_bytes = cells[below(4)];
    uint64_t headroom = (uint64_t)config->ports * groups * (SLACK_BYTES + 2 * MTU_BYTES + config->cell_bytes);
    bool pool = one_in(2), small = pool && one_in(3);
    if (pool && groups) config->headroom_pool_bytes = small ? headroom / 8 + 1 : headroom;
    config->buffer_bytes = headroom + config->ports * 8 * (10000 + config->cell_bytes) + 10000 + below(300000);
    config->mark = (uint8_t)below(2);
    config->refresh_pauses = !one_in(4);
    config->seed = (uint64_t)seed;
    config->watchdog =
        (struct sw_watchdog){one_in(2), one_in(2), PS_US * (1 + below(5)), PS_US * below(10), PS_US * below(10)};
    swarm.flaps = one_in(4);
    swarm.lossless = !small && !swarm.flaps;
    covered.pool += pool;
    for (uint32_t port = 0; port < LAB_PORTS; port++)
        for (uint32_t i = 0; i < 8; i++)
            swarm.head[port][i] = PKT_NONE;
    lab_start(&lab);
}

/* Rates are multiples of 6.25 Mb/s, so that this does not overflow. */
static ps_t quanta_ps(uint16_t port, uint16_t quanta)
{
    return quanta * 512ull * 160000 / (lab.rate_bps[port] / 6250000);
}

static bool queue_paused(uint16_t port, uint32_t queue)
{
    if (swarm.storm[port][queue] && !lab.config.watchdog.drop) return false;
    for (uint32_t prio = 0; prio < 8; prio++)
        if (lab.port_of[port]->tc_to_queue[prio] == queue && swarm.until[port][prio] > lab.now) return true;
    return false;
}

static uint32_t sendable(uint16_t port)
{
    uint32_t mask = 0;
    for (uint32_t queue = 0; queue < 8; queue++)
        if (swarm.head[port][queue] != PKT_NONE && !queue_paused(port, queue)) mask |= 1u << queue;
    return mask;
}

static void empty_queue(uint16_t port, uint32_t queue)
{
    swarm.head[port][queue] = PKT_NONE;
}

/* The frames and kicks of a call. */
static void answers(bool tick)
{
    for (uint32_t i = 0; i < lab.io.pauses; i++) {
        const struct sw_pause_out *out = &lab.io.pause[i];
        const struct sw_port_config *config = lab.port_of[out->port];
        EXPECT(out->enable && !swarm.down[out->port]);
        EXPECT(out->quanta == 0 || out->quanta == config->pause_quanta);
        for (uint32_t prio = 0; prio < 8; prio++) {
            if (!(out->enable >> prio & 1)) continue;
            bool *told = &swarm.told[out->port][prio];
            if (out->quanta == 0) EXPECT(*told);
            if (out->quanta && !*told) swarm.slack[out->port][config->tc_to_pg[prio]] = SLACK_BYTES;
            if (out->quanta && *told) {
                EXPECT(tick);
                covered.refresh++;
            }
            covered.xoff += out->quanta && !*told;
            *told = out->quanta != 0;
            swarm.told_at[out->port][prio] = lab.now;
        }
    }
    for (uint32_t i = 0; i < lab.io.kicks; i++)
        swarm.awake[lab.io.kick[i]] = true;
    covered.kick += lab.io.kicks;
}

static void storms(void)
{
    for (uint16_t port = 0; port < lab.config.ports; port++) {
        const struct sw_port_counters *count = lab_count(&lab, port);
        for (uint32_t queue = 0; queue < 8; queue++) {
            bool now = count->prio[queue].watchdog_detected > count->prio[queue].watchdog_restored;
            if (swarm.down[port]) now = false;
            if (now && !swarm.storm[port][queue] && lab.config.watchdog.drop) empty_queue(port, queue);
            swarm.storm[port][queue] = now;
        }
    }
}

static void advance(ps_t by)
{
    ps_t until = lab.now + by;
    while (lab.io.deadline <= until) {
        EXPECT(lab.io.deadline >= lab.now);
        lab_tick(&lab, lab.io.deadline);
        answers(true);
        storms();
    }
    lab.now = until;
}

static void arrive(void)
{
    uint16_t in = (uint16_t)below(lab.config.ports);
    uint8_t tc = (uint8_t)below(8);
    uint16_t dst = (uint16_t)(one_in(2) ? 0 : below(lab.config.ports));
    uint16_t bytes = (uint16_t)(64 + below(one_in(3) ? 200 : one_in(20) ? 9400 : 1500));
    uint32_t pg = lab.port_of[in]->tc_to_pg[tc];
    uint32_t charge = (bytes + lab.config.cell_bytes - 1) / lab.config.cell_bytes * lab.config.cell_bytes;
    if (swarm.told[in][tc]) { /* the peer stops, after what is under way */
        if (swarm.slack[in][pg] < charge) return;
        swarm.slack[in][pg] -= charge;
    }
    pkt_t id = lab_packet(&lab, dst, tc, bytes);
    if (one_in(50)) lab_pkt(&lab, id)->ttl = 1;
    if (one_in(50)) lab_pkt(&lab, id)->dst_node = LAB_FAR_ENDPOINT;
    if (one_in(5)) lab_pkt(&lab, id)->tos &= 0xfc;
    uint16_t out = lab_rx_id(&lab, in, id);
    answers(false);
    covered.rx++;
    if (out == SW_DROPPED) return;
    EXPECT(out == dst && !swarm.down[out]);
    uint32_t queue = lab.port_of[out]->tc_to_queue[tc];
    EXPECT(!(swarm.storm[out][queue] && lab.config.watchdog.drop));
    if (swarm.head[out][queue] == PKT_NONE)
        swarm.head[out][queue] = id;
    else
        swarm.follow[swarm.tail[out][queue]] = id;
    swarm.tail[out][queue] = id;
    swarm.follow[id] = PKT_NONE;
    swarm.awake[out] = true;
}

static void depart(void)
{
    uint16_t port = (uint16_t)below(lab.config.ports);
    uint32_t may = sendable(port), strict = 0;
    for (uint32_t i = 0; i < 8; i++)
        strict |= (uint32_t)lab.port_of[port]->queue[i].strict << i;
    pkt_t id = lab_tx_id(&lab, port);
    answers(false);
    EXPECT((id == PKT_NONE) == (may == 0));
    swarm.awake[port] = id != PKT_NONE;
    if (id == PKT_NONE) return;
    covered.tx++;
    uint32_t queue = lab.port_of[port]->tc_to_queue[lab_pkt(&lab, id)->tc];
    EXPECT(may >> queue & 1);
    EXPECT(swarm.head[port][queue] == id);
    if (may & strict) EXPECT(queue == 31 - (uint32_t)__builtin_clz(may & strict));
    swarm.head[port][queue] = swarm.follow[id];
    pktpool_put(&lab.pool, id);
}

static void pause_port(void)
{
    uint16_t port = (uint16_t)below(lab.config.ports), quanta[8];
    uint8_t enable = (uint8_t)below(256);
    for (uint32_t prio = 0; prio < 8; prio++) {
        quanta[prio] = (uint16_t)(one_in(2) ? 0 : below(one_in(20) ? 65536 : 500));
        if (!(enable & lab.port_of[port]->pfc_rx & 1u << prio) || swarm.down[port]) continue;
        swarm.until[port][prio] = quanta[prio] == 0           ? 0
                                  : lab.config.refresh_pauses ? lab.now + quanta_ps(port, quanta[prio])
                                                              : PS_NEVER;
    }
    lab_clear(&lab);
    sw_pause(lab.sw, port, enable, quanta, lab.now, &lab.io);
    answers(false);
}

static void flap(void)
{
    uint16_t port = (uint16_t)below(lab.config.ports);
    bool up = swarm.down[port];
    swarm.down[port] = !up;
    for (uint32_t i = 0; i < 8; i++) {
        swarm.told[port][i] = swarm.storm[port][i] = false;
        swarm.until[port][i] = 0;
        empty_queue(port, i);
    }
    lab_port(&lab, port, up);
    answers(false);
}

static void inspect(void)
{
    lab_audit(&lab, 0);
    for (uint16_t port = 0; port < lab.config.ports; port++) {
        const struct sw_port_counters *count = lab_count(&lab, port);
        if (swarm.lossless) EXPECT(count->drop[SW_DROP_headroom] == 0);
        if (!swarm.awake[port]) EXPECT(sendable(port) == 0);
        for (uint32_t i = 0; i < 8; i++) {
            EXPECT((sw_queue_bytes(lab.sw, port, (uint8_t)i) == 0) == (swarm.head[port][i] == PKT_NONE));
            if (swarm.told[port][i] && lab.config.refresh_pauses)
                EXPECT(lab.now < swarm.told_at[port][i] + quanta_ps(port, lab.port_of[port]->pause_quanta));
        }
    }
}

static void end(void)
{
    sw_settle(lab.sw, lab.now);
    for (uint16_t port = 0; port < lab.config.ports; port++) {
        const struct sw_port_counters *count = lab_count(&lab, port);
        for (uint32_t i = 0; i < SW_DROPS; i++)
            covered.drop[i] += count->drop[i];
        for (uint32_t i = 0; i < 8; i++) {
            covered.mark += count->prio[i].ecn_marked;
            covered.detected += count->prio[i].watchdog_detected;
            covered.restored += count->prio[i].watchdog_restored;
            covered.headroom += count->prio[i].headroom_max_bytes > 0;
            EXPECT(count->prio[i].rx_pause_ps <= lab.now && count->prio[i].tx_pause_ps <= lab.now);
        }
        if (!swarm.down[port]) lab_port(&lab, port, false);
    }
    EXPECT(sw_shared_used(lab.sw) == 0);
    lab_stop(&lab);
}

static uint32_t setting(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void test_swarm(void **state)
{
    (void)state;
    uint32_t first = setting("ROCELAB_SWARM_FIRST", 1), seeds = setting("ROCELAB_SWARM_SEEDS", 1500);
    for (uint32_t seed = first; seed < first + seeds; seed++) {
        begin((int)seed);
        uint32_t drain = 1 + below(6); /* how fast ports are asked, against arrivals */
        for (swarm.step = 0; swarm.step < STEPS; swarm.step++) {
            advance(below(one_in(30) ? 3000000 : 30000));
            uint32_t what = below(100);
            if (what < 3)
                pause_port();
            else if (what < 4 && swarm.flaps)
                flap();
            else if (below(8) < drain)
                depart();
            else
                arrive();
            inspect();
        }
        end();
    }
    printf("swarm: %u seeds, rx %llu tx %llu xoff %llu refresh %llu kicks %llu marks %llu storms %llu/%llu\n", seeds,
           (unsigned long long)covered.rx, (unsigned long long)covered.tx, (unsigned long long)covered.xoff,
           (unsigned long long)covered.refresh, (unsigned long long)covered.kick, (unsigned long long)covered.mark,
           (unsigned long long)covered.detected, (unsigned long long)covered.restored);
    for (uint32_t i = 0; i < SW_DROPS; i++)
        printf("swarm: drop %s %llu\n", sw_drop_name[i], (unsigned long long)covered.drop[i]);
    if (seeds < 1500) return;
    for (uint32_t i = 0; i < SW_DROPS; i++) { /* nothing is flooded here, and there are no credits */
        if (i == SW_DROP_unknown || i == SW_DROP_flood || i == SW_DROP_not_mine || i == SW_DROP_lifetime) continue;
        assert_true(covered.drop[i] > 0);
    }
    assert_true(covered.xoff && covered.refresh && covered.kick && covered.mark && covered.detected &&
                covered.restored);
    assert_true(covered.headroom && covered.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_swarm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
