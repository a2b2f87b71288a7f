/* SPDX-License-Identifier: Apache-2.0 */
/* The opcode table, NAK names, the RNR timer, addresses and fault sentences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/time.h"
#include "packet/codec.h"
#include "packet/opcode.h"

/* Written out by hand from InfiniBand vol. 1 table 38, not from OPCODE_LIST. */
static const struct {
    uint8_t code, header_bytes;
} expected[] = {
    {0x00, 0}, {0x01, 0},  {0x02, 0},  {0x03, 4},  {0x04, 0},  {0x05, 4},  {0x06, 16}, {0x07, 0},
    {0x08, 0}, {0x09, 4},  {0x0a, 16}, {0x0b, 20}, {0x0c, 16}, {0x0d, 4},  {0x0e, 0},  {0x0f, 4},
    {0x10, 4}, {0x11, 4},  {0x12, 12}, {0x13, 28}, {0x14, 28}, {0x16, 4},  {0x17, 4},  {0x20, 0},
    {0x21, 0}, {0x22, 0},  {0x23, 4},  {0x24, 0},  {0x25, 4},  {0x26, 16}, {0x27, 0},  {0x28, 0},
    {0x29, 4}, {0x2a, 16}, {0x2b, 20}, {0x64, 8},  {0x65, 12}, {0x81, 0},
};

static void test_header_sizes(void **state)
{
    (void)state;
    unsigned known = 0;
    for (unsigned code = 0; code < 256; code++)
        known += opcode_info((uint8_t)code)->name != NULL;
    assert_int_equal(known, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_non_null(opcode_info(expected[i].code)->name);
        assert_int_equal(opcode_info(expected[i].code)->header_bytes, expected[i].header_bytes);
    }
    assert_int_equal(opcode_info(0x15)->header_bytes, 0);
}

static void test_opcode_meaning(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 256; code++) {
        const struct opcode_info *info = opcode_info((uint8_t)code);
        if (!info->name || code == OPCODE_CNP) continue;
        static const char *const prefix[] = {[OP_RC] = "RC ", [OP_UC] = "UC ", [OP_UD] = "UD "};
        assert_int_equal(strncmp(info->name, prefix[info->transport], 3), 0);
        assert_int_equal(code >> 5, info->transport == OP_RC ? 0 : info->transport == OP_UC ? 1 : 3);
        assert_true(!!(info->flags & OP_REQUEST) != !!(info->flags & OP_RESPONSE));
        assert_int_equal(!!strstr(info->name, "First"), (info->flags & OP_ONLY) == OP_FIRST);
        assert_int_equal(!!strstr(info->name, "Last"), (info->flags & OP_ONLY) == OP_LAST);
        assert_int_equal(!!strstr(info->name, "Imm"), !!(info->flags & OP_IMMDT));
        assert_int_equal(!!strstr(info->name, "Invalidate"), !!(info->flags & OP_IETH));
    }
    assert_string_equal(opcode_info(0x16)->name, "RC SEND Last Invalidate");
    assert_int_equal(opcode_info(0x11)->verb, OP_ACK);
    assert_int_equal(opcode_info(0x81)->transport, OP_CNP_KIND);
}

static void test_rnr_timer(void **state)
{
    (void)state;
    static const uint32_t tens_us[32] = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                                         48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                                         2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
    for (unsigned code = 0; code < 32; code++)
        assert_int_equal(rnr_timer_ps(code), tens_us[code] * 10 * PS_US);
    assert_int_equal(rnr_timer_ps(0), 655360 * PS_US);
    assert_int_equal(rnr_timer_ps(31), 491520 * PS_US);
    assert_int_equal(rnr_timer_ps(1 + 32), rnr_timer_ps(1)); /* the upper bits are the AETH's kind */
}

static void test_nak(void **state)
{
    (void)state;
    assert_string_equal(nak_name(NAK_PSN_SEQUENCE), "PSN sequence error");
    assert_string_equal(nak_name(NAK_INVALID_REQUEST), "invalid request");
    assert_string_equal(nak_name(NAK_REMOTE_ACCESS), "remote access error");
    assert_string_equal(nak_name(NAK_REMOTE_OPERATION), "remote operational error");
    assert_string_equal(nak_name(NAK_INVALID_RD), "invalid RD request");
    assert_string_equal(nak_name(5), "reserved NAK code");
    assert_int_equal(aeth_kind(0x1f), AETH_ACK);
    assert_int_equal(aeth_kind(0x2e), AETH_RNR_NAK);
    assert_int_equal(aeth_kind(0x60), AETH_NAK);
    assert_int_equal(aeth_kind(0x80), AETH_ACK); /* bit 7 is reserved */
}

static void test_addresses(void **state)
{
    (void)state;
    char text[PKT_ADDR_TEXT];
    struct pkt_addr v4 = pkt_addr_ipv4(0x0a4d0002);
    assert_string_equal(pkt_addr_format(&v4, text), "10.77.0.2");
    struct pkt_addr v6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
    assert_string_equal(pkt_addr_format(&v6, text), "2001:db8::1");
    struct pkt_addr local = {{0xfe, 0x80, [8] = 0x50, 0x54, 0, 0xff, 0xfe, 0x77, 0, 2}};
    assert_string_equal(pkt_addr_format(&local, text), "fe80::5054:ff:fe77:2");
    struct pkt_addr longest;
    memset(longest.byte, 0xff, 16);
    assert_string_equal(pkt_addr_format(&longest, text), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

static void test_fault_texts(void **state)
{
    (void)state;
    for (int i = 0; i < CODEC_FAULTS; i++) {
        const char *text = codec_fault_text((enum codec_fault)i);
        assert_true(strlen(text) > 5);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(text, codec_fault_text((enum codec_fault)j));
    }
    assert_string_equal(codec_fault_text(CODEC_FAULTS), "unknown fault");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_sizes), cmocka_unit_test(test_opcode_meaning), cmocka_unit_test(test_rnr_timer),
        cmocka_unit_test(test_nak),          cmocka_unit_test(test_addresses),      cmocka_unit_test(test_fault_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
