/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the two directions of a connection.
 *
 * UD packets name both QPs and CM messages name both ends: those pairs are exact.  RC packets name
 * the destination QP alone.  What ties an answer to its request is the PSN, so the requests that
 * wait for an answer in unpaired directions are indexed by (addresses, VNI, PSN): the first answer
 * with such a PSN joins the two.  Several connections between two hosts may wait for the same PSN
 * (NCCL starts all of them at 0); then an equal UDP source port decides (adapters that derive it from
 * both QP numbers use one port both ways), and otherwise the request that has waited longest.  Two indexes,
 * with and without the port, keep that a matter of looking at a few entries however many
 * connections wait for one PSN.
 *
 * UC is never answered: at the end of the capture two UC directions between the same hosts are
 * joined when nothing else could be meant.  The same goes for a direction of CNPs or of answers to
 * requests that were sent before the capture began.
 */
#include "telemetry/capture_internal.h"

#include <stdlib.h>

#include "base/check.h"

#define INDEX_LOOK 64 /* entries of other keys passed in one bucket before giving up */

void cap_pair_join(struct capture *capture, struct direction *a, struct direction *b)
{
    CHECK(a != b && a->peer == NONE && b->peer == NONE);
    cap_pair_index_drop(capture, a);
    cap_pair_index_drop(capture, b);
    a->peer = direction_index(capture, b);
    b->peer = direction_index(capture, a);
    a->view.src_qp = b->view.dst_qp;
    b->view.src_qp = a->view.dst_qp;
    cap_lru_remove(capture, a->peer);
    cap_table_touch(capture, a);
    CHECK(capture->totals.connections > 0);
    capture->totals.connections--;
    uint8_t cm = (a->flags | b->flags) & DIR_CM;
    a->flags |= cm;
    b->flags |= cm;
    cap_request_know_mtu(capture, a);
    cap_request_know_mtu(capture, b);
}

static inline uint32_t index_bucket(const struct capture *capture, const struct pkt_addr *src,
                                    const struct pkt_addr *dst, uint32_t vni, uint32_t psn, uint32_t port)
{
    return (uint32_t)hash_flow(src, dst, vni, (uint64_t)port << 32 | psn) & capture->index_mask;
}

#define ANY_PORT 0x10000u

void cap_pair_index_add(struct capture *capture, struct direction *direction, unsigned slot)
{
    const struct capture_direction *view = &direction->view;
    uint32_t entry = direction_index(capture, direction) * RING_SLOTS + slot;
    uint32_t psn = direction->ring[slot].psn & 0xffffff;
    CHECK(!(direction->ring_indexed & 1u << slot));
    direction->ring_indexed |= (uint16_t)(1u << slot);
    for (unsigned kind = 0; kind < INDEXES; kind++) {
        uint32_t port = kind == INDEX_PORT ? view->sport : ANY_PORT;
        uint32_t bucket = index_bucket(capture, &view->src, &view->dst, view->vni, psn, port);
        struct index_head *head = &capture->index_head[kind][bucket];
        struct index_link *link = &capture->index_link[entry];
        link->bucket[kind] = bucket;
        link->next[kind] = 0;
        link->prev[kind] = head->last;
        if (head->last)
            capture->index_link[head->last - 1].next[kind] = entry + 1;
        else
            head->first = entry + 1;
        head->last = entry + 1;
    }
}

static void index_remove(struct capture *capture, uint32_t entry)
{
    struct index_link *link = &capture->index_link[entry];
    for (unsigned kind = 0; kind < INDEXES; kind++) {
        struct index_head *head = &capture->index_head[kind][link->bucket[kind]];
        if (link->prev[kind])
            capture->index_link[link->prev[kind] - 1].next[kind] = link->next[kind];
        else
            head->first = link->next[kind];
        if (link->next[kind])
            capture->index_link[link->next[kind] - 1].prev[kind] = link->prev[kind];
        else
            head->last = link->prev[kind];
    }
}

void cap_pair_index_drop(struct capture *capture, struct direction *direction)
{
    uint32_t base = direction_index(capture, direction) * RING_SLOTS;
    while (direction->ring_indexed) {
        unsigned slot = (unsigned)__builtin_ctz(direction->ring_indexed);
        index_remove(capture, base + slot);
        direction->ring_indexed &= (uint16_t)(direction->ring_indexed - 1);
    }
}

static bool reversed(const struct capture_direction *a, const struct capture_direction *b)
{
    return a->vni == b->vni && memcmp(&a->src, &b->dst, 16) == 0 && memcmp(&a->dst, &b->src, 16) == 0;
}

static struct direction *index_find(struct capture *capture, const struct direction *responder, uint32_t psn,
                                    unsigned kind, uint16_t sport)
{
    const struct capture_direction *view = &responder->view;
    uint32_t port = kind == INDEX_PORT ? sport : ANY_PORT;
    uint32_t bucket = index_bucket(capture, &view->dst, &view->src, view->vni, psn, port);
    uint32_t at = capture->index_head[kind][bucket].first;
    for (unsigned looked = 0; at && looked < INDEX_LOOK; looked++) {
        struct direction *requester = &capture->direction[(at - 1) / RING_SLOTS];
        const struct outstanding *waits = &requester->ring[(at - 1) % RING_SLOTS];
        bool same_port = kind == INDEX_PLAIN || requester->view.sport == sport;
        if ((waits->psn & 0xffffff) == psn && same_port && requester != responder && reversed(&requester->view, view))
            return requester;
        at = capture->index_link[at - 1].next[kind];
    }
    return NULL;
}

struct direction *cap_pair_by_answer(struct capture *capture, struct direction *responder, uint32_t psn, uint16_t sport)
{
    struct direction *requester = index_find(capture, responder, psn, INDEX_PORT, sport);
    if (!requester) requester = index_find(capture, responder, psn, INDEX_PLAIN, sport);
    if (requester) cap_pair_join(capture, requester, responder);
    return requester;
}

/* What is known of a direction when it is first seen. */
void cap_pair_new(struct capture *capture, struct direction *direction)
{
    struct capture_direction *view = &direction->view;
    struct direction *other = NULL;
    if (view->transport == OP_UD) {
        struct flow back = flow_of(&view->dst, &view->src, view->vni, view->src_qp, view->dst_qp);
        other = cap_table_lookup(capture, &back);
    } else {
        uint32_t src_qp;
        struct cm_entry *cm = cap_cm_of(capture, &view->src, &view->dst, view->vni, view->dst_qp, &src_qp);
        if (!cm) return;
        direction->flags |= DIR_CM;
        direction->cm_mtu = cm->mtu_bytes;
        view->src_qp = src_qp;
        struct flow back = flow_of(&view->dst, &view->src, view->vni, src_qp, NONE);
        other = cap_table_lookup(capture, &back);
    }
    if (other && other != direction && other->peer == NONE) cap_pair_join(capture, direction, other);
}

/* A leftover direction, normalized: the lower address first. */
struct leftover {
    const struct capture_direction *view;
    uint32_t index;
    bool swapped;
};

static int leftover_hosts(const struct leftover *a, const struct leftover *b)
{
    int order = memcmp(a->swapped ? &a->view->dst : &a->view->src, b->swapped ? &b->view->dst : &b->view->src, 16);
    if (!order)
        order = memcmp(a->swapped ? &a->view->src : &a->view->dst, b->swapped ? &b->view->src : &b->view->dst, 16);
    if (!order) order = (a->view->vni > b->view->vni) - (a->view->vni < b->view->vni);
    return order;
}

static int leftover_order(const void *left, const void *right)
{
    const struct leftover *a = left, *b = right;
    int order = leftover_hosts(a, b);
    if (!order) order = (a->view->sport > b->view->sport) - (a->view->sport < b->view->sport);
    if (!order) order = (a->index > b->index) - (a->index < b->index);
    return order;
}

static bool answers(const struct capture_direction *view)
{
    return view->acks || view->rnr_naks || view->naks[NAK_PSN_SEQUENCE] || view->fatal_packet || view->read_responses ||
           view->atomic_responses || view->cnps;
}

/* Could these two be one connection?  UC with UC; what only answers with what only asks. */
static bool leftover_fits(const struct capture_direction *a, const struct capture_direction *b)
{
    if (a->transport == OP_UC && b->transport == OP_UC) return true;
    bool a_answers = answers(a), b_answers = answers(b);
    if (a->transport == OP_CNP_KIND) return a_answers && b->requests && b->transport != OP_CNP_KIND;
    if (b->transport == OP_CNP_KIND) return b_answers && a->requests;
    if (a->transport != b->transport) return false;
    return (a_answers && !b_answers && b->requests) || (b_answers && !a_answers && a->requests);
}

/* Joins the only two of item[0 .. count) that go opposite ways; more than two: nothing is certain. */
static void leftover_join(struct capture *capture, const struct leftover *item, size_t count)
{
    const struct leftover *way[2] = {NULL, NULL};
    for (size_t i = 0; i < count; i++) {
        if (capture->direction[item[i].index].peer != NONE) continue;
        /* on one host nothing tells the ways apart but that there are two */
        bool loop = memcmp(&item[i].view->src, &item[i].view->dst, 16) == 0;
        bool at = loop ? way[0] != NULL : item[i].swapped;
        if (way[at]) return;
        way[at] = &item[i];
    }
    if (way[0] && way[1] && leftover_fits(way[0]->view, way[1]->view))
        cap_pair_join(capture, &capture->direction[way[0]->index], &capture->direction[way[1]->index]);
}

void cap_pair_leftovers(struct capture *capture)
{
    struct leftover *item = calloc(capture->live_connections + 1u, sizeof *item);
    size_t count = 0;
    if (!item) return; /* they stay two connections, which is not wrong */
    for (uint32_t node = capture->lru_newest; node != NONE; node = capture->lru[node].next) {
        const struct capture_direction *view = &capture->direction[node].view;
        int order = memcmp(&view->src, &view->dst, 16);
        if (capture->direction[node].peer != NONE || view->transport == OP_UD) continue;
        item[count++] = (struct leftover){view, node, order > 0};
    }
    qsort(item, count, sizeof *item, leftover_order);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && leftover_hosts(&item[i], &item[end]) == 0;) {
            size_t same = end;
            while (end < count && leftover_hosts(&item[i], &item[end]) == 0 &&
                   item[end].view->sport == item[same].view->sport)
                end++;
            leftover_join(capture, &item[same], end - same);
        }
        leftover_join(capture, &item[i], end - i);
    }
    free(item);
}
