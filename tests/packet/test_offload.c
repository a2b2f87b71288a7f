/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ARP frames, and what kernels leave to adapters: checksums hold by the receiver's rule (all words and the pseudo
 * header add up to ones), segments put together are the row they were cut from, and no bytes are too wild.  A real
 * kernel judges the same in tests/up/test_foreign.py.
 */
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
#include "packet/arp.h"
#include "packet/offload.h"

#define SEED test_seed_or(20261116)

/* Field by field as RFC 826 has them. */
static const uint8_t request[42] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x5a, 0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x06,
                                    0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x5a, 0x01, 0x02, 0x03, 0x04, 0x05,
                                    0x0a, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x03};

static void test_arp(void **state)
{
    struct arp arp;
    uint8_t frame[ARP_FRAME_BYTES], other[42];

    (void)state;
    assert_true(arp_parse(request, sizeof request, &arp));
    assert_false(arp.reply);
    assert_memory_equal(arp.sender, "\x0a\0\0\x01", 4);
    assert_memory_equal(arp.target, "\x0a\0\0\x03", 4);
    arp_emit(&arp, frame);
    assert_memory_equal(frame, request, sizeof request);
    for (uint32_t bytes = 0; bytes < sizeof request; bytes++)
        assert_false(arp_parse(request, bytes, &arp));
    for (uint32_t at = 12; at < 22; at++) { /* types, lengths, operation */
        memcpy(other, request, sizeof other);
        other[at] ^= 0x40;
        assert_false(arp_parse(other, sizeof other, &arp));
    }
    arp.reply = true;
    memcpy(arp.target_mac, "\x5a\1\2\3\4\5", 6);
    arp_emit(&arp, frame);
    assert_memory_equal(frame, arp.target_mac, 6);
    assert_int_equal(frame[21], 2);
}

static uint32_t sum(const uint8_t *data, uint32_t bytes, uint64_t start)
{
    for (uint32_t i = 0; i < bytes; i++)
        start += i & 1 ? data[i] : (uint32_t)data[i] << 8;
    while (start >> 16)
        start = (start & 0xffff) + (start >> 16);
    return (uint32_t)start;
}

/* A row of one protocol: `tags` tags, `options` words of TCP options, `payload` random bytes, checksums not there. */
static uint32_t make_row(struct rng *rng, bool tcp, uint32_t tags, uint32_t options, uint32_t payload, uint8_t *frame)
{
    uint32_t at = 12, header = tcp ? 20 + 4 * options : 8;

    for (uint32_t i = 0; i < 14 + 4 * tags + 20 + header + payload; i++)
        frame[i] = (uint8_t)rng_u32(rng);
    for (uint32_t i = 0; i < tags; i++, at += 4)
        store_be16(frame + at, 0x8100);
    store_be16(frame + at, 0x0800);
    uint8_t *ip = frame + at + 2;
    ip[0] = 0x45;
    store_be16(ip + 2, (uint16_t)(20 + header + payload));
    ip[9] = tcp ? 6 : 17;
    if (tcp) {
        ip[32] = (uint8_t)(header / 4 << 4);
        ip[33] = 0x99; /* CWR, ACK, PSH, FIN */
    }
    return at + 2 + 20 + header + payload;
}

static void check_segment(const struct offload_row *row, uint32_t index, const uint8_t *frame, uint32_t bytes)
{
    const uint8_t *ip = frame + row->ip_at, *transport = frame + row->transport_at;
    const uint8_t *whole = row->frame + row->transport_at;
    uint32_t length = bytes - row->transport_at, from = row->payload_at + index * row->segment;

    assert_int_equal(sum(ip, 20, 0), 0xffff);
    assert_int_equal(sum(transport, length, sum(ip + 12, 8, ip[9] + length)), 0xffff);
    assert_int_equal(load_be16(ip + 2), bytes - row->ip_at);
    assert_int_equal(load_be16(ip + 4), (uint16_t)(load_be16(row->frame + row->ip_at + 4) + index));
    assert_memory_equal(frame + row->payload_at, row->frame + from, bytes - row->payload_at);
    if (row->tcp) {
        uint8_t last = index + 1 == row->count ? 0x09 : 0, first = index == 0 ? 0x80 : 0;
        assert_int_equal(load_be32(transport + 4), load_be32(whole + 4) + index * row->segment);
        assert_int_equal(transport[13], 0x10 | last | first);
    } else {
        assert_int_equal(load_be16(transport + 4), length);
    }
}

static void test_segments(void **state)
{
    struct rng rng;
    static uint8_t frame[66000], out[9216];

    (void)state;
    rng_init(&rng, SEED, 0);
    for (int i = 0; i < 400; i++) {
        bool tcp = rng_u32(&rng) & 1;
        uint32_t payload = 1 + (uint32_t)rng_below(&rng, 65000), segment = 1 + (uint32_t)rng_below(&rng, 8000);
        uint32_t bytes =
            make_row(&rng, tcp, (uint32_t)rng_below(&rng, 3), (uint32_t)rng_below(&rng, 11), payload, frame);
        struct offload_row row;
        uint32_t seen = 0;

        assert_true(offload_row(frame, bytes + 6, segment, &row)); /* padding is no payload */
        assert_int_equal(row.count, (payload + segment - 1) / segment);
        for (uint32_t index = 0; index < row.count; index++) {
            uint32_t length = offload_segment(&row, index, out, sizeof out);
            assert_true(length > row.payload_at && length <= sizeof out);
            if (i < 40 || index == 0 || index + 1 == row.count) check_segment(&row, index, out, length);
            seen += length - row.payload_at;
        }
        assert_int_equal(seen, payload);
        assert_int_equal(offload_segment(&row, 0, out, row.payload_at), 0);
    }
}

static void test_checksum_left_out(void **state)
{
    struct rng rng;
    uint8_t frame[200], copy[200];

    (void)state;
    rng_init(&rng, SEED, 1);
    uint32_t bytes = make_row(&rng, true, 0, 0, 101, frame);
    uint8_t *ip = frame + 14;
    uint32_t length = bytes - 34;
    store_be16(frame + 50, (uint16_t)sum(ip + 12, 8, 6 + length));
    assert_true(offload_checksum(frame, bytes, 34, 16));
    assert_int_equal(sum(frame + 34, length, sum(ip + 12, 8, 6 + length)), 0xffff);
    /* A payload that makes the checksum 0: TCP's stays 0, in the place of UDP's it becomes 0xffff. */
    uint16_t checksum = load_be16(frame + 50);
    store_be16(frame + 60, (uint16_t)sum(frame + 60, 2, checksum));
    store_be16(frame + 50, (uint16_t)sum(ip + 12, 8, 6 + length));
    assert_true(offload_checksum(frame, bytes, 34, 16));
    assert_int_equal(load_be16(frame + 50), 0);
    store_be16(frame + 40, 0);
    store_be16(frame + 50, 0);
    store_be16(frame + 40, (uint16_t)(0xffff - sum(frame + 34, length, 0)));
    assert_true(offload_checksum(frame, bytes, 34, 6));
    assert_int_equal(load_be16(frame + 40), 0xffff);
    memcpy(copy, frame, sizeof copy);
    assert_false(offload_checksum(frame, bytes, 34, length - 1));
    assert_false(offload_checksum(frame, bytes, bytes - 1, 0));
    assert_false(offload_checksum(frame, bytes, UINT32_MAX, 0));
    assert_false(offload_checksum(frame, bytes, 34, UINT32_MAX));
    assert_memory_equal(copy, frame, sizeof copy);
}

static void test_tag(void **state)
{
    uint8_t room[4 + sizeof request];

    (void)state;
    memcpy(room + 4, request, sizeof request);
    offload_tag(room, 0x8100, 0x6007);
    assert_memory_equal(room, request, 12);
    assert_memory_equal(room + 12, "\x81\x00\x60\x07", 4);
    assert_memory_equal(room + 16, request + 12, sizeof request - 12);
}

/* Any bytes, in memory that ends where they do. */
static void test_wild(void **state)
{
    struct rng rng;
    static uint8_t out[9216];

    (void)state;
    rng_init(&rng, SEED, 2);
    for (int i = 0; i < 20000; i++) {
        uint32_t bytes = 14 + (uint32_t)rng_below(&rng, 80);
        uint8_t *frame = malloc(bytes);
        struct offload_row row;
        struct arp arp;
        assert_non_null(frame);
        for (uint32_t at = 0; at < bytes; at++)
            frame[at] = (uint8_t)rng_u32(&rng);
        store_be16(frame + 12, 0x0800);
        if (bytes > 23) {
            frame[14] = (uint8_t)(0x40 | (rng_u32(&rng) & 7));
            store_be16(frame + 16, (uint16_t)rng_below(&rng, 100));
            frame[23] = i & 1 ? 6 : 17;
        }
        (void)arp_parse(frame, bytes, &arp);
        if (offload_row(frame, bytes, 1 + (uint32_t)rng_below(&rng, 30), &row))
            for (uint32_t index = 0; index < row.count; index++)
                assert_true(offload_segment(&row, index, out, sizeof out) <= bytes);
        (void)offload_checksum(frame, bytes, (uint32_t)rng_below(&rng, 100), (uint32_t)rng_below(&rng, 100));
        free(frame);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arp), cmocka_unit_test(test_segments), cmocka_unit_test(test_checksum_left_out),
        cmocka_unit_test(test_tag), cmocka_unit_test(test_wild),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
