/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames in a pool with bytes: in, patched, out; built from a descriptor; copied.  What of a descriptor survives the
 * way over a line is what codec_carried() says, for every kind of packet and whatever else was left in it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/bytes.h"
#include "base/rng.h"
#include "frames.h"
#include "packet/frame.h"
#include "packet/icrc.h"
#include "packet/opcode.h"
#include "packet/telemetry.h"

#define SEED test_seed_or(4791)
#define PACKETS 4u
#define ROOM 4608u

static struct pkt hot[PACKETS];
static struct pkt_cold cold[PACKETS];
static struct pkt_int telemetry[PACKETS];
static struct pkt_frame frame[PACKETS];
static uint8_t bytes[PACKETS * ROOM];
static struct pktpool pool = {.hot = hot, .cold = cold, .frame = frame, .bytes = bytes, .bytes_each = ROOM};

static void test_copy(void **state)
{
    (void)state;
    pool.telemetry = telemetry;
    hot[0] = (struct pkt){.kind = PKT_ROCE, .psn = 77};
    cold[0] = (struct pkt_cold){.pkey = 5};
    telemetry[0] = (struct pkt_int){.hops = 1};
    frame[0] = (struct pkt_frame){.bytes = ROOM, .layout = {.l3_at = 14}};
    memset(bytes, 0xab, ROOM);
    memset(bytes + ROOM, 0, 2 * ROOM);
    pktpool_copy(&pool, 1, 0);
    assert_int_equal(hot[1].psn, 77);
    assert_int_equal(cold[1].pkey, 5);
    assert_int_equal(telemetry[1].hops, 1);
    assert_int_equal(frame[1].bytes, ROOM);
    assert_int_equal(frame[1].layout.l3_at, 14);
    assert_memory_equal(bytes, bytes + ROOM, ROOM);
    assert_int_equal(bytes[2 * ROOM], 0);
    pool.telemetry = NULL;

    struct pktpool bare = {.hot = hot}; /* as in the simulator */
    pktpool_copy(&bare, 2, 0);
    assert_int_equal(hot[2].psn, 77);
    assert_int_equal(cold[2].pkey, 0);
}

static const struct frame_path path = {
    .dmac = {2, 0, 0, 0, 0, 1},
    .smac = {2, 0, 0, 0, 0, 2},
    .flow_label = 0x12345,
    .vlan_id = 42,
};

/* A descriptor as a machine might leave it: every bit that no header carries is random too. */
static void random_packet(struct rng *rng, uint8_t kind, uint8_t opcode, uint8_t net, struct pkt *pkt)
{
    uint8_t *raw = (uint8_t *)pkt;
    const struct opcode_info *info = opcode_info(opcode);
    for (size_t i = 0; i < sizeof *pkt; i++)
        raw[i] = (uint8_t)rng_u32(rng);
    pkt->kind = kind;
    pkt->flags &= PKT_STRAY | PKT_SOLICITED | PKT_MIGRATED | PKT_ACK_REQUEST | PKT_FECN | PKT_BECN | PKT_TAGGED;
    pkt->pcp &= 7;
    if (kind != PKT_ROCE) return;
    pkt->opcode = opcode;
    pkt->net = net;
    pkt->mark &= 0x7f;
    pkt->dest_qp &= 0xffffff;
    pkt->psn &= 0xffffff;
    if (info->flags & OP_DETH) pkt->src_qp &= 0xffffff;
    if (info->flags & OP_AETH) pkt->ack.msn &= 0xffffff;
    pkt->payload_bytes = info->flags & OP_PAYLOAD || !info->name ? (uint16_t)rng_below(rng, 300) : 0;
    pkt->pad = (uint8_t)(-pkt->payload_bytes & 3);
}

static void check_carried(struct rng *rng, const struct pkt *pkt, bool with_telemetry)
{
    struct frame_path way = path;
    enum codec_fault fault;
    way.telemetry = with_telemetry;
    way.src = way.dst = pkt_addr_ipv4(rng_u32(rng));
    hot[0] = *pkt;
    cold[0].swap = rng_u64(rng);
    cold[0].compare = rng_u64(rng);
    uint64_t swap = cold[0].swap;
    frame_address(&way, &hot[0], &cold[0]);
    int length = frame_build(&pool, 0, NULL);
    assert_true(length > 0);
    assert_int_equal(frame[0].bytes, length);
    hot[0].frame_bytes = (uint16_t)length;

    assert_int_equal(frame_in(&pool, 1, frame_data(&pool, 0), (uint32_t)length, &fault), 0);
    struct pkt want = codec_carried(&hot[0]);
    assert_memory_equal(&hot[1], &want, sizeof want);
    assert_memory_equal(&frame[1], &frame[0], sizeof frame[0]);
    if (pkt->kind == PKT_ROCE) {
        assert_int_equal(cold[1].resv7, pkt->mark);
        if (opcode_info(pkt->opcode)->flags & OP_ATOMICETH) assert_int_equal(cold[1].swap, swap);
        cold[0].icrc = cold[1].icrc;
    }
    assert_memory_equal(&cold[1], &cold[0], sizeof cold[0]);
}

static void test_carried(void **state)
{
    struct rng rng;
    struct pkt pkt;
    (void)state;
    rng_init(&rng, SEED, 1);
    for (int turn = 0; turn < 20; turn++) {
        for (unsigned code = 0; code < 256; code++)
            for (uint8_t net = PKT_NET_V1; net <= PKT_NET_IPV6; net++) {
                random_packet(&rng, PKT_ROCE, (uint8_t)code, net, &pkt);
                check_carried(&rng, &pkt, turn & 1);
            }
        for (uint8_t kind = PKT_PFC; kind <= PKT_PAUSE; kind++) {
            random_packet(&rng, kind, 0, PKT_NET_NONE, &pkt);
            check_carried(&rng, &pkt, false);
        }
    }
}

/* One frame over three switches, a copy of it flooded on the second. */
static void test_way(void **state)
{
    struct rng rng;
    struct pkt pkt;
    enum codec_fault fault;
    struct frame_path way = path;
    static uint8_t line[ROOM], payload[300];
    (void)state;
    rng_init(&rng, SEED, 2);
    pool.telemetry = telemetry;
    random_packet(&rng, PKT_ROCE, OPCODE_RC_SEND_ONLY, PKT_NET_IPV4, &pkt);
    pkt.tos = 26 << 2 | PKT_ECN_ECT0;
    pkt.ttl = 64;
    way.telemetry = true;
    way.src = pkt_addr_ipv4(0x0a000001);
    way.dst = pkt_addr_ipv4(0x0a000002);
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)rng_u32(&rng);
    hot[0] = pkt;
    memset(&telemetry[0], 0, sizeof telemetry[0]);
    frame_address(&way, &hot[0], &cold[0]);
    int length = frame_build(&pool, 0, payload);
    memcpy(line, frame_data(&pool, 0), (size_t)length);
    for (unsigned hop = 0; hop < 3; hop++) {
        assert_int_equal(frame_in(&pool, 1, line, (uint32_t)length, &fault), 0);
        assert_int_equal(telemetry[1].hops, hop);
        hot[1].ttl--;
        if (hop == 1) hot[1].tos |= PKT_ECN_CE;
        pkt_int_add(&telemetry[1], hop * PS_US, hop * 128, UINT64_C(100000000000), hop * 80);
        pktpool_copy(&pool, 2, 1);
        frame_patch(&pool, hop == 1 ? 2 : 1);
        memcpy(line, frame_data(&pool, hop == 1 ? 2 : 1), (size_t)length);
    }
    assert_int_equal(frame_in(&pool, 3, line, (uint32_t)length, &fault), 0);
    assert_int_equal(hot[3].ttl, 61);
    assert_int_equal(hot[3].tos, 26 << 2 | PKT_ECN_CE);
    assert_int_equal(telemetry[3].hops, 3);
    assert_int_equal(telemetry[3].hop[2].tx_bytes, 256);
    struct codec_frame whole = {frame_data(&pool, 3), frame[3].bytes, frame[3].bytes, CODEC_ETHERNET};
    assert_int_equal(icrc_check(&whole, &hot[3], &cold[3], &frame[3].layout), ICRC_GOOD);
    assert_memory_equal(codec_payload(&whole, &frame[3].layout), payload, hot[3].payload_bytes);
    pool.telemetry = NULL;
}

/* Pauses of each priority and of all, made, sent and understood. */
static void test_pauses(void **state)
{
    enum codec_fault fault;
    uint16_t quanta[8], read[8];
    uint8_t enable;
    (void)state;
    for (unsigned i = 0; i < 8; i++)
        quanta[i] = (uint16_t)(1000 + i);
    for (unsigned mask = 0; mask <= 256; mask++) {
        hot[0] = mask < 256 ? frame_pfc((uint8_t)mask, quanta) : frame_pause(0xffff);
        frame_address(&path, &hot[0], &cold[0]);
        int length = frame_build(&pool, 0, NULL);
        assert_int_equal(length, mask < 256 ? 34 : 18);
        assert_true(codec_stays_on_link(frame_data(&pool, 0)));
        memset(frame_data(&pool, 0) + length, 0, (size_t)(60 - length)); /* as a line pads it */
        assert_int_equal(frame_in(&pool, 1, frame_data(&pool, 0), 60, &fault), 0);
        assert_true(frame_pauses(&hot[1], &enable, read));
        assert_int_equal(enable, mask < 256 ? mask : 255);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(read[i], mask == 256 ? 0xffff : mask >> i & 1 ? quanta[i] : 0);
    }
    hot[0] = (struct pkt){.kind = PKT_ROCE};
    assert_false(frame_pauses(&hot[0], &enable, read));
}

static void test_refused(void **state)
{
    enum codec_fault fault;
    static uint8_t line[ROOM + 1];
    (void)state;
    assert_int_equal(frame_in(&pool, 0, line, ROOM + 1, &fault), -EMSGSIZE);
    assert_int_equal(frame[0].bytes, 0);
    assert_int_equal(frame_in(&pool, 0, line, 60, &fault), 0);
    assert_int_equal(hot[0].kind, PKT_OTHER);
    hot[0] = (struct pkt){.kind = PKT_OTHER}; /* a descriptor does not hold such a frame */
    assert_int_equal(frame_build(&pool, 0, NULL), -EINVAL);
    assert_int_equal(frame[0].bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),   cmocka_unit_test(test_carried), cmocka_unit_test(test_way),
        cmocka_unit_test(test_pauses), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
