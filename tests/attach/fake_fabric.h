/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric in the memory of a test: it stands where the preloaded library would, answers a handful of requests, keeps
 * what was asked and posted, and completes what the test tells it to.
 */
#ifndef ROCELAB_TESTS_ATTACH_FAKE_FABRIC_H
#define ROCELAB_TESTS_ATTACH_FAKE_FABRIC_H

#include "attach/session.h"

#define FAKE_POSTS 64u
#define FAKE_QUEUES 16u
#define FAKE_RECORD 2048u

struct fake {
    struct attach_head *head;
    uint64_t used; /* of the segment */
    /* what was asked */
    struct attach_request last[ATTACH_OPS]; /* as it came, the last of each */
    unsigned asked[ATTACH_OPS];
    int fd[ATTACH_OPS]; /* that came with it */
    /* what was posted */
    unsigned posts;
    _Alignas(64) uint8_t post[FAKE_POSTS][FAKE_RECORD];
    /* how the adapter is */
    struct attach_qp_state qp; /* answered to QP_STATE, whoever is asked for */
    struct attach_srq srq;
    struct attach_ring *cq[FAKE_QUEUES], *channel[FAKE_QUEUES]; /* by number */
    uint32_t cq_entries[FAKE_QUEUES];
    uint32_t objects; /* numbers given */
    /* what was called */
    unsigned charges, found, empty, adopted;
    uint64_t charged;
    int depth; /* of enter */
    bool gone;
    uint64_t ring_at; /* not 0: where the next ring is said to be, and how long */
    uint32_t ring_entries;
    void (*on_empty)(void); /* a poll found nothing: the fabric goes on */
};
extern struct fake fake;

void fake_begin(void); /* attached, two adapters */
void fake_end(void);
const struct attach_post *fake_post(unsigned number);
void fake_complete(uint32_t cq, const struct nic_cqe *cqe);
void fake_event(uint32_t nic, const struct attach_event *event); /* and rings for the last that watches */
void fake_channel_event(uint32_t channel, uint32_t cq);

#endif
