/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may listen beside whom: 0.0.0.0 and [::] with one port, with and without RDMA_OPTION_ID_AFONLY, as Linux has it,
 * and who of them is asked.  The UDP port is the test's own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#pragma GCC visibility push(default)
#include <rdma/rdma_cma.h>
#pragma GCC visibility pop

#define PORT 7690

static bool has_ipv6;

static int own_port(void **state)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t bytes = sizeof any;
    char port[16];
    int fd = socket(AF_INET, SOCK_DGRAM, 0), fd6 = socket(AF_INET6, SOCK_DGRAM, 0);

    (void)state;
    if (fd < 0 || bind(fd, (struct sockaddr *)&any, bytes) != 0) return -1;
    if (getsockname(fd, (struct sockaddr *)&any, &bytes) != 0) return -1;
    has_ipv6 = fd6 >= 0 && bind(fd6, (struct sockaddr *)&any6, sizeof any6) == 0;
    close(fd);
    if (fd6 >= 0) close(fd6);
    snprintf(port, sizeof port, "%u", ntohs(any.sin_port));
    return setenv("ROCELAB_PORT", port, 1) | setenv("ROCELAB_DEVICE", "lo", 1);
}

static void address(struct sockaddr_storage *ret, const char *text)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

    memset(ret, 0, sizeof *ret);
    if (strchr(text, ':') != NULL) {
        *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
        assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
    } else {
        *v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(PORT)};
        assert_int_equal(inet_pton(AF_INET, text, &v4->sin_addr), 1);
    }
}

/* The id, or NULL and errno.  family_only: -1, not set. */
static struct rdma_cm_id *listener(struct rdma_event_channel *channel, const char *text, int family_only)
{
    struct sockaddr_storage at;
    struct rdma_cm_id *id;
    int kept;

    address(&at, text);
    assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    if (family_only >= 0)
        assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &family_only, sizeof family_only),
                         0);
    if (rdma_bind_addr(id, (struct sockaddr *)&at) == 0 && rdma_listen(id, 4) == 0) return id;
    kept = errno;
    (void)rdma_destroy_id(id);
    errno = kept;
    return NULL;
}

static void test_beside(void **state)
{
    static const struct {
        const char *first;
        int first_only;
        const char *second;
        int second_only;
        bool both;
    } cases[] = {
        {"0.0.0.0", -1, "::", -1, false}, {"::", -1, "0.0.0.0", -1, false},   {"0.0.0.0", -1, "::", 1, true},
        {"::", 1, "0.0.0.0", -1, true},   {"::", 0, "0.0.0.0", -1, false},    {"::", 1, "::", 1, false},
        {"::", 1, "127.0.0.1", -1, true}, {"::", -1, "127.0.0.1", -1, false}, {"0.0.0.0", -1, "127.0.0.1", -1, false},
        {"0.0.0.0", -1, "::1", -1, true}, {"127.0.0.1", -1, "::1", -1, true}, {"::1", -1, "::", 1, false},
    };
    struct rdma_event_channel *channel = rdma_create_event_channel();

    (void)state;
    if (!has_ipv6) skip();
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rdma_cm_id *first = listener(channel, cases[i].first, cases[i].first_only), *second;

        print_message("%s and %s\n", cases[i].first, cases[i].second);
        assert_non_null(first);
        second = listener(channel, cases[i].second, cases[i].second_only);
        if (cases[i].both)
            assert_non_null(second);
        else
            assert_int_equal(second == NULL ? errno : 0, EADDRINUSE);
        if (second != NULL) assert_int_equal(rdma_destroy_id(second), 0);
        assert_int_equal(rdma_destroy_id(first), 0);
    }
    rdma_destroy_event_channel(channel);
}

/* Who is asked by a request to `text`. */
static struct rdma_cm_id *asked(struct rdma_event_channel *channel, const char *text)
{
    struct rdma_conn_param param = {.retry_count = 1, .qp_num = 77};
    struct rdma_cm_event *event;
    struct rdma_cm_id *id, *found, *child;
    struct sockaddr_storage to;

    address(&to, text);
    assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000), 0);
    assert_int_equal(rdma_resolve_route(id, 2000), 0);
    struct rdma_event_channel *other = rdma_create_event_channel();
    assert_int_equal(rdma_migrate_id(id, other), 0); /* connecting does not wait */
    assert_int_equal(rdma_connect(id, &param), 0);
    assert_int_equal(rdma_get_cm_event(channel, &event), 0);
    assert_int_equal(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
    found = event->listen_id;
    child = event->id;
    assert_int_equal(rdma_reject(child, NULL, 0), 0);
    assert_int_equal(rdma_ack_cm_event(event), 0);
    assert_int_equal(rdma_destroy_id(child), 0);
    assert_int_equal(rdma_destroy_id(id), 0);
    rdma_destroy_event_channel(other);
    return found;
}

static void test_each_has_its_family(void **state)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *v4, *v6;

    (void)state;
    if (!has_ipv6) skip();
    v4 = listener(channel, "0.0.0.0", -1);
    v6 = listener(channel, "::", 1);
    assert_ptr_equal(asked(channel, "127.0.0.1"), v4);
    assert_ptr_equal(asked(channel, "::1"), v6);
    assert_int_equal(rdma_destroy_id(v4), 0);
    assert_int_equal(rdma_destroy_id(v6), 0);
    v6 = listener(channel, "::", -1); /* both families */
    assert_ptr_equal(asked(channel, "127.0.0.1"), v6);
    assert_ptr_equal(asked(channel, "::1"), v6);
    assert_int_equal(rdma_destroy_id(v6), 0);
    rdma_destroy_event_channel(channel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_each_has_its_family),
    };
    return cmocka_run_group_tests(tests, own_port, NULL);
}
