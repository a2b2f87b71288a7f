/* SPDX-License-Identifier: Apache-2.0 */
/* Many QPs and many keys: numbers rest before they are used again, tables stay right as things come and go. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "nic/nic.h"

#define MANY 16384u

static void test_many_qps(void **state)
{
    struct nic_config config = nic_config_default(100 * 1000000000ULL, 1);
    struct nic_qp_config qp_config = nic_qp_config_default();
    static struct nic_qp *qp[MANY];
    struct nic_qp *foreign, *one;
    struct nic_io io = {.kick = false};

    (void)state;
    config.max_qps = MANY + 1;
    config.first_qpn = 5 << 14;
    size_t bytes = (nic_memory_bytes(&config) + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, bytes);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    struct nic *nic = nic_init(memory, &config);
    assert_int_equal(nic_qp_create(nic, 1, &qp_config, 0, &foreign), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(nic_qp_create(nic, 0, &qp_config, 0, &qp[i]), 0);
        assert_int_equal(nic_qp_number(qp[i]), config.first_qpn + i);
    }
    assert_int_equal(nic_qp_create(nic, 0, &qp_config, 0, &one), -ENOMEM);
    assert_int_equal(nic_qp_create(nic, 2, &qp_config, 0, &one), -ENOMEM);
    assert_ptr_equal(nic_qp_find(nic, 1), foreign);
    /* those that go come back oldest first, so a number rests as long as it can */
    for (uint32_t i = 0; i < 100; i++)
        nic_qp_destroy(nic, qp[i * 7], &io);
    for (uint32_t round = 0; round < 200000; round++) {
        uint32_t at = round % 100 * 7;
        assert_int_equal(nic_qp_create(nic, 0, &qp_config, 0, &qp[at]), 0);
        assert_int_equal(nic_qp_number(qp[at]), config.first_qpn + at);
        assert_ptr_equal(nic_qp_find(nic, config.first_qpn + at), qp[at]);
        nic_qp_destroy(nic, qp[at], &io);
        assert_null(nic_qp_find(nic, config.first_qpn + at));
    }
    /* a number asked for by name leaves the list */
    assert_int_equal(nic_qp_create(nic, config.first_qpn + 14, &qp_config, 0, &qp[14]), 0);
    assert_int_equal(nic_qp_create(nic, config.first_qpn + 14, &qp_config, 0, &one), -EEXIST);
    nic_qp_destroy(nic, foreign, &io);
    assert_null(nic_qp_find(nic, 1));
    assert_int_equal(nic_qp_count(nic), MANY - 99);
    free(memory);
}

/* Names that are not places, many and in any order, against a plain list. */
static void test_foreign_numbers(void **state)
{
    struct nic_config config = nic_config_default(100 * 1000000000ULL, 1);
    struct nic_qp_config qp_config = nic_qp_config_default();
    struct nic_qp *qp[256] = {NULL};
    struct nic_io io = {.kick = false};
    struct rng rng;

    (void)state;
    config.max_qps = 100;
    config.first_qpn = 64;
    size_t bytes = (nic_memory_bytes(&config) + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, bytes);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    struct nic *nic = nic_init(memory, &config);
    rng_init(&rng, 3, 0);
    for (uint32_t i = 0; i < 50000; i++) {
        uint32_t number = (uint32_t)rng_below(&rng, 256);
        struct nic_qp *made;
        if (number == 0 || rng_below(&rng, 8) == 0) {
            int error = nic_qp_create(nic, 0, &qp_config, 0, &made);
            if (error) assert_int_equal(error, -ENOMEM);
            if (error == 0) assert_null(qp[nic_qp_number(made)]);
            if (error == 0) qp[nic_qp_number(made)] = made;
        } else if (qp[number]) {
            nic_qp_destroy(nic, qp[number], &io);
            qp[number] = NULL;
        } else {
            int error = nic_qp_create(nic, number, &qp_config, 0, &made);
            assert_int_equal(error, nic_qp_count(nic) == 100 && error ? -ENOMEM : 0);
            if (error == 0) qp[number] = made;
        }
        for (uint32_t n = (number + 1) % 256, k = 0; k < 8; k++, n = (n + 31) % 256)
            assert_ptr_equal(nic_qp_find(nic, n), qp[n]);
    }
    free(memory);
}

#define KEYS 100000u

/* Keys come and go as applications register and deregister; looking one up costs the same ever after. */
static void test_many_keys(void **state)
{
    struct nic_config config = nic_config_default(100 * 1000000000ULL, 1);
    static uint32_t key[KEYS];
    struct rng rng;

    (void)state;
    config.max_mrs = KEYS;
    size_t bytes = (nic_memory_bytes(&config) + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, bytes);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    struct nic *nic = nic_init(memory, &config);
    struct nic_mr mr = {.va = 4096, .bytes = 100, .live = true};
    rng_init(&rng, 1, 0);
    for (uint32_t i = 0; i < KEYS; i++) {
        mr.key = key[i] = i << 8 | 7;
        assert_int_equal(nic_mr_set(nic, &mr), 0);
    }
    mr.key = UINT32_MAX;
    assert_int_equal(nic_mr_set(nic, &mr), -ENOMEM);
    for (uint32_t i = 0; i < 1000000; i++) {
        uint32_t at = (uint32_t)rng_below(&rng, KEYS);
        mr.key = key[at];
        mr.live = false;
        assert_int_equal(nic_mr_set(nic, &mr), 0);
        assert_null(nic_mr_find(nic, key[at]));
        mr.key = key[at] = (at << 8) | ((key[at] + 1) & 0xff);
        mr.live = true;
        mr.bytes = 1 + i;
        assert_int_equal(nic_mr_set(nic, &mr), 0);
        assert_int_equal(nic_mr_find(nic, key[at])->bytes, 1 + i);
    }
    for (uint32_t i = 0; i < KEYS; i++)
        assert_non_null(nic_mr_find(nic, key[i]));
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_qps),
        cmocka_unit_test(test_foreign_numbers),
        cmocka_unit_test(test_many_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
