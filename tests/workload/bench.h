/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network that is nothing but a delay, for the workload's tests: every post is completed and delivered, in order, a
 * while later.
 */
#ifndef ROCELAB_TESTS_WORKLOAD_BENCH_H
#define ROCELAB_TESTS_WORKLOAD_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/heap.h"
#include "workload/workload.h"

#define DELAY (3 * PS_US)
#define SYNC (2 * PS_US)
#define HEAD                                                                                                           \
    "rocelab: 1\nfabric: work\n"                                                                                       \
    "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n"                                       \
    "switches: {model: generic}\n"                                                                                     \
    "classes: [{name: rdma, dscp: 26, priority: 3, lossless: true}, {name: default, priority: 0}]\n"                   \
    "nics: {mtu: 1024}\n"
#define SINGLE(hosts) HEAD "topology: {single: {hosts: " hosts "}}\njobs:\n"
#define RAIL HEAD "topology: {rail: {hosts: 4, gpus: 4, leaves: 4, spines: 2}}\njobs:\n"

struct bench {
    struct fabric *fabric;
    struct workload *workload;
    struct heap heap;
    struct heap_item *item;
    struct app_post *post; /* [sequence] what was posted */
    uint64_t posts, capacity;
    uint64_t *sent_to;                   /* bytes of data, [src * endpoints + dst] */
    uint64_t clears;                     /* posts that clear senders */
    uint64_t *under_way, most_under_way; /* data messages, [dst] */
    ps_t now;
};

struct bench bench_of(const char *text, uint64_t seed);
struct bench bench_with(const char *text, const struct workload_options *options);
void bench_free(struct bench *bench);
/* Runs to the end; answers whether all jobs ended. */
bool bench_run(struct bench *bench);
uint64_t bench_sent(const struct bench *bench, uint32_t src, uint32_t dst);
uint64_t bench_total(const struct bench *bench);

#endif
