/* SPDX-License-Identifier: Apache-2.0 */
/* The hash under a secret against another implementation; two secrets give two answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash_secret.h"

static const unsigned char bytes[] = {8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22};
#define FIRST 0x0706050403020100u /* the eight bytes before them */

/* CPython 3.11's hash(bytes(range(n))), whose secret is zero under PYTHONHASHSEED=0. */
static void test_known_answers(void **state)
{
    static const struct {
        size_t length;
        uint64_t answer;
    } vector[] = {{0, 0xead411e67ebe2eeau},
                  {1, 0x75927f9d95124362u},
                  {7, 0xf30eb725bb91c9eau},
                  {8, 0x8972188433a5c5b7u},
                  {15, 0x37332b1389daa4ffu}};

    (void)state;
    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; i++)
        assert_int_equal(hash_secret(&(struct hash_secret){{0, 0}}, FIRST, bytes, vector[i].length), vector[i].answer);
}

static void test_secrets_differ(void **state)
{
    struct hash_secret one, two;

    (void)state;
    hash_secret_init(&one);
    hash_secret_init(&two);
    assert_int_not_equal(hash_secret(&one, FIRST, bytes, 5), hash_secret(&two, FIRST, bytes, 5));
    assert_int_not_equal(hash_secret(&one, FIRST, bytes, 5), hash_secret(&one, FIRST + 1, bytes, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_secrets_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
