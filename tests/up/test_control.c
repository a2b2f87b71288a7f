/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a fabric that is up: one message asks, the answer comes in pieces, the connection ends.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "up/control.h"

static bool answer(void *context, const char *words, FILE *out)
{
    unsigned *asked = context;

    ++*asked;
    if (strcmp(words, "long") == 0)
        for (int i = 0; i < 20000; i++)
            fprintf(out, "%06d\n", i);
    else
        fprintf(out, "you said: %s", words);
    return strcmp(words, "no") != 0;
}

static int ask(struct control *control, const char *words, char *to, size_t room)
{
    int pair[2];
    size_t used = 0;
    ssize_t got;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    control_take(control, pair[0]);
    control_run(control); /* nobody has asked: nobody waits */
    assert_int_equal(send(pair[1], words, strlen(words), 0), (ssize_t)strlen(words));
    control_run(control);
    while ((got = recv(pair[1], to + used, room - used, 0)) > 0)
        used += (size_t)got;
    assert_int_equal(got, 0); /* it has closed */
    close(pair[1]);
    return (int)used;
}

static void test_answers(void **state)
{
    unsigned asked = 0;
    struct control *control;
    static char text[200000];

    (void)state;
    assert_int_equal(control_create(answer, &asked, &control), 0);
    assert_int_equal(ask(control, "hello", text, sizeof text), 1 + 15);
    assert_memory_equal(text, "0you said: hello", 16);
    assert_int_equal(ask(control, "no", text, sizeof text), 1 + 12);
    assert_memory_equal(text, "1you said: no", 13);
    assert_int_equal(ask(control, "long", text, sizeof text), 1 + 20000 * 7);
    assert_memory_equal(text + 1 + 19999 * 7, "019999\n", 7);
    assert_int_equal(asked, 3);
    control_free(control);
}

/* Who goes away without a word is forgotten. */
static void test_gone(void **state)
{
    unsigned asked = 0;
    struct control *control;
    int pair[2];

    (void)state;
    assert_int_equal(control_create(answer, &asked, &control), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    control_take(control, pair[0]);
    close(pair[1]);
    control_run(control);
    assert_int_equal(asked, 0);
    assert_int_equal(write(pair[0], "x", 1), -1); /* closed here too */
    control_free(control);
}

static void test_not_there(void **state)
{
    (void)state;
    assert_int_equal(control_ask("/nowhere/fabric", "hello", stderr), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
