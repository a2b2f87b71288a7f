/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a capture: what is open is closed, what is left is paired, connections are put in
 * order, the verdict is written; and the functions that read the result.
 */
#include <stdlib.h>

#include "base/check.h"
#include "capture/capture_int.h"

/* The direction that sent the first request; without requests, the one seen first. */
static uint32_t forward_of(const struct capture *capture, uint32_t node)
{
    const struct direction *a = &capture->direction[node];
    if (a->peer == NONE) return node;
    const struct direction *b = &capture->direction[a->peer];
    uint64_t a_first = a->view.first_request_packet, b_first = b->view.first_request_packet;
    if (!a_first && !b_first) {
        a_first = a->view.first_packet;
        b_first = b->view.first_packet;
    }
    return a_first && (!b_first || a_first <= b_first) ? node : a->peer;
}

struct order_item {
    uint64_t first_packet;
    uint32_t index;
};

static int order_compare(const void *left, const void *right)
{
    const struct order_item *a = left, *b = right;
    return (a->first_packet > b->first_packet) - (a->first_packet < b->first_packet);
}

static void order_connections(struct capture *capture)
{
    struct order_item *item = calloc(capture->live_connections + 1u, sizeof *item);
    for (uint32_t node = capture->lru_oldest; node != NONE; node = capture->lru[node].prev) {
        const struct direction *direction = &capture->direction[node];
        uint64_t first = direction->view.first_packet;
        if (direction->peer != NONE && capture->direction[direction->peer].view.first_packet < first)
            first = capture->direction[direction->peer].view.first_packet;
        uint32_t forward = forward_of(capture, node);
        capture->order[capture->order_count] = forward;
        if (item) item[capture->order_count] = (struct order_item){first, forward};
        capture->order_count++;
    }
    CHECK(capture->order_count == capture->live_connections);
    if (!item) return; /* no memory to sort: in order of last packet then */
    qsort(item, capture->order_count, sizeof *item, order_compare);
    for (uint32_t i = 0; i < capture->order_count; i++)
        capture->order[i] = item[i].index;
    free(item);
}

static void direction_finish(struct capture *capture, struct direction *direction)
{
    cap_bins_flush(capture, direction);
    cap_request_finish(capture, direction);
    direction->view.ack_latency = direction->ack_histo;
    direction->view.latency_one_in = 1u << direction->ring_shift;
}

void capture_finish(struct capture *capture)
{
    CHECK(!capture->finished);
    cap_packet_flush(capture);
    for (uint32_t node = capture->lru_newest; node != NONE; node = capture->lru[node].next) {
        direction_finish(capture, &capture->direction[node]);
        if (capture->direction[node].peer != NONE)
            direction_finish(capture, &capture->direction[capture->direction[node].peer]);
    }
    cap_pause_finish(capture);
    cap_pair_leftovers(capture);
    order_connections(capture);
    for (uint32_t i = 0; i < capture->order_count; i++) {
        struct direction *forward = &capture->direction[capture->order[i]], *reverse = direction_peer(capture, forward);
        cap_request_settle(capture, forward);
        if (reverse) cap_request_settle(capture, reverse);
    }
    capture->finished = true;
    cap_verdict_write(capture);
}

size_t capture_connections(const struct capture *capture)
{
    return capture->order_count;
}

struct capture_connection capture_connection(const struct capture *capture, size_t index)
{
    CHECK(index < capture->order_count);
    const struct direction *forward = &capture->direction[capture->order[index]];
    return (struct capture_connection){
        .forward = &forward->view,
        .reverse = forward->peer == NONE ? NULL : &capture->direction[forward->peer].view,
        .cm = forward->flags & DIR_CM,
    };
}

size_t capture_cms(const struct capture *capture)
{
    return capture->cm_count;
}

const struct capture_cm *capture_cm(const struct capture *capture, size_t index)
{
    CHECK(index < capture->cm_count);
    /* once entries are replaced, the oldest is where the next one will go */
    return &capture->cm[(capture->cm_evict + index) % capture->cm_count].view;
}

size_t capture_pauses(const struct capture *capture)
{
    return capture->pause_order_count;
}

const struct capture_pause *capture_pause(const struct capture *capture, size_t index)
{
    CHECK(index < capture->pause_order_count);
    return capture->pause_order[index];
}

size_t capture_findings(const struct capture *capture)
{
    return capture->findings;
}

const struct capture_finding *capture_finding(const struct capture *capture, size_t index)
{
    CHECK(index < capture->findings);
    return &capture->finding[index];
}
