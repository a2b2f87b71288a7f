/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest of a run (node/digest.h): what it sees and what it does not, and that what a link delivers again and
 * again has the sum in closed form that the file's head gives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../base/support.h"
#include "../seed.h"
#include "base/rng.h"
#include "node/digest.h"

#define PERIOD 40u

struct delivery {
    ps_t at;
    struct pkt pkt;
};

static struct delivery a_delivery(struct rng *rng)
{
    struct delivery one = {.at = rng_below(rng, 1ULL << 51)};

    one.pkt.kind = PKT_ROCE;
    one.pkt.opcode = (uint8_t)rng_u32(rng);
    one.pkt.tos = (uint8_t)rng_u32(rng);
    one.pkt.flags = (uint16_t)rng_below(rng, 0x40);
    one.pkt.dest_qp = rng_u32(rng) & 0xffffff;
    one.pkt.psn = rng_u32(rng) & 0x3fffff; /* room to count on */
    one.pkt.payload_bytes = (uint16_t)rng_u32(rng);
    one.pkt.frame_bytes = (uint16_t)rng_u32(rng);
    one.pkt.sport = (uint16_t)rng_u32(rng);
    one.pkt.src_node = (uint32_t)rng_below(rng, 20000);
    one.pkt.dst_node = (uint32_t)rng_below(rng, 20000);
    one.pkt.ack.msn = rng_u32(rng) & 0x3fffff;
    one.pkt.ack.syndrome = (uint8_t)rng_u32(rng);
    return one;
}

static uint64_t digest_of(const struct delivery *row, uint32_t count)
{
    uint64_t digest = 0;

    for (uint32_t i = 0; i < count; i++)
        digest_frame(&digest, 7, row[i].at, &row[i].pkt);
    return digest_link(7, digest, 0);
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return (uint64_t)((u128)a * b % DIGEST_PRIME);
}

static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;

    for (; exponent > 0; exponent >>= 1, base = times(base, base))
        if (exponent & 1) result = times(result, base);
    return result;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return (a % DIGEST_PRIME + DIGEST_PRIME - b % DIGEST_PRIME) % DIGEST_PRIME;
}

/* digest * R^k + s * (1 + ... + R^(k-1)) + d * (R^(k-2) + 2 R^(k-3) + ... + k-1): a geometric sum, a sum of such. */
static uint64_t closed_form(uint64_t digest, uint64_t s, uint64_t d, uint64_t R, uint64_t k)
{
    uint64_t inverse = power(minus(R, 1), DIGEST_PRIME - 2), last = power(R, k);
    uint64_t geometric = times(minus(last, 1), inverse), second = times(minus(geometric, k), inverse);

    return (uint64_t)(((u128)times(digest, last) + times(s, geometric) + times(d, second)) % DIGEST_PRIME);
}

static void turn(uint64_t *digest, const struct delivery *row, uint64_t j, const uint64_t step[3])
{
    for (uint32_t i = 0; i < PERIOD; i++) {
        struct pkt pkt = row[i].pkt;
        pkt.psn += (uint32_t)(j * step[1]);
        pkt.ack.msn += (uint32_t)(j * step[2]);
        digest_frame(digest, 1, row[i].at + j * step[0], &pkt);
    }
}

static void test_repeats(void **state)
{
    unsigned seed = test_seed_or(31);
    struct rng rng;
    (void)state;

    for (uint64_t round = 0; round < 20; round++) {
        struct delivery row[PERIOD];
        rng_init(&rng, seed, round);
        for (uint32_t i = 0; i < PERIOD; i++)
            row[i] = a_delivery(&rng);
        uint64_t step[3] = {rng_below(&rng, 1ULL << 38), rng_below(&rng, 4000), rng_below(&rng, 300)};
        uint64_t before = rng_u64(&rng) >> 1, digest = before, first = 0, second = 0, turns = 1 + rng_below(&rng, 1000);
        turn(&first, row, 0, step);
        turn(&second, row, 1, step);
        for (uint64_t j = 0; j < turns; j++)
            turn(&digest, row, j, step);
        uint64_t expected =
            closed_form(before, first % DIGEST_PRIME, minus(second, first), power(DIGEST_R, PERIOD), turns);
        if (digest % DIGEST_PRIME != expected)
            fail_msg("seed %u, round %u: not the closed form", seed, (unsigned)round);
    }
}

/* Flips each bit of a packet: whether the digest sees it. */
static void test_bits(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, test_seed_or(32), 0);
    struct delivery one = a_delivery(&rng);
    uint64_t whole = digest_of(&one, 1);
    for (uint32_t byte = 0; byte < sizeof one.pkt; byte++)
        for (uint32_t bit = 0; bit < 8; bit++) {
            struct delivery other = one;
            ((uint8_t *)&other.pkt)[byte] ^= (uint8_t)(1u << bit);
            bool header = (byte >= 1 && byte <= 4) || (byte >= 8 && byte < 32) || byte >= 56;
            if ((digest_of(&other, 1) != whole) != header) fail_msg("byte %u, bit %u", byte, bit);
        }
    for (uint32_t bit = 0; bit < 52; bit++) {
        struct delivery other = one;
        other.at ^= 1ULL << bit;
        assert_true(digest_of(&other, 1) != whole);
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *one = a, *two = b;

    return *one < *two ? -1 : *one > *two;
}

/* Rows that differ as runs do: two packets change places, one comes earlier and one later by as much, PSNs, sizes and
 * times move against each other.  Of 200,000 no two are alike. */
static void test_rows(void **state)
{
    enum { ROWS = 200000, LONG = 12 };
    uint64_t *digest = calloc(ROWS + 1, sizeof digest[0]);
    struct delivery row[LONG];
    struct rng rng;
    (void)state;

    assert_non_null(digest);
    rng_init(&rng, test_seed_or(33), 0);
    struct delivery like = a_delivery(&rng);
    for (uint32_t i = 0; i < LONG; i++) {
        row[i] = like;
        row[i].at = 1000000 + i * 41600;
        row[i].pkt.psn += i;
    }
    digest[ROWS] = digest_of(row, LONG);
    for (uint32_t r = 0; r < ROWS; r++) {
        uint32_t i = r % LONG, j = (i + 1 + r / LONG % (LONG - 1)) % LONG, by = 1 + r / (LONG * (LONG - 1)) / 4;
        struct delivery kept[2] = {row[i], row[j]};
        switch (r / (LONG * (LONG - 1)) % 4) {
        case 0:
            row[i].at += by, row[j].at -= by;
            break;
        case 1:
            row[i].pkt.psn += by, row[j].pkt.psn -= by;
            break;
        case 2:
            row[i].pkt.psn += by, row[i].at -= by, row[j].at += 320;
            break;
        default:
            row[i].pkt.payload_bytes += (uint16_t)by, row[j].pkt.frame_bytes -= (uint16_t)by;
            break;
        }
        digest[r] = digest_of(row, LONG);
        row[i] = kept[0], row[j] = kept[1];
    }
    qsort(digest, ROWS + 1, sizeof digest[0], by_value);
    for (uint32_t r = 0; r < ROWS; r++)
        assert_true(digest[r] != digest[r + 1]);
    free(digest);
}

static void test_order_and_links(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, test_seed_or(34), 0);
    struct delivery row[2] = {a_delivery(&rng), a_delivery(&rng)}, turned[2] = {row[1], row[0]};
    assert_true(digest_of(row, 2) != digest_of(turned, 2));
    uint64_t frames = 0, words = 0;
    assert_int_equal(digest_link(3, frames, words), 0);
    digest_frame(&frames, 3, row[0].at, &row[0].pkt);
    digest_word(&words, 3, 77, 0);
    assert_true(words != 0);
    assert_true(digest_link(3, frames, words) != digest_link(4, frames, words));
    assert_true(digest_link(3, frames, words) != digest_link(3, frames, 0));
    assert_true(digest_link(3, frames, words) != digest_link(3, words, frames));
    assert_true(digest_link(3, frames + DIGEST_PRIME, words) == digest_link(3, frames, words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_repeats), cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_rows), cmocka_unit_test(test_order_and_links)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
