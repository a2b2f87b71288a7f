/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores at every alignment, and no byte outside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "support.h"

static void test_values(void **state)
{
    (void)state;
    const uint8_t raw[8] = {0x81, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0xf8};
    assert_int_equal(load_be16(raw), 0x8102);
    assert_int_equal(load_be24(raw), 0x810203);
    assert_int_equal(load_be32(raw), 0x81020304);
    assert_true(load_be64(raw) == 0x81020304050607f8ULL);
    assert_int_equal(load_le32(raw), 0x04030281);
}

static void test_round_trip_at_every_alignment(void **state)
{
    (void)state;
    for (size_t at = 1; at < 9; at++) {
        uint8_t raw[24];
#define ROUND_TRIP(store, load, value, bytes)                                                                          \
    do {                                                                                                               \
        memset(raw, 0xa5, sizeof(raw));                                                                                \
        store(raw + at, value);                                                                                        \
        assert_true(load(raw + at) == (value));                                                                        \
        assert_int_equal(raw[at - 1], 0xa5);                                                                           \
        assert_int_equal(raw[at + (bytes)], 0xa5);                                                                     \
    } while (0)
        ROUND_TRIP(store_be16, load_be16, 0xfedc, 2);
        ROUND_TRIP(store_be24, load_be24, 0xfedcba, 3);
        ROUND_TRIP(store_be32, load_be32, 0xfedcba98, 4);
        ROUND_TRIP(store_be64, load_be64, 0xfedcba9876543210ULL, 8);
        ROUND_TRIP(store_le32, load_le32, 0xfedcba98, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_round_trip_at_every_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
