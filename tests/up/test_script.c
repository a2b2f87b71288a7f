/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts of `rocelab up`: lines to commands and faults, and what is said of wrong ones.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "up/up.h"

#include "fabric/errors.h"

static void lines_become_commands(void **state)
{
    static const char text[] = "# a comment\n"
                               "h0: ib_write_bw -s 65536   # another\n"
                               "\n"
                               "  h1 after 10ms: ib_write_bw 'a # b' \"c d\" h0\n"
                               "h2: X=1 program\n"
                               "h3: one | two\n"
                               "h3: say \"(x)\" '$y'\n"
                               "h3: say \"$y\"\n"
                               "at 2ms: down leaf0:3 for 5ms\n";
    struct up_script script;
    struct fabric_errors errors = {0};

    (void)state;
    assert_int_equal(up_script_parse("x.up", text, &script, &errors), 0);
    assert_int_equal(script.commands, 6);
    assert_string_equal(script.command[0].host, "h0");
    assert_int_equal(script.command[0].at, 0);
    assert_string_equal(script.command[0].text, "ib_write_bw -s 65536");
    assert_string_equal(script.command[0].word[2], "65536");
    assert_null(script.command[0].word[3]);
    assert_int_equal(script.command[1].at, 10 * PS_MS);
    assert_int_equal(script.command[1].line, 4);
    assert_string_equal(script.command[1].word[1], "a # b");
    assert_string_equal(script.command[1].word[2], "c d");
    for (int i = 2; i < 6; i++) {
        bool shell = i != 4;
        assert_string_equal(script.command[i].word[0], shell ? "/bin/sh" : "say");
        if (shell) assert_string_equal(script.command[i].word[2], script.command[i].text);
    }
    assert_string_equal(script.command[4].word[1], "(x)");
    assert_string_equal(script.command[4].word[2], "$y");
    assert_int_equal(script.faults, 1);
    assert_string_equal(script.fault[0].text, "down leaf0:3 for 5ms");
    assert_int_equal(script.fault[0].at, 2 * PS_MS);
    assert_int_equal(script.fault[0].line, 9);
    up_script_free(&script);
}

static void wrong_lines_are_named(void **state)
{
    static const struct {
        const char *text;
        uint32_t line;
        const char *says;
    } wrong[] = {
        {"h0: a\nib_write_bw\n", 2, "a space behind the colon"},
        {"h0 after 10 parsecs: a\n", 1, "before the colon"},
        {"h0 after soon: a\n", 1, "'soon' is no time"},
        {"h0: a\nat noon: down h0\n", 2, "'noon' is no time"},
        {"h0: a 'b\n", 1, "a quote is not closed"},
        {"h0: \n", 1, "colon"},
        {"# nothing\n", 2, "no line starts a program"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct up_script script;
        struct fabric_errors errors = {0};

        assert_int_equal(up_script_parse("x.up", wrong[i].text, &script, &errors), -EINVAL);
        assert_int_equal(errors.count, 1);
        assert_int_equal(errors.error[0].at.line, wrong[i].line);
        assert_string_equal(errors.path, "x.up");
        if (strstr(errors.error[0].text, wrong[i].says) == NULL)
            fail_msg("'%s': says '%s'", wrong[i].text, errors.error[0].text);
        up_script_free(&script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_become_commands),
                                       cmocka_unit_test(wrong_lines_are_named)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
