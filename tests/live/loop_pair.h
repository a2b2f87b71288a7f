/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two adapters in one process, both on the loopback, with a connected queue pair each; for tests of the loop.
 */
#ifndef ROCELAB_TESTS_LIVE_LOOP_PAIR_H
#define ROCELAB_TESTS_LIVE_LOOP_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "live/live.h"

struct loop_end {
    struct device *live;
    struct device_cq *cq;
    struct device_cq *recv_cq; /* the same, unless two were asked for */
    struct device_channel *channel;
    struct device_qp *qp;
    struct device_srq *srq;
    struct device_mr *mr;
    uint8_t *memory;
    uint64_t bytes;
    uint32_t pd;
    uint32_t path; /* to the other end (UD) */
};

struct loop_pair {
    struct loop_end end[2];
    uint16_t mtu;
    uint8_t transport, timeout;
    uint32_t psn; /* added to where connections begin: what is still under way of an earlier one is none of the next */
};

#define LOOP_PATIENT 17 /* eight times half a second: a machine may be busy with something else */

struct loop_options {
    uint8_t transport;
    uint16_t mtu;
    bool srq, events;
    bool two_queues;         /* a completion queue for receives */
    uint64_t bytes;          /* of each end's memory */
    const char *ifname;      /* NULL: the loopback */
    const char *far_ifname;  /* of the second end; NULL: the same */
    void (*enter)(int end);  /* called before an end is opened; NULL: nothing */
    const char *recovery[2]; /* ROCELAB_RECOVERY of each; NULL: as it is */
    uint8_t timeout;         /* 4.096 us * 2^n; 0: LOOP_PATIENT */
};

void pair_open(struct loop_pair *pair, const struct loop_options *options);
void pair_close(struct loop_pair *pair);
/* A further queue pair at each end (RC, the same completion queue), connected, in this traffic class. */
void pair_more(struct loop_pair *pair, uint8_t tos, struct device_qp *ret[2]);
/* Moves a queue pair to RTS, connected to the other end's. */
void pair_connect(struct loop_pair *pair, int end);

/* One SGE in the end's own memory. */
struct device_sge pair_sge(const struct loop_end *end, uint64_t offset, uint32_t bytes);
int pair_recv(struct loop_end *end, uint64_t wr_id, uint64_t offset, uint32_t bytes);
/* Posts with one SGE; remote_offset is in the other end's memory. */
int pair_send(struct loop_pair *pair, int from, struct nic_wr wr, uint64_t offset, uint32_t bytes,
              uint64_t remote_offset);
/* Polls until `end` has a completion (the other end lives by its thread); fails the test after many polls in vain. */
struct nic_cqe pair_wait(struct loop_pair *pair, int end);
/* Polls both ends for a while; answers how many completions came (they are lost). */
unsigned pair_idle(struct loop_pair *pair, unsigned polls);
void pair_fill(struct loop_end *end, uint64_t offset, uint64_t bytes, uint32_t seed);
bool pair_filled(const struct loop_end *end, uint64_t offset, uint64_t bytes, uint32_t seed);

#endif
