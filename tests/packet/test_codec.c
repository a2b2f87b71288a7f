/* SPDX-License-Identifier: Apache-2.0 */
/* The codec case by case: link types, what is ours and what is not, each fault, what cannot be emitted. */
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

#define SEED test_seed_or(7)

/* A plain RoCEv2 WRITE Only over IPv4, untagged: IP at 14, UDP at 34, BTH at 42, RETH at 54, payload at 70. */
struct fixture {
    struct pkt pkt;
    struct pkt_cold cold;
    uint8_t payload[4096 + 32];
    uint8_t frame[65536 + 64];
    uint32_t bytes;
    struct pkt got;
    struct pkt_cold got_cold;
    struct codec_layout layout;
    enum codec_fault fault;
};

static struct fixture f;

static void build(struct frame_shape shape)
{
    struct rng rng;
    rng_init(&rng, SEED, shape.opcode);
    memset(&f, 0, sizeof f);
    frame_random(&rng, &shape, &f.pkt, &f.cold, f.payload);
    int bytes = frame_emit(&f.pkt, &f.cold, f.payload, f.frame);
    assert_true(bytes > 0);
    f.bytes = (uint32_t)bytes;
}

static void build_write(void)
{
    build((struct frame_shape){PKT_ROCE, OPCODE_RC_WRITE_ONLY, PKT_NET_IPV4, 0, PKT_NET_NONE, 64});
}

static int parse_as(enum codec_link link, const uint8_t *data, uint32_t captured, uint32_t length)
{
    struct codec_frame frame = {data, captured, length, link};
    f.fault = CODEC_FAULTS;
    return codec_parse(&frame, &f.got, &f.got_cold, &f.layout, &f.fault);
}

static int parse(void)
{
    return parse_as(CODEC_ETHERNET, f.frame, f.bytes, f.bytes);
}

static void expect_fault(enum codec_fault fault)
{
    struct pkt before;
    memset(&f.got, 0x5a, sizeof f.got);
    before = f.got;
    assert_int_equal(parse(), -EBADMSG);
    assert_string_equal(codec_fault_text(f.fault), codec_fault_text(fault));
    assert_memory_equal(&before, &f.got, sizeof before);
}

static void expect_other(uint16_t ethertype, uint8_t proto)
{
    assert_int_equal(parse(), 0);
    assert_int_equal(f.got.kind, PKT_OTHER);
    assert_int_equal(f.got_cold.ethertype, ethertype);
    assert_int_equal(f.got_cold.ip_proto, proto);
    assert_int_equal(f.got.frame_bytes, f.bytes);
    assert_int_equal(f.layout.bth_at, 0);
}

static void fix_checksum(uint8_t *ip)
{
    uint32_t sum = 0;
    store_be16(ip + 10, 0);
    for (int i = 0; i < 20; i += 2)
        sum += load_be16(ip + i);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    store_be16(ip + 10, (uint16_t)~sum);
}

static void test_cooked_links(void **state)
{
    (void)state;
    static uint8_t cooked[FRAME_MAX];
    build_write();
    /* SLL: type, ARPHRD, address length, address, protocol; then, here, a tag before the IP header */
    memset(cooked, 0, sizeof cooked);
    store_be16(cooked + 4, 6);
    memcpy(cooked + 6, "\x02\x00\x00\x00\x00\x09", 6);
    store_be16(cooked + 14, 0x8100);
    store_be16(cooked + 16, 5u << 13 | 100);
    store_be16(cooked + 18, 0x0800);
    memcpy(cooked + 20, f.frame + 14, f.bytes - 14);
    assert_int_equal(parse_as(CODEC_SLL, cooked, f.bytes + 6, f.bytes + 6), 0);
    assert_int_equal(f.got.kind, PKT_ROCE);
    assert_int_equal(f.got.psn, f.pkt.psn);
    assert_int_equal(f.got.pcp, 5);
    assert_int_equal(f.got.frame_bytes, f.bytes + 6);
    assert_int_equal(f.got_cold.smac[5], 9);
    assert_int_equal(f.got_cold.vlan[0].tci & 0xfff, 100);
    struct codec_frame frame = {cooked, f.bytes + 6, f.bytes + 6, CODEC_SLL};
    assert_int_equal(icrc_check(&frame, &f.got, &f.got_cold, &f.layout), ICRC_GOOD);

    /* SLL2: protocol first, address length in byte 11 */
    memset(cooked, 0, sizeof cooked);
    store_be16(cooked, 0x0800);
    cooked[11] = 6;
    memcpy(cooked + 12, "\x02\x00\x00\x00\x00\x08", 6);
    memcpy(cooked + 20, f.frame + 14, f.bytes - 14);
    assert_int_equal(parse_as(CODEC_SLL2, cooked, f.bytes + 6, f.bytes + 6), 0);
    assert_int_equal(f.got.kind, PKT_ROCE);
    assert_int_equal(f.got.dest_qp, f.pkt.dest_qp);
    assert_int_equal(f.got_cold.smac[5], 8);
    assert_int_equal(parse_as(CODEC_SLL2, cooked, 19, f.bytes + 6), -ENODATA);
    assert_int_equal(parse_as(CODEC_SLL2, cooked, 19, 19), 0);
    assert_int_equal(f.got.kind, PKT_OTHER);
}

static void test_raw_link(void **state)
{
    (void)state;
    for (uint8_t net = PKT_NET_IPV4; net <= PKT_NET_IPV6; net++) {
        build((struct frame_shape){PKT_ROCE, OPCODE_UD_SEND_ONLY, net, 0, PKT_NET_NONE, 64});
        assert_int_equal(parse_as(CODEC_RAW_IP, f.frame + 14, f.bytes - 14, f.bytes - 14), 0);
        assert_int_equal(f.got.kind, PKT_ROCE);
        assert_int_equal(f.got.net, net);
        assert_int_equal(f.got.src_qp, f.pkt.src_qp);
        struct codec_frame frame = {f.frame + 14, f.bytes - 14, f.bytes - 14, CODEC_RAW_IP};
        assert_int_equal(icrc_check(&frame, &f.got, &f.got_cold, &f.layout), ICRC_GOOD);
    }
    assert_int_equal(parse_as(CODEC_RAW_IP, (const uint8_t *)"\x10", 1, 1), 0);
    assert_int_equal(f.got.kind, PKT_OTHER);
    assert_int_equal(parse_as(CODEC_RAW_IP, f.frame, 0, 0), 0);
    assert_int_equal(f.got.kind, PKT_OTHER);
    assert_int_equal(parse_as(CODEC_RAW_IP, f.frame, 0, 60), -ENODATA);
}

static void test_not_ours(void **state)
{
    (void)state;
    build_write();
    store_be16(f.frame + 12, 0x0806);
    expect_other(0x0806, 0);
    build_write();
    f.frame[23] = 6; /* TCP, and a wrong checksum: not our business */
    expect_other(0x0800, 6);
    build_write();
    store_be16(f.frame + 36, 4790); /* neighbouring port, damaged length */
    store_be16(f.frame + 16, 9000);
    expect_other(0x0800, 17);
    assert_int_equal(f.got_cold.dport, 4790);
    build_write();
    store_be16(f.frame + 20, 100); /* a later fragment has no UDP header */
    expect_other(0x0800, 17);
    build_write();
    f.frame[14] = 0x65; /* version 6 behind Ethertype IPv4 */
    expect_other(0x0800, 0);
    build_write();
    f.frame[14] = 0x44; /* header length 16 */
    expect_other(0x0800, 0);
    build_write();
    store_be16(f.frame + 16, 23); /* IP ends before the UDP ports do */
    expect_other(0x0800, 17);
    build_write();
    f.bytes = 13;
    assert_int_equal(parse(), 0);
    assert_int_equal(f.got.kind, PKT_OTHER);
    build((struct frame_shape){PKT_ROCE, OPCODE_RC_ACK, PKT_NET_IPV6, 0, PKT_NET_NONE, 0});
    f.frame[20] = 44; /* an extension header */
    expect_other(0x86dd, 44);
    build((struct frame_shape){PKT_PFC, 0, 0, 0, PKT_NET_NONE, 0});
    store_be16(f.frame + 14, 2); /* EPON's GATE */
    expect_other(0x8808, 0);
}

static void test_three_tags(void **state)
{
    (void)state;
    build((struct frame_shape){PKT_ROCE, OPCODE_RC_ACK, PKT_NET_IPV4, 2, PKT_NET_NONE, 0});
    memmove(f.frame + 16, f.frame + 12, f.bytes - 12);
    store_be16(f.frame + 12, 0x8100);
    store_be16(f.frame + 14, 1);
    store_be16(f.frame + 16, 0x8100);
    store_be16(f.frame + 20, 0x8100);
    f.bytes += 4;
    expect_other(0x8100, 0);
    assert_true(f.got.flags & PKT_TAGGED);
}

static void test_ip_faults(void **state)
{
    (void)state;
    build_write();
    f.frame[24] ^= 1;
    expect_fault(CODEC_FAULT_IP_CHECKSUM);
    assert_memory_equal(&f.got_cold.src, &f.cold.src, sizeof f.cold.src);
    store_be16(f.frame + 24, 0); /* left to the adapter */
    assert_int_equal(parse(), 0);
    assert_int_equal(f.got.kind, PKT_ROCE);
    build_write();
    store_be16(f.frame + 20, 0x2000); /* the first fragment */
    fix_checksum(f.frame + 14);
    expect_fault(CODEC_FAULT_IP_FRAGMENT);
    build_write();
    f.bytes -= 1;
    expect_fault(CODEC_FAULT_IP_TOTAL_LENGTH);
    assert_int_equal(parse_as(CODEC_ETHERNET, f.frame, f.bytes, f.bytes + 1), 0); /* but this the capture did */
    assert_true(f.got.flags & PKT_CUT);
    assert_int_equal(f.got.payload_bytes, f.pkt.payload_bytes);
    build_write();
    store_be16(f.frame + 38, (uint16_t)(f.bytes - 33));
    expect_fault(CODEC_FAULT_UDP_LENGTH);
    build_write();
    store_be16(f.frame + 16, 26);
    fix_checksum(f.frame + 14);
    expect_fault(CODEC_FAULT_UDP_SHORT);
}

/* Makes the IPv4 packet in f.frame `udp_bytes` long behind its IP header. */
static void set_udp_bytes(uint32_t udp_bytes)
{
    store_be16(f.frame + 16, (uint16_t)(20 + udp_bytes));
    store_be16(f.frame + 38, (uint16_t)udp_bytes);
    fix_checksum(f.frame + 14);
    f.bytes = 34 + udp_bytes;
}

static void test_bth_faults(void **state)
{
    (void)state;
    build_write();
    set_udp_bytes(8 + 11);
    expect_fault(CODEC_FAULT_BTH_SHORT);
    set_udp_bytes(8 + 12 + 15);
    expect_fault(CODEC_FAULT_HEADERS_SHORT);
    set_udp_bytes(8 + 12 + 16 + 3);
    expect_fault(CODEC_FAULT_ICRC_SHORT);
    f.frame[43] = 3 << 4;
    set_udp_bytes(8 + 12 + 16 + 2 + 4);
    expect_fault(CODEC_FAULT_PAD);
    f.frame[43] = 1;
    expect_fault(CODEC_FAULT_BTH_VERSION);
    assert_int_equal(f.got_cold.tver, 1);
    f.frame[43] = 0;
    f.frame[42] = OPCODE_RC_READ_REQUEST;
    expect_fault(CODEC_FAULT_PAYLOAD);
    f.frame[42] = OPCODE_RC_WRITE_ONLY;
    set_udp_bytes(8 + 12 + 16 + 4096 + 4);
    assert_int_equal(parse(), 0);
    assert_int_equal(f.got.payload_bytes, 4096);
    set_udp_bytes(8 + 12 + 16 + 4097 + 4);
    expect_fault(CODEC_FAULT_TOO_LONG);
    set_udp_bytes(65535 - 20);
    expect_fault(CODEC_FAULT_TOO_LONG);
}

static void test_v1_faults(void **state)
{
    (void)state;
    struct frame_shape shape = {PKT_ROCE, OPCODE_UC_SEND_ONLY, PKT_NET_V1, 0, PKT_NET_NONE, 32};
    build(shape);
    f.frame[20] = 17;
    expect_fault(CODEC_FAULT_GRH_NEXT);
    build(shape);
    f.frame[14] = 0x40;
    expect_fault(CODEC_FAULT_IP_VERSION);
    build(shape);
    f.bytes = 14 + 39;
    expect_fault(CODEC_FAULT_IP_SHORT);
    build(shape);
    f.bytes -= 1;
    expect_fault(CODEC_FAULT_IP_TOTAL_LENGTH);
}

static void test_pause_faults(void **state)
{
    (void)state;
    build((struct frame_shape){PKT_PFC, 0, 0, 0, PKT_NET_NONE, 0});
    f.bytes -= 1;
    expect_fault(CODEC_FAULT_PAUSE_SHORT);
    assert_int_equal(parse_as(CODEC_ETHERNET, f.frame, f.bytes, 60), -ENODATA);
    build((struct frame_shape){PKT_PAUSE, 0, 0, 0, PKT_NET_NONE, 0});
    f.bytes -= 1;
    expect_fault(CODEC_FAULT_PAUSE_SHORT);
}

/* A PFC frame as a switch sends it: padded to 60 bytes. */
static void test_pfc_bytes(void **state)
{
    (void)state;
    static const uint8_t pfc[60] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00,        0x00, 0x00, 0x00,
                                    0x07, 0x88, 0x08, 0x01, 0x01, 0x00, 0x18, [24] = 0xff, 0xff, 0x00, 0x00};
    assert_int_equal(parse_as(CODEC_ETHERNET, pfc, 60, 60), 0);
    assert_int_equal(f.got.kind, PKT_PFC);
    assert_int_equal(f.got.pfc_enable, 0x18);
    assert_int_equal(f.got.quanta[3], 0xffff);
    assert_int_equal(f.got.quanta[4], 0);
    assert_int_equal(f.got.frame_bytes, 34);
}

static void test_vxlan_faults(void **state)
{
    (void)state;
    static uint8_t nested[2 * FRAME_MAX];
    struct frame_shape shape = {PKT_ROCE, OPCODE_RC_ACK, PKT_NET_IPV4, 0, PKT_NET_IPV6, 0};
    build(shape);
    unsigned outer = f.bytes - 14 - 20 - 8 - 12 - 4 - 4;
    unsigned vxlan = outer - 8;
    f.frame[vxlan] = 0;
    expect_fault(CODEC_FAULT_VXLAN);
    f.frame[outer + 14 + 9] = 6; /* around TCP it is not our business */
    assert_int_equal(parse(), 0);
    assert_int_equal(f.got.kind, PKT_OTHER);
    assert_true(f.got.flags & PKT_TUNNEL);

    /* the same encapsulation once more around itself, lengths set right */
    build(shape);
    memcpy(nested, f.frame, outer);
    memcpy(nested + outer, f.frame, f.bytes);
    unsigned ip = vxlan - 8 - 40;
    store_be16(nested + ip + 4, (uint16_t)(f.bytes + 16));
    store_be16(nested + vxlan - 4, (uint16_t)(f.bytes + 16));
    f.bytes += outer;
    memcpy(f.frame, nested, f.bytes);
    expect_fault(CODEC_FAULT_VXLAN);
    assert_memory_equal(&f.got_cold.src, &f.cold.src, sizeof f.cold.src);
}

static void test_cnp(void **state)
{
    (void)state;
    build((struct frame_shape){PKT_ROCE, OPCODE_CNP, PKT_NET_IPV4, 0, PKT_NET_NONE, 0});
    f.pkt.payload_bytes = 16;
    f.pkt.pad = 0;
    f.pkt.flags |= PKT_BECN;
    int bytes = codec_emit(&f.pkt, &f.cold, NULL, f.frame, sizeof f.frame);
    assert_int_equal(bytes, 14 + 20 + 8 + 12 + 16 + 4);
    f.bytes = (uint32_t)bytes;
    assert_int_equal(parse(), 0);
    assert_int_equal(f.got.opcode, OPCODE_CNP);
    assert_int_equal(f.got.payload_bytes, 16);
    assert_true(f.got.flags & PKT_BECN);
    assert_int_equal(f.frame[42 + 4] & 0x40, 0x40);
}

static void expect_refused(void)
{
    assert_int_equal(codec_emit(&f.pkt, &f.cold, f.payload, f.frame, sizeof f.frame), -EINVAL);
    assert_int_equal(codec_header_bytes(&f.pkt, &f.cold), -EINVAL);
    build_write();
}

static void test_emit_refuses(void **state)
{
    (void)state;
    build_write();
    f.pkt.kind = PKT_OTHER;
    expect_refused();
    f.pkt.flags |= PKT_CUT;
    expect_refused();
    f.pkt.net = PKT_NET_NONE;
    expect_refused();
    f.pkt.dest_qp = 1 << 24;
    expect_refused();
    f.pkt.psn = 1 << 24;
    expect_refused();
    f.pkt.pad = 4;
    expect_refused();
    f.pkt.payload_bytes = 4097;
    expect_refused();
    f.pkt.opcode = OPCODE_RC_READ_REQUEST;
    f.pkt.payload_bytes = 4;
    expect_refused();
    f.pkt.flags |= PKT_TAGGED; /* without a tag */
    expect_refused();
    f.cold.vlan[0] = (struct pkt_vlan){0x8100, 1}; /* without the flag */
    expect_refused();
    f.pkt.flags |= PKT_TAGGED;
    f.cold.vlan[0] = (struct pkt_vlan){0x8100, 3 << 13}; /* the priority disagrees */
    expect_refused();
    f.pkt.flags |= PKT_TAGGED;
    f.cold.vlan[0] = (struct pkt_vlan){0x9200, 0};
    expect_refused();
    f.cold.vlan[1] = (struct pkt_vlan){0x8100, 0}; /* an inner tag alone */
    expect_refused();
    f.pkt.flags |= PKT_TUNNEL; /* without an outer IP */
    expect_refused();
    f.cold.src.byte[0] = 0x20; /* not an IPv4 address */
    expect_refused();
    f.cold.ip_frag = 0x2000;
    expect_refused();
    f.cold.dport = 4790;
    expect_refused();
    f.cold.resv8a = 0x40;
    expect_refused();
    f.cold.resv7 = 0x80;
    expect_refused();
    f.cold.tver = 1;
    expect_refused();
    f.pkt.net = PKT_NET_IPV6;
    f.cold.flow_label = 1 << 20;
    expect_refused();
    f.pkt.opcode = OPCODE_RC_READ_RESPONSE_ONLY;
    f.pkt.ack.msn = 1 << 24;
    expect_refused();
    f.pkt.opcode = OPCODE_UD_SEND_ONLY;
    f.pkt.src_qp = 1 << 24;
    expect_refused();
    for (size_t cap = 0; cap < f.bytes; cap++)
        assert_int_equal(codec_emit(&f.pkt, &f.cold, f.payload, f.frame, cap), -ENOBUFS);
    assert_int_equal(codec_emit(&f.pkt, &f.cold, f.payload, f.frame, f.bytes), f.bytes);
    assert_int_equal(codec_header_bytes(&f.pkt, &f.cold), 70);
}

/* The header before a UD payload: what was written is read, whatever the network; any bytes are read. */
static void test_grh(void **state)
{
    struct rng rng;
    uint8_t raw[CODEC_GRH_BYTES];
    (void)state;
    rng_init(&rng, 40, 1);
    for (unsigned turn = 0; turn < 3000; turn++) {
        struct pkt_envelope grh, read;
        memset(&grh, 0, sizeof grh);
        grh.net = (uint8_t)(PKT_NET_V1 + turn % 3);
        grh.tos = (uint8_t)rng_u32(&rng);
        grh.ttl = (uint8_t)rng_u32(&rng);
        for (size_t i = 0; i < sizeof grh.src.byte; i++)
            grh.src.byte[i] = (uint8_t)rng_u32(&rng);
        grh.dst = grh.src;
        grh.dst.byte[15] ^= 1;
        if (grh.net == PKT_NET_IPV4) {
            grh.src = pkt_addr_ipv4(rng_u32(&rng));
            grh.dst = pkt_addr_ipv4(rng_u32(&rng));
            grh.ip_id = (uint16_t)rng_u32(&rng);
        } else {
            grh.flow_label = rng_u32(&rng) & 0xfffff;
        }
        codec_grh_emit(&grh, (uint32_t)rng_below(&rng, 4200), raw);
        codec_grh_parse(raw, &read);
        assert_memory_equal(&read, &grh, sizeof read);
        for (size_t i = 0; i < sizeof raw; i++)
            raw[i] = (uint8_t)rng_u32(&rng);
        codec_grh_parse(raw, &read);
        assert_true(read.net >= PKT_NET_V1 && read.net <= PKT_NET_IPV6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cooked_links), cmocka_unit_test(test_raw_link),     cmocka_unit_test(test_not_ours),
        cmocka_unit_test(test_three_tags),   cmocka_unit_test(test_ip_faults),    cmocka_unit_test(test_bth_faults),
        cmocka_unit_test(test_v1_faults),    cmocka_unit_test(test_pause_faults), cmocka_unit_test(test_pfc_bytes),
        cmocka_unit_test(test_vxlan_faults), cmocka_unit_test(test_cnp),          cmocka_unit_test(test_emit_refuses),
        cmocka_unit_test(test_grh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
