/* SPDX-License-Identifier: Apache-2.0 */
/* CHECK ends the process with SIGABRT and says where and what; a true one does nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "support.h"

static void fails(void *arg)
{
    CHECK(arg == NULL);
}

static void passes(void *arg)
{
    CHECK(arg != NULL);
}

static void test_false_aborts(void **state)
{
    (void)state;
    char said[512];
    int here = 0;
    assert_true(test_aborts(fails, &here, said, sizeof(said)));
    assert_non_null(strstr(said, "test_check.c:"));
    assert_non_null(strstr(said, "CHECK failed: arg == NULL\n"));
}

static void test_true_is_silent(void **state)
{
    (void)state;
    char said[512];
    int here = 0;
    assert_false(test_aborts(passes, &here, said, sizeof(said)));
    assert_string_equal(said, "");
}

/* One statement: usable as the body of an if with an else. */
static void test_is_a_statement(void **state)
{
    (void)state;
    int evaluated = 0;
    if (evaluated == 0)
        CHECK(++evaluated == 1);
    else
        CHECK(0);
    assert_int_equal(evaluated, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_false_aborts),
        cmocka_unit_test(test_true_is_silent),
        cmocka_unit_test(test_is_a_statement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
