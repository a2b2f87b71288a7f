/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every connection is held by somebody who behaves: listeners, and others who wait for a document that is not made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "serve/serve_int.h"

#define CLIENTS 256
#define LISTENERS 128
#define PATIENCE_S 25 /* less than who waits for the first document may wait */

static int client(const struct serve *serve, const char *path)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char request[128];

    to.sin_port = htons((uint16_t)strtoul(strrchr(serve_address(serve), ':') + 1, NULL, 10));
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    assert_int_equal(send(fd, request, (size_t)length, MSG_NOSIGNAL), length);
    return fd;
}

static unsigned in_state(struct serve *serve, enum serve_client_state state)
{
    unsigned count = 0;

    pthread_mutex_lock(&serve->lock);
    for (const struct serve_client *one = serve->clients; one; one = one->next)
        count += one->state == state && !one->cut;
    pthread_mutex_unlock(&serve->lock);
    return count;
}

static void test_who_waits_gives_way(void **state)
{
    char why[SERVE_TEXT], answer[64] = "";
    struct serve *serve;
    int held[CLIENTS];

    (void)state;
    assert_int_equal(serve_create("127.0.0.1:0", &serve, why), 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        bool listens = i < LISTENERS;
        held[i] = client(serve, listens ? "/api/events" : "/metrics");
        if (i == CLIENTS - 1) break; /* for whom there is room, and then for nobody */
        while (in_state(serve, listens ? SERVE_CLIENT_LISTENS : SERVE_CLIENT_WAITS) < (listens ? i : i - LISTENERS) + 1)
            sched_yield();
    }
    int next = client(serve, "/healthz");
    assert_int_equal(recv(next, answer, sizeof answer - 1, 0), sizeof answer - 1);
    assert_non_null(strstr(answer, " 200 "));
    assert_int_equal(recv(held[LISTENERS], answer, 1, 0), 0); /* who has waited for longest */
    assert_int_equal(in_state(serve, SERVE_CLIENT_LISTENS), LISTENERS);
    for (unsigned i = 0; i < CLIENTS; i++)
        close(held[i]);
    close(next);
    serve_free(serve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_waits_gives_way)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
