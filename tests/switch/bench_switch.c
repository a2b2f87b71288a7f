/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet costs in the switch: sw_rx and sw_tx of a 32-port switch with random traffic, nothing else.
 *
 *     bench_switch [packets]
 *
 * Prints ns a packet for each depth of queue.  Not a test: nothing here can fail but the books.  Instructions:
 *     valgrind --tool=callgrind --toggle-collect=bench_loop ./bench_switch 200000
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/check.h"
#include "lab.h"

#define PORTS 32
#define ARRIVALS 8192 /* drawn beforehand */

struct arrival {
    uint16_t in, dst, sport;
};

static struct lab lab;
static struct arrival arrival[ARRIVALS];

static void setup(bool uplinks)
{
    lab_defaults(&lab, PORTS);
    lab.plain.dscp_to_tc[26] = 3;
    lab.plain.pg[3].alpha_num = 8;
    lab.plain.queue[3].ecn =
        (struct sw_ecn){.on = true, .min_bytes = 500000, .max_bytes = 1500000, .probability_ppm = 100000};
    lab.plain.queue[6].strict = true;
    lab.config.cell_bytes = 254;
    lab.config.buffer_bytes = 64000000;
    if (uplinks) { /* half the traffic leaves by a group of 16, as on a leaf */
        lab.group_of[1] = 0;
        lab.group[0] = (struct sw_group){.first = 0, .count = 16};
        for (uint16_t i = 0; i < 16; i++)
            lab.member[i] = (uint16_t)(16 + i);
    }
    lab_start(&lab);
    struct rng rng;
    rng_init(&rng, 1, 0);
    for (uint32_t i = 0; i < ARRIVALS; i++) {
        arrival[i].in = (uint16_t)rng_below(&rng, PORTS);
        arrival[i].dst = uplinks && arrival[i].in < 16 ? LAB_FAR_ENDPOINT : (uint16_t)rng_below(&rng, PORTS);
        arrival[i].sport = (uint16_t)rng_u32(&rng);
    }
}

/* One packet in, one out of the port it went to; `depth` packets a queue are there all the time. */
__attribute__((noinline)) static uint64_t bench_loop(uint64_t packets)
{
    uint64_t sent = 0;
    for (uint64_t i = 0; i < packets; i++) {
        const struct arrival *a = &arrival[i % ARRIVALS];
        pkt_t id = pktpool_get(&lab.pool);
        struct pkt *pkt = &lab.pool.hot[id];
        pkt->net = PKT_NET_IPV4;
        pkt->tos = 26 << 2 | PKT_ECN_ECT0;
        pkt->ttl = 64;
        pkt->frame_bytes = 1066;
        pkt->src_node = a->in;
        pkt->dst_node = a->dst;
        pkt->sport = a->sport;
        uint16_t out = sw_rx(lab.sw, a->in, id, i * 1000, &lab.io);
        CHECK(out != SW_DROPPED);
        pkt_t gone = sw_tx(lab.sw, out, i * 1000, &lab.io);
        CHECK(gone != PKT_NONE);
        pktpool_put(&lab.pool, gone);
        sent++;
    }
    return sent;
}

static void bench(const char *name, bool uplinks, uint32_t depth, uint64_t packets)
{
    setup(uplinks);
    for (uint32_t i = 0; i < depth * PORTS; i++)
        lab_rx(&lab, (uint16_t)(i / PORTS % PORTS), i % PORTS, 3, 1066);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    uint64_t sent = bench_loop(packets);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    uint64_t marked = 0, pauses = 0;
    for (uint16_t port = 0; port < PORTS; port++) {
        marked += lab_count(&lab, port)->prio[3].ecn_marked;
        pauses += lab_count(&lab, port)->tx_pfc_frames;
    }
    printf("%-34s %6.1f ns a packet (%llu packets, %llu marked, %llu pause frames)\n", name, ns / (double)sent,
           (unsigned long long)sent, (unsigned long long)marked, (unsigned long long)pauses);
    for (uint16_t port = 0; port < PORTS; port++)
        while (lab_tx(&lab, port) >= 0)
            continue;
    lab_stop(&lab);
}

int main(int argc, char **argv)
{
    uint64_t packets = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000000;
    bench("uncongested, local", false, 0, packets);
    bench("uncongested, ECMP over 16", true, 0, packets);
    bench("64 packets a queue", true, 64, packets);
    bench("800 packets a queue, marking", true, 800, packets);
    return 0;
}
