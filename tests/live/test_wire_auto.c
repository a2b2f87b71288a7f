/* SPDX-License-Identifier: Apache-2.0 */
/* The auto wire: memory to whom it reaches, sockets to everybody else, and counters that tell which. */
#include <poll.h>

#include "wires.h"

#define ADDRESS "127.0.0.1"

typedef int (*open_fn)(const struct wire_config *, struct wire **);

static struct test_end end_open(open_fn open_wire)
{
    struct test_end end = {.registry = test_join()};
    end.slot = registry_slot(end.registry);
    struct wire_config config = {.ifname = "lo", .slot = end.slot, .registry = end.registry, .port = TEST_PORT};
    struct pkt_addr addr = test_addr(ADDRESS);
    assert_int_equal(open_wire(&config, &end.wire), 0);
    assert_int_equal(wire_add_address(end.wire, &addr), 0);
    return end;
}

static void send_tag(struct test_end *from, const struct test_end *to, uint32_t tag)
{
    static uint8_t data[256];
    struct pkt_addr addr = test_addr(ADDRESS);
    uint32_t qpn = to->slot << REGISTRY_QPN_BITS;
    struct wire_packet packet = test_packet(data, ADDRESS, ADDRESS, from->wire->source_port[0], qpn, tag, 64, 0);
    packet.unchecked = wire_memory(from->wire, &addr, qpn);
    assert_int_equal(wire_tx(from->wire, &packet, 1, test_now()), 1);
}

static void test_memory_between_two(void **state)
{
    (void)state;
    struct test_end a = end_open(wire_auto_open), b = end_open(wire_auto_open);
    struct wire_packet got[WIRE_BURST];
    for (uint32_t tag = 1; tag <= 100; tag++) {
        send_tag(&a, &b, tag);
        assert_int_equal(test_receive(&b, got, WIRE_BURST), 1);
        assert_int_equal(test_tag(&got[0]), tag);
        assert_true(got[0].unchecked);
    }
    assert_int_equal(a.wire->counters.tx_shm_packets, 100);
    assert_int_equal(a.wire->counters.tx_udp_packets, 0);
    assert_int_equal(b.wire->counters.rx_shm_packets, 100);
    assert_int_equal(b.wire->counters.rx_udp_packets, 0);
    assert_int_equal(b.wire->counters.rx_packets, 100);
    test_end_close(&a);
    test_end_close(&b);
}

/* A process that was told to use sockets is reached through them, both ways, beside one that takes rings. */
static void test_sockets_to_udp(void **state)
{
    (void)state;
    struct test_end a = end_open(wire_auto_open), u = end_open(wire_udp_open), b = end_open(wire_auto_open);
    struct wire_packet got[WIRE_BURST];
    for (uint32_t tag = 1; tag <= 20; tag++) {
        send_tag(&a, &u, tag);
        assert_int_equal(test_receive(&u, got, WIRE_BURST), 1);
        assert_int_equal(test_tag(&got[0]), tag);
        assert_false(got[0].unchecked);
        send_tag(&u, &a, 1000 + tag);
        assert_int_equal(test_receive(&a, got, WIRE_BURST), 1);
        assert_int_equal(test_tag(&got[0]), 1000 + tag);
        send_tag(&b, &a, 2000 + tag);
        assert_int_equal(test_receive(&a, got, WIRE_BURST), 1);
        assert_int_equal(test_tag(&got[0]), 2000 + tag);
        assert_true(got[0].unchecked);
    }
    assert_int_equal(a.wire->counters.tx_udp_packets, 20);
    assert_int_equal(a.wire->counters.tx_shm_packets, 0);
    assert_int_equal(a.wire->counters.rx_udp_packets, 20);
    assert_int_equal(a.wire->counters.rx_shm_packets, 20);
    test_end_close(&a);
    test_end_close(&u);
    test_end_close(&b);
}

/* QP1, multicast and QPs of nobody here are for the sockets. */
static void test_not_memory(void **state)
{
    (void)state;
    struct test_end a = end_open(wire_auto_open), b = end_open(wire_auto_open);
    struct pkt_addr own = test_addr(ADDRESS), other = test_addr("127.0.0.9"), group = test_addr("239.1.2.3");
    uint32_t qpn = b.slot << REGISTRY_QPN_BITS;
    assert_true(wire_memory(a.wire, &own, qpn | 5));
    assert_false(wire_memory(a.wire, &own, 1));
    assert_false(wire_memory(a.wire, &own, 0xffffff));
    assert_false(wire_memory(a.wire, &other, qpn));
    assert_false(wire_memory(a.wire, &group, qpn));
    test_end_close(&a);
    test_end_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_between_two),
        cmocka_unit_test(test_sockets_to_udp),
        cmocka_unit_test(test_not_memory),
    };
    return cmocka_run_group_tests(tests, tests_begin, tests_done);
}
