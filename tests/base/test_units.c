/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities: what is read, what is refused and with which words, and that printing is read back exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>

#include "base/rng.h"
#include "base/units.h"
#include "base/units_table.h"
#include "support.h"

static const struct {
    enum unit_kind kind;
    const char *text;
    uint64_t value;
} accepted[] = {
    {UNIT_TIME, "2us", 2000000},
    {UNIT_TIME, "0.5us", 500000},
    {UNIT_TIME, "0.5ms", 500000000},
    {UNIT_TIME, "1ps", 1},
    {UNIT_TIME, "0.001ns", 1},
    {UNIT_TIME, "0.000000000001s", 1},
    {UNIT_TIME, "1.50000000000000000000000000000000000000s", 1500000000000},
    {UNIT_TIME, "007ns", 7000},
    {UNIT_TIME, "0", 0},
    {UNIT_TIME, "0.0", 0},
    {UNIT_TIME, "0us", 0},
    {UNIT_TIME, "18446744073709551615ps", UINT64_MAX},
    {UNIT_TIME, "18446744.073709551615s", UINT64_MAX},
    {UNIT_RATE, "400G", 400000000000},
    {UNIT_RATE, "25.78125G", 25781250000},
    {UNIT_RATE, "100Gbps", 100000000000},
    {UNIT_RATE, "400Gb/s", 400000000000},
    {UNIT_RATE, "400Gbit/s", 400000000000},
    {UNIT_RATE, "1.6T", 1600000000000},
    {UNIT_RATE, "1K", 1000},
    {UNIT_RATE, "37482113bps", 37482113},
    {UNIT_RATE, "7bit/s", 7},
    {UNIT_RATE, "18446744073709551615bps", UINT64_MAX},
    {UNIT_SIZE, "1500KB", 1500000},
    {UNIT_SIZE, "4MiB", 4194304},
    {UNIT_SIZE, "64B", 64},
    {UNIT_SIZE, "1.5KiB", 1536},
    {UNIT_SIZE, "0.0009765625KiB", 1},
    {UNIT_SIZE, "0.0000000000009094947017729282379150390625TiB", 1},
    {UNIT_SIZE, "16777215.9999999999990905052982270717620849609375TiB", UINT64_MAX},
    {UNIT_SIZE, "18446744073709551615B", UINT64_MAX},
    {UNIT_LENGTH, "30m", 30000},
    {UNIT_LENGTH, "2km", 2000000},
    {UNIT_LENGTH, "0.5m", 500},
    {UNIT_LENGTH, "15cm", 150},
    {UNIT_LENGTH, "3mm", 3},
    {UNIT_SHARE, "10%", 100000},
    {UNIT_SHARE, "0.1%", 1000},
    {UNIT_SHARE, "0.0001%", 1},
    {UNIT_SHARE, "100%", 1000000},
    {UNIT_SHARE, "0", 0},
    {UNIT_SHARE, "1844674407370955.1615%", UINT64_MAX},
    {UNIT_COUNT, "64", 64},
    {UNIT_COUNT, "1M", 1000000},
    {UNIT_COUNT, "1.5K", 1500},
    {UNIT_COUNT, "2G", 2000000000},
    {UNIT_COUNT, "3.0", 3},
    {UNIT_COUNT, "18446744073709551615", UINT64_MAX},
};

static void test_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
        const char *why = "untouched";
        uint64_t got = 99;
        int rc = unit_parse(accepted[i].kind, accepted[i].text, &got, &why);
        if (rc != 0 || got != accepted[i].value || strcmp(why, "untouched") != 0)
            fail_msg("%s: %d, %" PRIu64 ", %s", accepted[i].text, rc, got, why);
    }
}

#define SIZES "use B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of 1024), as in 1500KB"
static const struct {
    enum unit_kind kind;
    const char *text;
    int rc;
    const char *why;
} refused[] = {
    {UNIT_RATE, "400", -EINVAL, "a bare number: write a unit, as in 400G"},
    {UNIT_TIME, "1.5", -EINVAL, "a bare number: write a unit, as in 2us"},
    {UNIT_TIME, "0.00000000000000000001", -EINVAL, "a bare number: write a unit, as in 2us"},
    {UNIT_SIZE, "99999999999999999999999", -EINVAL, "a bare number: write a unit, as in 1500KB"},
    {UNIT_SHARE, "10", -EINVAL, "a bare number: write a unit, as in 10%"},
    {UNIT_TIME, "1500KB", -EINVAL, "KB is not a time: use ps, ns, us, ms or s, as in 2us"},
    {UNIT_TIME, "400G", -EINVAL, "G is not a time: use ps, ns, us, ms or s, as in 2us"},
    {UNIT_TIME, "3m", -EINVAL, "m is not a time: use ps, ns, us, ms or s, as in 2us"},
    {UNIT_TIME, "2\xc2\xb5s", -EINVAL, "the micro sign is written u, as in 2us"},
    {UNIT_TIME, "2US", -EINVAL, "not a unit of time: use ps, ns, us, ms or s, as in 2us"},
    {UNIT_TIME, "1e6ps", -EINVAL, "not a unit of time: use ps, ns, us, ms or s, as in 2us"},
    {UNIT_TIME, "1min", -EINVAL, "minutes are written in seconds, as in 60s"},
    {UNIT_RATE, "4GB", -EINVAL, "GB is not a rate: use K, M, G or T (bits a second), as in 400G"},
    {UNIT_RATE, "4GB/s", -EINVAL, "GB/s is bytes a second: a rate is in bits a second, as in 400G"},
    {UNIT_RATE, "4Gi", -EINVAL, "Gi is not a rate: use K, M, G or T (bits a second), as in 400G"},
    {UNIT_RATE, "4k", -EINVAL, "k is written K, as in 100K"},
    {UNIT_RATE, "4g", -EINVAL, "not a unit of rate: use K, M, G or T (bits a second), as in 400G"},
    {UNIT_SIZE, "4M", -EINVAL, "M is not a size: " SIZES},
    {UNIT_SIZE, "4Mi", -EINVAL, "Mi is not a size: " SIZES},
    {UNIT_SIZE, "4kB", -EINVAL, "kB is written KB (1000 bytes), as in 1500KB"},
    {UNIT_SIZE, "4k", -EINVAL, "k is not a size: write KB (1000 bytes) or KiB (1024 bytes)"},
    {UNIT_SIZE, "4Kb", -EINVAL, "Kb is bits: a size is in bytes, as in 1500KB"},
    {UNIT_LENGTH, "2us", -EINVAL, "us is not a length: use mm, cm, m or km, as in 30m"},
    {UNIT_SHARE, "10us", -EINVAL, "us is not a share: use %, as in 10%"},
    {UNIT_SHARE, "10%%", -EINVAL, "not a unit of share: use %, as in 10%"},
    {UNIT_COUNT, "10%", -EINVAL, "% is not a count: use none, K, M or G, as in 64 or 1M"},
    {UNIT_COUNT, "64KiB", -EINVAL, "KiB is not a count: use none, K, M or G, as in 64 or 1M"},
    {UNIT_TIME, "", -EINVAL, "nothing here: write a time, as in 2us"},
    {UNIT_TIME, " 2us", -EINVAL, "a space in it: write number and unit together, as in 2us"},
    {UNIT_TIME, "2us ", -EINVAL, "a space in it: write number and unit together, as in 2us"},
    {UNIT_TIME, "2us\n", -EINVAL, "a space in it: write number and unit together, as in 2us"},
    {UNIT_RATE, "400 G", -EINVAL, "a space in it: write number and unit together, as in 400G"},
    {UNIT_TIME, "-1us", -EINVAL, "a negative time: write one of 0 or more, as in 2us"},
    {UNIT_TIME, "-0", -EINVAL, "a negative time: write one of 0 or more, as in 2us"},
    {UNIT_TIME, "+1us", -EINVAL, "a sign in front: write the number alone, as in 2us"},
    {UNIT_TIME, "us", -EINVAL, "no number in front: write a time as in 2us"},
    {UNIT_COUNT, "K", -EINVAL, "no number in front: write a count as in 64"},
    {UNIT_TIME, "nan", -EINVAL, "no number in front: write a time as in 2us"},
    {UNIT_TIME, ",", -EINVAL, "no number in front: write a time as in 2us"},
    {UNIT_TIME, ".5us", -EINVAL, "a decimal point without digits on both sides: write it as in 0.5us"},
    {UNIT_TIME, "5.us", -EINVAL, "a decimal point without digits on both sides: write it as in 0.5us"},
    {UNIT_TIME, ".", -EINVAL, "a decimal point without digits on both sides: write it as in 0.5us"},
    {UNIT_TIME, "1.5.2us", -EINVAL, "not a unit of time: use ps, ns, us, ms or s, as in 2us"},
    {UNIT_TIME, "1,5us", -EINVAL, "a separator in the number: write plain digits and a decimal point, as in 0.5us"},
    {UNIT_SIZE, "1_000B", -EINVAL, "a separator in the number: write plain digits and a decimal point, as in 1.5MB"},
    {UNIT_TIME, "1.0000001ns", -ERANGE, "too fine: a time is a whole number of picoseconds"},
    {UNIT_TIME, "0.00000000000000000000000000000000000000000000000000000001s", -ERANGE,
     "too fine: a time is a whole number of picoseconds"},
    {UNIT_SIZE, "0.1KiB", -ERANGE, "too fine: a size is a whole number of bytes"},
    {UNIT_SHARE, "0.00001%", -ERANGE, "too fine: a share is a whole number of parts per million (0.0001%)"},
    {UNIT_COUNT, "1.5", -ERANGE, "too fine: a count is a whole number"},
    {UNIT_TIME, "18446744073709551616ps", -ERANGE, "too large: a time is at most 18446744s (213 days)"},
    {UNIT_TIME, "18446744.073709551616s", -ERANGE, "too large: a time is at most 18446744s (213 days)"},
    {UNIT_TIME, "184467440737095516150ps", -ERANGE, "too large: a time is at most 18446744s (213 days)"},
    {UNIT_RATE, "18446745T", -ERANGE, "too large: a rate is at most 18446744T"},
    {UNIT_SIZE, "16777216TiB", -ERANGE, "too large: a size is at most 18446744TB"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const char *why = NULL;
        uint64_t got = 99;
        int rc = unit_parse(refused[i].kind, refused[i].text, &got, &why);
        if (rc != refused[i].rc || got != 99 || !why || strcmp(why, refused[i].why) != 0)
            fail_msg("%s: %d, %" PRIu64 ", %s", refused[i].text, rc, got, why ? why : "(no sentence)");
        assert_int_equal(unit_parse(refused[i].kind, refused[i].text, &got, NULL), rc);
    }
}

static int is_unit_of(enum unit_kind kind, const char *suffix)
{
    for (const struct unit *unit = unit_table[kind]; unit->suffix; unit++)
        if (strcmp(unit->suffix, suffix) == 0) return 1;
    return 0;
}

/* Every unit is named when it is written where another kind is due. */
static void test_foreign_units_are_named(void **state)
{
    (void)state;
    for (int kind = 0; kind < UNIT_KINDS; kind++) {
        uint64_t before = 0;
        for (const struct unit *unit = unit_table[kind]; unit->suffix; unit++) {
            assert_true(unit->scale >= before);
            before = unit->scale;
            for (int other = 0; other < UNIT_KINDS; other++) {
                char text[16], start[32];
                const char *why = NULL;
                uint64_t got;
                if (!*unit->suffix || is_unit_of((enum unit_kind)other, unit->suffix)) continue;
                snprintf(text, sizeof(text), "1%s", unit->suffix);
                snprintf(start, sizeof(start), "%s is not a ", unit->suffix);
                assert_int_equal(unit_parse((enum unit_kind)other, text, &got, &why), -EINVAL);
                assert_memory_equal(why, start, strlen(start));
            }
        }
    }
}

static void check_round_trip(uint64_t value, uint64_t step)
{
    for (int kind = 0; kind < UNIT_KINDS; kind++) {
        char text[UNIT_TEXT + 1];
        uint64_t got = ~value;
        memset(text, 0x7f, sizeof(text));
        EXPECT(unit_format((enum unit_kind)kind, value, text) == text, step);
        EXPECT(memchr(text, 0, UNIT_TEXT) != NULL && text[UNIT_TEXT] == 0x7f, step);
        EXPECT(unit_parse((enum unit_kind)kind, text, &got, NULL) == 0 && got == value, step);
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(), 50);
    for (uint64_t value = 0; value < 5000; value++) {
        check_round_trip(value, value);
        check_round_trip(UINT64_MAX - value, value);
    }
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t off = 0; off < 3; off++)
            check_round_trip((1ULL << bit) - 1 + off, bit);
    for (uint64_t step = 0; step < 50000; step++) {
        uint64_t value = rng_u64(&rng) >> rng_below(&rng, 64);
        check_round_trip(value, step);
        /* round numbers, where the forms with a larger unit win */
        for (uint64_t zeros = rng_below(&rng, 16); zeros > 0; zeros--)
            value *= rng_below(&rng, 4) ? 10 : 1024;
        check_round_trip(value, step);
    }
}

/* The form people would write. */
static void test_exact_form(void **state)
{
    (void)state;
    static const struct {
        enum unit_kind kind;
        uint64_t value;
        const char *text;
    } form[] = {
        {UNIT_TIME, 0, "0"},
        {UNIT_TIME, 2000000, "2us"},
        {UNIT_TIME, 500000, "500ns"},
        {UNIT_TIME, 100000000000, "100ms"},
        {UNIT_TIME, 1234567, "1234567ps"},
        {UNIT_RATE, 400000000000, "400G"},
        {UNIT_RATE, 25781250000, "25.78125G"},
        {UNIT_RATE, 7, "7bps"},
        {UNIT_RATE, 37482113, "37.482113M"},
        {UNIT_SIZE, 1500000, "1.5MB"},
        {UNIT_SIZE, 1500, "1.5KB"},
        {UNIT_SIZE, 4194304, "4MiB"},
        {UNIT_SIZE, 4096, "4KiB"},
        {UNIT_SIZE, 1000, "1KB"},
        {UNIT_SIZE, UINT64_MAX, "18446744073709551615B"},
        {UNIT_LENGTH, 30000, "30m"},
        {UNIT_LENGTH, 1500, "1.5m"},
        {UNIT_SHARE, 100000, "10%"},
        {UNIT_SHARE, 1, "0.0001%"},
        {UNIT_COUNT, 64, "64"},
        {UNIT_COUNT, 1000000, "1M"},
        {UNIT_COUNT, UINT64_MAX, "18446744073709551615"},
    };
    for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
        char text[UNIT_TEXT];
        assert_string_equal(unit_format(form[i].kind, form[i].value, text), form[i].text);
    }
}

static void test_short_form(void **state)
{
    (void)state;
    static const struct {
        enum unit_kind kind;
        uint64_t value;
        int digits;
        const char *text;
    } form[] = {
        {UNIT_SIZE, 12345678901, 3, "12.3GB"},
        {UNIT_RATE, 98500000000, 3, "98.5G"},
        {UNIT_RATE, 98450000000, 3, "98.5G"}, /* half up */
        {UNIT_RATE, 98449999999, 3, "98.4G"},
        {UNIT_TIME, 1234567890, 3, "1.23ms"},
        {UNIT_TIME, 1234567890, 6, "1.23457ms"},
        {UNIT_TIME, 999499, 3, "999ns"},
        {UNIT_TIME, 999500, 3, "1us"}, /* carried into the next unit */
        {UNIT_TIME, 999999999999, 6, "1s"},
        {UNIT_TIME, 0, 3, "0"},
        {UNIT_TIME, 1, 3, "1ps"},
        {UNIT_TIME, 100000, 3, "100ns"},
        {UNIT_TIME, UINT64_MAX, 3, "18400000s"},
        {UNIT_TIME, UINT64_MAX, 5, "18447000s"}, /* rounds past 2^64 */
        {UNIT_SIZE, 4096, 3, "4.1KB"},
        {UNIT_SIZE, 64, 3, "64B"},
        {UNIT_SIZE, 1048576, 4, "1.049MB"},
        {UNIT_RATE, 999, 3, "999bps"},
        {UNIT_LENGTH, 30000, 3, "30m"},
        {UNIT_LENGTH, 150, 3, "150mm"},
        {UNIT_SHARE, 123456, 3, "12.3%"},
        {UNIT_SHARE, 1000000, 3, "100%"},
        {UNIT_SHARE, 1, 3, "0.0001%"},
        {UNIT_SHARE, 9999, 3, "1%"},
        {UNIT_SHARE, 1234, 3, "0.123%"},
        {UNIT_COUNT, 9102, 4, "9.102K"},
        {UNIT_COUNT, 910, 3, "910"},
        {UNIT_COUNT, UINT64_MAX, 6, "18446700000G"},
    };
    for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
        char text[UNIT_TEXT];
        assert_string_equal(unit_format_short(form[i].kind, form[i].value, form[i].digits, text), form[i].text);
    }
}

/* Read back, the short form is the value rounded: within half of its last digit. */
static void test_short_form_is_near(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(), 51);
    for (uint64_t step = 0; step < 50000; step++) {
        uint64_t value = rng_u64(&rng) >> 1 >> rng_below(&rng, 63), unit = 1, got = 0;
        int digits = 3 + (int)rng_below(&rng, 4), limit = 1;
        char text[UNIT_TEXT];
        enum unit_kind kind = (enum unit_kind)rng_below(&rng, UNIT_KINDS);
        for (int i = 0; i < digits; i++)
            limit *= 10;
        while (value / unit >= (uint64_t)limit)
            unit *= 10;
        unit_format_short(kind, value, digits, text);
        EXPECT(unit_parse(kind, text, &got, NULL) == 0, step);
        EXPECT(got == (value + unit / 2) / unit * unit, step);
    }
}

static void two_digits(void *arg)
{
    unit_format_short(UNIT_TIME, 1, 2, arg);
}

static void test_too_few_digits_abort(void **state)
{
    (void)state;
    char text[UNIT_TEXT];
    ASSERT_ABORTS(two_digits, text, "digits >= 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_foreign_units_are_named),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_exact_form),
        cmocka_unit_test(test_short_form),
        cmocka_unit_test(test_short_form_is_near),
        cmocka_unit_test(test_too_few_digits_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
