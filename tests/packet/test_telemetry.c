/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In-band telemetry on the wire: a packet of HPCC goes through switches as bytes, comes back as the same descriptor and
 * record, and is echoed in an ACK.  The header is where and what docs/internals/packet.md says, 42 bytes, outside
 * of the ICRC.
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
#include "packet/icrc.h"
#include "packet/opcode.h"
#include "packet/telemetry.h"

#define SEED test_seed_or(2019)
#define PORT 53943

struct sample {
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    uint8_t payload[4096 + 32];
    uint8_t frame[FRAME_MAX];
    uint32_t bytes;
};

static uint32_t sum_words(const uint8_t *at, uint32_t bytes)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < bytes; i++)
        sum += i & 1 ? at[i] : (uint32_t)at[i] << 8;
    return sum;
}

/* Of UDP, with its pseudo-header: 0xffff when it is right. */
static uint32_t udp_sum(const struct sample *s)
{
    uint32_t bytes = load_be16(s->frame + s->layout.udp_at + 4);
    bool four = s->pkt.net == PKT_NET_IPV4;
    uint32_t sum = sum_words(s->frame + s->layout.l3_at + (four ? 12 : 8), four ? 8 : 32) + 17 + bytes;
    sum += sum_words(s->frame + s->layout.udp_at, bytes);
    sum = (sum >> 16) + (sum & 0xffff);
    return (sum >> 16) + (sum & 0xffff);
}

static void sample_make(struct rng *rng, struct frame_shape shape, const struct pkt_int *record, struct sample *s)
{
    frame_random(rng, &shape, &s->pkt, &s->cold, s->payload);
    s->cold.dport = PORT;
    s->cold.udp_checksum = 0;
    s->pkt.frame_bytes = (uint16_t)(s->pkt.frame_bytes + CODEC_TELEMETRY_BYTES);
    int bytes = codec_emit_frame(&s->pkt, &s->cold, record, s->payload, s->frame, sizeof s->frame, &s->layout);
    assert_int_equal(bytes, s->pkt.frame_bytes);
    s->bytes = (uint32_t)bytes;
    s->cold.icrc = load_le32(s->frame + s->layout.icrc_at);
}

static void assert_same(const struct pkt_int *a, const struct pkt_int *b)
{
    assert_int_equal(a->hops, b->hops);
    assert_int_equal(a->echo, b->echo);
    for (unsigned i = 0; i < a->hops; i++) {
        assert_int_equal(a->hop[i].at, b->hop[i].at);
        assert_int_equal(a->hop[i].tx_bytes, b->hop[i].tx_bytes);
        assert_int_equal(a->hop[i].rate_bps, b->hop[i].rate_bps);
        assert_int_equal(a->hop[i].queue_bytes, b->hop[i].queue_bytes);
    }
}

static void check_reads_back(const struct sample *s, const struct pkt_int *want)
{
    struct codec_frame whole = {s->frame, s->bytes, s->bytes, CODEC_ETHERNET};
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    struct pkt_int record;
    assert_int_equal(codec_parse(&whole, &pkt, &cold, &layout, &fault), 0);
    assert_memory_equal(&pkt, &s->pkt, sizeof pkt);
    assert_memory_equal(&cold, &s->cold, sizeof cold);
    assert_memory_equal(&layout, &s->layout, sizeof layout);
    assert_true(codec_has_telemetry(&layout));
    assert_memory_equal(codec_payload(&whole, &layout), s->payload, pkt.payload_bytes);
    assert_int_equal(icrc_check(&whole, &pkt, &cold, &layout), ICRC_GOOD);
    codec_telemetry_read(s->frame, &layout, &record);
    assert_same(&record, want);
}

static struct pkt_hop random_hop(struct rng *rng)
{
    static const uint64_t rates[] = {1, 10, 25, 40, 50, 100, 200, 400, 800};
    return (struct pkt_hop){.at = rng_below(rng, 1 << 24) * PS_NS,
                            .tx_bytes = rng_below(rng, 1 << 20) * 128,
                            .rate_bps = rates[rng_below(rng, 9)] * 1000000000,
                            .queue_bytes = (uint32_t)rng_below(rng, 1 << 16) * 80};
}

/* Five switches, each of which reads the frame, adds its hop, takes a TTL away, marks. */
static void test_path(void **state)
{
    static struct sample s;
    struct rng rng;
    (void)state;
    rng_init(&rng, SEED, 1);
    for (unsigned code = 0; code < 256; code++)
        for (uint8_t net = PKT_NET_IPV4; net <= PKT_NET_IPV6; net++) {
            struct pkt_int record;
            memset(&record, 0, sizeof record);
            uint8_t tags = (uint8_t)rng_below(&rng, 3);
            sample_make(&rng, (struct frame_shape){PKT_ROCE, (uint8_t)code, net, tags, PKT_NET_NONE, 200}, &record, &s);
            check_reads_back(&s, &record);
            for (unsigned hop = 0; hop < CODEC_TELEMETRY_HOPS; hop++) {
                struct pkt_hop h = random_hop(&rng);
                pkt_int_add(&record, h.at, h.tx_bytes, h.rate_bps, h.queue_bytes);
                s.pkt.ttl--;
                s.pkt.tos |= 3;
                codec_rewrite(s.frame, &s.layout, &s.pkt);
                codec_telemetry_write(s.frame, &s.layout, &record);
                assert_int_equal(record.hops, hop + 1);
                check_reads_back(&s, &record);
            }
        }
}

/* The receiver's ACK carries the record back; switches on the way leave it alone. */
static void test_echo(void **state)
{
    static struct sample s;
    struct rng rng;
    struct pkt_int record;
    (void)state;
    rng_init(&rng, SEED, 2);
    memset(&record, 0, sizeof record);
    record.hops = 3;
    for (int i = 0; i < 3; i++)
        record.hop[i] = random_hop(&rng);
    record.echo = true;
    sample_make(&rng, (struct frame_shape){PKT_ROCE, OPCODE_RC_ACK, PKT_NET_IPV4, 0, PKT_NET_NONE, 0}, &record, &s);
    struct pkt_int read;
    codec_telemetry_read(s.frame, &s.layout, &read);
    pkt_int_add(&read, 1000, 128, 1000000000, 80);
    codec_telemetry_write(s.frame, &s.layout, &read);
    check_reads_back(&s, &record);
}

/* Bit for bit, as written by hand. */
static void test_bits(void **state)
{
    static struct sample s;
    struct rng rng;
    struct pkt_int record = {.hops = 2, .echo = true};
    record.hop[0] = (struct pkt_hop){0x123456 * PS_NS, 0xabcdeu * 128, UINT64_C(100000000000), 0xfedc * 80};
    record.hop[1] = (struct pkt_hop){PS_NS, 128, UINT64_C(400000000000), 80};
    static const uint8_t want[42] = "\x28\x00\xa1\x23\x45\x6a\xbc\xde\xfe\xdc\xc0\x00\x00\x10\x00\x01\x00\x01";
    (void)state;
    rng_init(&rng, SEED, 3);
    sample_make(&rng, (struct frame_shape){PKT_ROCE, OPCODE_RC_ACK, PKT_NET_IPV4, 0, PKT_NET_NONE, 0}, &record, &s);
    assert_int_equal(load_be16(s.frame + 14 + 20 + 2), PORT);
    assert_memory_equal(s.frame + 14 + 20 + 8, want, sizeof want);
    assert_int_equal(s.frame[14 + 20 + 8 + 42], OPCODE_RC_ACK);
}

/* Numbers that a frame cannot tell: rounded down, and the same when rounded again. */
static void test_rounds(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, SEED, 4);
    for (int turn = 0; turn < 10000; turn++) {
        struct pkt_int record;
        memset(&record, 0, sizeof record);
        record.hops = (uint8_t)rng_below(&rng, PKT_INT_HOPS + 1);
        record.echo = rng_below(&rng, 2);
        for (unsigned i = 0; i < record.hops; i++)
            record.hop[i] = (struct pkt_hop){rng_u64(&rng) >> 2, rng_u64(&rng) >> rng_below(&rng, 60),
                                             rng_below(&rng, UINT64_C(900000000000)), rng_u32(&rng)};
        struct pkt_int once = codec_telemetry_rounded(&record), twice = codec_telemetry_rounded(&once);
        assert_same(&once, &twice);
        assert_int_equal(once.hops, record.hops < 5 ? record.hops : 5);
        for (unsigned i = 0; i < once.hops; i++) {
            const struct pkt_hop *from = &record.hop[i], *to = &once.hop[i];
            assert_true(to->rate_bps <= from->rate_bps && to->queue_bytes <= from->queue_bytes);
            assert_true(from->queue_bytes > 65535 * 80 || from->queue_bytes - to->queue_bytes < 80);
            /* and with what the reader knows, whole again */
            ps_t now = from->at + rng_below(&rng, TELEMETRY_TIME_WRAP - PS_NS);
            assert_int_equal(telemetry_before(now, to->at), from->at / PS_NS * PS_NS);
            uint64_t known = from->tx_bytes / 128 * 128 - rng_below(&rng, from->tx_bytes / 128 * 128 / 2 + 1);
            if (from->tx_bytes - known < TELEMETRY_TX_WRAP)
                assert_int_equal(telemetry_after(known, to->tx_bytes, TELEMETRY_TX_WRAP), from->tx_bytes / 128 * 128);
        }
    }
}

/* A UDP checksum, where there is one, stays right; 0 stays 0. */
static void test_udp_checksum(void **state)
{
    static struct sample s;
    struct rng rng;
    (void)state;
    rng_init(&rng, SEED, 5);
    for (int turn = 0; turn < 2000; turn++) {
        struct pkt_int record;
        memset(&record, 0, sizeof record);
        uint8_t net = turn & 1 ? PKT_NET_IPV4 : PKT_NET_IPV6;
        sample_make(&rng, (struct frame_shape){PKT_ROCE, OPCODE_RC_SEND_ONLY, net, 0, PKT_NET_NONE, 50}, &record, &s);
        uint32_t sum = udp_sum(&s);
        s.cold.udp_checksum = (uint16_t)~sum ? (uint16_t)~sum : 0xffff;
        store_be16(s.frame + s.layout.udp_at + 6, s.cold.udp_checksum);
        assert_int_equal(udp_sum(&s), 0xffff);
        for (int hop = 0; hop < 5; hop++) {
            struct pkt_hop h = random_hop(&rng);
            pkt_int_add(&record, h.at, h.tx_bytes, h.rate_bps, h.queue_bytes);
            codec_telemetry_write(s.frame, &s.layout, &record);
            assert_int_equal(udp_sum(&s), 0xffff);
            s.cold.udp_checksum = load_be16(s.frame + s.layout.udp_at + 6);
            check_reads_back(&s, &record);
        }
    }
}

static void test_malformed(void **state)
{
    static struct sample s;
    struct rng rng;
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    struct pkt_int none = {.hops = 0};
    (void)state;
    rng_init(&rng, SEED, 6);
    sample_make(&rng, (struct frame_shape){PKT_ROCE, OPCODE_RC_ACK, PKT_NET_IPV4, 0, PKT_NET_NONE, 0}, &none, &s);
    struct codec_frame whole = {s.frame, s.bytes, s.bytes, CODEC_ETHERNET};
    s.frame[14 + 20 + 8] = 0x60; /* six hops */
    assert_int_equal(codec_parse(&whole, &pkt, &cold, &layout, &fault), -EBADMSG);
    assert_int_equal(fault, CODEC_FAULT_TELEMETRY);
    assert_int_equal(codec_parse_transit(&whole, &pkt, &cold, &layout, &fault), 0);
    assert_int_equal(pkt.kind, PKT_OTHER);
    s.frame[14 + 20 + 8] = 0x50;
    assert_int_equal(codec_parse(&whole, &pkt, &cold, &layout, &fault), 0);
    whole.captured = 14 + 20 + 8 + 41;
    assert_int_equal(codec_parse(&whole, &pkt, &cold, &layout, &fault), -ENODATA);

    /* over RoCEv1 there is no port that could say so */
    struct frame_shape v1 = {PKT_ROCE, OPCODE_RC_ACK, PKT_NET_V1, 0, PKT_NET_NONE, 0};
    frame_random(&rng, &v1, &s.pkt, &s.cold, s.payload);
    assert_int_equal(codec_emit_frame(&s.pkt, &s.cold, &none, NULL, s.frame, sizeof s.frame, &layout),
                     s.pkt.frame_bytes);
    assert_false(codec_has_telemetry(&layout));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path),   cmocka_unit_test(test_echo),         cmocka_unit_test(test_bits),
        cmocka_unit_test(test_rounds), cmocka_unit_test(test_udp_checksum), cmocka_unit_test(test_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
