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
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/protocol.h"
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
    char how; /* the first byte of the message that came last */
};

/* Begins when nothing more goes in, or the fabric has closed. */
static void *read_all(void *of)
{
    struct asker *asker = of;
    struct pollfd at = {.fd = asker->other, .events = POLLOUT};
    ssize_t got;

    while (poll(&at, 1, 0) == 1 && at.revents == POLLOUT)
        sched_yield();
    for (char chunk[65536]; (got = recv(asker->fd, chunk, sizeof chunk, 0)) > 0;) {
        size_t text = (size_t)got - 1;
        if (text > asker->room - asker->used || asker->how != '+') return NULL; /* the last is the last */
        asker->how = chunk[0];
        memcpy(asker->to + asker->used, chunk + 1, text);
        asker->used += text;
    }
    return got == 0 ? asker : NULL; /* it has closed */
}

/* The fabric's end is as accept4() of the session makes it. */
static int ask(struct control *control, const char *words, char how, char *to, size_t room)
{
    struct asker asker = {.to = to, .room = room, .how = '+'};
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
    assert_int_equal(asker.how, how);
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
    assert_int_equal(ask(control, "hello", '0', text, sizeof text), 15);
    assert_memory_equal(text, "you said: hello", 15);
    assert_int_equal(ask(control, "no", '1', text, sizeof text), 12);
    assert_memory_equal(text, "you said: no", 12);
    assert_int_equal(ask(control, "long", '0', text, sizeof text), LINES * 7);
    assert_memory_equal(text + (LINES - 1) * 7, "399999\n", 7);
    assert_int_equal(asked, 3);
    control_free(control);
}

struct fabric_end {
    const char *message[2];
    int listens;
};

/* A fabric that sends these messages, whatever it is asked, and closes. */
static void *fabric_answers(void *of)
{
    const struct fabric_end *end = of;
    const struct attach_welcome welcome = {.version = ATTACH_VERSION};
    char words[4096];
    int fd = accept(end->listens, NULL, NULL);

    if (fd < 0 || recv(fd, words, sizeof words, 0) <= 0 || send(fd, &welcome, sizeof welcome, 0) < 0) return NULL;
    if (recv(fd, words, sizeof words, 0) <= 0) return NULL;
    for (int i = 0; i < 2; i++)
        if (end->message[i] && send(fd, end->message[i], strlen(end->message[i]), 0) < 0) return NULL;
    close(fd);
    return of;
}

static int ask_one_that_says(const char *first, const char *second, char *text, size_t room)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct fabric_end end = {{first, second}, socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    char folder[] = "/tmp/control-XXXXXX";
    pthread_t fabric;
    void *well;

    assert_non_null(mkdtemp(folder));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/fabric", folder);
    assert_int_equal(bind(end.listens, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(end.listens, 1), 0);
    assert_int_equal(pthread_create(&fabric, NULL, fabric_answers, &end), 0);
    FILE *out = fmemopen(text, room, "w");
    assert_non_null(out);
    int answer = control_ask(address.sun_path, "state", CONTROL_PATIENCE_MS, out);
    fclose(out);
    assert_int_equal(pthread_join(fabric, &well), 0);
    assert_non_null(well);
    close(end.listens);
    unlink(address.sun_path);
    rmdir(folder);
    return answer;
}

/* Half a document is not taken for a whole one. */
static void test_cut_short(void **state)
{
    char text[CONTROL_TEXT] = "";

    (void)state;
    assert_int_equal(ask_one_that_says("+{\"half\":", "0 1}", text, sizeof text), 0);
    assert_string_equal(text, "{\"half\": 1}");
    assert_int_equal(ask_one_that_says("+{\"half\":", NULL, text, sizeof text), -ECONNABORTED);
    assert_int_equal(ask_one_that_says("+no ", "1such port", text, sizeof text), 1);
    assert_int_equal(ask_one_that_says(NULL, NULL, text, sizeof text), -ECONNRESET);
    assert_non_null(strstr(control_error("/nowhere/fabric", -ECONNABORTED, text), "cut short"));
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
    assert_int_equal(control_ask("/nowhere/fabric", "hello", CONTROL_PATIENCE_MS, stderr), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
