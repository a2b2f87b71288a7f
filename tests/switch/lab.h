/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch on a bench: packets, ports, routes and a clock for the tests of src/switch.
 *
 * lab_defaults() describes a plain switch (all ports alike, class = DSCP >> 3 = queue = group, class 3 lossless,
 * endpoint i behind port i); the test changes what it is about; lab_start() builds it.
 */
#ifndef ROCELAB_TESTS_SWITCH_LAB_H
#define ROCELAB_TESTS_SWITCH_LAB_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "switch/switch.h"

#define LAB_PORTS 128
#define LAB_PACKETS 32768
#define LAB_RATE 100000000000ULL
#define LAB_QUANTUM 5120ULL /* ps of 512 bits at LAB_RATE */
#define LAB_FAR 1u          /* the edge behind the group of LAB_FAR_ENDPOINT */
#define LAB_FAR_ENDPOINT LAB_PORTS

struct lab {
    struct sw_config config;
    struct sw_port_config plain; /* of every port, unless the test points port_of elsewhere */
    const struct sw_port_config *port_of[LAB_PORTS];
    uint64_t rate_bps[LAB_PORTS];
    struct sw_routes routes;
    uint32_t edge_of[LAB_PORTS + 1];
    uint16_t local_port[LAB_PORTS + 1];
    uint16_t group_of[2];
    struct sw_group group[1];
    uint16_t member[64]; /* of the group; the test fills it */
    struct pktpool pool;
    struct sw_io io;
    struct sw *sw;
    ps_t now;
};

void lab_defaults(struct lab *lab, uint16_t ports);
void lab_start(struct lab *lab);
/* The books balance, and no packet is lost or in two places: what is alive is what is queued. */
void lab_audit(const struct lab *lab, uint32_t in_hand);
void lab_stop(struct lab *lab);

/* An ECT(0) packet for `dst` in class `tc`. */
pkt_t lab_packet(struct lab *lab, uint32_t dst, uint8_t tc, uint16_t frame_bytes);
static inline struct pkt *lab_pkt(struct lab *lab, pkt_t id)
{
    return &lab->pool.hot[id];
}
/* Into port `in`, for endpoint `dst`; pauses and kicks of this call alone are in lab->io afterwards. */
uint16_t lab_rx(struct lab *lab, uint16_t in, uint32_t dst, uint8_t tc, uint16_t frame_bytes);
uint16_t lab_rx_id(struct lab *lab, uint16_t in, pkt_t id);
/* The packet is given back; its class, or -1. */
int lab_tx(struct lab *lab, uint16_t port);
pkt_t lab_tx_id(struct lab *lab, uint16_t port); /* the test gives it back */
void lab_pause(struct lab *lab, uint16_t port, uint8_t enable, uint16_t quanta);
void lab_tick(struct lab *lab, ps_t at);
/* Ticks at each deadline up to and including `until`, and stands there. */
void lab_run(struct lab *lab, ps_t until);
void lab_port(struct lab *lab, uint16_t port, bool up);
void lab_clear(struct lab *lab);

static inline const struct sw_port_counters *lab_count(const struct lab *lab, uint16_t port)
{
    return sw_port_counters(lab->sw, port);
}

#endif
