/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What needs a network namespace of its own: the packet wire on a veth pair (tags, RoCEv1, PFC, damage, several
 * processes on one port), and a udp wire whose address is taken away.  Without the right to make one: skipped.
 */
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "live/live.h"
#include "wires.h"

#define LEFT "10.72.0.1"
#define RIGHT "10.72.0.2"

static bool have_namespace;

static int command(const char *const argument[])
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(126);
        execvp(argument[0], (char *const *)(uintptr_t)argument);
        _exit(127);
    }
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

#define RUN(...) command((const char *const[]){__VA_ARGS__, NULL})

static int begin(void **state)
{
    if (tests_begin(state) != 0) return -1;
    have_namespace = unshare(CLONE_NEWNET) == 0 && RUN("ip", "link", "set", "lo", "up") == 0 &&
                     RUN("ip", "link", "add", "rl0", "type", "veth", "peer", "name", "rl1") == 0 &&
                     RUN("ip", "addr", "add", LEFT "/24", "dev", "rl0") == 0 &&
                     RUN("ip", "addr", "add", RIGHT "/24", "dev", "rl1") == 0 &&
                     RUN("ip", "link", "set", "rl0", "up") == 0 && RUN("ip", "link", "set", "rl1", "up") == 0;
    if (!have_namespace) print_message("skipped: no right to make a network namespace\n");
    return 0;
}

static void mac_of(const char *ifname, uint8_t mac[6])
{
    struct ifreq request = {0};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    memcpy(request.ifr_name, ifname, strlen(ifname));
    assert_int_equal(ioctl(fd, SIOCGIFHWADDR, &request), 0);
    memcpy(mac, request.ifr_hwaddr.sa_data, 6);
    close(fd);
}

static struct test_end end_open(const char *ifname, const char *address, bool tag)
{
    struct test_end end = {.registry = test_join()};
    char why[200] = "";
    end.slot = registry_slot(end.registry);
    struct wire_config config = {.ifname = ifname,
                                 .slot = end.slot,
                                 .registry = end.registry,
                                 .port = 4791,
                                 .tag = tag,
                                 .vlan_id = 0,
                                 .why = why,
                                 .why_bytes = sizeof why};
    struct pkt_addr addr = test_addr(address);
    if (wire_packet_open(&config, &end.wire) != 0) fail_msg("%s", why);
    assert_int_equal(wire_add_address(end.wire, &addr), 0);
    return end;
}

/* Until a counter of the wire has grown; packets must not come up meanwhile. */
static void end_await(struct test_end *end, const uint64_t *counter, uint64_t at_least)
{
    struct wire_packet got[WIRE_BURST];
    for (int turn = 0; turn < TEST_TURNS && *counter < at_least; turn++) {
        assert_int_equal(wire_rx(end->wire, got, WIRE_BURST, test_now()), 0);
        struct pollfd ready = {.fd = wire_fd(end->wire), .events = POLLIN};
        poll(&ready, 1, 1);
    }
    assert_true(*counter >= at_least);
}

#define PATIENCE_TURNS 20 /* of 100 ms */

/* Sends until it is there: a kernel may drop a frame of a wire that has only just come up, and says so to nobody.  What
 * was sent twice has an earlier tag when it comes again, and is passed over. */
static void deliver(struct test_end *from, struct test_end *to, struct wire_packet *packet, uint32_t tag,
                    struct wire_packet got[WIRE_BURST])
{
    for (int turn = 0; turn < TEST_TURNS; turn++) {
        if (turn % PATIENCE_TURNS == 0) assert_int_equal(wire_tx(from->wire, packet, 1, test_now()), 1);
        int count = wire_rx(to->wire, got, WIRE_BURST, test_now());
        assert_true(count >= 0);
        if (count > 0 && test_tag(&got[count - 1]) == tag) {
            got[0] = got[count - 1];
            return;
        }
        struct pollfd ready = {.fd = wire_fd(to->wire), .events = POLLIN};
        if (wire_deadline(to->wire) == PS_NEVER) poll(&ready, 1, 100);
    }
    fail_msg("nothing arrived");
}

static void test_packet_wire(void **state)
{
    (void)state;
    if (!have_namespace) skip();
    uint8_t data[256], right_mac[6];
    struct test_end left = end_open("rl0", LEFT, false), right = end_open("rl1", RIGHT, false);
    struct test_end beside = end_open("rl1", RIGHT, false);
    struct wire_packet got[WIRE_BURST], packet;
    mac_of("rl1", right_mac);
    for (uint32_t tag = 0; tag < 40; tag++) {
        struct test_end *to = tag % 4 == 0 ? &beside : &right; /* QP1 is the older one's */
        uint32_t qpn = tag % 4 == 1 ? 1 : to->slot << REGISTRY_QPN_BITS;
        packet = test_packet(data, LEFT, RIGHT, 0xc001, qpn, tag, 64, 0);
        memcpy(packet.dmac, right_mac, 6);
        packet.tos = (uint8_t)(tag << 2);
        deliver(&left, to, &packet, tag, got);
        assert_true(got->unchecked); /* the wire has checked it */
        assert_int_equal(got->tos, packet.tos);
        assert_int_equal(got->sport, 0xc001);
        assert_memory_equal(got->dmac, right_mac, 6);
        assert_memory_equal(&got->src, &packet.src, 16);
    }
    packet = test_packet(data, LEFT, RIGHT, 0xc001, right.slot << REGISTRY_QPN_BITS, 1, 64, 0);
    memcpy(packet.dmac, right_mac, 6);
    data[20] ^= 4;
    assert_int_equal(wire_tx(left.wire, &packet, 1, test_now()), 1);
    end_await(&right, &right.wire->counters.rx_icrc_errors, 1);

    packet = test_packet(data, RIGHT, RIGHT, 0xc001, right.slot << REGISTRY_QPN_BITS, 5, 64, 0); /* to itself */
    assert_int_equal(wire_tx(right.wire, &packet, 1, test_now()), 1);
    assert_true(wire_deadline(right.wire) == 0);
    assert_int_equal(test_receive(&right, got, WIRE_BURST), 1);
    assert_int_equal(test_tag(got), 5);
    /* to another process of the same port: seen as outgoing */
    packet = test_packet(data, RIGHT, RIGHT, 0xc001, beside.slot << REGISTRY_QPN_BITS, 6, 64, 0);
    memcpy(packet.dmac, right_mac, 6);
    assert_int_equal(wire_tx(right.wire, &packet, 1, test_now()), 1);
    assert_int_equal(test_receive(&beside, got, WIRE_BURST), 1);
    assert_int_equal(test_tag(got), 6);
    test_end_close(&left);
    test_end_close(&right);
    test_end_close(&beside);
}

/* What a process sends to itself: a full queue makes it wait, what was handed up stays as it is until the next rx, and
 * the port is looked at meanwhile. */
static void test_to_itself(void **state)
{
    (void)state;
    if (!have_namespace) skip();
    uint8_t data[256], mac[6];
    struct test_end left = end_open("rl0", LEFT, false), right = end_open("rl1", RIGHT, false);
    struct wire_packet got[WIRE_BURST];
    uint32_t sent = 0, came = 0, outside = 0;
    mac_of("rl1", mac);
    for (int turn = 0; came < 1000; turn++) {
        assert_in_range(turn, 0, TEST_TURNS);
        int count = wire_rx(right.wire, got, WIRE_BURST, test_now());
        for (;; sent++) { /* the queue is never empty */
            struct wire_packet packet =
                test_packet(data, RIGHT, RIGHT, 0xc001, right.slot << REGISTRY_QPN_BITS, sent, 64, 0);
            if (wire_tx(right.wire, &packet, 1, test_now()) == 0) break;
        }
        assert_true(wire_deadline(right.wire) == 0);
        for (int i = 0; i < count; i++) {
            assert_true(test_packet_right(&got[i]));
            if (test_tag(&got[i]) == 0xffffff)
                outside++;
            else
                assert_int_equal(test_tag(&got[i]), came++);
        }
        struct wire_packet packet =
            test_packet(data, LEFT, RIGHT, 0xc001, right.slot << REGISTRY_QPN_BITS, 0xffffff, 64, 0);
        memcpy(packet.dmac, mac, 6);
        if (turn == 0) assert_int_equal(wire_tx(left.wire, &packet, 1, test_now()), 1);
    }
    assert_int_equal(outside, 1);
    assert_int_equal(right.wire->counters.rx_packets, came + outside);
    test_end_close(&left);
    test_end_close(&right);
}

static void make_v1(struct wire_packet *packet)
{
    packet->net = PKT_NET_V1;
    packet->sport = 0;
    store_le32(packet->data + packet->bytes - 4, icrc_detached(&packet->envelope, 0, packet->data, packet->bytes));
}

static void test_tag_and_v1(void **state)
{
    (void)state;
    if (!have_namespace) skip();
    uint8_t data[256], other_data[256], right_mac[6];
    struct test_end left = end_open("rl0", LEFT, true), right = end_open("rl1", RIGHT, true);
    struct wire_packet got[WIRE_BURST];
    mac_of("rl1", right_mac);
    for (uint8_t priority = 0; priority < 8; priority++) {
        struct wire_packet packet = test_packet(data, LEFT, RIGHT, 0xc001, right.slot << 14, priority, 64, 0);
        memcpy(packet.dmac, right_mac, 6);
        packet.pcp = priority;
        assert_int_equal(wire_tx(left.wire, &packet, 1, test_now()), 1);
        assert_int_equal(test_receive(&right, got, WIRE_BURST), 1);
        assert_int_equal(got->pcp, priority);
    }
    /* RoCEv1: the GID holds the MAC, nobody is asked for it; and one of an IPv4 address */
    char gid[64];
    snprintf(gid, sizeof gid, "fe80::%02x%02x:%02xff:fe%02x:%02x%02x", right_mac[0] ^ 2, right_mac[1], right_mac[2],
             right_mac[3], right_mac[4], right_mac[5]);
    struct wire_packet packet = test_packet(data, "fe80::1", gid, 0, right.slot << 14, 99, 64, 0);
    struct pkt_addr local = test_addr(gid);
    char prefix[80];
    snprintf(prefix, sizeof prefix, "%s/64", gid);
    RUN("ip", "addr", "del", prefix, "dev", "rl1"); /* the kernel's own may still be tentative */
    assert_int_equal(RUN("ip", "addr", "add", prefix, "dev", "rl1", "nodad"), 0);
    make_v1(&packet);
    assert_int_equal(wire_tx(left.wire, &packet, 1, test_now()), 1); /* not an address of ours yet: left lying */
    struct wire_packet other = test_packet(other_data, LEFT, RIGHT, 0, right.slot << 14, 100, 64, 0);
    make_v1(&other);
    memcpy(other.dmac, right_mac, 6);
    assert_int_equal(wire_tx(left.wire, &other, 1, test_now()), 1);
    assert_int_equal(test_receive(&right, got, WIRE_BURST), 1);
    assert_int_equal(test_tag(got), 100);
    assert_int_equal(got->net, PKT_NET_V1);
    assert_int_equal(wire_add_address(right.wire, &local), 0);
    assert_int_equal(wire_tx(left.wire, &packet, 1, test_now()), 1);
    assert_int_equal(test_receive(&right, got, WIRE_BURST), 1);
    assert_int_equal(test_tag(got), 99);
    assert_int_equal(got->net, PKT_NET_V1);
    test_end_close(&left);
    test_end_close(&right);
}

/* Pause frames come up in order with packets, whatever they say, and go out: what to make of them is the adapter's. */
static void test_pfc(void **state)
{
    (void)state;
    if (!have_namespace) skip();
    uint8_t data[256], frame[60] = {0}, left_mac[6], right_mac[6];
    struct test_end left = end_open("rl0", LEFT, false), right = end_open("rl1", RIGHT, false);
    struct wire_pause pause = {.enable = 1 << 3, .quanta = {[3] = 0xffff}};
    struct wire_packet pfc = {.pause = &pause}, got[WIRE_BURST];
    struct wire_packet packet = test_packet(data, RIGHT, LEFT, 0xc001, left.slot << REGISTRY_QPN_BITS, 1, 64, 0);
    struct pkt all = {.kind = PKT_PAUSE, .quanta = {7}};
    struct pkt_cold cold = {.dmac = {0x01, 0x80, 0xc2, 0, 0, 1}};
    mac_of("rl0", left_mac);
    mac_of("rl1", right_mac);
    memcpy(packet.dmac, left_mac, 6);
    assert_true(left.wire->port);

    assert_int_equal(wire_tx(right.wire, &pfc, 1, test_now()), 1);
    assert_int_equal(test_receive(&left, got, WIRE_BURST), 1);
    assert_non_null(got->pause);
    assert_int_equal(got->pause->enable, 1 << 3);
    assert_int_equal(got->pause->quanta[3], 0xffff);
    assert_memory_equal(got->smac, right_mac, 6);
    assert_int_equal(wire_tx(right.wire, &packet, 1, test_now()), 1);
    assert_int_equal(test_receive(&left, got, WIRE_BURST), 1);
    assert_null(got->pause);
    packet.dst = test_addr(RIGHT); /* a pause holds up nothing here */
    packet.src = test_addr(LEFT);
    packet.tos = 3 << 5;
    memcpy(packet.dmac, right_mac, 6);
    assert_int_equal(wire_tx(left.wire, &packet, 1, test_now()), 1);

    /* 802.3x names every priority */
    memcpy(cold.smac, right_mac, 6);
    assert_true(codec_emit(&all, &cold, NULL, frame, sizeof frame) > 0);
    int fd = socket(AF_PACKET, SOCK_RAW, 0);
    struct sockaddr_ll name = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("rl1")};
    assert_int_equal(sendto(fd, frame, sizeof frame, 0, (struct sockaddr *)&name, sizeof name), sizeof frame);
    assert_int_equal(test_receive(&left, got, WIRE_BURST), 1);
    assert_int_equal(got->pause->enable, 0xff);
    for (unsigned p = 0; p < 8; p++)
        assert_int_equal(got->pause->quanta[p], 7);
    assert_int_equal(left.wire->counters.rx_pauses, 2);
    assert_int_equal(left.wire->counters.rx_packets, 1);
    assert_int_equal(right.wire->counters.tx_pauses, 1);
    close(fd);
    test_end_close(&left);
    test_end_close(&right);
}

static void until_usable(struct device *live, struct device_cq *cq, unsigned index, bool usable)
{
    const struct device_info *device = device_info_of(live);
    struct nic_cqe cqe;
    for (int turn = 0; turn < TEST_TURNS; turn++) {
        if (index < device->gids && device->gid[index].usable == usable) return;
        assert_int_equal(device_poll(cq, &cqe, 1), 0);
        poll(NULL, 0, 1);
    }
    fail_msg("GID %u is not %s", index, usable ? "there" : "gone");
}

/* Without a thread polls see addresses come and go, and tell. */
static void test_polls_see_addresses(void **state)
{
    (void)state;
    if (!have_namespace) skip();
    struct device_info *found;
    struct device *live;
    struct device_watch *watch;
    struct device_cq *cq;
    unsigned count;
    char why[200];
    setenv("ROCELAB_DEVICE", "rl0", 1);
    setenv("ROCELAB_THREAD", "off", 1);
    setenv("ROCELAB_WIRE", "udp", 1);
    assert_int_equal(device_list(&found, &count), 0);
    assert_int_equal(count, 1);
    unsigned index = found->gids; /* the next */
    if (device_open(found, &live, why, sizeof why) != 0) fail_msg("%s", why);
    free(found);
    assert_int_equal(device_watch_create(live, &watch), 0);
    assert_int_equal(device_cq_create(live, 8, NULL, NULL, &cq), 0);
    for (int turn = 0; turn < 2; turn++) {
        struct device_event event = {.kind = DEVICE_EVENT_CQ_ERROR};
        assert_int_equal(RUN("ip", "addr", turn ? "del" : "add", "10.72.1.1/24", "dev", "rl0"), 0);
        until_usable(live, cq, index, turn == 0);
        assert_int_equal(device_watch_wait(watch, &event), 0);
        assert_int_equal(event.kind, DEVICE_EVENT_GID_CHANGE);
    }
    assert_int_equal(device_cq_destroy(cq), 0);
    device_watch_destroy(watch);
    device_close(live);
    unsetenv("ROCELAB_WIRE");
    unsetenv("ROCELAB_THREAD");
}

static void test_address_removed(void **state)
{
    (void)state;
    if (!have_namespace) skip();
    struct test_end end = {.registry = test_join()};
    struct wire_packet got[WIRE_BURST];
    end.slot = registry_slot(end.registry);
    struct wire_config config = {.ifname = "rl0", .slot = end.slot, .registry = end.registry, .port = 4791};
    struct pkt_addr addr = test_addr("10.72.0.9");
    assert_int_equal(wire_udp_open(&config, &end.wire), 0);
    assert_int_equal(wire_add_address(end.wire, &addr), -EADDRNOTAVAIL);
    assert_int_equal(RUN("ip", "addr", "add", "10.72.0.9/24", "dev", "rl0"), 0);
    assert_int_equal(wire_add_address(end.wire, &addr), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(wire_rx(end.wire, got, WIRE_BURST, test_now()), 0);
    assert_int_equal(RUN("ip", "addr", "del", "10.72.0.9/24", "dev", "rl0"), 0);
    int rc = 0;
    for (int i = 0; i < 1000 && rc == 0; i++)
        rc = wire_rx(end.wire, got, WIRE_BURST, test_now());
    assert_int_equal(rc, -EADDRNOTAVAIL);
    assert_non_null(strstr(wire_why(end.wire), "lost its address"));
    assert_int_equal(RUN("ip", "addr", "add", "10.72.0.9/24", "dev", "rl0"), 0);
    for (int i = 0; i < 1000; i++)
        rc = wire_rx(end.wire, got, WIRE_BURST, test_now());
    assert_int_equal(rc, 0);
    uint8_t data[64];
    struct wire_packet packet =
        test_packet(data, "10.72.0.9", "10.72.0.9", end.wire->source_port[0], end.slot << 14, 3, 8, 0);
    assert_int_equal(wire_tx(end.wire, &packet, 1, test_now()), 1);
    assert_int_equal(test_receive(&end, got, WIRE_BURST), 1);
    assert_memory_equal(&got->src, &packet.src, 16); /* though it is the second of its network */
    test_end_close(&end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packet_wire),     cmocka_unit_test(test_to_itself),
        cmocka_unit_test(test_tag_and_v1),      cmocka_unit_test(test_pfc),
        cmocka_unit_test(test_address_removed), cmocka_unit_test(test_polls_see_addresses),
    };
    return cmocka_run_group_tests(tests, begin, tests_done);
}
