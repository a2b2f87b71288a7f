/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mistyped words and what is suggested for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#include "base/nearest.h"

static const char *const words[] = {"capture", "sim", "import", "experiments", "leaf-spine", "to", "threads"};

static const char *nearest_to(const char *wrong)
{
    struct nearest nearest;

    nearest_init(&nearest, wrong);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        nearest_try(&nearest, words[i]);
    return nearest.word;
}

static void test_near(void **state)
{
    static const char *const pairs[][2] = {
        {"capture", "capture"}, {"captrue", "capture"}, {"cpture", "capture"},
        {"cap", "capture"},     {"simm", "sim"},        {"leafspine", "leaf-spine"},
        {"two", "to"},          {"thraeds", "threads"}, {"t", "to"},
        {"ex", "experiments"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const char *got = nearest_to(pairs[i][0]);
        if (got == NULL || strcmp(got, pairs[i][1]) != 0)
            fail_msg("'%s': '%s', not '%s'", pairs[i][0], got ? got : "nothing", pairs[i][1]);
    }
}

static void test_far(void **state)
{
    static const char longer[] = "capturecapturecapturecapturecapturecapture";

    (void)state;
    assert_null(nearest_to("zzz"));
    assert_null(nearest_to("dragonfly"));
    assert_null(nearest_to(""));
    assert_null(nearest_to(longer)); /* no word is that long */
}

/* Of two that are as near the first is kept. */
static void test_first_of_equals(void **state)
{
    struct nearest nearest;

    (void)state;
    nearest_init(&nearest, "leaf9");
    nearest_try(&nearest, "leaf0");
    nearest_try(&nearest, "leaf1");
    assert_string_equal(nearest.word, "leaf0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_first_of_equals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
