/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the two directions of a connection.
 *
 * UD packets name both QPs and CM messages name both ends: those pairs are exact.  RC packets name
 * the destination QP alone.  What ties an answer to its request is the PSN.  So an unpaired requester is
 * indexed by (addresses, VNI, PSN), in two ways.  By a few requests that wait for an answer, its anchors: an
 * answer that names one of them is most likely its own.  And by the block of 2^14 PSNs that it is in: with
 * many requests on their way, or one ACK for many of them, or a NAK inside a message, the answer names a PSN
 * that is no anchor, but one between the first and the latest that the requester has sent.
 *
 * Several connections between two hosts may fit (NCCL starts all of them at PSN 0); then an equal UDP source
 * port decides (adapters that derive it from both QP numbers use one port both ways), and otherwise the one
 * that has waited longest is guessed, and marked as a guess.  Two indexes, with and without the port, and
 * no look beyond the second that fits, keep that a matter of a few entries however many connections there are.
 *
 * UC is never answered: at the end of the capture two UC directions between the same hosts are
 * joined when nothing else could be meant.  The same goes for a direction of CNPs or of answers to
 * requests that were sent before the capture began.
 */
#include "capture/capture_int.h"

#include <stdlib.h>

#include "base/check.h"

#define INDEX_LOOK 64   /* entries looked at in one bucket before giving up */
#define PAIR_PATIENCE 4 /* answers that fit several requesters before one of these is taken */

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
    a->view.paired_by = b->view.paired_by = cm                           ? CAPTURE_PAIRED_CM
                                            : a->view.transport == OP_UD ? CAPTURE_PAIRED_DETH
                                                                         : CAPTURE_PAIRED_REST;
    cap_request_know_mtu(capture, a);
    cap_request_know_mtu(capture, b);
}

static inline uint32_t index_bucket(const struct capture *capture, const struct pkt_addr *src,
                                    const struct pkt_addr *dst, uint32_t vni, uint32_t psn, uint32_t port)
{
    return (uint32_t)hash_flow(src, dst, vni, (uint64_t)port << 32 | psn) & capture->index_mask;
}

#define ANY_PORT 0x10000u

static inline struct index_head *index_head(struct capture *capture, uint32_t entry, unsigned kind)
{
    return &capture->index_head[entry % INDEX_ENTRIES == INDEX_RANGE][kind][capture->index_link[entry].bucket[kind]];
}

/* `key`: the PSN of an anchor, the block of a range. */
static void index_add(struct capture *capture, struct direction *direction, unsigned which, uint32_t key)
{
    const struct capture_direction *view = &direction->view;
    uint32_t entry = direction_index(capture, direction) * INDEX_ENTRIES + which;
    CHECK(!(direction->indexed & 1u << which));
    direction->indexed |= (uint8_t)(1u << which);
    for (unsigned kind = 0; kind < INDEXES; kind++) {
        uint32_t port = kind == INDEX_PORT ? view->sport : ANY_PORT;
        struct index_link *link = &capture->index_link[entry];
        link->bucket[kind] = index_bucket(capture, &view->src, &view->dst, direction_vni(view), key, port);
        struct index_head *head = index_head(capture, entry, kind);
        link->next[kind] = 0;
        link->prev[kind] = head->last;
        if (head->last)
            capture->index_link[head->last - 1].next[kind] = entry + 1;
        else
            head->first = entry + 1;
        head->last = entry + 1;
    }
}

static void index_remove(struct capture *capture, struct direction *direction, unsigned which)
{
    uint32_t entry = direction_index(capture, direction) * INDEX_ENTRIES + which;
    struct index_link *link = &capture->index_link[entry];
    CHECK(direction->indexed & 1u << which);
    direction->indexed &= (uint8_t) ~(1u << which);
    for (unsigned kind = 0; kind < INDEXES; kind++) {
        struct index_head *head = index_head(capture, entry, kind);
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
    while (direction->indexed)
        index_remove(capture, direction, (unsigned)__builtin_ctz(direction->indexed));
    direction->anchor_skipped = 0;
}

void cap_pair_request(struct capture *capture, struct direction *direction, uint32_t psn, bool asks)
{
    uint16_t block = (uint16_t)(((direction->next - 1) & 0xffffff) >> RANGE_SHIFT);
    bool indexed = direction->indexed & 1u << INDEX_RANGE;
    if (!indexed || block != direction->range_block) {
        if (indexed) index_remove(capture, direction, INDEX_RANGE);
        index_add(capture, direction, INDEX_RANGE, block);
        direction->range_block = block;
    }
    if (!asks) return;
    unsigned anchors = (unsigned)__builtin_popcount(direction->indexed) - 1;
    if (anchors == ANCHORS) {
        /* The oldest say most: they are answered first.  But where no answer ever meets one, begin anew. */
        if (++direction->anchor_skipped < ANCHOR_PATIENCE) return;
        direction->anchor_skipped = 0;
        while (anchors)
            index_remove(capture, direction, --anchors);
    }
    direction->anchor[anchors] = psn;
    index_add(capture, direction, anchors, psn);
}

static bool reversed(const struct capture_direction *a, const struct capture_direction *b)
{
    return direction_vni(a) == direction_vni(b) && memcmp(&a->src, &b->dst, 16) == 0 &&
           memcmp(&a->dst, &b->src, 16) == 0;
}

/* What an answer looks for. */
struct search {
    const struct direction *responder;
    uint32_t psn;
    uint16_t sport;
};

struct found {
    struct direction *first;  /* the one that has waited longest */
    struct direction *second; /* not NULL: there are several */
};

static bool fits(const struct search *search, const struct direction *requester, uint32_t entry, unsigned kind)
{
    const struct direction *responder = search->responder;
    const struct capture_direction *view = &requester->view;
    unsigned which = entry % INDEX_ENTRIES;
    if (which != INDEX_RANGE) {
        if (requester->anchor[which] != search->psn) return false;
    } else {
        int32_t distance = psn_distance(requester->next, search->psn);
        if (distance >= 0 || requester->next - requester->first < (uint32_t)-distance) return false;
    }
    if (kind == INDEX_PORT && view->sport != search->sport) return false;
    if (requester == responder || !reversed(view, &responder->view)) return false;
    /* CM may have named the other end of either */
    return (view->src_qp == NONE || view->src_qp == responder->view.dst_qp) &&
           (responder->view.src_qp == NONE || responder->view.src_qp == view->dst_qp);
}

static void index_find(struct capture *capture, const struct search *search, bool range, uint32_t key, unsigned kind,
                       struct found *found)
{
    const struct capture_direction *view = &search->responder->view;
    uint32_t port = kind == INDEX_PORT ? search->sport : ANY_PORT;
    uint32_t bucket = index_bucket(capture, &view->dst, &view->src, direction_vni(view), key, port);
    uint32_t at = capture->index_head[range][kind][bucket].first;
    for (unsigned looked = 0; at && looked < INDEX_LOOK && !found->second; looked++) {
        struct direction *requester = &capture->direction[(at - 1) / INDEX_ENTRIES];
        if (fits(search, requester, at - 1, kind)) {
            if (found->first)
                found->second = requester;
            else
                found->first = requester;
        }
        at = capture->index_link[at - 1].next[kind];
    }
}

static struct found find(struct capture *capture, const struct search *search, bool range, unsigned kind)
{
    struct found found = {NULL, NULL};
    if (!range) {
        index_find(capture, search, false, search->psn, kind, &found);
        return found;
    }
    /* the requester may be a block ahead of what is answered */
    uint32_t block = search->psn >> RANGE_SHIFT, blocks = 1u << (24 - RANGE_SHIFT);
    index_find(capture, search, true, block, kind, &found);
    if (!found.second) index_find(capture, search, true, (block + 1) % blocks, kind, &found);
    return found;
}

struct direction *cap_pair_by_answer(struct capture *capture, struct direction *responder, uint32_t psn, uint16_t sport)
{
    struct search search = {responder, psn, sport};
    enum capture_paired by = CAPTURE_PAIRED_PSN;
    bool range = false;
    struct found found = find(capture, &search, range, INDEX_PLAIN);
    if (!found.first) found = find(capture, &search, range = true, INDEX_PLAIN);
    if (!found.first) return NULL;
    if (found.first->rival) by = CAPTURE_PAIRED_GUESS; /* it is what other guesses have left */
    if (found.second) {
        struct found port = find(capture, &search, range, INDEX_PORT);
        by = port.first && !port.second ? CAPTURE_PAIRED_PORT : CAPTURE_PAIRED_GUESS;
        /* inside the range of several: the next answer may tell them apart */
        if (by == CAPTURE_PAIRED_GUESS && range && ++responder->pair_tries < PAIR_PATIENCE) return NULL;
        if (port.first) found = port;
        if (by == CAPTURE_PAIRED_GUESS) found.second->rival = true;
    }
    cap_pair_join(capture, found.first, responder);
    responder->view.paired_by = found.first->view.paired_by = (uint8_t)by;
    return found.first;
}

/* What is known of a direction when it is first seen. */
void cap_pair_new(struct capture *capture, struct direction *direction)
{
    struct capture_direction *view = &direction->view;
    struct direction *other = NULL;
    if (view->transport == OP_UD) {
        struct flow back = flow_of(&view->dst, &view->src, direction_vni(view), view->src_qp, view->dst_qp);
        other = cap_table_lookup(capture, &back);
    } else {
        uint32_t src_qp;
        struct cm_entry *cm = cap_cm_of(capture, &view->src, &view->dst, direction_vni(view), view->dst_qp, &src_qp);
        if (!cm) return;
        direction->flags |= DIR_CM;
        direction->cm_mtu = cm->mtu_bytes;
        view->src_qp = src_qp;
        struct flow back = flow_of(&view->dst, &view->src, direction_vni(view), src_qp, NONE);
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
    uint32_t a_vni = direction_vni(a->view), b_vni = direction_vni(b->view);
    if (!order) order = (a_vni > b_vni) - (a_vni < b_vni);
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
