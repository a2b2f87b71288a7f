/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of wires share: a registry and a port of their own, small packets with a right ICRC. */
#ifndef ROCELAB_TESTS_LIVE_WIRES_H
#define ROCELAB_TESTS_LIVE_WIRES_H

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "packet/codec.h"
#include "packet/icrc.h"
#include "packet/opcode.h"
#include "wire/registry.h"
#include "wire/wire.h"

static inline ps_t test_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (ps_t)now.tv_sec * PS_S + (ps_t)now.tv_nsec * PS_NS;
}

static inline struct pkt_addr test_addr(const char *text)
{
    struct pkt_addr addr;
    struct in_addr in;
    if (inet_pton(AF_INET, text, &in) == 1) return pkt_addr_ipv4(ntohl(in.s_addr));
    assert_int_equal(inet_pton(AF_INET6, text, addr.byte), 1);
    return addr;
}

/* A registry that no other test and no running program sees, and a folder of the same name, removed by tests_done(). */
static char test_folder[] = "/tmp/rocelab-test-XXXXXX";
static inline int tests_begin(void **state)
{
    (void)state;
    if (!mkdtemp(test_folder)) return -1;
    return setenv("ROCELAB_REGISTRY", test_folder, 1);
}
static inline int tests_done(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/rm", "rm", "-rf", test_folder, (char *)NULL);
        _exit(127);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    return status;
}

#define TEST_PORT 14791

struct test_end { /* a wire and its slot */
    struct registry *registry;
    struct wire *wire;
    uint32_t slot;
};

static inline struct registry *test_join(void)
{
    struct registry *registry = NULL;
    char why[200] = "";
    if (registry_join(&registry, why, sizeof why) != 0) fail_msg("cannot join: %s", why);
    return registry;
}

static inline void test_end_close(struct test_end *end)
{
    wire_close(end->wire);
    registry_leave(end->registry);
}

#define TEST_TURNS 4000

/* As the loop does: rx, and before sleeping the deadline. */
static inline unsigned test_receive(struct test_end *end, struct wire_packet *ret, unsigned max)
{
    for (int turn = 0; turn < TEST_TURNS; turn++) {
        int got = wire_rx(end->wire, ret, max, test_now());
        assert_true(got >= 0);
        if (got > 0) return (unsigned)got;
        if (wire_deadline(end->wire) != PS_NEVER) continue;
        struct pollfd ready = {.fd = wire_fd(end->wire), .events = POLLIN};
        poll(&ready, 1, 100);
    }
    fail_msg("nothing arrived");
    return 0;
}

#define TEST_HEADERS 12u

/* A SEND Only with `payload` bytes counted up from `tag`; the ICRC for its place in the run. */
static inline struct wire_packet test_packet(uint8_t *data, const char *src, const char *dst, uint16_t sport,
                                             uint32_t qpn, uint32_t tag, uint32_t payload, uint16_t place)
{
    struct pkt pkt = {.kind = PKT_ROCE,
                      .opcode = OPCODE_RC_SEND_ONLY,
                      .dest_qp = qpn,
                      .psn = tag & 0xffffff,
                      .payload_bytes = (uint16_t)payload};
    struct pkt_cold cold = {.pkey = 0xffff};
    assert_true(payload % 4 == 0 && payload >= 4);
    assert_int_equal(codec_emit_bth(&pkt, &cold, data, TEST_HEADERS), TEST_HEADERS);
    store_be32(data + TEST_HEADERS, tag);
    for (uint32_t i = 4; i < payload; i++)
        data[TEST_HEADERS + i] = (uint8_t)(tag + i);
    struct wire_packet packet = {.data = data,
                                 .bytes = TEST_HEADERS + payload + 4,
                                 .src = test_addr(src),
                                 .dst = test_addr(dst),
                                 .sport = sport,
                                 .ip_id = place,
                                 .tos = 2,
                                 .ttl = 64};
    packet.net = strchr(src, ':') ? PKT_NET_IPV6 : PKT_NET_IPV4;
    store_le32(data + packet.bytes - 4, icrc_detached(&packet.envelope, PROTO_IPV4_DF, data, packet.bytes));
    return packet;
}

static inline uint32_t test_tag(const struct wire_packet *packet)
{
    return load_be32(packet->data + TEST_HEADERS);
}

/* The bytes are those that test_packet() made, and the ICRC is right for the identification that the wire tells. */
static inline bool test_packet_right(const struct wire_packet *packet)
{
    if (packet->bytes < TEST_HEADERS + 8) return false;
    uint32_t tag = test_tag(packet), payload = packet->bytes - TEST_HEADERS - 4;
    for (uint32_t i = 4; i < payload; i++)
        if (packet->data[TEST_HEADERS + i] != (uint8_t)(tag + i)) return false;
    if (packet->unchecked) return true;
    return icrc_detached(&packet->envelope, PROTO_IPV4_DF, packet->data, packet->bytes) ==
           load_le32(packet->data + packet->bytes - 4);
}

#endif
