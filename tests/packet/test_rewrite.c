/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that pass a switch: what codec_rewrite() changes, and that nothing else changes.  A rewritten frame is the
 * one that the changed descriptor would have been written as, byte for byte; its ICRC was not touched and is right.
 * Frames of others (ARP, TCP, LLDP, VXLAN) can be queued, marked and routed, and leave as they came.
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

#define SEED test_seed_or(20261115)

struct sample {
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    uint8_t payload[4096 + 32];
    uint8_t frame[FRAME_MAX];
    uint32_t bytes;
};

static int read_transit(const uint8_t *frame, uint32_t bytes, struct pkt *pkt, struct pkt_cold *cold,
                        struct codec_layout *layout)
{
    struct codec_frame whole = {frame, bytes, bytes, CODEC_ETHERNET};
    enum codec_fault fault;
    return codec_parse_transit(&whole, pkt, cold, layout, &fault);
}

static void sample_make(struct rng *rng, struct frame_shape shape, struct sample *s)
{
    frame_random(rng, &shape, &s->pkt, &s->cold, s->payload);
    int bytes = frame_emit(&s->pkt, &s->cold, s->payload, s->frame);
    assert_true(bytes > 0);
    s->bytes = (uint32_t)bytes;
    struct pkt pkt;
    struct pkt_cold cold;
    assert_int_equal(read_transit(s->frame, s->bytes, &pkt, &cold, &s->layout), 0);
    assert_memory_equal(&pkt, &s->pkt, sizeof pkt);
    assert_memory_equal(&cold, &s->cold, sizeof cold);
}

/* What a switch may do to it, in descriptor and record alike. */
static void change(struct sample *s, uint8_t tos, uint8_t ttl, uint8_t pcp)
{
    if (s->pkt.net != PKT_NET_NONE) {
        s->pkt.tos = tos;
        s->pkt.ttl = ttl;
    }
    if (!(s->pkt.flags & PKT_TAGGED)) return;
    struct pkt_vlan *tag = &s->cold.vlan[s->cold.vlan[1].tpid ? 1 : 0];
    s->pkt.pcp = pcp & 7;
    tag->tci = (uint16_t)((tag->tci & 0x1fff) | s->pkt.pcp << 13);
}

static void check_rewritten(struct sample *s)
{
    static uint8_t fresh[FRAME_MAX];
    uint32_t icrc = s->cold.icrc;
    codec_rewrite(s->frame, &s->layout, &s->pkt);
    assert_int_equal(frame_emit(&s->pkt, &s->cold, s->payload, fresh), s->bytes);
    assert_memory_equal(s->frame, fresh, s->bytes);
    assert_int_equal(s->cold.icrc, icrc);

    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    assert_int_equal(read_transit(s->frame, s->bytes, &pkt, &cold, &layout), 0);
    assert_memory_equal(&pkt, &s->pkt, sizeof pkt);
    assert_memory_equal(&cold, &s->cold, sizeof cold);
    assert_memory_equal(&layout, &s->layout, sizeof layout);
    struct codec_frame whole = {s->frame, s->bytes, s->bytes, CODEC_ETHERNET};
    if (pkt.kind == PKT_ROCE) assert_int_equal(icrc_check(&whole, &pkt, &cold, &layout), ICRC_GOOD);
}

static void test_every_shape(void **state)
{
    static struct sample s;
    struct rng rng;
    (void)state;
    rng_init(&rng, SEED, 1);
    for (unsigned code = 0; code < 256; code++)
        for (uint8_t tags = 0; tags < 3; tags++)
            for (uint8_t net = PKT_NET_V1; net <= PKT_NET_IPV6; net++) {
                sample_make(&rng, (struct frame_shape){PKT_ROCE, (uint8_t)code, net, tags, PKT_NET_NONE, 300}, &s);
                for (int hop = 0; hop < 3; hop++) {
                    change(&s, (uint8_t)rng_u32(&rng), (uint8_t)rng_u32(&rng), (uint8_t)rng_u32(&rng));
                    check_rewritten(&s);
                }
            }
    for (uint8_t kind = PKT_PFC; kind <= PKT_PAUSE; kind++)
        for (uint8_t tags = 0; tags < 3; tags++) {
            sample_make(&rng, (struct frame_shape){.kind = kind, .tags = tags}, &s);
            change(&s, 0, 0, (uint8_t)rng_u32(&rng));
            check_rewritten(&s);
        }
}

/* The difference and the sum agree for every value that a header can come from and go to. */
static void test_every_checksum(void **state)
{
    static struct sample s;
    struct rng rng;
    (void)state;
    rng_init(&rng, SEED, 2);
    sample_make(&rng, (struct frame_shape){PKT_ROCE, OPCODE_RC_ACK, PKT_NET_IPV4, 0, PKT_NET_NONE, 0}, &s);
    for (uint32_t id = 0; id <= 0xffff; id += 0xff) { /* every checksum is met, 0 too */
        s.cold.ip_id = (uint16_t)id;
        assert_int_equal(frame_emit(&s.pkt, &s.cold, s.payload, s.frame), s.bytes);
        change(&s, (uint8_t)id, (uint8_t)(id >> 8), 0);
        check_rewritten(&s);
    }
    for (uint32_t value = 0; value <= 0xffff; value++) {
        change(&s, (uint8_t)value, (uint8_t)(value >> 8), 0);
        check_rewritten(&s);
    }
}

static void test_macs(void **state)
{
    static struct sample s;
    struct rng rng;
    (void)state;
    rng_init(&rng, SEED, 3);
    sample_make(&rng, (struct frame_shape){PKT_ROCE, OPCODE_RC_WRITE_ONLY, PKT_NET_IPV6, 2, PKT_NET_NONE, 100}, &s);
    memcpy(s.cold.dmac, "\x02\x01\x02\x03\x04\x05", 6);
    memcpy(s.cold.smac, "\x06\x07\x08\x09\x0a\x0b", 6);
    codec_rewrite_macs(s.frame, s.cold.dmac, s.cold.smac);
    check_rewritten(&s);
}

/* A checksum that is wrong stays wrong, one that was left to the adapter stays 0. */
static void test_checksum_kept(void **state)
{
    static struct sample s;
    struct rng rng;
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    (void)state;
    rng_init(&rng, SEED, 4);
    sample_make(&rng, (struct frame_shape){PKT_ROCE, OPCODE_RC_ACK, PKT_NET_IPV4, 1, PKT_NET_NONE, 0}, &s);
    uint8_t *sum = s.frame + s.layout.l3_at + 10;
    uint16_t right = load_be16(sum);

    store_be16(sum, 0);
    change(&s, s.pkt.tos ^ 1, s.pkt.ttl ^ 1, 0);
    codec_rewrite(s.frame, &s.layout, &s.pkt);
    assert_int_equal(load_be16(sum), 0);
    assert_int_equal(read_transit(s.frame, s.bytes, &pkt, &cold, &layout), 0);

    store_be16(sum, right ^ 0x1234);
    assert_int_equal(read_transit(s.frame, s.bytes, &pkt, &cold, &layout), -EBADMSG);
    store_be16(sum, 0xffff); /* the one that comes nearest to 0 */
    for (unsigned ttl = 0; ttl < 512; ttl++) {
        if (ttl == 256) store_be16(sum, right ^ 0x1234);
        change(&s, s.pkt.tos, (uint8_t)ttl, 0);
        codec_rewrite(s.frame, &s.layout, &s.pkt);
        assert_int_equal(read_transit(s.frame, s.bytes, &pkt, &cold, &layout), -EBADMSG);
    }
}

static const uint8_t arp[60] = "\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\1\x81\0\xa0\x05\x08\x06\0\1\x08\0\6\4\0\1";
static const uint8_t lldp[60] = "\x01\x80\xc2\0\0\x0e\x02\0\0\0\0\1\x88\xcc\x02\x07\x04";
/* IPv4 with 4 bytes of options, ECT(0), TTL 64, TCP; its checksum is 0x1157 */
static const uint8_t tcp[78] = "\x02\0\0\0\0\2\x02\0\0\0\0\1\x08\0"
                               "\x46\x2a\0\x40\x12\x34\x40\0\x40\x06\x11\x57\x0a\0\0\1\x0a\0\0\2\1\1\1\0"
                               "\x30\x39\x01\xbb";
/* IPv6 with a hop-by-hop header, then ICMP */
static const uint8_t icmp6[70] = "\x02\0\0\0\0\2\x02\0\0\0\0\1\x86\xdd"
                                 "\x66\x10\x00\x01\0\x10\0\xff\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1\xfe\x80";

static void test_others(void **state)
{
    static const struct {
        const uint8_t *frame;
        uint32_t bytes;
        uint8_t net, tos, ttl, pcp;
        uint16_t ethertype;
    } others[] = {
        {arp, sizeof arp, PKT_NET_NONE, 0, 0, 5, 0x0806},
        {lldp, sizeof lldp, PKT_NET_NONE, 0, 0, 0, 0x88cc},
        {tcp, sizeof tcp, PKT_NET_IPV4, 0x2a, 64, 0, 0x0800},
        {icmp6, sizeof icmp6, PKT_NET_IPV6, 0x61, 255, 0, 0x86dd},
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct pkt pkt;
        struct pkt_cold cold;
        struct codec_layout layout;
        uint8_t frame[128];
        memcpy(frame, others[i].frame, others[i].bytes);
        assert_int_equal(read_transit(frame, others[i].bytes, &pkt, &cold, &layout), 0);
        assert_int_equal(pkt.kind, PKT_OTHER);
        assert_int_equal(pkt.net, others[i].net);
        assert_int_equal(pkt.tos, others[i].tos);
        assert_int_equal(pkt.ttl, others[i].ttl);
        assert_int_equal(pkt.pcp, others[i].pcp);
        assert_int_equal(pkt.frame_bytes, others[i].bytes);
        assert_int_equal(cold.ethertype, others[i].ethertype);
        codec_rewrite(frame, &layout, &pkt);
        assert_memory_equal(frame, others[i].frame, others[i].bytes);
    }
    assert_true(codec_stays_on_link(lldp));
    assert_false(codec_stays_on_link(arp));
}

/* Sum of the words of an IPv4 header, folded: 0xffff when it is right. */
static uint32_t header_sum(const uint8_t *ip)
{
    uint32_t sum = 0;
    for (uint32_t at = 0; at < (ip[0] & 15u) * 4; at += 2)
        sum += load_be16(ip + at);
    sum = (sum >> 16) + (sum & 0xffff);
    return (sum >> 16) + (sum & 0xffff);
}

static void test_others_marked(void **state)
{
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    uint8_t frame[sizeof tcp], want[sizeof tcp];
    (void)state;
    memcpy(frame, tcp, sizeof tcp);
    assert_int_equal(header_sum(frame + 14), 0xffff);
    assert_int_equal(read_transit(frame, sizeof frame, &pkt, &cold, &layout), 0);
    pkt.tos |= PKT_ECN_CE;
    pkt.ttl--;
    codec_rewrite(frame, &layout, &pkt);
    assert_int_equal(header_sum(frame + 14), 0xffff);
    memcpy(want, tcp, sizeof tcp);
    want[15] = 0x2b;
    want[22] = 63;
    memcpy(want + 24, frame + 24, 2);
    assert_memory_equal(frame, want, sizeof want);

    uint8_t six[sizeof icmp6];
    memcpy(six, icmp6, sizeof six);
    assert_int_equal(read_transit(six, sizeof six, &pkt, &cold, &layout), 0);
    pkt.tos |= PKT_ECN_CE;
    pkt.ttl--;
    codec_rewrite(six, &layout, &pkt);
    uint8_t want_six[sizeof icmp6];
    memcpy(want_six, icmp6, sizeof six);
    want_six[15] = 0x30;
    want_six[21] = 254;
    assert_memory_equal(six, want_six, sizeof six);
}

/* A tunnel is passed by: priority, mark and TTL are those of the outer header, the frame inside is not touched. */
static void test_tunnel_is_foreign(void **state)
{
    static struct sample s;
    struct rng rng;
    struct pkt pkt, inside;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    (void)state;
    rng_init(&rng, SEED, 5);
    for (uint8_t outer = PKT_NET_IPV4; outer <= PKT_NET_IPV6; outer++) {
        struct frame_shape shape = {PKT_ROCE, OPCODE_RC_SEND_ONLY, PKT_NET_IPV4, 1, outer, 64};
        frame_random(&rng, &shape, &s.pkt, &s.cold, s.payload);
        int bytes = frame_emit(&s.pkt, &s.cold, s.payload, s.frame);
        assert_int_equal(read_transit(s.frame, (uint32_t)bytes, &pkt, &cold, &layout), 0);
        assert_int_equal(pkt.kind, PKT_OTHER);
        assert_int_equal(pkt.tos, s.cold.outer.tos);
        assert_int_equal(pkt.ttl, s.cold.outer.ttl);
        assert_int_equal(pkt.frame_bytes, bytes);
        pkt.tos ^= 3;
        pkt.ttl ^= 0x55;
        codec_rewrite(s.frame, &layout, &pkt);
        struct codec_frame whole = {s.frame, (uint32_t)bytes, (uint32_t)bytes, CODEC_ETHERNET};
        assert_int_equal(codec_parse(&whole, &inside, &cold, &layout, &fault), 0);
        assert_memory_equal(&inside, &s.pkt, sizeof inside);
        assert_int_equal(cold.outer.tos, pkt.tos);
        assert_int_equal(cold.outer.ttl, pkt.ttl);
        assert_int_equal(icrc_check(&whole, &inside, &cold, &layout), ICRC_GOOD);
    }
}

/* What is wrong behind the IP header is not a switch's to judge. */
static void test_malformed_passes(void **state)
{
    static struct sample s;
    struct rng rng;
    struct pkt pkt;
    struct pkt_cold cold;
    struct codec_layout layout;
    enum codec_fault fault;
    (void)state;
    rng_init(&rng, SEED, 6);
    for (uint8_t net = PKT_NET_V1; net <= PKT_NET_IPV6; net++) {
        sample_make(&rng, (struct frame_shape){PKT_ROCE, OPCODE_RC_ACK, net, 0, PKT_NET_NONE, 0}, &s);
        s.frame[s.layout.bth_at + 1] |= 1; /* a transport version that does not exist */
        struct codec_frame whole = {s.frame, s.bytes, s.bytes, CODEC_ETHERNET};
        assert_int_equal(codec_parse(&whole, &pkt, &cold, &layout, &fault), -EBADMSG);
        assert_int_equal(read_transit(s.frame, s.bytes, &pkt, &cold, &layout), 0);
        assert_int_equal(pkt.kind, PKT_OTHER);
        assert_int_equal(pkt.tos, s.pkt.tos);
        assert_int_equal(pkt.ttl, s.pkt.ttl);
        assert_int_equal(layout.l3_at, s.layout.l3_at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_shape),
        cmocka_unit_test(test_every_checksum),
        cmocka_unit_test(test_macs),
        cmocka_unit_test(test_checksum_kept),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_others_marked),
        cmocka_unit_test(test_tunnel_is_foreign),
        cmocka_unit_test(test_malformed_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
