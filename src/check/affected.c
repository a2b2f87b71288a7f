/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a failure changes, and whether that closes a circle.
 *
 * A failure that leaves every switch another next hop only takes waits away.  New ones begin where a switch lost its
 * last next hop to an edge; it, and those upstream that lost theirs in turn, are all whose distance grows (after
 * Ramalingam and Reps), and no other switch gains a next hop.  So for each failure and edge only these are routed
 * anew, and what hosts there send is followed until it comes to where packets for the edge went before.
 *
 * As routed there is no circle, so the buffers have an order in which each waits only for those before it.  New waits
 * that keep to it close nothing.  From those that do not, waits are followed, old and new, no further down the order
 * than the least of those that broke it: a circle has to come back up to one of them (as Pearce and Kelly keep an order
 * under insertions).  Old waits that the failure took away are followed too, so what is found is a suspicion; it is
 * proven hop by hop, by an edge for which a packet goes that way now.  Where that fails, and where classes are raised
 * (a hop then depends on all before it), everything is searched.
 *
 * Most single failures of a Clos network need none of this: needed.c tells which do.
 */
#include <string.h>

#include "base/check.h"
#include "check/deadlock_int.h"
#include "fabric/fabric.h"

static uint16_t distance_of(const struct deadlock *d, uint32_t s, uint32_t edge)
{
    return d->affected[s] ? d->anew[s] : d->distance[deadlock_at(d, s, edge)];
}

static bool next_hop(const struct deadlock *d, uint32_t s, uint32_t p, uint32_t edge)
{
    uint32_t to = d->neighbour[p];

    if (to == FABRIC_NONE || d->down[p] || d->dead[to]) return false;
    uint16_t here = distance_of(d, s, edge), there = distance_of(d, to, edge);
    return there != DEADLOCK_FAR && here != DEADLOCK_FAR && there + 1 == here;
}

/* A next hop of u is gone; u is affected when it was the last. */
static void lose(struct deadlock *d, uint32_t u, uint32_t edge, uint32_t *touched, uint32_t *listed)
{
    if (!d->lost[u]) d->touched[(*touched)++] = u;
    d->lost[u]++;
    CHECK(d->lost[u] <= d->ways[deadlock_at(d, u, edge)]); /* no next hop is lost twice */
    if (d->lost[u] != d->ways[deadlock_at(d, u, edge)] || d->affected[u] || d->dead[u]) return;
    d->affected[u] = 1;
    d->list[(*listed)++] = u;
}

/* Switches whose distance to the edge grows, into list[]. */
static uint32_t find_affected(struct deadlock *d, const struct deadlock_failure *failed, uint32_t count, uint32_t edge,
                              uint32_t *ret_touched)
{
    uint32_t listed = 0, touched = 0;

    for (uint32_t f = 0; f < count; f++) {
        uint32_t s = failed[f].node - d->fabric->hosts;
        uint32_t from = failed[f].port == FABRIC_NONE ? d->first[s] : failed[f].port - d->fabric->endpoints;
        uint32_t end = failed[f].port == FABRIC_NONE ? d->first[s + 1] : from + 1;
        for (uint32_t p = from; p < end; p++) {
            uint32_t to = d->neighbour[p];
            if (to == FABRIC_NONE) continue;
            /* With two failures a link may be counted once only. */
            if (failed[f].port == FABRIC_NONE && d->down[p]) continue;
            if (failed[f].port == FABRIC_NONE && d->dead[to] && to < s) continue;
            uint16_t here = d->distance[deadlock_at(d, s, edge)];
            uint16_t there = d->distance[deadlock_at(d, to, edge)];
            if (here == DEADLOCK_FAR || there == DEADLOCK_FAR) continue;
            if (here == there + 1) lose(d, s, edge, &touched, &listed);
            if (there == here + 1) lose(d, to, edge, &touched, &listed);
        }
    }
    for (uint32_t i = 0; i < listed; i++) {
        uint32_t a = d->list[i];
        uint16_t here = d->distance[deadlock_at(d, a, edge)];
        for (uint32_t p = d->first[a]; p < d->first[a + 1]; p++) {
            uint32_t u = d->neighbour[p];
            if (u == FABRIC_NONE || d->down[p] || d->dead[u]) continue;
            if (d->distance[deadlock_at(d, u, edge)] == here + 1) lose(d, u, edge, &touched, &listed);
        }
    }
    CHECK(listed <= touched && touched <= d->switches);
    *ret_touched = touched;
    return listed;
}

/* The new distances, from those that kept theirs inwards. */
static void measure_affected(struct deadlock *d, uint32_t listed, uint32_t edge)
{
    bool changed = true;

    for (uint32_t i = 0; i < listed; i++)
        d->anew[d->list[i]] = DEADLOCK_FAR;
    /* Passes over a set that is almost always a handful. */
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < listed; i++) {
            uint32_t a = d->list[i];
            for (uint32_t p = d->first[a]; p < d->first[a + 1]; p++) {
                uint32_t to = d->neighbour[p];
                if (to == FABRIC_NONE || d->down[p] || d->dead[to]) continue;
                uint16_t there = distance_of(d, to, edge);
                if (there == DEADLOCK_FAR || there + 1 >= d->anew[a]) continue;
                d->anew[a] = (uint16_t)(there + 1);
                changed = true;
            }
        }
    }
}

/* Most failures take nobody's last way: told without touching anything. */
static bool nobody_loses(const struct deadlock *d, const struct deadlock_failure *failed, uint32_t count, uint32_t edge)
{
    uint32_t loser[2] = {FABRIC_NONE, FABRIC_NONE};

    for (uint32_t f = 0; f < count; f++) {
        if (failed[f].port == FABRIC_NONE) return false;
        uint32_t p = failed[f].port - d->fabric->endpoints, s = failed[f].node - d->fabric->hosts, to = d->neighbour[p];
        size_t a = deadlock_at(d, s, edge), b = deadlock_at(d, to, edge);
        if (d->distance[a] == d->distance[b] + 1)
            loser[f] = s;
        else if (d->distance[b] == d->distance[a] + 1)
            loser[f] = to;
        if (loser[f] == FABRIC_NONE) continue;
        uint32_t lost = f && loser[0] == loser[1] ? 2 : 1;
        if (d->ways[deadlock_at(d, loser[f], edge)] <= lost) return false;
    }
    return true;
}

/* What came in by port `in` in this level now leaves by `out`. */
static void note_wait(struct deadlock *d, uint32_t in, uint32_t level, uint32_t out)
{
    uint32_t o = out - d->first[d->neighbour[d->peer[in]]];
    size_t word = (size_t)level * d->row[d->ports] + d->row[in] + o / 64;
    uint64_t bit = UINT64_C(1) << o % 64;

    CHECK(level < d->levels && o < d->first[d->neighbour[d->peer[in]] + 1] - d->first[d->neighbour[d->peer[in]]]);
    if ((d->base[word] | d->fresh[word]) & bit) return;
    if (!d->fresh[word]) {
        CHECK(d->freshes < d->levels * d->row[d->ports]);
        d->fresh_word[d->freshes] = (uint32_t)word;
        d->fresh_from[d->freshes++] = level * d->ports + in;
    }
    d->fresh[word] |= bit;
}

/* What came into s by port `in` (FABRIC_NONE: from hosts) goes on to the edge. */
static void send_on(struct deadlock *d, uint32_t s, uint32_t in, uint32_t level, uint32_t edge)
{
    /* Packets for the edge went by here before, and by all that follows.  With levels, in which ones is not kept. */
    bool known = !d->raises && !d->affected[s] && d->used[deadlock_at(d, s, edge)];

    for (uint32_t p = d->first[s]; p < d->first[s + 1]; p++) {
        if (!next_hop(d, s, p, edge)) continue;
        uint32_t next = level, to = d->peer[p];
        if (in != FABRIC_NONE) {
            next = deadlock_level(d, in, p, level);
            note_wait(d, in, level, p);
        }
        if (known || d->seen[next * d->ports + to] == d->stamp) continue;
        d->seen[next * d->ports + to] = d->stamp;
        send_on(d, d->neighbour[p], to, next, edge); /* as deep as the way is long: distances fall */
    }
}

/* Only hosts bring packets to a switch that is affected, or others that are: none that kept its distance does. */
static void new_waits_for(struct deadlock *d, uint32_t listed, uint32_t edge)
{
    d->stamp++;
    for (uint32_t i = 0; i < listed; i++) {
        uint32_t a = d->list[i];
        if (!d->talks[a] || d->anew[a] == DEADLOCK_FAR) continue;
        for (uint32_t l = 0; l < d->levels; l++)
            if (d->injected >> l & 1) send_on(d, a, FABRIC_NONE, l, edge);
    }
}

static void forget_affected(struct deadlock *d, uint32_t listed, uint32_t touched)
{
    for (uint32_t i = 0; i < listed; i++)
        d->affected[d->list[i]] = 0;
    for (uint32_t i = 0; i < touched; i++)
        d->lost[d->touched[i]] = 0;
}

static void find_new_waits(struct deadlock *d, const struct deadlock_failure *failed, uint32_t count)
{
    for (uint32_t edge = 0; edge < d->edges; edge++) {
        uint32_t touched;
        uint32_t target = d->fabric->edge_switch[edge];
        if (d->dead[target] || !d->talks[target] || nobody_loses(d, failed, count, edge)) continue;
        uint32_t listed = find_affected(d, failed, count, edge, &touched);
        if (listed) {
            measure_affected(d, listed, edge);
            new_waits_for(d, listed, edge);
        }
        forget_affected(d, listed, touched);
    }
}

/* New waits of one word against the order: lowers *least where one breaks it, and says whether one does. */
static bool breaks_order(const struct deadlock *d, uint32_t f, uint32_t set, uint32_t *least)
{
    const uint32_t *order = d->order[set];
    uint32_t from = d->fresh_from[f], in = from % d->ports, level = from / d->ports;
    uint32_t s = d->neighbour[d->peer[in]];
    uint32_t first = d->first[s] + (d->fresh_word[f] - (uint32_t)(level * d->row[d->ports]) - d->row[in]) * 64;
    bool breaks = false;

    if (!(d->mask[in] >> (d->raises ? d->level_prio[level] : d->set_prio[set]) & 1)) return false;
    for (uint64_t bits = d->fresh[d->fresh_word[f]]; bits; bits &= bits - 1) {
        uint32_t out = first + (uint32_t)__builtin_ctzll(bits), next = deadlock_level(d, in, out, level);
        uint32_t to = next * d->ports + d->peer[out];
        uint8_t prio = d->raises ? d->level_prio[next] : d->set_prio[set];
        if (!(d->mask[d->peer[out]] >> prio & 1) || order[to] < order[from]) continue;
        if (order[from] < *least) *least = order[from];
        breaks = true;
    }
    return breaks;
}

/* Follows waits from all that broke the order; the hops of a circle, in ring[], or 0. */
static uint32_t follow_new_waits(struct deadlock *d, uint32_t set)
{
    struct deadlock_graph graph = {
        .turn = d->base, .more = d->fresh, .prio = d->set_prio[set], .bound = d->order[set], .least = UINT32_MAX};
    uint32_t hops = 0, from = 0;
    bool any = false;

    for (uint32_t f = 0; f < d->freshes; f++)
        any |= breaks_order(d, f, set, &graph.least);
    if (!any) return 0;
    d->followed++;
    for (uint32_t f = 0; f < d->freshes && !hops; f++) {
        uint32_t unused = UINT32_MAX;
        if (!d->colour[d->fresh_from[f]] && breaks_order(d, f, set, &unused))
            hops = deadlock_follow(d, &graph, d->fresh_from[f], &from);
    }
    memcpy(d->ring, d->stack + from, hops * sizeof(d->ring[0]));
    for (uint32_t v = 0; v < graph.visited; v++)
        d->colour[d->visited[v]] = 0;
    return hops;
}

/* Some host sends to the edge through this switch. */
static bool has_source(struct deadlock *d, uint32_t s, uint32_t edge)
{
    uint16_t here = distance_of(d, s, edge);

    if (d->talks[s]) return true;
    d->source[s] = d->stamp;
    for (uint32_t p = d->first[s]; p < d->first[s + 1]; p++) {
        uint32_t from = d->neighbour[p];
        if (from == FABRIC_NONE || d->down[p] || d->dead[from] || d->source[from] == d->stamp) continue;
        if (distance_of(d, from, edge) != DEADLOCK_FAR && distance_of(d, from, edge) == here + 1 &&
            has_source(d, from, edge))
            return true;
    }
    return false;
}

/* Packets for the edge leave by hop i of the ring, and then by the next. */
static bool goes_so(struct deadlock *d, uint32_t i, uint32_t hops, uint32_t edge)
{
    uint32_t in = d->ring[i], next_in = d->ring[(i + 1) % hops];
    uint32_t a = d->neighbour[in], b = d->neighbour[d->peer[in]];

    if (d->dead[a] || !next_hop(d, a, d->peer[in], edge) || !next_hop(d, b, d->peer[next_in], edge)) return false;
    d->stamp++;
    return has_source(d, a, edge);
}

static bool is_fresh(const struct deadlock *d, uint32_t in, uint32_t next_in)
{
    uint32_t o = d->peer[next_in] - d->first[d->neighbour[d->peer[in]]];
    return d->fresh[d->row[in] + o / 64] >> o % 64 & 1;
}

/* Without levels: every hop of the ring and the next is a wait of the routes as they are now. */
static bool prove_ring(struct deadlock *d, const struct deadlock_failure *failed, uint32_t count, uint32_t hops)
{
    uint32_t open = 0;

    for (uint32_t i = 0; i < hops; i++) {
        d->proven[i] = is_fresh(d, d->ring[i], d->ring[(i + 1) % hops]);
        open += !d->proven[i];
    }
    for (uint32_t edge = 0; edge < d->edges && open; edge++) {
        uint32_t touched = 0, listed = 0;
        uint32_t target = d->fabric->edge_switch[edge];
        if (d->dead[target] || !d->talks[target]) continue;
        if (!nobody_loses(d, failed, count, edge)) {
            listed = find_affected(d, failed, count, edge, &touched);
            measure_affected(d, listed, edge);
        }
        for (uint32_t i = 0; i < hops; i++) {
            if (d->proven[i] || !goes_so(d, i, hops, edge)) continue;
            d->proven[i] = 1;
            open--;
        }
        forget_affected(d, listed, touched);
    }
    return !open;
}

bool deadlock_after(struct deadlock *d, const struct deadlock_failure *failed, uint32_t count,
                    struct deadlock_cycle *ret)
{
    bool suspect = d->circle, found = false;

    if (!suspect && count == 1 && !deadlock_matters(d, failed)) return false;
    d->steps += d->edges;
    if (!suspect) {
        deadlock_fail(d, failed, count, 1);
        find_new_waits(d, failed, count);
        for (uint32_t set = 0; set < d->sets && !found; set++) {
            uint32_t hops = follow_new_waits(d, set);
            if (!hops) continue;
            suspect = true;
            found = !d->raises && prove_ring(d, failed, count, hops);
            if (found) deadlock_keep(d, d->ring, hops, d->set_prio[set], ret);
        }
        for (uint32_t f = 0; f < d->freshes; f++)
            d->fresh[d->fresh_word[f]] = 0;
        d->freshes = 0;
        deadlock_fail(d, failed, count, 0);
    }
    if (found || !suspect) return found;
    d->searched++;
    return deadlock_search(d, failed, count, ret);
}
