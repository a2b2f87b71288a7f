/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reports are made of: numbers, tables that fit, bars, JSON as it is written.  The reports as a
 * whole are compared with stored ones by test_capture.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/fold.h"
#include "report/json_out.h"
#include "report/table.h"
#include "report/text.h"

/* What is written to `out` ends up in *text. */
static FILE *memory(char **text)
{
    static size_t length;
    FILE *out = open_memstream(text, &length);

    assert_non_null(out);
    return out;
}

static void numbers(void **state)
{
    char buf[TEXT_COUNT];

    (void)state;
    assert_string_equal(text_count(0, buf), "0");
    assert_string_equal(text_count(999, buf), "999");
    assert_string_equal(text_count(1000, buf), "1,000");
    assert_string_equal(text_count(UINT64_MAX, buf), "18,446,744,073,709,551,615");
    assert_string_equal(text_count_short(9999999, buf), "9,999,999");
    assert_string_equal(text_count_short(12345678, buf), "12.35M");
    assert_string_equal(text_share(1, 0, buf), "0%");
    assert_string_equal(text_share(0, 5, buf), "0%");
    assert_string_equal(text_share(1, 1000000, buf), "<0.1%");
    assert_string_equal(text_share(244, 546, buf), "44.7%");
    assert_string_equal(text_share(UINT64_MAX, UINT64_MAX, buf), "100.0%");
    assert_string_equal(text_fixed(0, 1000, 2, buf), "0.00");
    assert_string_equal(text_fixed(4538799, 1000000, 2, buf), "4.54");
    assert_string_equal(text_fixed(4534999, 1000000, 2, buf), "4.53");
    assert_string_equal(text_fixed(4535000, 1000000, 2, buf), "4.54");
    assert_string_equal(text_fixed(1309598, 1000, 2, buf), "1309.60");
    assert_string_equal(text_fixed(9999, 1000, 2, buf), "10.00");
    assert_string_equal(text_fixed(2, 3, 2, buf), "0.67");
    assert_string_equal(text_fixed(UINT64_MAX, 1, 1, buf), "18446744073709551615.0");
    assert_string_equal(text_ps(123900, buf), "124ns");
    assert_string_equal(text_ns(1500, buf), "1.5us");
    assert_string_equal(text_rate(125, 0, buf), "-");
    assert_string_equal(text_rate(125, 1000, buf), "1G");
    assert_string_equal(text_rate_long(125, 1000, buf), "1Gbps");
    assert_string_equal(text_rate_long(1, 1000000000, buf), "8bps");
    assert_string_equal(text_bytes(1500000, buf), "1.5MB");
}

static void wrapping(void **state)
{
    const struct text_style style = {.width = 20};
    char *text = NULL;
    FILE *out = memory(&text);

    (void)state;
    text_wrap(out, &style, 0, 2, "one two three four five six averyveryverylongword x");
    fclose(out);
    assert_string_equal(text, "one two three four\n  five six\n  averyveryverylongword\n  x\n");
    free(text);
}

static void outside(void **state)
{
    const struct text_style utf8 = {.width = 80, .utf8 = true}, ascii = {.width = 80};
    char *text = NULL;
    FILE *out = memory(&text);

    (void)state;
    text_outside(out, &utf8, "a\x1b[1m\n\xc3\xbc\xff\xc0\x80\xc2\x9b\xed\xa0\x80|");
    text_outside(out, &ascii, "\xc3\xbc");
    fclose(out);
    assert_string_equal(text, "a?[1m?\xc3\xbc???????|?");
    free(text);
}

/* Names that count up are told by the first and the last, whichever number counts; values stay what they are. */
static void folded_names(void **state)
{
    static const struct {
        const char *name[12], *told;
    } cases[] = {
        {{"Ethernet1/1", "Ethernet1/2", "Ethernet1/3"}, "Ethernet1/1-3"},
        {{"Ethernet1/10", "Ethernet1/9", "Ethernet1/8", "Ethernet1/40"}, "Ethernet1/8-10, Ethernet1/40"},
        {{"Ethernet0", "Ethernet4", "Ethernet8"}, "Ethernet0 to Ethernet8"},
        {{"Ethernet0", "Ethernet4"}, "Ethernet0, Ethernet4"},
        {{"Ethernet1/1", "Ethernet2/1", "Ethernet3/1"}, "Ethernet1/1 to Ethernet3/1"},
        {{"swp1s0", "swp1s1", "swp2s0", "swp2s1"}, "swp1s0-1, swp2s0-1"},
        {{"et-0/0/1", "et-0/0/1", "et-0/0/2"}, "et-0/0/1-2"},
        {{"mlx5_0"}, "mlx5_0"},
        {{"a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1"}, "a1, b1, c1, d1, e1, f1 and 2 more"},
    };
    const struct text_style style = {.width = 80};

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const char *name[12];
        uint32_t count = 0;
        char *text = NULL;
        FILE *out = memory(&text);
        for (; cases[c].name[count]; count++)
            name[count] = cases[c].name[count];
        fold_names(out, &style, name, count);
        fclose(out);
        assert_string_equal(text, cases[c].told);
        free(text);
    }
}

static void bars(void **state)
{
    const struct text_style style = {.width = 80};
    const uint64_t value[] = {0, 1, UINT64_MAX / 2, UINT64_MAX, 0};
    char *text = NULL;
    FILE *out = memory(&text);

    (void)state;
    text_bars(out, &style, value, 5);
    fclose(out);
    assert_string_equal(text, " .=@ ");
    free(text);
}

static const struct table_column columns[] = {
    {.title = "name", .min_width = 8},
    {.title = "count", .right = true, .drop = 1},
    {.title = "none", .optional = true},
    {.title = "more", .right = true, .drop = 2},
};

static char *table_text(unsigned width)
{
    const struct text_style style = {.width = width};
    struct table table;
    char *text = NULL;
    FILE *out = memory(&text);

    table_init(&table, columns, 4);
    table_row(&table, (const char *[]){"first", "1", "-", "x"});
    table_row(&table, (const char *[]){"2001:db8::1234:5678", "1,000", "0", NULL});
    table_print(&table, out, &style, 1);
    table_release(&table);
    fclose(out);
    return text;
}

static void tables(void **state)
{
    char *wide = table_text(80), *shorter = table_text(24), *narrow = table_text(16), *least = table_text(3);

    (void)state;
    assert_string_equal(wide, " name                 count  more\n first                    1     x\n"
                              " 2001:db8::1234:5678  1,000      \n");
    assert_string_equal(shorter, " name        count  more\n first           1     x\n 2001..5678  1,000      \n");
    assert_string_equal(narrow, " name      count\n first         1\n 200..678  1,000\n left out: more\n");
    assert_string_equal(least, " name\n first\n 200..678\n left\n out:\n count,\n more\n");
    free(wide);
    free(shorter);
    free(narrow);
    free(least);
}

static void json(void **state)
{
    struct jout jout;
    char *text = NULL;
    FILE *out = memory(&text);

    (void)state;
    jout_init(&jout, out);
    jout_open(&jout, NULL, '{');
    jout_u64(&jout, "most", UINT64_MAX);
    jout_u64(&jout, "zero", 0);
    jout_text(&jout, "null", NULL);
    jout_open(&jout, "empty", '[');
    jout_close(&jout);
    jout_open(&jout, "list", '[');
    jout_open_line(&jout, NULL, '{');
    jout_bool(&jout, "yes", true);
    jout_open_line(&jout, "inner", '[');
    jout_u64(&jout, NULL, 10);
    jout_u64(&jout, NULL, 9);
    jout_close(&jout);
    jout_bool(&jout, "no", false);
    jout_close(&jout);
    jout_null(&jout, NULL);
    jout_close(&jout);
    jout_close(&jout);
    fclose(out);
    assert_string_equal(text,
                        "{\n  \"most\": 18446744073709551615,\n  \"zero\": 0,\n  \"null\": null,\n"
                        "  \"empty\": [],\n  \"list\": [\n    {\"yes\": true, \"inner\": [10, 9], \"no\": false},\n"
                        "    null\n  ]\n}\n");
    free(text);
}

static void json_fractions(void **state)
{
    struct jout jout;
    char *text = NULL;
    FILE *out = memory(&text);

    (void)state;
    jout_init(&jout, out);
    jout_open_line(&jout, NULL, '[');
    jout_fixed(&jout, NULL, 0, 1);
    jout_fixed(&jout, NULL, 7, 6);
    jout_fixed(&jout, NULL, 1000000, 6);
    jout_fixed(&jout, NULL, 248831234, 6);
    jout_fixed(&jout, NULL, UINT64_MAX, JOUT_DIGITS);
    jout_fixed(&jout, NULL, 1, JOUT_DIGITS);
    jout_close(&jout);
    fclose(out);
    assert_string_equal(text, "[0.0, 0.000007, 1.000000, 248.831234, 18446744.073709551615, 0.000000000001]\n");
    free(text);
}

static void json_strings(void **state)
{
    struct jout jout;
    char *text = NULL;
    FILE *out = memory(&text);

    (void)state;
    jout_init(&jout, out);
    jout_open_line(&jout, NULL, '[');
    jout_text(&jout, NULL, "");
    jout_text(&jout, NULL, "quote \" backslash \\ slash / tab \t \x01 \x1f \x7f");
    jout_text(&jout, NULL, "\xc3\xbc \xf0\x9f\x98\x80 lone \xff cut \xe2\x82");
    jout_text(&jout, NULL, "\xc2\x80 \xc2\x9b; \xc2\x9f \xc2\xa0");
    jout_close(&jout);
    fclose(out);
    assert_string_equal(text, "[\"\", \"quote \\\" backslash \\\\ slash / tab \\u0009 \\u0001 \\u001f \\u007f\", "
                              "\"\xc3\xbc \xf0\x9f\x98\x80 lone \xef\xbf\xbd cut \xef\xbf\xbd\xef\xbf\xbd\", "
                              "\"\\u0080 \\u009b; \\u009f \xc2\xa0\"]\n");
    free(text);
}

/* A document many times the buffer, its tokens at every offset of the buffer's end. */
static void json_long(void **state)
{
    static char value[JOUT_BUFFER_BYTES + 100];
    static uint64_t list[JOUT_BUFFER_BYTES];
    struct jout jout;
    char *text = NULL, *at;
    FILE *out = memory(&text);
    const unsigned count = JOUT_BUFFER_BYTES;

    (void)state;
    memset(value, '"', sizeof value - 1);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        list[i] = i == 0 ? 0 : UINT64_MAX >> i % 64;
    jout_init(&jout, out);
    jout_open_line(&jout, NULL, '[');
    jout_text(&jout, NULL, value);
    for (unsigned i = 0; i < count; i++)
        jout_u64(&jout, NULL, i);
    jout_flush(&jout);
    jout_list(&jout, NULL, list, sizeof list / sizeof list[0]);
    jout_close(&jout);
    fclose(out);
    at = text;
    assert_memory_equal(at, "[\"", 2);
    at += 2;
    for (size_t i = 0; i + 1 < sizeof value; i++, at += 2)
        assert_memory_equal(at, "\\\"", 2);
    assert_int_equal(*at++, '"');
    for (unsigned i = 0; i < count; i++) {
        assert_memory_equal(at, ", ", 2);
        assert_int_equal(strtoul(at + 2, &at, 10), i);
    }
    assert_memory_equal(at, ", [0", 4);
    at += 4;
    for (unsigned i = 1; i < sizeof list / sizeof list[0]; i++) {
        assert_memory_equal(at, ", ", 2);
        assert_true(strtoull(at + 2, &at, 10) == list[i]);
    }
    assert_string_equal(at, "]]\n");
    free(text);
}

static void json_full_disk(void **state)
{
    struct jout jout;
    FILE *out = fopen("/dev/full", "w");

    (void)state;
    assert_non_null(out);
    jout_init(&jout, out);
    jout_open(&jout, NULL, '[');
    while (!ferror(out))
        jout_text(&jout, NULL, "the stream remembers that this was not written");
    jout_close(&jout);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),        cmocka_unit_test(wrapping),     cmocka_unit_test(outside),
        cmocka_unit_test(bars),           cmocka_unit_test(tables),       cmocka_unit_test(json),
        cmocka_unit_test(json_fractions), cmocka_unit_test(json_strings), cmocka_unit_test(json_long),
        cmocka_unit_test(json_full_disk), cmocka_unit_test(folded_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
