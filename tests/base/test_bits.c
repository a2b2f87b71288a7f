/* SPDX-License-Identifier: Apache-2.0 */
/* Powers of two and whole cache lines, at and beside each edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bits.h"
#include "support.h"

static void test_powers_of_two(void **state)
{
    (void)state;
    assert_false(is_power_of_two(0));
    assert_int_equal(power_of_two_up(0), 1);
    assert_int_equal(power_of_two_up(1), 1);
    for (uint32_t bit = 0; bit < 64; bit++) {
        uint64_t n = UINT64_C(1) << bit;
        assert_true(is_power_of_two(n));
        assert_int_equal(is_power_of_two(n + 1), n == 1);
        if (bit > 31) continue;
        assert_int_equal(power_of_two_up((uint32_t)n), n);
        if (n > 2) assert_int_equal(power_of_two_up((uint32_t)n - 1), n);
        if (bit < 31) assert_int_equal(power_of_two_up((uint32_t)n + 1), 2 * n);
    }
}

static void past_the_last(void *arg)
{
    (void)power_of_two_up(*(const uint32_t *)arg);
}

static void test_no_such_power(void **state)
{
    (void)state;
    uint32_t n = (1u << 31) + 1;
    ASSERT_ABORTS(past_the_last, &n, "1u << 31");
}

static void test_lines(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < 1000; bytes++) {
        size_t whole = lines_up(bytes);
        assert_true(whole % LINE_BYTES == 0 && whole >= bytes && whole < bytes + LINE_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers_of_two),
        cmocka_unit_test(test_no_such_power),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
