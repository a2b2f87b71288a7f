/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a fabric that is up: one message asks, the answer comes in pieces, the connection ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "up/control.h"

#define LINES 400000 /* more than the kernel keeps for who does not read */

static bool answer(void *context, const char *words, FILE *out)
{
    unsigned *asked = context;

    ++*asked;
    if (strcmp(words, "long") == 0)
        for (int i = 0; i < LINES; i++)
            fprintf(out, "%06d\n", i);
    else
        fprintf(out, "you said: %s", words);
    return strcmp(words, "no") != 0;
}

struct asker {
    int fd, other; /* other: the fabric's end */
    char *to;
    size_t room, used;
};

/* Begins when nothing more goes in, or the fabric has closed. */
static void *read_all(void *of)
{
    struct asker *asker = of;
    struct pollfd at = {.fd = asker->other, .events = POLLOUT};
    ssize_t got;

    while (poll(&at, 1, 0) == 1 && at.revents == POLLOUT)
        sched_yield();
    while ((got = recv(asker->fd, asker->to + asker->used, asker->room - asker->used, 0)) > 0)
        asker->used += (size_t)got;
    return got == 0 ? asker : NULL; /* it has closed */
}

/* The fabric's end is as accept4() of the session makes it. */
static int ask(struct control *control, const char *words, char *to, size_t room)
{
    struct asker asker = {.to = to, .room = room};
    pthread_t reader;
    void *whole;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
    asker.fd = pair[1];
    asker.other = pair[0];
    control_take(control, pair[0]);
    control_run(control); /* nobody has asked: nobody waits */
    assert_int_equal(send(pair[1], words, strlen(words), 0), (ssize_t)strlen(words));
    assert_int_equal(pthread_create(&reader, NULL, read_all, &asker), 0);
    control_run(control);
    assert_int_equal(pthread_join(reader, &whole), 0);
    assert_non_null(whole);
    close(pair[1]);
    return (int)asker.used;
}

static void test_answers(void **state)
{
    unsigned asked = 0;
    struct control *control;
    static char text[8 * LINES];

    (void)state;
    assert_int_equal(control_create(answer, &asked, &control), 0);
    assert_int_equal(ask(control, "hello", text, sizeof text), 1 + 15);
    assert_memory_equal(text, "0you said: hello", 16);
    assert_int_equal(ask(control, "no", text, sizeof text), 1 + 12);
    assert_memory_equal(text, "1you said: no", 13);
    assert_int_equal(ask(control, "long", text, sizeof text), 1 + LINES * 7);
    assert_memory_equal(text + 1 + (LINES - 1) * 7, "399999\n", 7);
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
