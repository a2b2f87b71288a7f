/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet costs the adapters: one RC WRITE flow, 1000 bytes a packet, an ACK for each.  Not a test; prints
 * nanoseconds for four calls: nic_tx of data, nic_rx of it, nic_tx of the ACK, nic_rx of that.
 * Arguments: congestion control, packets, QPs (which take turns).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/check.h"
#include "base/time.h"
#include "nic/pair.h"

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct pair pair;

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "dcqcn/connectx";
    uint64_t packets = argc > 2 ? strtoull(argv[2], NULL, 0) : 10000000;
    uint32_t qps = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 0) : 1;
    struct pair_end *end = calloc(2 * qps, sizeof(*end));
    struct nic_config config[2];
    struct cc_config cc;

    CHECK(end != NULL && cc_preset(name, &cc) == 0);
    for (uint32_t s = 0; s < 2; s++) {
        config[s] = nic_config_default(100 * 1000000000ULL, s + 10);
        config[s].max_qps = qps;
        config[s].any_key = true;
        config[s].telemetry = cc_needs(&cc)->telemetry;
    }
    pair_init(&pair, config, 1);
    struct nic_qp_config qp = pair_qp_config();
    qp.mtu = 1000;
    qp.ack_every = 1;
    qp.timeout = 14;
    qp.cc = &cc;
    for (uint32_t i = 0; i < qps; i++)
        pair_connect(&pair, &qp, &end[2 * i]);
    for (uint32_t i = 0; i < qps; i++)
        for (int k = 0; k < 2; k++)
            pair_send(&pair, 0, &end[2 * i],
                      (struct nic_wr){.verb = NIC_WRITE, .length = 4000000, .flags = NIC_SIGNALED});
    uint64_t begin = now_ns(), sent = 0, acks = 0;
    ps_t now = 0;
    uint64_t tick = 0;
    while (sent < packets) {
        struct nic_io *a = &pair.io[0], *b = &pair.io[1];
        pkt_t id = nic_tx(pair.nic[0], now, a);
        now += 85 * PS_NS;
        if (id == PKT_NONE) {
            CHECK(a->deadline != PS_NEVER);
            if (a->deadline > now) now = a->deadline;
            nic_tick(pair.nic[0], now, a);
            tick++;
            continue;
        }
        sent++;
        nic_rx(pair.nic[1], id, now, b);
        pkt_t ack = nic_tx(pair.nic[1], now, b);
        if (ack != PKT_NONE) {
            acks++;
            nic_rx(pair.nic[0], ack, now, a);
        }
        if (a->completed) {
            a->completed = false;
            for (uint32_t i = 0; i < qps; i++)
                while (nic_cq_poll(&end[2 * i].send_cq))
                    pair_send(&pair, 0, &end[2 * i],
                              (struct nic_wr){.verb = NIC_WRITE, .length = 4000000, .flags = NIC_SIGNALED});
        }
    }
    uint64_t spent = now_ns() - begin;
    printf("%s, %u QPs: %llu packets, %llu ACKs, %.1f ns a packet with its ACK (%llu ticks)\n", name, qps,
           (unsigned long long)sent, (unsigned long long)acks, (double)spent / (double)sent, (unsigned long long)tick);
    return 0;
}
