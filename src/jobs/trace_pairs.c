/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who receives what a trace's ranks send: COMM_SEND and COMM_RECV of graphs that are each one rank's.
 *
 * The k-th send from one rank to another with a tag is the k-th receive of that tag there, and has as many bytes.  What
 * has no other end is told with its rank, node and file.  NCCL has no tags: between two ranks it goes by order.  So
 * where both ends come to the messages of all tags in the same order they share a lane (a communicator), which is the
 * usual case; where they do not, each tag has a lane of its own, and none waits for another.  Then all lists are gone
 * through once, without time, to see that nobody waits for itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/training_int.h"

#define LIST_FIRST 256u

bool pair_add(struct loader *loader, struct pair_list *pairs, const struct pair *pair)
{
    if (pairs->count == pairs->capacity) {
        uint32_t wanted = pairs->capacity ? 2 * pairs->capacity : LIST_FIRST;
        struct pair *larger = SCRATCH_NEW(loader, struct pair, wanted);
        if (!larger) return false;
        if (pairs->count) memcpy(larger, pairs->pair, pairs->count * sizeof(*larger));
        pairs->pair = larger;
        pairs->capacity = wanted;
    }
    pairs->pair[pairs->count++] = *pair;
    return true;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_ends(const struct pair *x, const struct pair *y)
{
    int order = compare(x->src, y->src);

    return order ? order : compare(x->dst, y->dst);
}

/* Sends, then receives, of each tag of two ranks, as their programs come to them. */
static int by_tag(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int order = compare_ends(x, y);

    if (!order) order = compare(x->tag, y->tag);
    if (!order) order = compare(x->receives, y->receives);
    return order ? order : compare(x->at, y->at);
}

static int by_order(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    return compare(x->at, y->at);
}

static bool same_tag(const struct pair *x, const struct pair *y)
{
    return compare_ends(x, y) == 0 && x->tag == y->tag;
}

static bool lonely(struct loader *loader, const struct trace *trace, const struct pair *pair)
{
    uint32_t own = pair->receives ? pair->dst : pair->src, other = pair->receives ? pair->src : pair->dst;

    trace_error(loader, trace, 0, 0,
                "node %" PRIu64 " of rank %u %s rank %u %" PRIu64 " bytes with tag %" PRIu64
                ", which that one does not %s",
                pair->node, own, pair->receives ? "receives from" : "sends to", other, pair->bytes, pair->tag,
                pair->receives ? "send" : "receive");
    return false;
}

/* Both ends of a tag's messages, which stand at `first`; `sends` of them, then as many receives. */
static bool ends_meet(struct loader *loader, const struct trace *trace, struct pair *first, uint32_t sends,
                      uint32_t receives)
{
    for (uint32_t i = 0; i < sends && i < receives; i++) {
        struct pair *send = &first[i], *receive = &first[sends + i];
        send->other = receive->at;
        if (send->bytes == receive->bytes) continue;
        trace_error(loader, trace, 0, 0,
                    "node %" PRIu64 " of rank %u sends %" PRIu64 " bytes with tag %" PRIu64 ", node %" PRIu64
                    " of rank %u receives %" PRIu64,
                    send->node, send->src, send->bytes, send->tag, receive->node, receive->dst, receive->bytes);
        return false;
    }
    if (sends > receives) return lonely(loader, trace, &first[receives]);
    return receives == sends || lonely(loader, trace, &first[sends + sends]);
}

/* Of the messages from one rank to another: in the order of the sends, whether the receives are in that order too. */
static bool in_order(struct loader *loader, const struct pair *first, uint32_t count)
{
    struct pair *sends = SCRATCH_NEW(loader, struct pair, count);
    uint32_t found = 0;

    if (!sends) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!first[i].receives) sends[found++] = first[i];
    qsort(sends, found, sizeof(*sends), by_order);
    for (uint32_t i = 1; i < found; i++)
        if (sends[i].other < sends[i - 1].other) return false;
    return true;
}

static void give_lanes(struct loader *loader, const struct pair *first, uint32_t count, struct op_list *list)
{
    bool shared = in_order(loader, first, count);

    for (uint32_t i = 0, lane = 0; i < count; i++) {
        if (!shared && i && first[i].tag != first[i - 1].tag) lane++;
        list[first[i].receives ? first[i].dst : first[i].src].op[first[i].at].lane = lane;
    }
}

/* What is needed to go through all lists without time: where each send and receive stands, and its other end. */
struct walk {
    const struct op_list *list;
    uint32_t ranks;
    uint32_t **place; /* [rank][number] in the rank's list */
    uint32_t **mate;  /* [rank][number] number of the other end */
    uint64_t **node;  /* [rank][number] its id */
    uint32_t *at;     /* [rank] come to */
    uint32_t *ready, readies;
    bool *queued;
};

static bool walk_make(struct loader *loader, const struct pair_list *pairs, struct walk *walk)
{
    uint32_t *count = SCRATCH_NEW(loader, uint32_t, walk->ranks);

    walk->place = SCRATCH_NEW(loader, uint32_t *, walk->ranks);
    walk->mate = SCRATCH_NEW(loader, uint32_t *, walk->ranks);
    walk->node = SCRATCH_NEW(loader, uint64_t *, walk->ranks);
    walk->at = SCRATCH_NEW(loader, uint32_t, walk->ranks);
    walk->ready = SCRATCH_NEW(loader, uint32_t, walk->ranks);
    walk->queued = SCRATCH_NEW(loader, bool, walk->ranks);
    if (!count || !walk->place || !walk->mate || !walk->node || !walk->at || !walk->ready || !walk->queued)
        return false;
    for (uint32_t i = 0; i < pairs->count; i++)
        count[pairs->pair[i].receives ? pairs->pair[i].dst : pairs->pair[i].src]++;
    for (uint32_t r = 0; r < walk->ranks; r++) {
        walk->place[r] = SCRATCH_NEW(loader, uint32_t, count[r] + 1u);
        walk->mate[r] = SCRATCH_NEW(loader, uint32_t, count[r] + 1u);
        walk->node[r] = SCRATCH_NEW(loader, uint64_t, count[r] + 1u);
        if (!walk->place[r] || !walk->mate[r] || !walk->node[r]) return false;
        walk->ready[walk->readies++] = r;
        walk->queued[r] = true;
    }
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->pair[i];
        uint32_t own = pair->receives ? pair->dst : pair->src, number = walk->list[own].op[pair->at].number;
        walk->place[own][number] = pair->at;
        walk->node[own][number] = pair->node;
        if (pair->receives) continue;
        uint32_t other = walk->list[pair->dst].op[pair->other].number;
        walk->mate[own][number] = other;
        walk->mate[pair->dst][other] = number;
    }
    return true;
}

/* The send or receive that a rank stands before and whose other end nobody has come to; NULL: it can go on. */
static const struct fabric_op *held_by(const struct walk *walk, uint32_t rank)
{
    const struct fabric_op *op = &walk->list[rank].op[walk->at[rank]];

    if (op->what != FABRIC_OP_WAIT_FOR) return NULL;
    const struct fabric_op *wanted = &walk->list[rank].op[walk->place[rank][op->number]];
    return walk->place[wanted->peer][walk->mate[rank][op->number]] < walk->at[wanted->peer] ? NULL : wanted;
}

/* Each goes on as far as it can; whoever has sent or received something may let another go on. */
static void walk_all(struct walk *walk)
{
    while (walk->readies) {
        uint32_t rank = walk->ready[--walk->readies];
        walk->queued[rank] = false;
        for (; walk->at[rank] < walk->list[rank].count && !held_by(walk, rank); walk->at[rank]++) {
            const struct fabric_op *op = &walk->list[rank].op[walk->at[rank]];
            if ((op->what != FABRIC_OP_SEND && op->what != FABRIC_OP_RECV) || walk->queued[op->peer]) continue;
            walk->queued[op->peer] = true;
            walk->ready[walk->readies++] = op->peer;
        }
    }
}

/*
 * Ranks that wait for each other would leave a run stuck.  Told here, where it can be said for what; collectives are
 * taken to end, so what they have a part in is left to the run.
 */
static bool all_end(struct loader *loader, const struct trace *trace, const struct pair_list *pairs,
                    const struct op_list *list)
{
    struct walk walk = {.list = list, .ranks = trace->ranks};
    uint32_t rank = 0, other;
    char text[160] = "";
    size_t used = 0;

    if (!walk_make(loader, pairs, &walk)) return false;
    walk_all(&walk);
    while (rank < walk.ranks && walk.at[rank] == list[rank].count)
        rank++;
    if (rank == walk.ranks) return true;
    for (uint32_t i = 0; i < walk.ranks; i++) /* whoever it waits for waits too: after so many steps it is a circle */
        rank = held_by(&walk, rank)->peer;
    for (uint32_t first = rank, i = 0; i < 3 && (i == 0 || rank != first); i++, rank = other) {
        const struct fabric_op *wanted = held_by(&walk, rank);
        other = wanted->peer;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%srank %u for node %" PRIu64 " of rank %u",
                                 i ? ", " : "", rank, walk.node[other][walk.mate[rank][wanted->number]], other);
    }
    trace_error(loader, trace, 0, 0, "ranks wait for each other: %s", text);
    return false;
}

bool pairs_match(struct loader *loader, const struct trace *trace, struct pair_list *pairs, struct op_list *list)
{
    struct pair *pair = pairs->pair;
    uint32_t count = pairs->count;

    if (count) qsort(pair, count, sizeof(*pair), by_tag);
    for (uint32_t i = 0; i < count;) {
        uint32_t sends = 0, receives = 0;
        for (; i + sends < count && same_tag(&pair[i], &pair[i + sends]) && !pair[i + sends].receives;)
            sends++;
        for (; i + sends + receives < count && same_tag(&pair[i], &pair[i + sends + receives]);)
            receives++;
        if (!ends_meet(loader, trace, &pair[i], sends, receives)) return false;
        i += sends + receives;
    }
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && compare_ends(&pair[i], &pair[end]) == 0;)
            end++;
        give_lanes(loader, &pair[i], end - i, list);
    }
    return !loader->no_memory && (count == 0 || all_end(loader, trace, pairs, list));
}
