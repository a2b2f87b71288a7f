/* SPDX-License-Identifier: Apache-2.0 */
/* What is a control character, what is UTF-8, and that a cleaned text has only what may be shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/utf8.h"

/* UTF-8 of a code by its definition. */
static size_t encode(uint32_t code, char to[5])
{
    static const uint32_t first[4] = {0x80, 0x800, 0x10000, 0x110000};
    static const unsigned lead[4] = {0, 0xc0, 0xe0, 0xf0};
    size_t more = 0;

    while (code >= first[more])
        more++;
    to[0] = (char)(lead[more] | code >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | ((code >> (6 * (more - i))) & 0x3f));
    to[more + 1] = '\0';
    return more + 1;
}

static void test_every_code(void **state)
{
    (void)state;
    for (uint32_t code = 1; code < 0x110000; code++) {
        char text[5], cleaned[5];
        size_t length = encode(code, text);
        bool half = code >= 0xd800 && code < 0xe000;
        bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;

        assert_int_equal(utf8_length(text, length), half ? 0 : length);
        assert_int_equal(utf8_length(text, length - 1), 0);
        assert_int_equal(utf8_control(text), control ? length : 0);
        assert_int_equal(utf8_find_control(text, "") == text, control);
        assert_string_equal(utf8_clean(memcpy(cleaned, text, sizeof text), true), half ? "???" : control ? "?" : text);
        assert_string_equal(utf8_clean(memcpy(cleaned, text, sizeof text), false), half                      ? "???"
                                                                                   : control || code >= 0x80 ? "?"
                                                                                                             : text);
    }
}

static void test_no_utf8(void **state)
{
    static const char *const wrong[] = {"\x80",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xe0\x9f\xbf",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf4\x90\x80\x80",
                                        "\xf8\x88\x80\x80\x80",
                                        "\xe2\x80",
                                        "\xc2",
                                        "\xff"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[8], marks[8] = {0};

        assert_int_equal(utf8_length(wrong[i], strlen(wrong[i])), 0);
        assert_int_equal(utf8_control(wrong[i]), 0);
        memset(marks, '?', strlen(wrong[i]));
        assert_string_equal(utf8_clean(memcpy(text, wrong[i], strlen(wrong[i]) + 1), true), marks);
    }
}

static void test_allowed(void **state)
{
    static const char text[] = "a\tb\n\xc2\x85";
    char copy[] = "a\x1b]0;x\a\xc2\x9b\xc3\xbc\xe2\x80\xa8";

    (void)state;
    assert_ptr_equal(utf8_find_control(text, ""), text + 1);
    assert_ptr_equal(utf8_find_control(text, "\t"), text + 3);
    assert_ptr_equal(utf8_find_control(text, "\t\n"), text + 4);
    assert_null(utf8_find_control("plain \xc3\xbc", ""));
    assert_string_equal(utf8_clean(copy, true), "a?]0;x??\xc3\xbc?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code),
        cmocka_unit_test(test_no_utf8),
        cmocka_unit_test(test_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
