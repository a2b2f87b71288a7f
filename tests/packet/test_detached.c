/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets from the BTH on, as sockets see them: the same descriptor and the same ICRC as the whole frame gives,
 * for generated frames of every opcode and for every recorded one; and the identification that a receiver
 * cannot see is found from the ICRC.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/bytes.h"
#include "base/rng.h"
#include "frames.h"
#include "packet/icrc.h"
#include "packet/opcode.h"

#define SEED test_seed_or(20250311)

struct tally {
    unsigned packets, ids_not_zero, outer;
};

/* Everything that the packet alone tells, against the whole frame's record. */
static void check_against_frame(const struct codec_frame *frame, struct tally *tally)
{
    struct pkt pkt, bare;
    struct pkt_cold cold, bare_cold;
    struct codec_layout layout;
    enum codec_fault fault;
    assert_int_equal(codec_parse(frame, &pkt, &cold, &layout, &fault), 0);
    if (pkt.kind != PKT_ROCE) return;
    const uint8_t *bth = frame->data + layout.bth_at;
    uint32_t bytes = layout.icrc_at + 4u - layout.bth_at, payload_at;
    memset(&bare_cold, 0, sizeof bare_cold);
    assert_int_equal(codec_parse_bth(bth, bytes, &bare, &bare_cold, &payload_at, &fault), 0);
    assert_int_equal(payload_at, layout.payload_at - layout.bth_at);
    assert_int_equal(bare.frame_bytes, bytes);
    bare.frame_bytes = pkt.frame_bytes;
    bare.flags |= pkt.flags & (PKT_TAGGED | PKT_TUNNEL);
    bare.tos = pkt.tos;
    bare.ttl = pkt.ttl;
    bare.pcp = pkt.pcp;
    bare.net = pkt.net;
    bare.sport = pkt.sport;
    assert_memory_equal(&bare, &pkt, sizeof pkt);
    assert_int_equal(bare_cold.pkey, cold.pkey);
    assert_int_equal(bare_cold.icrc, cold.icrc);
    assert_int_equal(bare_cold.swap, cold.swap);
    assert_int_equal(bare_cold.compare, cold.compare);

    uint8_t out[CODEC_BTH_MAX];
    assert_int_equal(codec_emit_bth(&bare, &bare_cold, out, payload_at - 1), -ENOBUFS);
    assert_int_equal(codec_emit_bth(&bare, &bare_cold, out, sizeof out), payload_at);
    uint8_t want[CODEC_BTH_MAX];
    memcpy(want, bth, payload_at);
    if (opcode_info(pkt.opcode)->flags & OP_DETH) want[16] = 0; /* the DETH's reserved byte is not kept */
    assert_memory_equal(out, want, payload_at);

    struct pkt outer_pkt;
    struct pkt_cold outer_cold;
    uint32_t bth_at, outer_bytes;
    assert_int_equal(codec_parse_outer(frame, &outer_pkt, &outer_cold, &bth_at, &outer_bytes, &fault), 0);
    assert_int_equal(outer_pkt.kind, PKT_ROCE);
    assert_int_equal(bth_at, layout.bth_at);
    assert_int_equal(outer_bytes, bytes);
    assert_int_equal(outer_pkt.tos, pkt.tos);
    assert_int_equal(outer_pkt.sport, pkt.sport);
    assert_int_equal(outer_pkt.net, pkt.net);
    assert_int_equal(outer_cold.ip_id, cold.ip_id);
    assert_memory_equal(&outer_cold.src, &cold.src, 16);
    uint8_t outer[CODEC_OUTER_MAX];
    if (!(pkt.flags & PKT_TUNNEL) && pkt.frame_bytes == layout.icrc_at + 4u && cold.dmac[0] | cold.dmac[5]) {
        assert_int_equal(codec_emit_outer(&pkt, &cold, bytes, outer, layout.bth_at - 1u), -ENOBUFS);
        assert_int_equal(codec_emit_outer(&pkt, &cold, bytes, outer, sizeof outer), layout.bth_at);
        assert_memory_equal(outer, frame->data, layout.bth_at);
        tally->outer++;
    }

    struct pkt_envelope envelope = {
        .src = cold.src, .dst = cold.dst, .net = pkt.net, .sport = pkt.sport, .ip_id = cold.ip_id};
    uint16_t id = 0xdead;
    assert_int_equal(icrc_detached(&envelope, cold.ip_frag, bth, bytes), cold.icrc);
    assert_true(icrc_fits_some_id(&envelope, cold.ip_frag, bth, bytes, cold.icrc, &id));
    assert_int_equal(id, pkt.net == PKT_NET_IPV4 ? cold.ip_id : 0);
    tally->packets++;
    tally->ids_not_zero += id != 0;
}

static void test_generated(void **state)
{
    (void)state;
    static uint8_t payload[4096 + 32], frame[FRAME_MAX];
    struct tally tally = {0};
    struct rng rng;
    rng_init(&rng, SEED, 1);
    for (unsigned code = 0; code < 256; code++)
        for (uint8_t net = PKT_NET_V1; net <= PKT_NET_IPV6; net++)
            for (unsigned round = 0; round < 6; round++) {
                struct frame_shape shape = {PKT_ROCE,     (uint8_t)code,
                                            net,          (uint8_t)rng_below(&rng, 3),
                                            PKT_NET_NONE, (uint16_t)(round < 3 ? 100 : 4096)};
                struct pkt pkt;
                struct pkt_cold cold;
                frame_random(&rng, &shape, &pkt, &cold, payload);
                int bytes = frame_emit(&pkt, &cold, payload, frame);
                assert_true(bytes > 0);
                struct codec_frame whole = {frame, (uint32_t)bytes, (uint32_t)bytes, CODEC_ETHERNET};
                check_against_frame(&whole, &tally);
            }
    assert_int_equal(tally.packets, 256 * 3 * 6);
    assert_true(tally.outer > 4000);
}

static void visit(const char *file, unsigned number, const struct codec_frame *frame, void *arg)
{
    (void)file;
    (void)number;
    check_against_frame(frame, arg);
}

static void test_recorded(void **state)
{
    (void)state;
    struct tally tally = {0};
    assert_int_equal(captures_each(ROCELAB_TEST_PCAPS, visit, &tally), 74);
    assert_int_equal(tally.packets, 9102);
    print_message("%u recorded packets, %u with an identification\n", tally.packets, tally.ids_not_zero);
}

/* Of 200,000 wrong ICRCs about 3 find an identification that fits, one in 2^16; each single damaged bit is noticed, but
 * for those that routers may change. */
static void test_damage(void **state)
{
    (void)state;
    struct pkt_envelope envelope = {
        .src = pkt_addr_ipv4(0x0a000001), .dst = pkt_addr_ipv4(0x0a000002), .net = PKT_NET_IPV4, .sport = 49152};
    uint8_t packet[64];
    struct rng rng;
    rng_init(&rng, SEED, 2);
    unsigned passed = 0;
    for (size_t i = 0; i < sizeof packet; i++)
        packet[i] = (uint8_t)rng_u32(&rng);
    for (unsigned round = 0; round < 200000; round++)
        passed += icrc_fits_some_id(&envelope, PROTO_IPV4_DF, packet, sizeof packet, rng_u32(&rng), NULL);
    assert_in_range(passed, 0, 20);

    uint32_t icrc = icrc_detached(&envelope, PROTO_IPV4_DF, packet, sizeof packet);
    for (size_t at = 0; at < sizeof packet - 4; at++)
        for (unsigned bit = 1; bit < 256; bit <<= 1) {
            packet[at] ^= (uint8_t)bit;
            assert_int_equal(icrc_fits_some_id(&envelope, PROTO_IPV4_DF, packet, sizeof packet, icrc, NULL), at == 4);
            packet[at] ^= (uint8_t)bit;
        }
    envelope.net = PKT_NET_IPV6;
    icrc = icrc_detached(&envelope, PROTO_IPV4_DF, packet, sizeof packet);
    assert_true(icrc_fits_some_id(&envelope, PROTO_IPV4_DF, packet, sizeof packet, icrc, NULL));
    assert_false(icrc_fits_some_id(&envelope, PROTO_IPV4_DF, packet, sizeof packet, icrc ^ 1, NULL));
}

/* Any bytes: an answer, nothing read outside (each lies in memory of its own size, for the sanitizers). */
static void test_any_bytes(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, SEED, 3);
    unsigned good = 0;
    for (unsigned round = 0; round < 50000; round++) {
        uint32_t bytes = (uint32_t)rng_below(&rng, round % 16 ? 80 : 9000), payload_at = 12345;
        uint8_t *data = malloc(bytes ? bytes : 1);
        assert_non_null(data);
        for (uint32_t i = 0; i < bytes; i++)
            data[i] = (uint8_t)rng_u32(&rng);
        if (bytes > 1 && round % 4) data[1] &= 0xf0;
        struct pkt pkt, before;
        struct pkt_cold cold;
        enum codec_fault fault;
        memset(&pkt, 0x5a, sizeof pkt);
        before = pkt;
        int rc = codec_parse_bth(data, bytes, &pkt, &cold, &payload_at, &fault);
        if (rc == 0) {
            good++;
            assert_int_equal(fault, CODEC_FAULT_NONE);
            assert_int_equal(payload_at + pkt.payload_bytes + pkt.pad + 4u, bytes);
        } else {
            assert_int_equal(rc, -EBADMSG);
            assert_int_not_equal(fault, CODEC_FAULT_NONE);
            assert_memory_equal(&pkt, &before, sizeof pkt);
            assert_int_equal(payload_at, 12345);
        }
        free(data);
    }
    assert_in_range(good, 10000, 45000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
