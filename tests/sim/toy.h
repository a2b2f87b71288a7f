/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Toy machines and a toy fat tree, to test and time the engine without switches and adapters.
 *
 * A toy host sends packets to one other host as fast as its port takes them, within a window, and answers each with
 * a short one.  A toy switch has a FIFO a port, a share of packets it forgets, and pauses the port a packet came
 * from when the packet's queue is long.  Both exercise everything the engine offers: ticks, pauses, drops.
 */
#ifndef ROCELAB_TESTS_SIM_TOY_H
#define ROCELAB_TESTS_SIM_TOY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

struct toy_config {
    uint32_t k; /* of the fat tree: k^3/4 hosts */
    uint32_t packets;
    uint32_t window;   /* packets unanswered */
    uint32_t payload;  /* bytes */
    uint32_t pause_at; /* queue length in packets; 0: never */
    uint32_t incast;   /* > 1: so many hosts send to each receiver */
    ps_t start_gap;    /* host h starts at h * start_gap */
    uint64_t rate_bps;
    ps_t host_link, fabric_link, core_link; /* propagation */
    ps_t latency;
    uint32_t loss_ppm;
    uint32_t threads;
    uint32_t tiling; /* 0: pods, 1: no tiles, 2: a tile a node, 3: all in one */
    uint64_t seed;
};

struct toy;

struct toy *toy_create(const struct toy_config *config);
void toy_free(struct toy *toy);
enum engine_state toy_run(struct toy *toy, uint64_t windows, ps_t until);
struct engine_totals toy_totals(const struct toy *toy);
uint64_t toy_delivered(const struct toy *toy); /* packets answered, at all senders */
uint64_t toy_queued(const struct toy *toy);    /* packets in switches */
uint64_t toy_pauses(const struct toy *toy);
uint32_t toy_hosts(const struct toy *toy);

#endif
