/* SPDX-License-Identifier: Apache-2.0 */
/* Pool and heap, each driven by random steps beside a model that is too simple to be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/heap.h"
#include "base/pool.h"
#include "base/rng.h"
#include "support.h"

#define CAPACITY 64

static void test_pool_is_a_set(void **state)
{
    (void)state;
    uint32_t link[CAPACITY], freed[CAPACITY], freed_count = 0, fresh = 0, live = 0;
    bool out[CAPACITY] = {false};
    struct pool pool;
    struct rng rng;
    rng_init(&rng, test_seed(), 30);
    memset(link, 0x5a, sizeof(link));
    pool_init(&pool, link, CAPACITY);
    for (uint64_t step = 0; step < 100000; step++) {
        /* Long climbs and falls, so that both ends are reached. */
        if (rng_below(&rng, 100) < (step / 200 % 2 ? 40U : 60U)) {
            uint32_t got = pool_get(&pool);
            uint32_t want = freed_count ? freed[--freed_count] : fresh < CAPACITY ? fresh++ : POOL_NONE;
            EXPECT(got == want, step);
            if (got == POOL_NONE) {
                EXPECT(live == CAPACITY, step);
                continue;
            }
            EXPECT(!out[got], step);
            out[got] = true;
            live++;
        } else if (live) {
            uint32_t index = (uint32_t)rng_below(&rng, CAPACITY);
            while (!out[index])
                index = (index + 1) % CAPACITY;
            pool_put(&pool, index);
            out[index] = false;
            freed[freed_count++] = index;
            live--;
        }
        EXPECT(pool.live == live, step);
    }
    assert_int_equal(fresh, CAPACITY);
}

static void test_pool_touches_only_what_it_hands_out(void **state)
{
    (void)state;
    uint32_t link[4] = {7, 7, 7, 7};
    struct pool pool;
    pool_init(&pool, link, 4);
    assert_int_equal(pool_get(&pool), 0);
    assert_int_equal(pool_get(&pool), 1);
    pool_put(&pool, 0);
    assert_int_equal(pool_get(&pool), 0);
    assert_int_equal(link[2], 7);
    assert_int_equal(link[3], 7);
    struct pool none;
    pool_init(&none, NULL, 0);
    assert_int_equal(pool_get(&none), POOL_NONE);
}

static void put_zero(void *arg)
{
    pool_put(arg, 0);
}

static void put_one(void *arg)
{
    pool_put(arg, 1);
}

static void test_pool_catches_wrong_frees(void **state)
{
    (void)state;
    uint32_t link[2];
    struct pool pool;
    pool_init(&pool, link, 2);
    ASSERT_ABORTS(put_zero, &pool, "index < pool->fresh"); /* never handed out */
    pool_get(&pool);
    pool_get(&pool);
    pool_put(&pool, 0);
    ASSERT_ABORTS(put_zero, &pool, "POOL_LIVE"); /* twice */
    pool_put(&pool, 1);
    ASSERT_ABORTS(put_one, &pool, "POOL_LIVE");
}

static bool before(struct heap_item a, struct heap_item b)
{
    return a.at < b.at || (a.at == b.at && a.id < b.id);
}

/* The model is kept sorted; few distinct times and ids, so that ties and equal pairs are common. */
static void test_heap_is_a_sorted_array(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(), 32);
    for (uint32_t capacity = 1; capacity <= CAPACITY; capacity += capacity < 8 ? 1 : 7) {
        struct heap_item slot[CAPACITY], model[CAPACITY];
        uint32_t count = 0;
        struct heap heap;
        heap_init(&heap, slot, capacity);
        for (uint64_t step = 0; step < 5000; step++) {
            EXPECT(heap_next(&heap) == (count ? model[0].at : PS_NEVER), step);
            EXPECT(heap.count == count, step);
            if (rng_below(&rng, 100) < (step / 300 % 2 ? 40U : 60U)) {
                struct heap_item item = {rng_below(&rng, 16), rng_below(&rng, 16)};
                EXPECT(heap_push(&heap, item.at, item.id) == (count < capacity), step);
                if (count == capacity) continue;
                uint32_t at = count++;
                for (; at > 0 && before(item, model[at - 1]); at--)
                    model[at] = model[at - 1];
                model[at] = item;
            } else {
                struct heap_item got = {77, 77}, want = count ? model[0] : got;
                EXPECT(heap_pop(&heap, &got) == (count > 0), step);
                EXPECT(got.at == want.at && got.id == want.id, step);
                if (count) memmove(model, model + 1, --count * sizeof(model[0]));
            }
        }
    }
}

/* What leaves does not depend on the order in which things came. */
static void test_heap_order_is_total(void **state)
{
    (void)state;
    struct heap_item slot[10], got;
    struct heap heap;
    for (uint64_t turn = 0; turn < 10; turn++) {
        heap_init(&heap, slot, 10);
        for (uint64_t i = 0; i < 10; i++)
            assert_true(heap_push(&heap, PS_NEVER - (i + turn) % 10 % 2, (i + turn) % 10));
        for (uint64_t i = 0; i < 10; i++) {
            assert_true(heap_pop(&heap, &got));
            assert_true(got.at == PS_NEVER - (i < 5) && got.id == (i < 5 ? 2 * i + 1 : 2 * (i - 5)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_is_a_set),
        cmocka_unit_test(test_pool_touches_only_what_it_hands_out),
        cmocka_unit_test(test_pool_catches_wrong_frees),
        cmocka_unit_test(test_heap_is_a_sorted_array),
        cmocka_unit_test(test_heap_order_is_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
