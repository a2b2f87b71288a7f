/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The udp wire on loopback: two wires in one process, runs, and several processes on one address of which members
 * come, leave in random order and are killed.  Every packet must reach the slot that its QPN names.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "../seed.h"
#include "base/rng.h"
#include "wires.h"

#define SEED test_seed_or(20250704)

static const char *const loopback[] = {"127.0.0.1", "::1"};

static struct test_end end_open(void)
{
    struct test_end end = {.registry = test_join()};
    char why[200] = "";
    end.slot = registry_slot(end.registry);
    struct wire_config config = {.ifname = "lo",
                                 .slot = end.slot,
                                 .registry = end.registry,
                                 .port = TEST_PORT,
                                 .why = why,
                                 .why_bytes = sizeof why};
    if (wire_udp_open(&config, &end.wire) != 0) fail_msg("cannot open: %s", why);
    for (int i = 0; i < 2; i++) {
        struct pkt_addr addr = test_addr(loopback[i]);
        if (wire_add_address(end.wire, &addr) != 0) fail_msg("%s: %s", loopback[i], wire_why(end.wire));
    }
    return end;
}

/* Up to `max` packets, waiting for the first. */
static void test_two_wires(void **state)
{
    (void)state;
    static uint8_t data[64][2048];
    struct test_end a = end_open(), b = end_open();
    assert_int_equal(a.wire->source_ports, 16);
    for (int family = 0; family < 2; family++)
        for (uint32_t tag = 0; tag < 200; tag++) {
            const char *address = loopback[family];
            struct test_end *to = tag % 3 ? &b : &a, *not_to = tag % 3 ? &a : &b;
            uint16_t sport = wire_source_port(a.wire, tag, tag * 7);
            struct wire_packet got[WIRE_BURST];
            struct wire_packet packet =
                test_packet(data[0], address, address, sport, to->slot << REGISTRY_QPN_BITS | tag, tag, 4 + tag * 4, 0);
            packet.tos = (uint8_t)(tag % 2 ? 0x6b : 2);
            assert_int_equal(wire_tx(a.wire, &packet, 1, test_now()), 1);
            assert_int_equal(test_receive(to, got, WIRE_BURST), 1);
            assert_int_equal(test_tag(&got[0]), tag);
            assert_true(test_packet_right(&got[0]));
            assert_int_equal(got[0].tos, packet.tos);
            assert_int_equal(got[0].sport, sport);
            assert_int_equal(got[0].net, packet.net);
            assert_memory_equal(&got[0].src, &packet.src, 16);
            assert_memory_equal(&got[0].dst, &packet.dst, 16);
            assert_int_equal(wire_rx(not_to->wire, got, WIRE_BURST, test_now()), 0);
        }
    assert_int_equal(a.wire->counters.misdelivered + b.wire->counters.misdelivered, 0);
    assert_int_equal(a.wire->counters.tx_packets, 400);
    test_end_close(&a);
    test_end_close(&b);
}

/* Rows of packets, adjacent and of one size but for the last: whatever the wire makes of them, they arrive
 * whole, in order, and with the identification that their ICRC was computed for. */
static void test_runs(void **state)
{
    (void)state;
    static uint8_t memory[WIRE_BURST * 4352];
    struct test_end a = end_open(), b = end_open();
    struct rng rng;
    rng_init(&rng, SEED, 1);
    for (unsigned round = 0; round < 300; round++) {
        struct wire_packet packet[WIRE_BURST], got[WIRE_BURST];
        const char *address = loopback[rng_below(&rng, 2)];
        uint16_t sport = wire_source_port(a.wire, round, 1);
        uint32_t payload = 4 + 4 * (uint32_t)rng_below(&rng, 1024);
        unsigned count = 1 + (unsigned)rng_below(&rng, WIRE_BURST);
        if (count > a.wire->run_bytes / (payload + 16)) count = a.wire->run_bytes / (payload + 16);
        uint8_t *at = memory;
        for (unsigned i = 0; i < count; i++) {
            uint32_t bytes = i + 1 == count ? 4 + 4 * (uint32_t)rng_below(&rng, payload / 4) : payload;
            packet[i] = test_packet(at, address, address, sport, b.slot << REGISTRY_QPN_BITS, round * 64 + i, bytes,
                                    (uint16_t)i);
            at += packet[i].bytes;
        }
        uint64_t calls = a.wire->counters.tx_calls;
        assert_int_equal(wire_tx(a.wire, packet, count, test_now()), count);
        assert_int_equal(a.wire->counters.tx_calls, calls + 1);
        for (unsigned seen = 0; seen < count;) {
            unsigned burst = 1 + (unsigned)rng_below(&rng, WIRE_BURST), more = test_receive(&b, got, burst);
            assert_in_range(more, 1, burst);
            for (unsigned i = 0; i < more; i++, seen++) {
                assert_int_equal(test_tag(&got[i]), round * 64 + seen);
                assert_int_equal(got[i].bytes, packet[seen].bytes);
                assert_true(test_packet_right(&got[i]));
            }
        }
    }
    test_end_close(&a);
    test_end_close(&b);
}

/* What a socket was told for one row of packets must not cut up the next: the same shape often in a row, then others,
 * singly and mixed. */
static void test_run_shapes(void **state)
{
    (void)state;
    static const struct {
        unsigned count;
        uint32_t payload;
    } shape[] = {{2, 4}, {1, 1000}, {3, 500}, {1, 4}, {15, 4096}, {2, 4}, {1, 2000}};
    static uint8_t memory[16 * 4352];
    struct test_end a = end_open(), b = end_open();
    struct rng rng;
    uint32_t tag = 0;
    rng_init(&rng, SEED, 3);
    for (unsigned round = 0; round < 800; round++) {
        unsigned kind = round < 400 ? round / 40 % 7 : (unsigned)rng_below(&rng, 7);
        struct wire_packet packet[16], got[WIRE_BURST];
        const char *address = loopback[round / 20 % 2];
        uint8_t *at = memory;
        for (unsigned i = 0; i < shape[kind].count; i++) {
            packet[i] = test_packet(at, address, address, a.wire->source_port[0], b.slot << REGISTRY_QPN_BITS, tag + i,
                                    shape[kind].payload, (uint16_t)i);
            at += packet[i].bytes;
        }
        assert_int_equal(wire_tx(a.wire, packet, shape[kind].count, test_now()), shape[kind].count);
        for (unsigned seen = 0; seen < shape[kind].count;) {
            unsigned more = test_receive(&b, got, WIRE_BURST);
            for (unsigned i = 0; i < more; i++, seen++) {
                assert_int_equal(test_tag(&got[i]), tag + seen);
                assert_int_equal(got[i].bytes, packet[seen].bytes);
                assert_true(test_packet_right(&got[i]));
            }
        }
        tag += shape[kind].count;
    }
    assert_int_equal(a.wire->counters.tx_refused, 0);
    test_end_close(&a);
    test_end_close(&b);
}

static void test_refused(void **state)
{
    (void)state;
    uint8_t data[64];
    struct test_end end = end_open();
    /* an address that no interface has as a source: taken, dropped, counted */
    struct wire_packet packet = test_packet(data, "203.0.113.7", "127.0.0.1", end.wire->source_port[0], 1, 1, 4, 0);
    assert_int_equal(wire_tx(end.wire, &packet, 1, test_now()), 1);
    assert_int_equal(end.wire->counters.tx_refused, 1);
    test_end_close(&end);

    /* the port is another program's */
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(TEST_PORT + 1)};
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    struct registry *registry = test_join();
    struct wire *wire;
    struct wire_config config = {.slot = registry_slot(registry), .registry = registry, .port = TEST_PORT + 1};
    struct pkt_addr addr = test_addr("127.0.0.1"), absent = test_addr("203.0.113.7");
    assert_int_equal(wire_udp_open(&config, &wire), 0);
    assert_int_equal(wire_add_address(wire, &addr), -EADDRINUSE);
    assert_non_null(strstr(wire_why(wire), "taken"));
    assert_int_equal(wire_add_address(wire, &absent), -EADDRNOTAVAIL);
    close(fd);
    assert_int_equal(wire_add_address(wire, &addr), 0);
    wire_close(wire);
    registry_leave(registry);
}

static void test_multicast(void **state)
{
    (void)state;
    static const char *const group[] = {"239.7.7.7", "ff12::77"};
    uint8_t data[64];
    struct test_end a = end_open(), b = end_open(), c = end_open();
    for (int family = 0; family < 2; family++) {
        struct pkt_addr addr = test_addr(group[family]);
        struct wire_packet got[WIRE_BURST];
        if (wire_add_address(a.wire, &addr) != 0) {
            print_message("no multicast on lo here: %s\n", wire_why(a.wire));
            continue;
        }
        assert_int_equal(wire_add_address(b.wire, &addr), 0);
        for (uint32_t tag = 0; tag < 20; tag++) {
            struct wire_packet packet =
                test_packet(data, loopback[family], group[family], a.wire->source_port[0], 0xffffff, tag, 8, 0);
            assert_int_equal(wire_tx(a.wire, &packet, 1, test_now()), 1);
            if (family == 1 && a.wire->counters.tx_refused) {
                print_message("no route for IPv6 multicast on lo here\n");
                break;
            }
            assert_int_equal(a.wire->counters.tx_refused, 0);
            for (int i = 0; i < 2; i++) {
                assert_int_equal(test_receive(i ? &a : &b, got, WIRE_BURST), 1);
                assert_int_equal(test_tag(&got[0]), tag);
                assert_memory_equal(&got[0].dst, &addr, 16);
                assert_true(test_packet_right(&got[0]));
            }
            for (int i = 0; i < 10; i++)
                assert_int_equal(wire_rx(c.wire, got, WIRE_BURST, test_now()), 0);
        }
        wire_remove_address(a.wire, &addr);
        wire_remove_address(b.wire, &addr);
    }
    test_end_close(&a);
    test_end_close(&b);
    test_end_close(&c);
}

/* --- several processes --- */

struct answer {
    uint32_t slot, right, wrong, last_tag;
};

struct member {
    pid_t pid;
    int order, answer;
    uint32_t slot;
};

static void member_count(struct test_end *end, const struct wire_packet *packet, struct answer *answer)
{
    uint32_t slot = registry_slot_of((uint32_t)packet->data[5] << 16 | (uint32_t)packet->data[6] << 8);
    if ((slot == end->slot || slot == 0) && test_packet_right(packet))
        answer->right++;
    else
        answer->wrong++;
    answer->last_tag = test_tag(packet);
}

static void member_pump(struct test_end *end, struct answer *answer)
{
    static uint8_t forwarded[WIRE_PACKET_MAX];
    struct wire_packet got[WIRE_BURST];
    for (int i = 0; i < 16; i++) {
        int count = wire_rx(end->wire, got, WIRE_BURST, test_now());
        for (int at = 0; at < count; at++)
            member_count(end, &got[at], answer);
    }
    while (registry_receive(end->registry, got, forwarded, sizeof forwarded) > 0)
        member_count(end, got, answer);
}

static void member_main(int order, int answers)
{
    struct test_end end = end_open();
    struct answer answer = {.slot = end.slot};
    if (write(answers, &answer, sizeof answer) != sizeof answer) _exit(1);
    for (;;) {
        struct pollfd ready[] = {{.fd = order, .events = POLLIN},
                                 {.fd = wire_fd(end.wire), .events = POLLIN},
                                 {.fd = registry_fd(end.registry), .events = POLLIN}};
        poll(ready, 3, 1000);
        member_pump(&end, &answer);
        if (!ready[0].revents) continue;
        char byte = 'q';
        if (read(order, &byte, 1) != 1 || byte == 'q') break;
        if (write(answers, &answer, sizeof answer) != sizeof answer) break;
    }
    test_end_close(&end);
    _exit(0);
}

static struct answer member_ask(const struct member *member)
{
    struct answer answer;
    assert_int_equal(write(member->order, "c", 1), 1);
    assert_int_equal(read(member->answer, &answer, sizeof answer), sizeof answer);
    return answer;
}

static struct member member_start(void)
{
    int order[2], answers[2];
    struct member member;
    struct answer answer;
    assert_int_equal(pipe2(order, O_CLOEXEC), 0);
    assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
    member.pid = fork();
    if (member.pid == 0) {
        close(order[1]);
        close(answers[0]);
        member_main(order[0], answers[1]);
    }
    close(order[0]);
    close(answers[1]);
    member.order = order[1];
    member.answer = answers[0];
    assert_int_equal(read(member.answer, &answer, sizeof answer), sizeof answer);
    member.slot = answer.slot;
    return member;
}

static void member_end(struct member *member, bool murder)
{
    int status;
    if (murder)
        kill(member->pid, SIGKILL);
    else
        assert_int_equal(write(member->order, "q", 1), 1);
    close(member->order);
    assert_int_equal(waitpid(member->pid, &status, 0), member->pid);
    if (!murder) assert_int_equal(status, 0);
    close(member->answer);
}

/* One packet to each member over each family, and one for QP1. */
static void check_delivery(struct test_end *self, const struct member *member, unsigned members, uint32_t *tag)
{
    uint8_t data[64];
    struct answer own = {0};
    for (unsigned at = 0; at < members * 2; at++) {
        const struct member *to = &member[at / 2];
        const char *address = loopback[at % 2];
        ++*tag;
        struct answer before = member_ask(to), after = before;
        struct wire_packet packet = test_packet(data, address, address, wire_source_port(self->wire, *tag, 0),
                                                to->slot << REGISTRY_QPN_BITS | at, *tag, 8, 0);
        assert_int_equal(wire_tx(self->wire, &packet, 1, test_now()), 1);
        for (int turn = 0; turn < TEST_TURNS && after.right == before.right; turn++) {
            member_pump(self, &own);
            after = member_ask(to);
            if (after.right == before.right) usleep(1000);
        }
        if (after.right != before.right + 1 || after.last_tag != *tag)
            fail_msg("packet for member %u of %u (slot %u) did not arrive; seed %llu", at / 2, members, to->slot,
                     (unsigned long long)SEED);
        assert_int_equal(after.wrong, 0);
    }
    assert_int_equal(own.wrong, 0);
}

static void test_members(void **state)
{
    (void)state;
    struct member member[8];
    unsigned members = 0, murders = 0;
    uint32_t tag = 0;
    struct rng rng;
    rng_init(&rng, SEED, 2);
    /* the sender joins last: a fork would carry its sockets into the children, and keep them in the group */
    for (; members < 6; members++)
        member[members] = member_start();
    struct test_end self = end_open();
    check_delivery(&self, member, members, &tag);
    while (members > 0) {
        unsigned leaving = 1 + (unsigned)rng_below(&rng, members > 2 ? 2 : 1);
        for (; leaving > 0; leaving--) {
            unsigned at = (unsigned)rng_below(&rng, members);
            bool murder = rng_below(&rng, 2);
            murders += murder;
            member_end(&member[at], murder);
            member[at] = member[--members];
        }
        check_delivery(&self, member, members, &tag);
        check_delivery(&self, member, members, &tag);
    }
    print_message("%u packets, %u members killed, %llu came to the sender first and were forwarded\n", tag, murders,
                  (unsigned long long)self.wire->counters.forwarded);
    test_end_close(&self);
}

/* Places in the kernel's group that are known: four members, no place twice, none past the end. */
static void check_indices(struct test_end *end)
{
    struct pkt_addr addr = test_addr("127.0.0.1");
    unsigned indices = 0;

    assert_int_equal(registry_lock(end->registry, true), 0);
    const struct registry_group *group = registry_group_find(end->registry, &addr, TEST_PORT, false);
    assert_int_equal(group->members, 4);
    for (int i = 0; i < 4; i++) {
        if (group->index[i] == REGISTRY_NO_INDEX) continue; /* its packets are forwarded until it is */
        assert_in_range(group->index[i], 0, 3);
        assert_int_equal(indices & 1u << group->index[i], 0);
        indices |= 1u << group->index[i];
    }
    registry_unlock(end->registry);
    assert_int_not_equal(indices, 0);
}

/* After a disturbance the program is put right: then nothing needs to be forwarded. */
static void test_repair(void **state)
{
    (void)state;
    struct member member[6];
    uint32_t tag = 0;
    for (int i = 0; i < 6; i++)
        member[i] = member_start();
    struct test_end self = end_open();
    member_end(&member[1], true);
    member_end(&member[0], true);
    member_end(&member[3], true);
    struct member left[3] = {member[2], member[4], member[5]};
    uint64_t misdelivered;
    int round = 0;
    do { /* the group is looked after at most once in a while, so it takes a few rounds */
        assert_in_range(++round, 1, 2000);
        misdelivered = self.wire->counters.misdelivered;
        check_delivery(&self, left, 3, &tag);
        usleep(1000);
    } while (self.wire->counters.misdelivered != misdelivered || round < 50);
    check_indices(&self);
    for (int i = 0; i < 3; i++)
        member_end(&left[i], false);
    test_end_close(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_wires), cmocka_unit_test(test_runs),      cmocka_unit_test(test_run_shapes),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_multicast), cmocka_unit_test(test_members),
        cmocka_unit_test(test_repair),
    };
    return cmocka_run_group_tests(tests, tests_begin, tests_done);
}
