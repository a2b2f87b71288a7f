/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ICRC against three judges: recorded packets of a kernel's Soft-RoCE, a second implementation
 * written from the rules alone (zlib, one byte at a time), and every single flipped bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "../seed.h"
#include "base/bytes.h"
#include "base/rng.h"
#include "frames.h"
#include "packet/icrc.h"
#include "packet/opcode.h"

#define SEED test_seed_or(20240817)

/* Which bits of byte `at` of a packet, counted from its IP header or GRH, routers may change. */
static uint8_t masked_bits(enum pkt_net net, size_t ip_bytes, size_t at)
{
    size_t bth = net == PKT_NET_V1 ? ip_bytes : ip_bytes + 8;
    if (at == bth + 4) return 0xff;                                                   /* resv8a */
    if (net != PKT_NET_V1 && (at == ip_bytes + 6 || at == ip_bytes + 7)) return 0xff; /* UDP checksum */
    if (net == PKT_NET_IPV4) return at == 1 || at == 8 || at == 10 || at == 11 ? 0xff : 0;
    if (at == 0) return 0x0f;
    return at == 1 || at == 2 || at == 3 || at == 7 ? 0xff : 0;
}

/* The second implementation: `packet` runs from the IP header or GRH to the byte before the ICRC. */
static uint32_t icrc_reference(enum pkt_net net, size_t ip_bytes, const uint8_t *packet, size_t bytes)
{
    uLong crc = crc32(0, NULL, 0);
    for (int i = 0; i < 8; i++)
        crc = crc32(crc, (const Bytef *)"\xff", 1);
    for (size_t i = 0; i < bytes; i++) {
        uint8_t byte = packet[i] | masked_bits(net, ip_bytes, i);
        crc = crc32(crc, &byte, 1);
    }
    return (uint32_t)crc;
}

static size_t plain_ip_bytes(enum pkt_net net)
{
    return net == PKT_NET_IPV4 ? 20 : 40;
}

struct parsed {
    struct codec_frame frame;
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
};

static int parse(const uint8_t *data, size_t bytes, struct parsed *ret)
{
    enum codec_fault fault;
    ret->frame = (struct codec_frame){data, (uint32_t)bytes, (uint32_t)bytes, CODEC_ETHERNET};
    return codec_parse(&ret->frame, &ret->pkt, &ret->cold, &ret->layout, &fault);
}

static enum icrc_verdict check(const struct parsed *parsed)
{
    return icrc_check(&parsed->frame, &parsed->pkt, &parsed->cold, &parsed->layout);
}

static bool reads_as_good(const uint8_t *data, size_t bytes)
{
    struct parsed parsed;
    return parse(data, bytes, &parsed) == 0 && parsed.pkt.kind == PKT_ROCE && check(&parsed) == ICRC_GOOD;
}

static void test_crc_implementations(void **state)
{
    (void)state;
    static uint8_t data[5000];
    struct rng rng;
    rng_init(&rng, SEED, 1);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)rng_u32(&rng);
    assert_int_equal(crc32_ieee(0, (const uint8_t *)"123456789", 9), 0xcbf43926);
    for (size_t bytes = 0; bytes < sizeof data; bytes += bytes < 300 ? 1 : 97) {
        size_t at = rng_below(&rng, sizeof data - bytes);
        uint32_t start = rng_u32(&rng);
        uint32_t want = (uint32_t)crc32(start, data + at, (uInt)bytes);
        assert_int_equal(crc32_ieee(start, data + at, bytes), want);
        assert_int_equal(crc32_table(start, data + at, bytes), want);
    }
}

static void test_second_implementation(void **state)
{
    (void)state;
    static uint8_t payload[4096 + 32], frame[FRAME_MAX];
    struct rng rng;
    rng_init(&rng, SEED, 2);
    for (unsigned code = 0; code < 256; code++)
        for (uint8_t net = PKT_NET_V1; net <= PKT_NET_IPV6; net++)
            for (unsigned round = 0; round < 4; round++) {
                struct frame_shape shape = {PKT_ROCE,     (uint8_t)code,
                                            net,          (uint8_t)rng_below(&rng, 3),
                                            PKT_NET_NONE, (uint16_t)(round ? 100 : 4096)};
                struct parsed parsed;
                struct pkt pkt;
                struct pkt_cold cold;
                frame_random(&rng, &shape, &pkt, &cold, payload);
                int bytes = frame_emit(&pkt, &cold, payload, frame);
                assert_true(bytes > 0);
                size_t l3 = 14 + 4u * shape.tags;
                uint32_t want = icrc_reference(net, plain_ip_bytes(net), frame + l3, (size_t)bytes - 4 - l3);
                if (cold.icrc != want) fail_msg("opcode 0x%02x net %u seed %u", code, net, SEED);
                assert_int_equal(parse(frame, (size_t)bytes, &parsed), 0);
                assert_int_equal(icrc_compute(frame, &parsed.layout), want);
                assert_int_equal(check(&parsed), ICRC_GOOD);
            }
}

static void put_ipv4_checksum(uint8_t *ip, size_t bytes)
{
    uint32_t sum = 0;
    store_be16(ip + 10, 0);
    for (size_t i = 0; i < bytes; i += 2)
        sum += load_be16(ip + i);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    store_be16(ip + 10, (uint16_t)~sum);
}

/* IPv4 options are covered as they are. */
static void test_ipv4_options(void **state)
{
    (void)state;
    static uint8_t payload[4096 + 32], plain[FRAME_MAX], frame[FRAME_MAX + 40];
    struct frame_shape shape = {PKT_ROCE, OPCODE_RC_WRITE_ONLY, PKT_NET_IPV4, 0, PKT_NET_NONE, 200};
    struct rng rng;
    rng_init(&rng, SEED, 3);
    for (size_t options = 4; options <= 40; options += 4) {
        struct parsed parsed;
        struct pkt pkt;
        struct pkt_cold cold;
        frame_random(&rng, &shape, &pkt, &cold, payload);
        size_t bytes = (size_t)frame_emit(&pkt, &cold, payload, plain);
        uint8_t *ip = frame + 14;
        memcpy(frame, plain, 34);
        memset(frame + 34, 1, options); /* no-operation */
        memcpy(frame + 34 + options, plain + 34, bytes - 34);
        bytes += options;
        ip[0] = (uint8_t)(0x45 + options / 4);
        store_be16(ip + 2, (uint16_t)(bytes - 14));
        put_ipv4_checksum(ip, 20 + options);
        store_le32(frame + bytes - 4, icrc_reference(PKT_NET_IPV4, 20 + options, ip, bytes - 18));
        assert_int_equal(parse(frame, bytes, &parsed), 0);
        assert_int_equal(check(&parsed), ICRC_GOOD);
        assert_int_equal(parsed.pkt.psn, pkt.psn);
        frame[34] = 0;
        put_ipv4_checksum(ip, 20 + options);
        assert_false(reads_as_good(frame, bytes));
    }
}

/* Every bit from the network header to the ICRC's last: a covered one must be noticed, a masked
 * one must not matter. */
static void flip_every_bit(uint8_t *frame, size_t bytes, unsigned *ret_covered, unsigned *ret_masked)
{
    struct parsed parsed;
    assert_int_equal(parse(frame, bytes, &parsed), 0);
    assert_int_equal(check(&parsed), ICRC_GOOD);
    struct codec_layout layout = parsed.layout;
    enum pkt_net net = (enum pkt_net)parsed.pkt.net;
    for (size_t at = layout.l3_at; at < layout.icrc_at + 4u; at++)
        for (unsigned bit = 1; bit < 256; bit <<= 1) {
            bool masked = masked_bits(net, plain_ip_bytes(net), at - layout.l3_at) & bit;
            frame[at] ^= (uint8_t)bit;
            bool same = icrc_compute(frame, &layout) == load_le32(frame + layout.icrc_at);
            if (same != masked) fail_msg("byte %zu bit 0x%02x of opcode 0x%02x", at, bit, parsed.pkt.opcode);
            if (!masked && reads_as_good(frame, bytes)) fail_msg("byte %zu bit 0x%02x reads as good", at, bit);
            frame[at] ^= (uint8_t)bit;
            *(masked ? ret_masked : ret_covered) += 1;
        }
}

static void test_flips_generated(void **state)
{
    (void)state;
    static uint8_t payload[4096 + 32], frame[FRAME_MAX];
    unsigned covered = 0, masked = 0;
    struct rng rng;
    rng_init(&rng, SEED, 4);
    for (unsigned code = 0; code < 256; code++) {
        if (!opcode_info((uint8_t)code)->name && code != 0xc0) continue;
        for (uint8_t net = PKT_NET_V1; net <= PKT_NET_IPV6; net++) {
            struct frame_shape shape = {PKT_ROCE, (uint8_t)code, net, (uint8_t)rng_below(&rng, 3), PKT_NET_NONE, 40};
            struct pkt pkt;
            struct pkt_cold cold;
            frame_random(&rng, &shape, &pkt, &cold, payload);
            flip_every_bit(frame, (size_t)frame_emit(&pkt, &cold, payload, frame), &covered, &masked);
        }
    }
    /* resv8a; TOS, TTL, checksum; class, label, hop limit; UDP checksum */
    assert_int_equal(masked, 39 * (3 * 8 + 32 + 2 * 36 + 2 * 16));
    assert_true(covered > 39 * 3 * 400);
}

struct recorded {
    unsigned roce, other, sampled[256];
    unsigned covered, masked;
};

static void visit_recorded(const char *file, unsigned number, const struct codec_frame *frame, void *arg)
{
    struct recorded *recorded = arg;
    struct parsed parsed;
    if (parse(frame->data, frame->captured, &parsed) != 0) fail_msg("%s packet %u is malformed", file, number);
    if (parsed.pkt.kind != PKT_ROCE) {
        recorded->other++;
        return;
    }
    recorded->roce++;
    if (check(&parsed) != ICRC_GOOD) fail_msg("%s packet %u: wrong ICRC", file, number);
    size_t l3 = parsed.layout.l3_at;
    uint32_t want = icrc_reference(PKT_NET_IPV4, 20, frame->data + l3, parsed.layout.icrc_at - l3);
    assert_int_equal(parsed.cold.icrc, want);

    if (recorded->sampled[parsed.pkt.opcode] == 2 || frame->captured > 1200) return;
    static uint8_t copy[1200];
    recorded->sampled[parsed.pkt.opcode]++;
    memcpy(copy, frame->data, frame->captured);
    flip_every_bit(copy, frame->captured, &recorded->covered, &recorded->masked);
}

static void test_recorded(void **state)
{
    (void)state;
    static struct recorded recorded;
    unsigned files = captures_each(ROCELAB_TEST_PCAPS, visit_recorded, &recorded);
    assert_int_equal(files, 74);
    assert_int_equal(recorded.roce, 9102);
    unsigned opcodes = 0;
    for (int i = 0; i < 256; i++)
        opcodes += recorded.sampled[i] > 0;
    assert_true(opcodes >= 30);
    print_message("%u files, %u RoCE packets, %u others; flipped %u covered and %u masked bits of %u opcodes\n", files,
                  recorded.roce, recorded.other, recorded.covered, recorded.masked, opcodes);
}

static void test_unknown(void **state)
{
    (void)state;
    static uint8_t payload[4096 + 32], frame[FRAME_MAX];
    struct frame_shape shape = {PKT_ROCE, OPCODE_RC_ACK, PKT_NET_IPV6, 0, PKT_NET_NONE, 0};
    struct parsed parsed;
    struct pkt pkt;
    struct pkt_cold cold;
    enum codec_fault fault;
    struct rng rng;
    rng_init(&rng, SEED, 5);
    frame_random(&rng, &shape, &pkt, &cold, payload);
    size_t bytes = (size_t)frame_emit(&pkt, &cold, payload, frame);
    parsed.frame = (struct codec_frame){frame, (uint32_t)bytes - 1, (uint32_t)bytes, CODEC_ETHERNET};
    assert_int_equal(codec_parse(&parsed.frame, &parsed.pkt, &parsed.cold, &parsed.layout, &fault), 0);
    assert_true(parsed.pkt.flags & PKT_CUT);
    assert_int_equal(check(&parsed), ICRC_UNKNOWN);
    shape.kind = PKT_PFC;
    frame_random(&rng, &shape, &pkt, &cold, payload);
    assert_int_equal(parse(frame, (size_t)frame_emit(&pkt, &cold, payload, frame), &parsed), 0);
    assert_int_equal(check(&parsed), ICRC_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc_implementations),
        cmocka_unit_test(test_second_implementation),
        cmocka_unit_test(test_ipv4_options),
        cmocka_unit_test(test_flips_generated),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
