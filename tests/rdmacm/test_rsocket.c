/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rsockets, both ends in one process: the ends of streams that programs rarely reach.
 *
 * A requester's RTU goes out when it takes the reply, so one that does not look keeps the other end between accepting
 * and being connected for as long as the test wants.  The registry and the UDP port are the test's own: whatever else
 * runs on this machine is not met.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
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
#include <rdma/rsocket.h>
#pragma GCC visibility pop

#define PATIENCE_MS 20000
#define STREAM_BYTES 200000u
#define ROUNDS 40u

static char folder[] = "/tmp/rocelab-rsocket-XXXXXX";
static struct sockaddr_in there;

/* A UDP port nobody has. */
static int own_world(void **state)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof any;
    char port[16];
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    (void)state;
    if (mkdtemp(folder) == NULL || fd < 0 || bind(fd, (struct sockaddr *)&any, bytes) != 0) return -1;
    if (getsockname(fd, (struct sockaddr *)&any, &bytes) != 0) return -1;
    close(fd);
    snprintf(port, sizeof port, "%u", ntohs(any.sin_port));
    there = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(7471), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return setenv("ROCELAB_REGISTRY", folder, 1) | setenv("ROCELAB_PORT", port, 1) | setenv("ROCELAB_DEVICE", "lo", 1);
}

static int leave_world(void **state)
{
    DIR *dir = opendir(folder);

    (void)state;
    if (dir == NULL) return -1;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        (void)unlinkat(dirfd(dir), entry->d_name, 0); /* those of the folder itself stay */
    closedir(dir);
    return rmdir(folder);
}

static int wait_for(int fd, short events)
{
    struct pollfd one = {.fd = fd, .events = events};

    return rpoll(&one, 1, PATIENCE_MS) == 1 ? one.revents : 0;
}

static int listener(void)
{
    int fd = rsocket(AF_INET, SOCK_STREAM, 0), yes = 1;

    assert_true(fd >= 0);
    assert_int_equal(rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    assert_int_equal(rbind(fd, (struct sockaddr *)&there, sizeof there), 0);
    assert_int_equal(rlisten(fd, 4), 0);
    return fd;
}

/* A client whose connection is accepted, though it has not looked yet. */
static void half_open(int listening, int *ret_client, int *ret_server)
{
    int client = rsocket(AF_INET, SOCK_STREAM, 0);

    assert_true(client >= 0);
    assert_int_equal(rfcntl(client, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(rconnect(client, (struct sockaddr *)&there, sizeof there), -1);
    assert_int_equal(errno, EINPROGRESS);
    *ret_server = raccept(listening, NULL, NULL);
    assert_true(*ret_server >= 0);
    *ret_client = client;
}

static void read_end(int fd)
{
    char byte;

    assert_true(wait_for(fd, POLLIN) & POLLIN);
    assert_int_equal(rrecv(fd, &byte, 1, 0), 0);
}

/* Whoever shuts before it is connected: the peer must hear of it, and may still send. */
static void test_shut_before_connected(void **state)
{
    int listening = listener(), client, server;
    char byte = 'x';

    (void)state;
    half_open(listening, &client, &server);
    assert_int_equal(rfcntl(server, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(rshutdown(server, SHUT_WR), 0);
    assert_true(wait_for(client, POLLOUT) & POLLOUT);
    assert_int_equal(rsend(client, &byte, 1, 0), 1);
    byte = 0;
    assert_true(wait_for(server, POLLIN) & POLLIN);
    assert_int_equal(rrecv(server, &byte, 1, 0), 1);
    assert_int_equal(byte, 'x');
    read_end(client);
    assert_int_equal(rsend(server, &byte, 1, 0), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(rclose(client), 0);
    read_end(server);
    assert_int_equal(rclose(server), 0);
    assert_int_equal(rclose(listening), 0);
}

static void *shut_and_report(void *fd)
{
    return rshutdown(*(int *)fd, SHUT_WR) == 0 ? fd : NULL;
}

/* A blocking socket waits until it can say so. */
static void test_shut_waits_for_the_connection(void **state)
{
    int listening = listener(), client, server;
    pthread_t thread;
    void *done;

    (void)state;
    half_open(listening, &client, &server);
    assert_int_equal(pthread_create(&thread, NULL, shut_and_report, &server), 0);
    read_end(client);
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_ptr_equal(done, &server);
    assert_int_equal(rclose(client), 0);
    assert_int_equal(rclose(server), 0);
    assert_int_equal(rclose(listening), 0);
}

static void *send_and_close(void *unused)
{
    static uint8_t data[STREAM_BYTES];
    int fd = rsocket(AF_INET, SOCK_STREAM, 0);

    (void)unused;
    for (unsigned i = 0; i < STREAM_BYTES; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    if (fd < 0 || rconnect(fd, (struct sockaddr *)&there, sizeof there) != 0) return NULL;
    if (rsend(fd, data, sizeof data, 0) != (ssize_t)sizeof data) return NULL;
    return rclose(fd) == 0 ? data : NULL;
}

/* The connection's end comes another way than its bytes and must not overtake them. */
static void test_end_does_not_overtake(void **state)
{
    static uint8_t got[STREAM_BYTES + 1];
    int listening = listener();

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t bytes = 0;
        pthread_t thread;
        void *sent;

        assert_int_equal(pthread_create(&thread, NULL, send_and_close, NULL), 0);
        int server = raccept(listening, NULL, NULL);
        assert_true(server >= 0);
        for (ssize_t now = 1; now > 0; bytes += (size_t)now) {
            now = rrecv(server, got + bytes, sizeof got - bytes, 0);
            assert_true(now >= 0);
        }
        assert_int_equal(bytes, STREAM_BYTES);
        assert_int_equal(pthread_join(thread, &sent), 0);
        assert_non_null(sent);
        assert_memory_equal(sent, got, STREAM_BYTES);
        assert_int_equal(rclose(server), 0);
    }
    assert_int_equal(rclose(listening), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shut_before_connected),
        cmocka_unit_test(test_shut_waits_for_the_connection),
        cmocka_unit_test(test_end_does_not_overtake),
    };
    return cmocka_run_group_tests(tests, own_world, leave_world);
}
