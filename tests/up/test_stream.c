/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets between programs, the fabric's side: hosts and programs are functions of this test, which hold the programs'
 * ends of the pairs and run windows of time as the simulation does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fabric/fabric.h"
#include "packet/codec.h"
#include "up/stream_int.h"

#define HOSTS 3u
#define LATENCY (20 * PS_US)
#define LOCAL (5 * PS_US)
#define WINDOW (2 * PS_US)

static struct world {
    struct fabric fabric;
    struct fabric_endpoint endpoint[2 * HOSTS];
    uint32_t first[HOSTS + 1];
    struct up up;
    struct up_host host[HOSTS];
    struct up_process process[HOSTS];
    int given;              /* the descriptor that a program was handed last */
    uint32_t touched;       /* times that somebody was told to look */
    ps_t touched_at[HOSTS]; /* and when it was last */
    ps_t now;
    bool backwards; /* hosts are visited from the last to the first */
} world;

/* --- what the streams call --- */

int session_give_fd(struct up_process *process, int fd)
{
    (void)process;
    world.given = dup(fd);
    return world.given < 0 ? -errno : 0;
}

void turn_touched(struct up_host *host, const struct up_process *process, ps_t now)
{
    (void)process;
    world.touched++;
    world.touched_at[host->number] = now;
}

void turn_wake(struct up_host *host, ps_t at)
{
    (void)host;
    assert_true(at >= world.now);
}

/* --- the world --- */

static int begin(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    world.fabric.hosts = HOSTS;
    world.fabric.endpoints = 2 * HOSTS;
    world.fabric.endpoint = world.endpoint;
    world.fabric.first_endpoint = world.first;
    world.up.fabric = &world.fabric;
    world.up.host = world.host;
    world.up.cost.stream = LATENCY;
    world.up.cost.local = LOCAL;
    for (uint32_t h = 0; h < HOSTS; h++) {
        world.first[h + 1] = 2 * h + 2;
        for (uint32_t i = 0; i < 2; i++)
            world.endpoint[2 * h + i] = (struct fabric_endpoint){
                .host = h, .index = (uint16_t)i, .address = {10, 0, 0, (uint8_t)(1 + 2 * h + i)}};
        world.host[h] = (struct up_host){.up = &world.up, .number = h};
        world.process[h] = (struct up_process){.up = &world.up, .host = &world.host[h]};
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < HOSTS; h++)
        stream_release(&world.host[h]);
    return 0;
}

static struct pkt_addr address(uint32_t host, uint32_t nic)
{
    return pkt_addr_ipv4(0x0a000001u + 2 * host + nic);
}

/* One host through one window: what is due, in order. */
static void visit(struct up_host *host, ps_t until)
{
    for (ps_t at; (at = stream_next(host)) < until;) {
        stream_deliver(host, at);
        assert_true(stream_next(host) > at);
    }
}

static void run_until(ps_t until)
{
    while (world.now < until) {
        ps_t next = world.now + WINDOW < until ? world.now + WINDOW : until;

        for (uint32_t i = 0; i < HOSTS; i++)
            visit(&world.host[world.backwards ? HOSTS - 1 - i : i], next);
        world.now = next;
        stream_carry(&world.up, world.now);
    }
}

static void run_for(ps_t span)
{
    run_until(world.now + span);
}

/* After a turn of a program whose clock is `world.now`. */
static void turn_over(uint32_t host)
{
    stream_collect(&world.host[host], world.now);
}

static int ask(uint32_t host, uint32_t op, uint32_t *object, struct attach_stream *name)
{
    struct attach_request request = {.op = op, .object = *object};
    int result;

    memcpy(request.data, name, sizeof *name);
    result = stream_request(&world.process[host], &request, world.now);
    memcpy(name, request.data, sizeof *name);
    *object = request.object;
    return result;
}

struct end_of { /* a socket as its program has it */
    uint32_t host, number;
    int fd;
};

static struct end_of open_socket_of(uint32_t host, uint32_t flags)
{
    struct attach_stream name = {.flags = ATTACH_STREAM_IPV4 | flags};
    struct end_of end = {.host = host};

    assert_int_equal(ask(host, ATTACH_OP_STREAM_OPEN, &end.number, &name), 0);
    end.fd = world.given;
    return end;
}

static struct end_of open_socket(uint32_t host)
{
    return open_socket_of(host, 0);
}

static int bind_socket(struct end_of *end, struct pkt_addr self, uint16_t port, uint32_t flags)
{
    struct attach_stream name = {.self = self, .self_port = port, .flags = flags};

    return ask(end->host, ATTACH_OP_STREAM_NAME, &end->number, &name);
}

static struct end_of listen_at(uint32_t host, uint16_t port, uint32_t backlog)
{
    struct end_of end = open_socket(host);
    struct attach_stream name = {.backlog = backlog};

    assert_int_equal(bind_socket(&end, pkt_addr_ipv4(0), port, 0), 0);
    assert_int_equal(ask(host, ATTACH_OP_STREAM_LISTEN, &end.number, &name), 0);
    return end;
}

static int call(struct end_of *end, struct pkt_addr to, uint16_t port)
{
    struct attach_stream name = {.peer = to, .peer_port = port};

    return ask(end->host, ATTACH_OP_STREAM_CONNECT, &end->number, &name);
}

static struct attach_stream state_of(struct end_of end)
{
    struct attach_stream name = {0};

    assert_int_equal(ask(end.host, ATTACH_OP_STREAM_STATE, &end.number, &name), 0);
    return name;
}

/* As accept() of the library does it; false: nobody waits. */
static bool accept_one(struct end_of listener, struct end_of *ret, struct attach_accept *record)
{
    struct iovec vector = {.iov_base = record, .iov_len = sizeof *record};
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ssize_t got = recvmsg(listener.fd, &message, MSG_DONTWAIT);

    if (got < 0) return false;
    assert_int_equal(got, sizeof *record);
    assert_non_null(CMSG_FIRSTHDR(&message));
    ret->host = listener.host;
    ret->number = record->number;
    memcpy(&ret->fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    assert_int_equal(send(listener.fd, "", 1, 0), 1);
    turn_over(listener.host);
    return true;
}

static void connected(uint32_t from, uint32_t to, struct end_of *a, struct end_of *b)
{
    struct end_of listener = listen_at(to, 18515, 1);
    struct attach_accept record;

    *a = open_socket(from);
    assert_int_equal(call(a, address(to, 0), 18515), 0);
    run_for(2 * LATENCY + WINDOW);
    assert_int_equal(state_of(*a).state, ATTACH_STREAM_OPEN);
    assert_true(accept_one(listener, b, &record));
    close(listener.fd);
    turn_over(to);
}

static void expect(struct end_of end, const char *text)
{
    char got[64] = "";
    ssize_t length = recv(end.fd, got, sizeof got - 1, MSG_DONTWAIT);

    assert_int_equal(length, strlen(text));
    assert_string_equal(got, text);
}

static void expect_nothing(struct end_of end)
{
    char byte;

    assert_int_equal(recv(end.fd, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
}

static void expect_end(struct end_of end)
{
    char byte;

    assert_int_equal(recv(end.fd, &byte, 1, MSG_DONTWAIT), 0);
}

static void write_text(struct end_of end, const char *text)
{
    assert_int_equal(send(end.fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    turn_over(end.host);
}

/* --- tests --- */

static void test_nobody_listens(void **state)
{
    struct end_of a = open_socket(0);

    (void)state;
    assert_int_equal(call(&a, address(1, 0), 18515), 0);
    assert_int_equal(state_of(a).state, ATTACH_STREAM_CONNECTS);
    assert_int_equal(call(&a, address(1, 0), 18515), -EALREADY);
    run_until(2 * LATENCY);
    assert_int_equal(state_of(a).state, ATTACH_STREAM_CONNECTS);
    run_for(1);
    assert_int_equal(state_of(a).state, ATTACH_STREAM_REFUSED);
    assert_int_equal(world.touched_at[0], 2 * LATENCY);
    assert_int_equal(call(&a, pkt_addr_ipv4(0x08080808), 53), -ENETUNREACH);
    /* And again, when somebody does. */
    listen_at(1, 18515, 1);
    assert_int_equal(call(&a, address(1, 0), 18515), 0);
    run_for(2 * LATENCY + WINDOW);
    assert_int_equal(state_of(a).state, ATTACH_STREAM_OPEN);
}

static void test_names(void **state)
{
    struct end_of listener = listen_at(1, 7, 1), a = open_socket(0), b;
    struct pkt_addr own = address(0, 1), peer = address(1, 1);
    struct attach_accept record;
    struct attach_stream name;

    (void)state;
    assert_int_equal(call(&a, peer, 7), 0);
    run_for(LATENCY + WINDOW);
    assert_true(accept_one(listener, &b, &record));
    run_for(LATENCY);
    name = state_of(a);
    assert_int_equal(name.state, ATTACH_STREAM_OPEN);
    assert_memory_equal(&name.self, &own, 16); /* the same rail */
    assert_memory_equal(&name.peer, &peer, 16);
    assert_memory_equal(&record.self, &name.peer, 16);
    assert_memory_equal(&record.peer, &name.self, 16);
    assert_int_equal(record.self_port, 7);
    assert_int_equal(record.peer_port, name.self_port);
    assert_int_equal(state_of(b).peer_port, name.self_port);
    /* The kernel knows the number too. */
    struct sockaddr_un un;
    socklen_t length = sizeof un;
    char expected[64];
    assert_int_equal(getsockname(b.fd, (struct sockaddr *)&un, &length), 0);
    snprintf(expected, sizeof expected, ATTACH_STREAM_NAME, world.host[1].streams->salt, 1u, b.number);
    assert_memory_equal(un.sun_path + 1, expected, strlen(expected));
}

static void test_ports(void **state)
{
    struct end_of first = listen_at(0, 5000, 1), other = listen_at(1, 5000, 1); /* ports are the host's own */
    struct end_of a = open_socket(0), b = open_socket(0);
    struct attach_stream name = {0};

    (void)state;
    assert_int_equal(bind_socket(&a, pkt_addr_ipv4(0), 5000, ATTACH_STREAM_REUSE), -EADDRINUSE);
    assert_int_equal(bind_socket(&a, address(0, 1), 5000, 0), -EADDRINUSE);
    assert_int_equal(bind_socket(&a, address(1, 0), 5001, 0), -EADDRNOTAVAIL);
    assert_int_equal(bind_socket(&a, address(0, 1), 5001, 0), 0);
    assert_int_equal(bind_socket(&a, address(0, 1), 5002, 0), -EINVAL);
    assert_int_equal(bind_socket(&b, address(0, 0), 5001, 0), 0);
    assert_int_equal(ask(0, ATTACH_OP_STREAM_LISTEN, &a.number, &name), 0);
    assert_int_equal(ask(0, ATTACH_OP_STREAM_LISTEN, &b.number, &name), 0);
    /* Free as soon as it is closed. */
    close(first.fd);
    turn_over(0);
    first = listen_at(0, 5000, 1);
    close(other.fd);
}

static void test_order_and_time(void **state)
{
    struct end_of a, b;
    ps_t sent;

    (void)state;
    connected(0, 1, &a, &b);
    sent = world.now;
    write_text(a, "one ");
    stream_collect(&world.host[0], world.now); /* nothing new: nothing happens */
    assert_int_equal(send(a.fd, "two ", 4, 0), 4);
    stream_collect(&world.host[0], world.now + 100); /* a thread whose clock is ahead ... */
    write_text(a, "three");                          /* ... and one that comes after it */
    run_until(sent + LATENCY);
    expect_nothing(b);
    run_for(1);
    expect(b, "one ");
    run_until(sent + LATENCY + 101);
    expect(b, "two three");
    assert_int_equal(world.touched_at[1], sent + LATENCY + 100);
    write_text(b, "back");
    run_for(LATENCY + WINDOW);
    expect(a, "back");
}

static void test_within_a_host(void **state)
{
    struct end_of listener = listen_at(2, 9, 1), a = open_socket(2), b;
    struct attach_accept record;
    ps_t sent;

    (void)state;
    assert_int_equal(call(&a, pkt_addr_ipv4(0x7f000001), 9), 0);
    run_for(2 * LOCAL + 1);
    assert_int_equal(state_of(a).state, ATTACH_STREAM_OPEN);
    assert_true(accept_one(listener, &b, &record));
    sent = world.now;
    write_text(a, "hi");
    run_until(sent + LOCAL);
    expect_nothing(b);
    run_for(1);
    expect(b, "hi");
}

static void test_half_close(void **state)
{
    struct end_of a, b;

    (void)state;
    connected(0, 1, &a, &b);
    assert_int_equal(send(a.fd, "last", 4, 0), 4);
    assert_int_equal(shutdown(a.fd, SHUT_WR), 0);
    turn_over(0);
    run_for(LATENCY + WINDOW);
    expect(b, "last");
    expect_end(b);
    write_text(b, "answer");
    run_for(LATENCY + WINDOW);
    expect(a, "answer");
    expect_nothing(a);
    close(b.fd);
    turn_over(1);
    run_for(LATENCY + WINDOW);
    expect_end(a);
    turn_over(0);
    close(a.fd);
    turn_over(0);
    assert_int_equal(world.host[0].streams->alive, 0);
    assert_int_equal(world.host[1].streams->alive, 0);
}

static void test_death_of_a_peer(void **state)
{
    struct end_of a, b;

    (void)state;
    connected(0, 1, &a, &b);
    write_text(b, "unread");
    write_text(a, "words");
    run_for(LATENCY + WINDOW);
    close(a.fd); /* with bytes unread: as of a process that was killed */
    stream_forget(&world.process[0], world.now);
    run_for(LATENCY + WINDOW);
    expect(b, "words"); /* what was sent is not lost */
    expect_end(b);
    assert_int_equal(send(b.fd, "x", 1, MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);
    turn_over(1);
    assert_int_equal(world.host[0].streams->alive, 0);
    assert_int_equal(world.host[1].streams->alive, 0);
}

static void test_writes_to_the_dead(void **state)
{
    struct end_of a, b;

    (void)state;
    connected(0, 1, &a, &b);
    close(b.fd); /* nothing unread: an orderly end */
    turn_over(1);
    write_text(a, "nobody reads this"); /* on its way while the end is */
    run_for(3 * LATENCY);
    expect_end(a);
    assert_int_equal(send(a.fd, "x", 1, MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);
}

static void test_closed_before_it_is_answered(void **state)
{
    struct end_of listener = listen_at(1, 18515, 1), a = open_socket(0), b;
    struct attach_accept record;

    (void)state;
    assert_int_equal(call(&a, address(1, 0), 18515), 0);
    close(a.fd);
    turn_over(0);
    run_for(LATENCY + WINDOW);
    assert_true(accept_one(listener, &b, &record));
    expect_nothing(b);
    run_for(2 * LATENCY);
    expect_end(b);
}

static void test_backlog(void **state)
{
    struct end_of listener = listen_at(1, 18515, 1), a[4], b[4];
    struct attach_accept record;

    (void)state;
    for (int i = 0; i < 4; i++) {
        a[i] = open_socket(i % 2 ? 0 : 2);
        assert_int_equal(call(&a[i], address(1, 0), 18515), 0);
    }
    run_for(4 * LATENCY);
    /* Equal times: host 0 before host 2; and two fit: the backlog and one. */
    assert_int_equal(state_of(a[1]).state, ATTACH_STREAM_OPEN);
    assert_int_equal(state_of(a[3]).state, ATTACH_STREAM_OPEN);
    assert_int_equal(state_of(a[0]).state, ATTACH_STREAM_CONNECTS);
    assert_int_equal(state_of(a[2]).state, ATTACH_STREAM_CONNECTS);
    write_text(a[1], "early"); /* before anybody has accepted it */
    run_for(LATENCY + WINDOW);
    assert_true(accept_one(listener, &b[1], &record));
    expect(b[1], "early");
    run_for(LATENCY + WINDOW);
    assert_int_equal(state_of(a[0]).state, ATTACH_STREAM_OPEN);
    assert_int_equal(state_of(a[2]).state, ATTACH_STREAM_CONNECTS);
    /* The listener goes: who waits is refused, who was not accepted sees an end. */
    close(listener.fd);
    turn_over(1);
    turn_over(1); /* the kernel lets go of what lay in the pair */
    run_for(LATENCY + WINDOW);
    assert_int_equal(state_of(a[2]).state, ATTACH_STREAM_REFUSED);
    expect_end(a[3]);
    expect_end(a[0]);
    expect_nothing(a[1]);
}

static void test_many_callers(void **state)
{
    struct end_of listener = listen_at(1, 18515, 4000), a, b;
    struct attach_accept record;

    (void)state;
    for (uint32_t i = 0; i < 400; i++) { /* more than fit into a pair */
        a = open_socket(0);
        assert_int_equal(call(&a, address(1, 0), 18515), 0);
    }
    run_for(2 * LATENCY + WINDOW);
    assert_int_equal(state_of(a).state, ATTACH_STREAM_OPEN);
    for (uint32_t i = 0; i < 400; i++) {
        assert_true(accept_one(listener, &b, &record));
        assert_int_equal(record.peer_port, STREAM_FIRST_PORT + i);
        close(b.fd);
    }
    assert_false(accept_one(listener, &b, &record));
}

/* Somebody else has the names that come next: sockets have others. */
static void test_taken_names(void **state)
{
    struct end_of a = open_socket(0), b;
    struct sockaddr_un name = {0};
    socklen_t length = sizeof name;
    int taken[4];

    (void)state;
    assert_int_equal(getsockname(a.fd, (struct sockaddr *)&name, &length), 0);
    assert_int_equal(name.sun_path[length - offsetof(struct sockaddr_un, sun_path) - 1], '1');
    for (char i = 0; i < 4; i++) {
        name.sun_path[length - offsetof(struct sockaddr_un, sun_path) - 1] = (char)('2' + i);
        taken[(int)i] = socket(AF_UNIX, SOCK_STREAM, 0);
        assert_int_equal(bind(taken[(int)i], (struct sockaddr *)&name, length), 0);
    }
    b = open_socket(0);
    assert_int_equal(b.number, 2);
    for (int i = 0; i < 4; i++)
        close(taken[i]);
}

/* No more descriptors: who asks is told, and a host that had no socket yet still refuses. */
static void test_no_descriptors(void **state)
{
    struct attach_stream name = {.flags = ATTACH_STREAM_IPV4};
    struct end_of a = open_socket(0);
    struct rlimit before, none;
    uint32_t number = 0;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int opened = ask(1, ATTACH_OP_STREAM_OPEN, &number, &name), called = call(&a, address(2, 0), 18515);
    run_for(2 * LATENCY + WINDOW);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(opened, -EMFILE);
    assert_int_equal(called, 0);
    assert_int_equal(state_of(a).state, ATTACH_STREAM_REFUSED);
}

/* The fabric ends while nobody accepts: end() frees the listener before its callers. */
static void test_ends_with_callers(void **state)
{
    (void)state;
    (void)listen_at(1, 18515, 4000);
    for (uint32_t i = 0; i < 400; i++) {
        struct end_of a = open_socket(0);
        assert_int_equal(call(&a, address(1, 0), 18515), 0);
    }
    run_for(2 * LATENCY + WINDOW);
    assert_int_equal(world.host[1].streams->alive, 401);
}

static uint8_t pattern(uint64_t at)
{
    return (uint8_t)(at * 2654435761u >> 13);
}

/* Writes what the pair takes; the number of bytes so far. */
static uint64_t write_some(struct end_of end, uint64_t done, uint64_t all)
{
    uint8_t bytes[5000];

    for (;;) {
        uint64_t n = all - done < sizeof bytes ? all - done : sizeof bytes;

        for (uint64_t i = 0; i < n; i++)
            bytes[i] = pattern(done + i);
        ssize_t put = n ? send(end.fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
        if (put <= 0) break;
        done += (uint64_t)put;
    }
    turn_over(end.host);
    return done;
}

static uint64_t read_some(struct end_of end, uint64_t done)
{
    uint8_t bytes[7000];
    ssize_t got;

    while ((got = recv(end.fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        for (ssize_t i = 0; i < got; i++)
            assert_int_equal(bytes[i], pattern(done++));
    turn_over(end.host);
    return done;
}

static void test_flow_control(void **state)
{
    const uint64_t all = 100000000;
    struct end_of a, b;
    uint64_t written = 0, before, got = 0;

    (void)state;
    connected(0, 1, &a, &b);
    do { /* nobody reads: it ends, and within bounds */
        before = written;
        written = write_some(a, written, all);
        run_for(LATENCY);
    } while (written > before);
    assert_in_range(written, STREAM_WINDOW, STREAM_WINDOW + 4 * STREAM_PAIR_BYTES);
    for (int round = 0; got < all; round++) {
        assert_in_range(round, 0, 100000);
        got = read_some(b, got);
        run_for(LATENCY / 2);
        if (written < all) written = write_some(a, written, all);
        if (written == all) shutdown(a.fd, SHUT_WR);
    }
    assert_int_equal(got, all);
    turn_over(0);
    run_for(2 * LATENCY);
    expect_end(b);
}

/* Three programs that call, write and close; what each host sees and when, in one number. */
static uint64_t busy_run(bool backwards)
{
    struct end_of listener[HOSTS], out[HOSTS], in[HOSTS][2];
    uint32_t accepted[HOSTS] = {0};
    uint64_t digest = 14695981039346656037u;
    struct attach_accept record;

    begin(NULL);
    world.backwards = backwards;
    for (uint32_t h = 0; h < HOSTS; h++)
        listener[h] = listen_at(h, 18515, 8);
    for (uint32_t h = 0; h < HOSTS; h++) {
        out[h] = open_socket(h);
        assert_int_equal(call(&out[h], address(h == 2 ? 0 : 2, 0), 18515), 0);
    }
    for (uint32_t round = 0; round < 40; round++) {
        run_for(LATENCY / 3);
        for (uint32_t i = 0; i < HOSTS; i++) {
            uint32_t h = backwards ? HOSTS - 1 - i : i;
            if (state_of(out[h]).state == ATTACH_STREAM_OPEN) write_text(out[h], h == 1 ? "one" : "other");
            while (accepted[h] < 2 && accept_one(listener[h], &in[h][accepted[h]], &record))
                accepted[h]++;
        }
        for (uint32_t h = 0; h < HOSTS; h++) {
            digest = (digest ^ world.touched_at[h]) * 1099511628211u;
            for (uint32_t i = 0; i < accepted[h]; i++) {
                char bytes[64];
                ssize_t got = recv(in[h][i].fd, bytes, sizeof bytes, MSG_DONTWAIT);
                for (ssize_t k = 0; k < got; k++)
                    digest = (digest ^ (uint8_t)bytes[k]) * 1099511628211u;
            }
        }
    }
    assert_int_equal(accepted[2], 2);
    end(NULL);
    return digest;
}

static void test_order_of_visits(void **state)
{
    (void)state;
    assert_int_equal(busy_run(false), busy_run(true));
}

static int send_to(struct end_of *end, struct pkt_addr to, uint16_t port, const char *text)
{
    struct attach_stream name = {.peer = to, .peer_port = port};
    int error = ask(end->host, ATTACH_OP_DATAGRAM_TO, &end->number, &name);

    if (error == 0) write_text(*end, text);
    return error;
}

static void expect_from(struct end_of end, uint32_t flags, struct pkt_addr from, uint16_t port)
{
    struct attach_stream name = {.flags = flags};

    assert_int_equal(ask(end.host, ATTACH_OP_DATAGRAM_FROM, &end.number, &name), 0);
    assert_memory_equal(&name.peer, &from, sizeof from);
    assert_int_equal(name.peer_port, port);
}

static void test_datagrams(void **state)
{
    struct end_of a = open_socket_of(0, ATTACH_STREAM_DATAGRAM), b = open_socket_of(1, ATTACH_STREAM_DATAGRAM);
    struct end_of c = open_socket_of(1, ATTACH_STREAM_DATAGRAM), stream = open_socket(1);
    struct attach_stream name = {0};

    (void)state;
    assert_int_equal(bind_socket(&b, pkt_addr_ipv4(0), 7, 0), 0);
    assert_int_equal(bind_socket(&stream, pkt_addr_ipv4(0), 7, 0), 0); /* other ports */
    assert_int_equal(bind_socket(&c, address(1, 0), 8, 0), 0);
    assert_int_equal(send_to(&a, pkt_addr_ipv4(0xc0000201), 7, "out"), -ENETUNREACH);
    assert_int_equal(send_to(&a, address(1, 0), 0, "no port"), -EINVAL);
    assert_int_equal(send_to(&a, address(1, 0), 9, "nobody"), 0);
    assert_int_equal(send_to(&a, address(1, 0), 7, "one"), 0);
    assert_int_equal(send_to(&a, address(1, 0), 8, "other"), 0);
    assert_int_equal(send_to(&c, address(1, 0), 7, "two"), 0);
    run_for(LATENCY + WINDOW);
    uint16_t port = state_of(a).self_port;
    expect_from(b, ATTACH_STREAM_PEEKED, address(1, 0), 8); /* within the host it is quicker */
    expect(b, "two");
    expect_from(b, 0, address(1, 0), 8);
    expect(b, "one");
    expect_from(b, 0, address(0, 0), port);
    expect_nothing(b);
    expect(c, "other");
    /* What a connected one sends needs no name, and it hears its peer alone. */
    assert_int_equal(call(&c, address(0, 0), port), 0);
    write_text(c, "back");
    assert_int_equal(send_to(&b, address(1, 0), 8, "stranger"), 0);
    run_for(LATENCY + WINDOW);
    expect(a, "back");
    expect_from(a, 0, address(1, 0), 8);
    expect_nothing(c);
    assert_int_equal(ask(1, ATTACH_OP_DATAGRAM_FROM, &stream.number, &name), -EOPNOTSUPP);
    close(a.fd);
    turn_over(0);
    name = (struct attach_stream){0};
    assert_int_equal(ask(0, ATTACH_OP_STREAM_STATE, &a.number, &name), -EBADF);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_nobody_listens),
        TEST(test_names),
        TEST(test_ports),
        TEST(test_order_and_time),
        TEST(test_within_a_host),
        TEST(test_half_close),
        TEST(test_death_of_a_peer),
        TEST(test_writes_to_the_dead),
        TEST(test_closed_before_it_is_answered),
        TEST(test_backlog),
        TEST(test_many_callers),
        TEST(test_taken_names),
        TEST(test_no_descriptors),
        TEST(test_ends_with_callers),
        TEST(test_flow_control),
        TEST(test_datagrams),
        cmocka_unit_test(test_order_of_visits),
    };
    struct rlimit files;

    /* Programs here end without closing what they have. */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
