/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch under any script: first bytes are a configuration, the rest arrivals, departures, pauses, time and links.
 *
 * A configuration is refused with a sentence or runs.  After each step the switch's own books balance (sw_audit); each
 * packet has one owner, the pool or the switch; and what came is what left, what a counter says was dropped and what is
 * still there.  At the end all ports come up, time goes on and every packet comes out.
 *
 * Thresholds, order and pauses are judged by tests/switch/test_swarm.c, with a model; here is no model.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "packet/telemetry.h"
#include "switch/switch.h"

#define PORTS 6u
#define PACKETS 1024u
#define FAR PORTS /* an endpoint behind a group of ports */
#define ENDPOINTS (PORTS + 1)
#define STEPS_MAX 600u
#define TICKS_MAX 2000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum owner { OWNER_POOL, OWNER_SWITCH };

static struct bench {
    const uint8_t *script, *end;
    struct sw_config config;
    struct sw_port_config kind[2];
    const struct sw_port_config *port_of[PORTS];
    uint64_t rate_bps[PORTS];
    struct sw_routes routes;
    uint32_t edge_of[ENDPOINTS];
    uint16_t local_port[ENDPOINTS], wired_port[ENDPOINTS], group_of[2], member[PORTS];
    struct sw_group group;
    struct sw_raise raise;
    struct sw_pin pin[2];
    uint8_t above[PORTS];
    struct pkt hot[PACKETS];
    struct pkt_int telemetry[PACKETS];
    uint32_t free_ids[PACKETS];
    struct pktpool pool;
    struct sw_io io;
    struct sw *sw;
    ps_t now;
    bool down[PORTS];
} bench;

static uint32_t take(void)
{
    return bench.script < bench.end ? *bench.script++ : 0;
}

static uint32_t take_wide(void)
{
    uint32_t high = take();
    return high << 8 | take();
}

/* 0, or up to 65,535 times 1, 16 or 256 bytes. */
static uint32_t take_bytes(void)
{
    uint32_t what = take();
    return what & 3 ? take_wide() << (what & 2 ? what & 4 : 8) : 0;
}

static void draw_class(struct sw_port_config *port, uint32_t i)
{
    uint32_t bits = take();
    port->pg[i] = (struct sw_pg_config){.lossless = bits & 1,
                                        .dynamic = bits & 2,
                                        .alpha_num = 1 + take() % 64,
                                        .alpha_den = take() % 64,
                                        .reserved_bytes = bits & 4 ? take_bytes() : 0,
                                        .static_bytes = bits & 8 ? take_bytes() : 30000,
                                        .xon_offset_bytes = bits & 16 ? take_bytes() : 0,
                                        .headroom_bytes = bits & 1 ? take_bytes() : 0};
    port->queue[i] = (struct sw_queue_config){.strict = bits & 32,
                                              .weight_bytes = take_wide(),
                                              .limit_bytes = bits & 64 ? take_bytes() : UINT64_MAX,
                                              .alpha_num = bits >> 7,
                                              .alpha_den = take() % 16};
    uint32_t least = take_bytes();
    port->queue[i].ecn = (struct sw_ecn){take() & 1, least, least + take_bytes(), take_wide() * 16};
    port->tc_to_queue[i] = (uint8_t)(i ^ (take() & take() & 7));
    port->tc_to_pg[i] = (uint8_t)(i ^ (take() & take() & 7));
    port->pcp_to_tc[i] = (uint8_t)i;
}

static void draw_port(struct sw_port_config *port)
{
    for (uint32_t i = 0; i < SW_PRIOS; i++)
        draw_class(port, i);
    for (uint32_t i = 0; i < 64; i++)
        port->dscp_to_tc[i] = (uint8_t)(i >> 3);
    port->trust = take() & 1 ? SW_TRUST_PCP : SW_TRUST_DSCP;
    port->pfc_rx = (uint8_t)take();
    port->pfc_tx = (uint8_t)take();
    port->unwatched = (uint8_t)(take() & take());
    port->pause_all = take() % 8 == 1;
    port->pause_quanta = (uint16_t)take_wide();
    port->mtu_bytes = take() & 1 ? take_wide() : 0;
}

static void draw_balance(struct sw_balance *balance)
{
    *balance = (struct sw_balance){.kind = (uint8_t)(take() % (SW_PIN + 1)),
                                   .round_robin = take() & 1,
                                   .by_flowlet = take() & 1,
                                   .pin_by = (uint8_t)(take() % (SW_PIN_BY_HASH + 1)),
                                   .hysteresis = take() % 9,
                                   .quantum_bytes = take_wide(),
                                   .table = take() & 1 ? 1u << take() % 8 : take(),
                                   .gap_ps = take_wide() * 1000,
                                   .seed = take(),
                                   .pin = bench.pin,
                                   .pins = take() % 3};
    for (uint32_t i = 0; i < 2; i++)
        bench.pin[i] = (struct sw_pin){take() & 1 ? SW_PIN_ANY : take() % ENDPOINTS, take() % ENDPOINTS,
                                       take() & 1 ? SW_PIN_ANY : take(), (uint16_t)(take() % (bench.config.ports + 1))};
}

static void draw_routes(void)
{
    uint16_t ports = bench.config.ports;
    for (uint16_t i = 0; i < PORTS; i++) {
        bool here = i < ports; /* the others are behind no port */
        bench.edge_of[i] = here ? 0 : 2;
        bench.wired_port[i] = here ? i : 0;
        bench.local_port[i] =
            bench.config.forgets_ports && here && take() % 4 == 1 ? SW_FLOOD_PORT : bench.wired_port[i];
        bench.member[i] = i;
    }
    for (uint32_t i = 0; i < ENDPOINTS; i++)
        if (bench.edge_of[i] == 2) bench.edge_of[i] = 1;
    bench.edge_of[FAR] = 1;
    bench.group_of[0] = UINT16_MAX;
    bench.group_of[1] = take() % 4 ? 0 : UINT16_MAX;
    bench.group = (struct sw_group){0, (uint16_t)(1 + take() % ports)};
    bench.routes = (struct sw_routes){.edge_of = bench.edge_of,
                                      .local_port = bench.local_port,
                                      .wired_port = bench.wired_port,
                                      .group_of = bench.group_of,
                                      .group = &bench.group,
                                      .port = bench.member,
                                      .hash_fields = (uint8_t)(take() & 15)};
}

static void draw_config(void)
{
    static const uint32_t cells[] = {1, 80, 254, 0};
    static const uint64_t rates[] = {25000000000, 100000000000, 400000000000, 25781250000};
    struct sw_config *config = &bench.config;

    draw_port(&bench.kind[0]);
    draw_port(&bench.kind[1]);
    for (uint32_t i = 0; i < PORTS; i++) {
        uint32_t bits = take();
        bench.port_of[i] = &bench.kind[bits & 1];
        bench.rate_bps[i] = rates[bits >> 1 & 3];
        bench.above[i] = bits >> 3 & 1;
    }
    *config =
        (struct sw_config){.ports = (uint16_t)(2 + take() % (PORTS - 1)),
                           .cell_bytes = cells[take() % 16 ? take() % 3 : 3],
                           .buffer_bytes = (uint64_t)take_wide() << 8,
                           .headroom_pool_bytes = take() & 1 ? take_bytes() : 0,
                           .mark = take() & 1 ? SW_MARK_DEQUEUE : SW_MARK_ENQUEUE,
                           .refresh_pauses = take() & 1,
                           .seed = take(),
                           .watchdog = {take() & 1, take() & 1, take() * PS_US, take() * PS_US, take() * PS_US},
                           .voq = {take() % 4 == 1, take_bytes(), take_bytes(), take_bytes(), take() * 1000000000ull},
                           .telemetry = take() % 4 == 1,
                           .line = {64, 24, 88},
                           .drop_unknown = take() & 1,
                           .port = bench.port_of,
                           .rate_bps = bench.rate_bps};
    config->forgets_ports = take() % 4 == 1;
    draw_balance(&config->balance);
    draw_routes();
    bench.raise.above = bench.above;
    for (uint32_t i = 0; i < 64; i++)
        bench.raise.dscp[i] = (uint8_t)(i < 56 ? i + 8 : i);
    if (take() % 4 == 1) config->raise = &bench.raise;
}

static void fill_pool(void)
{
    for (uint32_t i = 0; i < PACKETS; i++)
        bench.free_ids[i] = PACKETS - 1 - i;
    bench.pool = (struct pktpool){.hot = bench.hot,
                                  .telemetry = bench.config.telemetry ? bench.telemetry : NULL,
                                  .free = bench.free_ids,
                                  .free_count = PACKETS,
                                  .free_capacity = PACKETS};
    bench.io = (struct sw_io){.pool = &bench.pool, .deadline = PS_NEVER};
}

static enum owner owner_of(pkt_t id)
{
    CHECK(id < PACKETS);
    for (uint32_t i = 0; i < bench.pool.free_count; i++)
        if (bench.free_ids[i] == id) return OWNER_POOL;
    return OWNER_SWITCH;
}

/* Pauses and kicks name ports that are there; lists are emptied as by a caller. */
static void answered(void)
{
    CHECK(bench.io.pauses <= SW_PAUSES_MAX && bench.io.kicks <= SW_PAUSES_MAX);
    for (uint32_t i = 0; i < bench.io.pauses; i++)
        CHECK(bench.io.pause[i].port < bench.config.ports && bench.io.pause[i].enable &&
              !bench.down[bench.io.pause[i].port]);
    for (uint32_t i = 0; i < bench.io.kicks; i++)
        CHECK(bench.io.kick[i] < bench.config.ports);
    bench.io.pauses = bench.io.kicks = 0;
}

/* Nothing is lost without a counter, nor counted without being lost.  A flood makes packets: the end tells. */
static void audit(void)
{
    uint64_t came = 0, left = 0, dropped = 0;

    sw_audit(bench.sw);
    CHECK(sw_shared_used(bench.sw) <= sw_shared_bytes(bench.sw));
    for (uint16_t port = 0; port < bench.config.ports; port++) {
        const struct sw_port_counters *count = sw_port_counters(bench.sw, port);
        uint64_t by_reason = 0, by_prio = 0;
        for (uint32_t i = 0; i < SW_DROPS; i++)
            by_reason += count->drop[i];
        for (uint32_t i = 0; i < SW_PRIOS; i++)
            by_prio += count->prio[i].drops;
        CHECK(by_reason == by_prio);
        came += count->rx_packets;
        left += count->tx_packets;
        dropped += by_reason;
    }
    if (!bench.config.forgets_ports) CHECK(bench.pool.taken - bench.pool.given == came - left - dropped);
    CHECK(bench.pool.taken - bench.pool.given == PACKETS - bench.pool.free_count);
}

static void arrive(void)
{
    uint32_t bits = take();
    uint16_t in = (uint16_t)(take() % bench.config.ports);
    if (bench.pool.free_count <= PORTS) return;
    pkt_t id = pktpool_get(&bench.pool);
    bench.hot[id] = (struct pkt){.kind = PKT_ROCE,
                                 .net = bits & 1 ? PKT_NET_IPV6 : PKT_NET_IPV4,
                                 .tos = (uint8_t)take(),
                                 .pcp = (uint8_t)(take() & 7),
                                 .ttl = (uint8_t)(bits & 2 ? 64 : take()),
                                 .flags = (uint16_t)(take() % 16 == 1 ? PKT_STRAY : 0),
                                 .frame_bytes = (uint16_t)(64 + take_wide() % 9400),
                                 .src_node = take() % ENDPOINTS,
                                 .dst_node = take() % ENDPOINTS,
                                 .dest_qp = take() & 3};
    uint16_t out = sw_rx(bench.sw, in, id, bench.now, &bench.io);
    answered();
    if (out == SW_FLOODED) return;
    CHECK(out == SW_DROPPED || out < bench.config.ports);
    CHECK(owner_of(id) == (out == SW_DROPPED ? OWNER_POOL : OWNER_SWITCH));
}

static bool depart(uint16_t port)
{
    bool simple = sw_form(&bench.config) == SW_SIMPLE && bench.now & 1; /* the same packets, either way */
    pkt_t id = (simple ? sw_tx_simple : sw_tx)(bench.sw, port, bench.now, &bench.io);
    answered();
    if (id == PKT_NONE) return false;
    CHECK(owner_of(id) == OWNER_SWITCH && !bench.down[port]);
    pktpool_put(&bench.pool, id);
    return true;
}

static void pass(ps_t by)
{
    ps_t until = bench.now + by;
    uint32_t at_once = 0;

    /* A pause of one quantum is repeated every nanosecond: the rest of a long time is passed over. */
    for (uint32_t ticks = 0; bench.io.deadline <= until && ticks < TICKS_MAX; ticks++) {
        at_once = bench.io.deadline > bench.now ? 0 : at_once + 1;
        CHECK(at_once < 100); /* time goes on, but where the lists were full */
        if (bench.io.deadline > bench.now) bench.now = bench.io.deadline;
        sw_tick(bench.sw, bench.now, &bench.io);
        answered();
    }
    bench.now = until;
}

static void pause_port(void)
{
    uint16_t port = (uint16_t)(take() % bench.config.ports), quanta[8];
    uint8_t enable = (uint8_t)take();
    for (uint32_t i = 0; i < 8; i++)
        quanta[i] = (uint16_t)(take() & 1 ? take_wide() : 0);
    sw_pause(bench.sw, port, enable, quanta, bench.now, &bench.io);
    answered();
}

static void link_changes(void)
{
    uint16_t port = (uint16_t)(take() % bench.config.ports);
    bench.down[port] = !bench.down[port];
    sw_port_state(bench.sw, port, !bench.down[port], bench.now, &bench.io);
    answered();
}

static void step(void)
{
    uint32_t what = take();
    if (what < 120)
        arrive();
    else if (what < 200)
        depart((uint16_t)(take() % bench.config.ports));
    else if (what < 230)
        pass(take_wide() * (what & 1 ? 1001ull : 100000ull));
    else if (what < 250)
        pause_port();
    else
        link_changes();
}

/* Ports come up, pauses end, and every packet leaves by a port. */
static void drain(void)
{
    static const uint16_t resume[8];

    for (uint16_t port = 0; port < bench.config.ports; port++) {
        if (bench.down[port]) {
            bench.down[port] = false;
            sw_port_state(bench.sw, port, true, bench.now, &bench.io);
            answered();
        }
        sw_pause(bench.sw, port, 0xff, resume, bench.now, &bench.io);
        answered();
    }
    for (uint32_t idle = 0; idle < 4 && bench.pool.free_count < PACKETS; idle++) {
        for (uint16_t port = 0; port < bench.config.ports; port++)
            while (depart(port)) {
                pass(1000);
                idle = 0;
            }
        pass(10 * PS_MS);
    }
    sw_settle(bench.sw, bench.now);
    audit();
    CHECK(bench.pool.free_count == PACKETS && sw_shared_used(bench.sw) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&bench, 0, sizeof(bench));
    bench.script = data;
    bench.end = data + size;
    draw_config();
    if (sw_config_problem(&bench.config)) return 0;
    size_t bytes = sw_memory_bytes(&bench.config);
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    CHECK(memory != NULL);
    memset(memory, 0, bytes);
    fill_pool();
    bench.sw = sw_init(memory, &bench.config, &bench.routes);
    for (uint32_t i = 0; i < STEPS_MAX && bench.script < bench.end; i++) {
        step();
        audit();
    }
    drain();
    free(memory);
    return 0;
}
