/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: aligned, zeroed, apart from each other, and within the limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "support.h"

#define PIECES 3000

static void test_random_pieces(void **state)
{
    (void)state;
    static struct {
        unsigned char *at;
        size_t bytes;
    } piece[PIECES];
    struct arena arena;
    struct rng rng;
    size_t used = 0;
    rng_init(&rng, test_seed(), 20);
    arena_init(&arena, 0);
    for (uint32_t i = 0; i < PIECES; i++) {
        size_t align = (size_t)1 << rng_below(&rng, 13);
        size_t count = rng_below(&rng, 20), size = rng_below(&rng, i % 50 ? 40 : 8000);
        unsigned char *at = arena_alloc(&arena, count, size, align);
        size_t bytes = count && size ? count * size : 1;
        EXPECT(at != NULL, i);
        EXPECT((uintptr_t)at % align == 0, i);
        for (size_t b = 0; b < bytes; b++)
            EXPECT(at[b] == 0, i);
        memset(at, (int)(i % 255) + 1, bytes);
        piece[i].at = at;
        piece[i].bytes = bytes;
        used += (bytes + align - 1) / align * align;
        EXPECT(arena.used_bytes == used, i);
    }
    /* Nobody wrote into anybody else's piece. */
    for (uint32_t i = 0; i < PIECES; i++)
        for (size_t b = 0; b < piece[i].bytes; b++)
            EXPECT(piece[i].at[b] == (i % 255) + 1, i);
    arena_release(&arena);
    assert_int_equal(arena.used_bytes, 0);
    assert_null(arena.chunks);
}

static void test_limit(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 100);
    assert_non_null(arena_alloc(&arena, 9, 8, 8));
    assert_non_null(arena_alloc(&arena, 1, 1, 16));
    assert_int_equal(arena.used_bytes, 88);
    assert_null(arena_alloc(&arena, 1, 13, 1));
    assert_int_equal(arena.used_bytes, 88); /* a refusal takes nothing */
    assert_non_null(arena_alloc(&arena, 12, 1, 1));
    assert_null(arena_alloc(&arena, 0, 0, 1));
    arena_release(&arena);
    assert_int_equal(arena.limit_bytes, 100);
    assert_non_null(arena_alloc(&arena, 100, 1, 1));
    assert_null(arena_alloc(&arena, 1, 1, 1));
    arena_release(&arena);
}

static void test_overflow(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 0);
    assert_null(arena_alloc(&arena, SIZE_MAX, 2, 1));
    assert_null(arena_alloc(&arena, SIZE_MAX / 2 + 1, 2, 1));
    assert_null(arena_alloc(&arena, SIZE_MAX, 1, 4096));
    assert_null(arena_alloc(&arena, SIZE_MAX, 1, 1));
    assert_int_equal(arena.used_bytes, 0);
    assert_non_null(arena_alloc(&arena, 1, 1, 1));
    assert_null(arena_alloc(&arena, SIZE_MAX - 4096, 1, 4096));
    assert_int_equal(arena.used_bytes, 1);
    arena_release(&arena);
}

/* A large piece does not end the chunk in use: the next small ones still come from it. */
static void test_large_piece_keeps_the_chunk(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 0);
    char *first = arena_alloc(&arena, 1, 8, 8);
    assert_non_null(arena_alloc(&arena, 1, 1 << 20, 64));
    char *second = arena_alloc(&arena, 1, 8, 8);
    assert_ptr_equal(second, first + 8);
    arena_release(&arena);
}

static void test_new_and_strndup(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 64);
    uint64_t *words = ARENA_NEW(&arena, uint64_t, 3);
    assert_non_null(words);
    assert_int_equal((uintptr_t)words % _Alignof(uint64_t), 0);
    const char unterminated[3] = {'a', 'b', 'c'};
    assert_string_equal(arena_strndup(&arena, unterminated, 3), "abc");
    assert_string_equal(arena_strndup(&arena, "abc", 100), "abc");
    assert_string_equal(arena_strndup(&arena, "abc", 0), "");
    assert_int_equal(arena.used_bytes, 24 + 4 + 4 + 1);
    assert_null(arena_strndup(&arena, "0123456789012345678901234567890123456789", 100));
    arena_release(&arena);
}

static void odd_alignment(void *arg)
{
    arena_alloc(arg, 1, 1, 3);
}

static void test_odd_alignment_aborts(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 0);
    ASSERT_ABORTS(odd_alignment, &arena, "align");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_pieces),   cmocka_unit_test(test_limit),
        cmocka_unit_test(test_overflow),        cmocka_unit_test(test_large_piece_keeps_the_chunk),
        cmocka_unit_test(test_new_and_strndup), cmocka_unit_test(test_odd_alignment_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
