/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses to endpoints: every address is found, no other is, and frames are resolved by the right one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "packet/codec.h"
#include "packet/directory.h"

#define ENDPOINTS 1000u

static void mac_of(uint32_t endpoint, uint8_t mac[6])
{
    memcpy(mac, "\x02\0\0\0", 4);
    mac[4] = (uint8_t)(endpoint >> 8);
    mac[5] = (uint8_t)endpoint;
}

static void fill(struct directory *directory, void *memory)
{
    directory_init(directory, memory, 2 * ENDPOINTS);
    for (uint32_t i = 0; i < ENDPOINTS; i++) {
        struct pkt_addr addr = pkt_addr_ipv4(0x0a000001 + i);
        uint8_t mac[6];
        mac_of(i, mac);
        assert_int_equal(directory_add(directory, &addr, i), 0);
        assert_int_equal(directory_add_mac(directory, mac, i), 0);
    }
}

static void test_finds_all(void **state)
{
    struct directory directory;
    void *memory = malloc(directory_bytes(2 * ENDPOINTS));
    (void)state;
    fill(&directory, memory);
    for (uint32_t i = 0; i < ENDPOINTS; i++) {
        struct pkt_addr addr = pkt_addr_ipv4(0x0a000001 + i), other = pkt_addr_ipv4(0x0b000001 + i);
        uint8_t mac[6];
        mac_of(i, mac);
        assert_int_equal(directory_find(&directory, &addr), i);
        assert_int_equal(directory_find_mac(&directory, mac), i);
        assert_int_equal(directory_find(&directory, &other), DIRECTORY_NOBODY);
    }
    /* the bytes of a MAC address are no IP address */
    struct pkt_addr as_ip = {{2}};
    assert_int_equal(directory_find(&directory, &as_ip), DIRECTORY_NOBODY);
    free(memory);
}

static void test_refuses(void **state)
{
    struct directory directory;
    void *memory = malloc(directory_bytes(2 * ENDPOINTS));
    struct pkt_addr first = pkt_addr_ipv4(0x0a000001), another = pkt_addr_ipv4(0x0c000001);
    (void)state;
    fill(&directory, memory);
    assert_int_equal(directory_add(&directory, &first, 0), 0); /* said again */
    assert_int_equal(directory_add(&directory, &first, 1), -EEXIST);
    assert_int_equal(directory_add(&directory, &another, 1), -ENOSPC);
    assert_int_equal(directory_add(&directory, &first, DIRECTORY_NOBODY), -EINVAL);
    assert_int_equal(directory_find(&directory, &first), 0);
    free(memory);
}

static void test_resolves(void **state)
{
    struct directory directory;
    void *memory = malloc(directory_bytes(2 * ENDPOINTS));
    struct pkt pkt = {.kind = PKT_ROCE, .net = PKT_NET_IPV4};
    struct pkt_cold cold = {.src = pkt_addr_ipv4(0x0a000008), .dst = pkt_addr_ipv4(0x0a000009)};
    (void)state;
    fill(&directory, memory);
    mac_of(17, cold.smac);
    mac_of(18, cold.dmac); /* of a router on the way: the IP address counts */
    assert_true(directory_resolve(&directory, &pkt, &cold));
    assert_int_equal(pkt.src_node, 7);
    assert_int_equal(pkt.dst_node, 8);

    pkt.net = PKT_NET_NONE; /* ARP: MAC addresses alone */
    assert_true(directory_resolve(&directory, &pkt, &cold));
    assert_int_equal(pkt.src_node, 17);
    assert_int_equal(pkt.dst_node, 18);

    memset(cold.dmac, 0xff, 6);
    assert_false(directory_resolve(&directory, &pkt, &cold));
    assert_int_equal(pkt.dst_node, 0);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_all),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_resolves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
