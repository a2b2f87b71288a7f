/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port that is an interface, without one: what of frames from outside enters, what is answered, held back and
 * counted; what leaves.  The interface, payload and the jobs' queue pairs are the test's.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/bytes.h"
#include "base/rng.h"
#include "fabric/handle.h"
#include "load/load.h"
#include "packet/arp.h"
#include "packet/icrc.h"
#include "packet/opcode.h"
#include "up/foreign_int.h"
#include "up/objects/objects.h"

#define SEED test_seed_or(20261116)
#define TEXT                                                                                                           \
    "rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}\n"                                           \
    "links: {host: {rate: 10G, cable: 3m}, fabric: {rate: 10G, cable: 10m}}\n"
#define PACKETS 64u
#define ROOM 1024u
#define JOBS_QPN 0x11u
#define NOW (5 * PS_MS)

static uint8_t payload[PACKETS][UP_PAYLOAD_BYTES];
static uint8_t out[256][FRAME_BYTES_MAX]; /* what the interface was given */
static uint32_t out_bytes[256], outs;

uint8_t *payload_at(const struct up *up, pkt_t id)
{
    (void)up;
    return payload[id];
}

bool sim_qp_of_jobs(const struct sim *sim, uint32_t endpoint, uint32_t qpn)
{
    (void)sim;
    (void)endpoint;
    return qpn == JOBS_QPN;
}

static size_t longest = FRAME_BYTES_MAX; /* that the interface takes */

int interface_send(struct interface *interface, const struct iovec *frame, uint32_t count)
{
    uint32_t i;

    (void)interface;
    for (i = 0; i < count && frame[i].iov_len <= longest; i++) {
        if (outs == 256) continue;
        out_bytes[outs] = (uint32_t)frame[i].iov_len;
        memcpy(out[outs++], frame[i].iov_base, frame[i].iov_len);
    }
    return i > 0 ? (int)i : -EMSGSIZE;
}

struct rig {
    struct fabric *fabric;
    struct up up;
    struct up_host host[4];
    struct up_port port[2]; /* h0 and h2; h1 and h3 are ours */
    struct up_port *of[2][1];
    struct directory directory;
    struct sw_port_rules rules;
    struct pktpool pool;
};

static const uint8_t mac_outside[6] = {0x5a, 1, 2, 3, 4, 5};

static void rig_open(struct rig *rig)
{
    struct fabric_errors errors = {0};
    struct pktpool *pool = &rig->pool;

    *rig = (struct rig){.up = {.host = rig->host}};
    outs = 0;
    assert_int_equal(fabric_load("test.yaml", TEXT, &rig->fabric, &errors), 0);
    rig->up.fabric = rig->fabric;
    directory_init(&rig->directory, malloc(directory_bytes(4)), 4);
    for (uint32_t e = 0; e < 4; e++) {
        struct pkt_addr address = pkt_addr_ipv4(0x0a000001 + e);
        assert_int_equal(directory_add(&rig->directory, &address, e), 0);
        rig->host[e] = (struct up_host){.up = &rig->up, .number = e, .next = PS_NEVER};
    }
    for (uint32_t i = 0; i < 64; i++)
        rig->rules.dscp_to_tc[i] = i == 26 ? 3 : 0;
    for (uint32_t i = 0; i < 2; i++) {
        struct up_port *port = &rig->port[i];
        *port = (struct up_port){.host = &rig->host[2 * i],
                                 .endpoint = 2 * i,
                                 .directory = &rig->directory,
                                 .rules = &rig->rules,
                                 .rate_bps = 10000000000,
                                 .mac = {2, 0, 0, 0, 0, (uint8_t)(7 + i)}};
        rig->of[i][0] = port;
        rig->host[2 * i].port = rig->of[i];
        assert_int_equal(foreign_port_init(port), 0);
    }
    *pool = (struct pktpool){.hot = calloc(PACKETS, sizeof *pool->hot),
                             .cold = calloc(PACKETS, sizeof *pool->cold),
                             .frame = calloc(PACKETS, sizeof *pool->frame),
                             .bytes = calloc(PACKETS, FRAME_BYTES_MAX),
                             .bytes_each = FRAME_BYTES_MAX,
                             .free = calloc(PACKETS, sizeof *pool->free),
                             .free_count = PACKETS,
                             .free_capacity = PACKETS};
    for (uint32_t i = 0; i < PACKETS; i++)
        pool->free[i] = i;
}

static void rig_close(struct rig *rig)
{
    foreign_port_release(&rig->port[0]);
    foreign_port_release(&rig->port[1]);
    assert_int_equal(rig->pool.taken, rig->pool.given);
    free(rig->pool.hot);
    free(rig->pool.cold);
    free(rig->pool.frame);
    free(rig->pool.bytes);
    free(rig->pool.free);
    free(rig->directory.entry);
    fabric_free(rig->fabric);
}

/* A RoCE packet from 10.0.0.(1 + src) to 10.0.0.(1 + dst). */
static uint32_t make_roce(const struct rig *rig, uint32_t src, uint32_t dst, uint32_t qpn, uint8_t tos, uint8_t *frame)
{
    static const uint8_t words[8] = "payload";
    struct pkt pkt = {.kind = PKT_ROCE,
                      .opcode = OPCODE_RC_SEND_ONLY,
                      .net = PKT_NET_IPV4,
                      .ttl = 64,
                      .tos = tos,
                      .sport = 50000,
                      .dest_qp = qpn,
                      .psn = 77,
                      .payload_bytes = 8};
    struct frame_path path = {.src = pkt_addr_ipv4(0x0a000001 + src), .dst = pkt_addr_ipv4(0x0a000001 + dst)};
    struct pkt_cold cold = {0};

    memcpy(path.smac, mac_outside, 6);
    memcpy(path.dmac, rig->port[src / 2].mac, 6);
    frame_address(&path, &pkt, &cold);
    int bytes = codec_emit(&pkt, &cold, words, frame, ROOM);
    assert_true(bytes > 0);
    return (uint32_t)bytes;
}

static void test_arp(void **state)
{
    struct rig rig;
    struct arp asked = {.sender = {10, 0, 0, 1}, .target = {10, 0, 0, 4}}, told;
    uint8_t frame[ARP_FRAME_BYTES];

    (void)state;
    rig_open(&rig);
    memcpy(asked.sender_mac, mac_outside, 6);
    arp_emit(&asked, frame);
    foreign_port_frame(&rig.port[0], frame, sizeof frame);
    asked.target[3] = 1; /* itself: is anybody else there? */
    arp_emit(&asked, frame);
    foreign_port_frame(&rig.port[0], frame, sizeof frame);
    asked.target[3] = 9; /* nobody */
    arp_emit(&asked, frame);
    foreign_port_frame(&rig.port[0], frame, sizeof frame);
    foreign_port_flush(&rig.port[0]);
    assert_int_equal(outs, 1);
    assert_true(arp_parse(out[0], out_bytes[0], &told));
    assert_true(told.reply);
    assert_memory_equal(told.sender_mac, rig.port[0].mac, 6);
    assert_memory_equal(told.sender, "\x0a\0\0\x04", 4);
    assert_memory_equal(told.target_mac, mac_outside, 6);
    assert_true(rig.port[0].known);
    assert_memory_equal(rig.port[0].outside, mac_outside, 6);
    foreign_port_probe(&rig.port[1]);
    foreign_port_flush(&rig.port[1]);
    assert_true(arp_parse(out[1], out_bytes[1], &told));
    assert_false(told.reply);
    assert_memory_equal(told.sender, "\0\0\0\0", 4);
    assert_memory_equal(told.target, "\x0a\0\0\x03", 4);
    assert_int_equal(rig.port[0].counts.out_frames + rig.port[1].counts.out_frames, 0);
    rig_close(&rig);
}

static void test_what_enters(void **state)
{
    struct rig rig;
    uint8_t frame[ROOM], other[ROOM];
    struct up_port *port = &rig.port[0];

    (void)state;
    rig_open(&rig);
    uint32_t bytes = make_roce(&rig, 0, 1, 0x99, 0, frame);
    foreign_port_frame(port, frame, bytes);
    assert_int_equal(port->counts.in_frames, 1);
    pkt_t id = foreign_port_next(port, NOW, &rig.pool);
    assert_true(id != PKT_NONE);
    assert_int_equal(rig.pool.hot[id].src_node, 0);
    assert_int_equal(rig.pool.hot[id].dst_node, 1);
    assert_int_equal(rig.pool.hot[id].mark, 0);
    assert_memory_equal(payload[id], "payload", 8);
    assert_memory_equal(frame_data(&rig.pool, id), frame, bytes);
    pktpool_put(&rig.pool, id);

    memcpy(other, frame, bytes); /* damaged: an adapter of ours is spared it, one outside judges itself */
    other[bytes - 5] ^= 1;
    foreign_port_frame(port, other, bytes);
    assert_int_equal(port->counts.wrong, 1);
    bytes = make_roce(&rig, 0, 2, 0x99, 0, other);
    other[bytes - 5] ^= 1;
    foreign_port_frame(port, other, bytes);
    assert_int_equal(port->counts.in_frames, 2);
    pktpool_put(&rig.pool, foreign_port_next(port, NOW, &rig.pool));

    bytes = make_roce(&rig, 0, 1, JOBS_QPN, 0, other);
    foreign_port_frame(port, other, bytes);
    assert_int_equal(port->counts.wrong, 2);
    bytes = make_roce(&rig, 0, 8, 0x99, 0, other); /* nobody */
    foreign_port_frame(port, other, bytes);
    bytes = make_roce(&rig, 1, 3, 0x99, 0, other); /* not its address */
    foreign_port_frame(port, other, bytes);
    bytes = make_roce(&rig, 0, 0, 0x99, 0, other); /* to itself */
    foreign_port_frame(port, other, bytes);
    memset(frame, 0xff, 6); /* to all */
    foreign_port_frame(port, frame, bytes);
    assert_int_equal(port->counts.not_carried, 4);
    assert_int_equal(port->counts.in_frames, 2);
    assert_true(foreign_port_next(port, NOW, &rig.pool) == PKT_NONE);
    rig_close(&rig);
}

/* The switch pauses priority 3: a frame says so, and what has that priority waits as long as it says. */
static void test_paused(void **state)
{
    struct rig rig;
    uint8_t frame[ROOM], enable;
    uint16_t quanta[8];
    struct up_port *port = &rig.port[0];
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    ps_t lasts = pause_quanta_ps(1000, 10000000000);

    (void)state;
    rig_open(&rig);
    foreign_port_paused(port, control_pause(1 << 3, 1000), NOW);
    foreign_port_flush(port);
    struct codec_frame told = {.data = out[0], .captured = out_bytes[0], .length = out_bytes[0]};
    assert_int_equal(codec_parse(&told, &pkt, &cold, &layout, &fault), 0);
    assert_int_equal(pkt.kind, PKT_PFC);
    assert_true(frame_pauses(&pkt, &enable, quanta));
    assert_int_equal(enable, 1 << 3);
    assert_int_equal(quanta[3], 1000);
    assert_int_equal(out_bytes[0], 60);

    foreign_port_frame(port, frame, make_roce(&rig, 0, 1, 0x99, 26 << 2, frame));
    assert_true(foreign_port_next(port, NOW, &rig.pool) == PKT_NONE);
    assert_int_equal(foreign_port_deadline(port, NOW), NOW + lasts);
    foreign_port_frame(port, frame, make_roce(&rig, 0, 1, 0x99, 0, frame)); /* another priority */
    pkt_t id = foreign_port_next(port, NOW, &rig.pool);
    assert_int_equal(rig.pool.hot[id].tos, 0);
    pktpool_put(&rig.pool, id);
    assert_true(foreign_port_next(port, NOW + lasts - 1, &rig.pool) == PKT_NONE);
    id = foreign_port_next(port, NOW + lasts, &rig.pool);
    assert_int_equal(rig.pool.hot[id].tos, 26 << 2);
    pktpool_put(&rig.pool, id);

    foreign_port_frame(port, frame, make_roce(&rig, 0, 1, 0x99, 26 << 2, frame));
    foreign_port_paused(port, control_pause(1 << 3, 0xffff), NOW);
    foreign_port_paused(port, control_pause(1 << 3, 0), NOW); /* go on */
    id = foreign_port_next(port, NOW, &rig.pool);
    assert_true(id != PKT_NONE);
    pktpool_put(&rig.pool, id);
    assert_int_equal(port->counts.out_pauses, 3);
    rig_close(&rig);
}

/* What was read while the fabric was behind enters when it has caught up, in its turn. */
static void test_in_time(void **state)
{
    struct rig rig;
    uint8_t frame[ROOM];
    struct up_port *port = &rig.port[0];

    (void)state;
    rig_open(&rig);
    port->reads_at = NOW + 5;
    foreign_port_frame(port, frame, make_roce(&rig, 0, 1, 0x99, 0, frame));
    port->reads_at = NOW + 9;
    foreign_port_frame(port, frame, make_roce(&rig, 0, 1, 0x99, 0, frame));
    assert_true(foreign_port_next(port, NOW + 4, &rig.pool) == PKT_NONE);
    assert_int_equal(foreign_port_deadline(port, NOW), NOW + 5);
    pktpool_put(&rig.pool, foreign_port_next(port, NOW + 5, &rig.pool));
    assert_true(foreign_port_next(port, NOW + 5, &rig.pool) == PKT_NONE);
    assert_int_equal(foreign_port_deadline(port, NOW + 5), NOW + 9);
    pktpool_put(&rig.pool, foreign_port_next(port, NOW + 9, &rig.pool));
    assert_int_equal(foreign_port_deadline(port, NOW + 9), PS_NEVER);
    rig_close(&rig);
}

static void test_pauses_in(void **state)
{
    struct rig rig;
    const uint16_t quanta[8] = {0, 0, 500, 500, 0, 9, 0, 0};
    struct pkt pkt = frame_pfc(0x3d, quanta), all = frame_pause(7);
    struct frame_path path = {.vlan_id = 0};
    struct pkt_cold cold;
    uint8_t frame[ROOM] = {0};
    struct up_port *port = &rig.port[0];

    (void)state;
    rig_open(&rig);
    frame_address(&path, &pkt, &cold);
    assert_true(codec_emit(&pkt, &cold, NULL, frame, ROOM) > 0);
    foreign_port_frame(port, frame, 60);
    assert_int_equal(port->words, 3);
    assert_int_equal(port->word[0], control_pause(0x11, 0));
    assert_int_equal(port->word[1], control_pause(0x0c, 500));
    assert_int_equal(port->word[2], control_pause(0x20, 9));
    frame_address(&path, &all, &cold);
    memset(frame, 0, sizeof frame);
    assert_true(codec_emit(&all, &cold, NULL, frame, ROOM) > 0);
    foreign_port_frame(port, frame, 60);
    assert_int_equal(port->word[3], control_pause(0xff, 7) | CONTROL_PAUSE_ALL);
    for (int i = 0; i < 100; i++) /* a storm, and no visit */
        foreign_port_frame(port, frame, 60);
    assert_int_equal(port->words, PORT_WORDS);
    assert_int_equal(port->counts.in_pauses, 102);
    rig_close(&rig);
}

/* What a host of ours sends leaves as a frame that a stranger can read. */
static void test_built(void **state)
{
    struct rig rig;
    struct up_port *port = &rig.port[0];
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;

    (void)state;
    rig_open(&rig);
    pkt_t id = pktpool_get(&rig.pool);
    rig.pool.hot[id] = (struct pkt){.kind = PKT_ROCE,
                                    .opcode = OPCODE_RC_SEND_ONLY,
                                    .net = PKT_NET_IPV4,
                                    .ttl = 61,
                                    .tos = 26 << 2 | PKT_ECN_CE,
                                    .pcp = 3, /* the adapter's own note */
                                    .mark = 0x21,
                                    .src_node = 3,
                                    .dest_qp = 0x1234,
                                    .psn = 5,
                                    .payload_bytes = 1001,
                                    .pad = 3};
    for (uint32_t i = 0; i < 1001; i++)
        payload[id][i] = (uint8_t)(i * 11);
    foreign_port_packet(port, id, &rig.pool); /* nobody has shown a MAC address yet */
    assert_int_equal(port->counts.unknown, 1);
    assert_true(port->wanted);
    memcpy(port->outside, mac_outside, 6);
    port->known = true;
    foreign_port_packet(port, id, &rig.pool);
    foreign_port_flush(port);
    pktpool_put(&rig.pool, id);
    assert_int_equal(port->counts.out_frames, 1);
    struct codec_frame frame = {.data = out[0], .captured = out_bytes[0], .length = out_bytes[0]};
    assert_int_equal(codec_parse(&frame, &pkt, &cold, &layout, &fault), 0);
    assert_int_equal(icrc_check(&frame, &pkt, &cold, &layout), ICRC_GOOD);
    struct pkt_addr src = pkt_addr_ipv4(0x0a000004), dst = pkt_addr_ipv4(0x0a000001);
    assert_memory_equal(&cold.src, &src, sizeof src);
    assert_memory_equal(&cold.dst, &dst, sizeof dst);
    assert_memory_equal(cold.dmac, mac_outside, 6);
    assert_memory_equal(cold.smac, port->mac, 6);
    assert_int_equal(cold.resv7, 0);
    assert_int_equal(pkt.tos, 26 << 2 | PKT_ECN_CE);
    assert_int_equal(pkt.ttl, 61);
    assert_int_equal(pkt.payload_bytes, 1001);
    assert_memory_equal(codec_payload(&frame, &layout), payload[id], 1001);
    rig_close(&rig);
}

/* One that is too long for the interface takes nobody with it. */
static void test_too_long(void **state)
{
    struct rig rig;
    struct up_port *port = &rig.port[0];

    (void)state;
    rig_open(&rig);
    memcpy(port->outside, mac_outside, 6);
    port->known = true;
    pkt_t id = pktpool_get(&rig.pool);
    rig.pool.hot[id] = (struct pkt){
        .kind = PKT_ROCE, .opcode = OPCODE_RC_SEND_ONLY, .net = PKT_NET_IPV4, .ttl = 61, .src_node = 3, .dest_qp = 5};
    longest = 1514;
    for (uint32_t i = 0; i < 6; i++) {
        rig.pool.hot[id].payload_bytes = i % 2 ? 2048 : 64;
        foreign_port_packet(port, id, &rig.pool);
    }
    foreign_port_flush(port);
    longest = FRAME_BYTES_MAX;
    pktpool_put(&rig.pool, id);
    assert_int_equal(outs, 3);
    assert_int_equal(port->counts.out_frames, 3);
    assert_int_equal(port->counts.refused, 3);
    rig_close(&rig);
}

/* As many as there is room for, and any bytes: all is counted, and nothing is left behind. */
static void test_full_and_wild(void **state)
{
    struct rig rig;
    uint8_t frame[ROOM], wild[ROOM];
    struct up_port *port = &rig.port[0];
    struct rng rng;
    uint64_t taken = 0;

    (void)state;
    rig_open(&rig);
    rng_init(&rng, SEED, 0);
    uint32_t bytes = make_roce(&rig, 0, 2, 0x99, 0, frame);
    for (int i = 0; i < 1100; i++)
        foreign_port_frame(port, frame, bytes);
    uint64_t room = port->counts.in_frames;
    assert_true(room >= 512);
    assert_int_equal(port->counts.full, 1100 - room);
    for (pkt_t id; (id = foreign_port_next(port, NOW, &rig.pool)) != PKT_NONE; taken++)
        pktpool_put(&rig.pool, id);
    assert_int_equal(taken, room);
    for (int i = 0; i < 100000; i++) {
        memcpy(wild, frame, bytes);
        for (uint32_t flips = (uint32_t)rng_below(&rng, 6); flips; flips--)
            wild[rng_below(&rng, bytes)] ^= (uint8_t)rng_u32(&rng);
        foreign_port_frame(port, wild, (uint32_t)rng_below(&rng, bytes + 1));
        pkt_t id = foreign_port_next(port, NOW, &rig.pool);
        if (id == PKT_NONE) continue;
        foreign_port_packet(&rig.port[1], id, &rig.pool);
        rig.port[1].known = true;
        pktpool_put(&rig.pool, id);
    }
    foreign_port_frame(port, frame, bytes);
    foreign_port_clear(port);
    assert_false(foreign_port_waits(port));
    for (uint64_t i = 0; i < room; i++)
        foreign_port_frame(port, frame, bytes);
    assert_int_equal(port->counts.full, 1100 - room + 1); /* the one that was cleared away */
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arp),      cmocka_unit_test(test_what_enters),   cmocka_unit_test(test_paused),
        cmocka_unit_test(test_in_time),  cmocka_unit_test(test_pauses_in),     cmocka_unit_test(test_built),
        cmocka_unit_test(test_too_long), cmocka_unit_test(test_full_and_wild),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
