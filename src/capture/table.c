/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of directions: found by hash, held within the bound, dropped least recently seen first.
 *
 * Heads, chain links with their hashes and LRU links are small arrays of their own: with ten thousand
 * connections they fill half a megabyte and stay in the second-level cache.  So looking up, and moving a
 * node to the front of the LRU list, miss the cache for the direction's record alone; and where that is
 * can be guessed from the hash before it is needed (packet.c).
 *
 * What is counted against the bound is a connection: two directions once they are paired, one until
 * then.  A connection has one LRU node, at the index of either direction (DIR_LRU says which).
 *
 * The hash has no secret: a capture made to collide can slow the look-up down to the length of a
 * chain, not make it wrong.
 */
#include "capture/capture_int.h"

#include <string.h>

#include "base/check.h"

uint32_t cap_table_connections(const struct capture_options *options)
{
    uint32_t connections = options->max_connections ? options->max_connections : CAPTURE_MAX_CONNECTIONS;
    return connections < CAPTURE_CONNECTIONS_LIMIT ? connections : CAPTURE_CONNECTIONS_LIMIT;
}

/* Two for each connection, and one that has come and may yet turn out to be the other half of one held. */
uint32_t cap_table_directions(const struct capture_options *options)
{
    return 2 * cap_table_connections(options) + 1;
}

uint32_t cap_table_hash_slots(const struct capture_options *options)
{
    uint32_t slots = 64;
    while (slots < 2 * cap_table_connections(options))
        slots *= 2;
    return slots;
}

void cap_table_init(struct capture *capture)
{
    uint32_t directions = cap_table_directions(&capture->options);
    capture->hash_mask = cap_table_hash_slots(&capture->options) - 1;
    /* Heads and links hold index + 1, so that zeroed memory is empty and its pages stay untouched. */
    capture->max_connections = cap_table_connections(&capture->options);
    capture->lru_newest = capture->lru_oldest = NONE;
    capture->last_found = NONE;
    pool_init(&capture->pool, capture->pool_link, directions);
    pool_init(&capture->histo_pool, capture->histo_link, 3 * directions);
    pool_init(&capture->hole_pool, capture->hole_link, directions);
}

static void lru_push(struct capture *capture, uint32_t node)
{
    capture->lru[node] = (struct lru_link){.prev = NONE, .next = capture->lru_newest};
    if (capture->lru_newest != NONE)
        capture->lru[capture->lru_newest].prev = node;
    else
        capture->lru_oldest = node;
    capture->lru_newest = node;
}

static void lru_unlink(struct capture *capture, uint32_t node)
{
    struct lru_link link = capture->lru[node];
    if (link.prev != NONE)
        capture->lru[link.prev].next = link.next;
    else
        capture->lru_newest = link.next;
    if (link.next != NONE)
        capture->lru[link.next].prev = link.prev;
    else
        capture->lru_oldest = link.prev;
}

/* The node leaves the list for good: its direction has joined another's connection. */
void cap_lru_remove(struct capture *capture, uint32_t node)
{
    CHECK(capture->direction[node].flags & DIR_LRU);
    capture->direction[node].flags &= (uint8_t)~DIR_LRU;
    lru_unlink(capture, node);
    CHECK(capture->live_connections > 0);
    capture->live_connections--;
}

void cap_table_touch(struct capture *capture, struct direction *direction)
{
    uint32_t node = direction->flags & DIR_LRU ? direction_index(capture, direction) : direction->peer;
    if (node == capture->lru_newest) return;
    CHECK(node != NONE);
    lru_unlink(capture, node);
    lru_push(capture, node);
}

static void histo_release(struct capture *capture, struct histo **histo)
{
    if (*histo) pool_put(&capture->histo_pool, (uint32_t)(*histo - capture->histo));
    *histo = NULL;
}

void cap_table_histo_add(struct capture *capture, struct histo **histo, uint64_t value)
{
    if (!*histo) {
        bool used = capture->histo_pool.free != POOL_NONE; /* else its memory is still all zero */
        uint32_t index = pool_get(&capture->histo_pool);
        CHECK(index != POOL_NONE); /* three for each direction there can be */
        *histo = &capture->histo[index];
        if (used) memset(*histo, 0, sizeof **histo);
    }
    histo_add(*histo, value);
}

void cap_table_histo_weigh(struct capture *capture, struct histo **histo, uint64_t value, uint32_t weight)
{
    CHECK(weight > 0);
    cap_table_histo_add(capture, histo, value);
    if (weight == 1) return;
    /* percentiles are a matter of the buckets; `count` stays the number of values */
    uint32_t *bucket = &(*histo)->bucket[histo_bucket(value)], more = weight - 1;
    *bucket = *bucket > UINT32_MAX - more ? UINT32_MAX : *bucket + more;
}

static void direction_release(struct capture *capture, uint32_t index)
{
    struct direction *direction = &capture->direction[index];
    cap_pair_index_drop(capture, direction);
    uint32_t *link = &capture->hash_head[capture->hash_link[index].hash & capture->hash_mask];
    while (*link != index + 1) {
        CHECK(*link != 0);
        link = &capture->hash_link[*link - 1].next;
    }
    *link = capture->hash_link[index].next;
    histo_release(capture, &direction->view.cnp_gap);
    histo_release(capture, &direction->ack_histo);
    histo_release(capture, &direction->view.read_latency);
    if (direction->hole) pool_put(&capture->hole_pool, (uint32_t)((direction->hole - capture->hole) / HOLE_LIST));
    direction->hole = NULL;
    if (capture->last_found == index) capture->last_found = NONE;
    pool_put(&capture->pool, index);
}

void cap_table_trim(struct capture *capture)
{
    if (capture->live_connections <= capture->max_connections) return;
    uint32_t node = capture->lru_oldest;
    CHECK(node != NONE);
    uint32_t peer = capture->direction[node].peer;
    /* what is open is closed first, so that the verdict is as it would be had the capture ended here */
    cap_request_finish(capture, &capture->direction[node]);
    if (peer != NONE) cap_request_finish(capture, &capture->direction[peer]);
    cap_request_settle(capture, &capture->direction[node]);
    if (peer != NONE) cap_request_settle(capture, &capture->direction[peer]);
    cap_inspect(capture, &capture->direction[node], NONE);
    cap_lru_remove(capture, node);
    direction_release(capture, node);
    if (peer != NONE) direction_release(capture, peer);
    capture->totals.evicted++;
}

static inline bool same_flow(const struct direction *direction, const struct flow *flow)
{
    const struct capture_direction *view = &direction->view;
    if (view->dst_qp != flow->dst_qp || direction_vni(view) != flow->vni) return false;
    if (memcmp(&view->src, &flow->src, 16) != 0 || memcmp(&view->dst, &flow->dst, 16) != 0) return false;
    return view->transport == OP_UD ? view->src_qp == flow->ud_src_qp : flow->ud_src_qp == NONE;
}

uint32_t cap_table_guess(const struct capture *capture, uint32_t hash)
{
    uint32_t link = capture->hash_head[hash & capture->hash_mask];
    while (link && capture->hash_link[link - 1].hash != hash)
        link = capture->hash_link[link - 1].next;
    return link - 1; /* no link: NONE */
}

struct direction *cap_table_lookup(struct capture *capture, const struct flow *flow)
{
    uint32_t link = capture->hash_head[flow->hash & capture->hash_mask];
    for (; link; link = capture->hash_link[link - 1].next) {
        struct direction *direction = &capture->direction[link - 1];
        if (capture->hash_link[link - 1].hash == flow->hash && same_flow(direction, flow)) return direction;
    }
    return NULL;
}

static struct direction *direction_new(struct capture *capture, const struct flow *flow, const struct pkt *pkt)
{
    bool used = capture->pool.free != POOL_NONE; /* else its memory is still all zero */
    uint32_t index = pool_get(&capture->pool);
    CHECK(index != POOL_NONE);
    const struct opcode_info *info = opcode_info(pkt->opcode);
    struct direction *direction = &capture->direction[index];
    if (used) memset(direction, 0, sizeof *direction);
    direction->peer = NONE;
    direction->bin = capture->bin;
    direction->bin_shift = capture->bin_shift;
    direction->ack_psn = NONE;
    direction->view.src = flow->src;
    direction->view.dst = flow->dst;
    direction->view.dst_qp = flow->dst_qp;
    direction->view.vni = flow->vni & 0xffffff;
    direction->view.tunnelled = flow->vni != 0;
    direction->view.src_qp = flow->ud_src_qp;
    direction->view.transport = info->name ? info->transport : OP_CNP_KIND;
    direction->view.net = pkt->net;
    direction->view.sport = pkt->sport;
    direction->view.first_ns = direction->view.last_ns = capture->now_ns;
    direction->view.first_packet = capture->number;
    uint32_t *head = &capture->hash_head[flow->hash & capture->hash_mask];
    capture->hash_link[index] = (struct hash_link){.hash = flow->hash, .next = *head};
    *head = index + 1;
    direction->flags = DIR_LRU;
    lru_push(capture, index);
    capture->live_connections++;
    capture->totals.connections++;
    cap_pair_new(capture, direction);
    return direction;
}

struct direction *cap_table_find(struct capture *capture, const struct flow *flow, const struct pkt *pkt)
{
    if (capture->last_found != NONE && same_flow(&capture->direction[capture->last_found], flow))
        return &capture->direction[capture->last_found];
    struct direction *found = cap_table_lookup(capture, flow);
    if (found)
        cap_table_touch(capture, found);
    else
        found = direction_new(capture, flow, pkt);
    capture->last_found = direction_index(capture, found);
    return found;
}
