/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long transfers through socket buffers as Linux is shipped (net.core.rmem_max 212,992), and what joining and leaving
 * a multicast group leaves behind.
 */
#include <dirent.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "loop_pair.h"
#include "torture_alone.h"

#define STOCK_BYTES 106496 /* the kernel doubles it: 212,992 */
#define MEGABYTE (1u << 20)

static unsigned entries(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");

    while (dir && readdir(dir))
        count++;
    if (dir) closedir(dir);
    return count;
}

/* Every socket that receives for us. */
static unsigned shrink(uint16_t port)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_in6 name; /* the port is at the same place in both families */
        socklen_t bytes = sizeof name;
        int room = STOCK_BYTES;
        if (getsockname(fd, (struct sockaddr *)&name, &bytes) < 0 || ntohs(name.sin6_port) != port) continue;
        if (name.sin6_family != AF_INET && name.sin6_family != AF_INET6) continue;
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
        count++;
    }
    return count;
}

static void transfer(uint16_t mtu, uint8_t verb)
{
    char folder[ALONE_FOLDER];
    uint16_t port = alone_begin(folder);
    struct loop_pair pair;

    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .mtu = mtu});
    assert_true(shrink(port) >= 2);
    for (uint32_t i = 0; i < 10; i++) {
        bool reads = verb == NIC_READ;
        struct loop_end *from = &pair.end[reads], *to = &pair.end[!reads];
        pair_fill(from, 0, MEGABYTE, i);
        memset(to->memory + 2 * MEGABYTE, 0, MEGABYTE);
        struct nic_wr wr = {.wr_id = i, .verb = verb};
        assert_int_equal(pair_send(&pair, 0, wr, reads ? 2 * MEGABYTE : 0, MEGABYTE, reads ? 0 : 2 * MEGABYTE), 0);
        assert_int_equal(pair_wait(&pair, 0).status, NIC_SUCCESS);
        assert_true(pair_filled(to, 2 * MEGABYTE, MEGABYTE, i));
    }
    unsigned long long lost = 0, again = 0, timeouts = 0;
    for (int e = 0; e < 2; e++) {
        const struct nic_counters *c = live_counters(pair.end[e].live);
        lost += live_wire_counters(pair.end[e].live)->rx_overflow;
        again += c->implied_nak_seq_err + c->packet_seq_err;
        timeouts += c->local_ack_timeout_err;
    }
    print_message("10 %s of 1 MB, MTU %u: %llu packets found no room, asked again %llu times, %llu timeouts\n",
                  verb == NIC_READ ? "READs" : "WRITEs", mtu, lost, again, timeouts);
    pair_close(&pair);
    alone_end(folder);
}

static void test_stock_buffers(void **state)
{
    (void)state;
    transfer(1024, NIC_WRITE);
    transfer(4096, NIC_WRITE);
    transfer(1024, NIC_READ);
    transfer(4096, NIC_READ);
}

static void test_multicast_leave(void **state)
{
    char folder[ALONE_FOLDER];
    struct loop_pair pair;
    struct pkt_addr group = {{[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 7, [14] = 8, [15] = 9}};

    (void)state;
    alone_begin(folder);
    pair_open(&pair, &(struct loop_options){.transport = NIC_UD, .mtu = 1024});
    unsigned before = entries();
    for (int round = 0; round < 3; round++) {
        assert_int_equal(device_multicast(pair.end[0].qp, &group, true), 0);
        assert_int_equal(entries(), before + 1);
        assert_int_equal(device_multicast(pair.end[0].qp, &group, false), 0);
        assert_int_equal(entries(), before);
    }
    assert_true(device_multicast(pair.end[0].qp, &group, false) < 0);
    assert_int_equal(device_multicast(pair.end[0].qp, &group, true), 0);
    pair_close(&pair); /* a queue pair that goes leaves its groups */
    alone_end(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stock_buffers),
        cmocka_unit_test(test_multicast_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
