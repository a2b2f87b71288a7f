/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every failure, without searching every time.
 *
 * Let switches be ordered (leaves, spines, cores, and as in the file), and call a hop to a later one up.  A circle of
 * waits comes back to where it began, so somewhere it turns from down to up: a bounce.  Routes without a bounce cannot
 * close one.  Routing without valleys is that by definition, for every failure: nothing is left to search.
 *
 * With shortest paths a failure that leaves every switch another next hop only takes waits away.  New ones begin where
 * a switch lost its last next hop to a place; it, and those upstream that lost theirs in turn, are all whose
 * distance grows (after Ramalingam and Reps), and no other switch gains a next hop.  So for each failure and place only
 * these are routed anew, and a search is made only if a bounce appears in what packets really use.  In a Clos network
 * none does, and a failure costs next to nothing.
 *
 * That holds if there is no bounce before the failure.  Where there is one, every failure that changes a route in use
 * is searched.
 */
#include <string.h>

#include "check/deadlock_int.h"
#include "check/rule.h"

#define WORK_MAX 60000000000ull /* place x port steps of searches before the proof is given up */
#define TOLD_MAX 50             /* failures with a circle that are told one by one */

static uint16_t distance_of(const struct deadlock *d, uint32_t s, uint32_t place)
{
    return d->affected[s] ? d->anew[s] : d->distance[(size_t)s * d->places + place];
}

static bool next_hop(const struct deadlock *d, uint32_t s, uint32_t p, uint32_t place)
{
    uint32_t to = d->neighbour[p];

    if (to == FABRIC_NONE || d->down[p] || d->dead[to]) return false;
    uint16_t here = distance_of(d, s, place), there = distance_of(d, to, place);
    return there != DEADLOCK_FAR && here != DEADLOCK_FAR && there + 1 == here;
}

/* A next hop of u is gone; u is affected when it was the last. */
static void lose(struct deadlock *d, uint32_t u, uint32_t place, uint32_t *touched, uint32_t *listed)
{
    if (!d->lost[u]) d->touched[(*touched)++] = u;
    d->lost[u]++;
    if (d->lost[u] != d->ways[(size_t)u * d->places + place] || d->affected[u] || d->dead[u]) return;
    d->affected[u] = 1;
    d->list[(*listed)++] = u;
}

/* Switches whose distance to the place grows, into list[]. */
static uint32_t find_affected(struct deadlock *d, const struct deadlock_failure *failed, uint32_t count, uint32_t place,
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
            uint16_t here = d->distance[(size_t)s * d->places + place];
            uint16_t there = d->distance[(size_t)to * d->places + place];
            if (here == DEADLOCK_FAR || there == DEADLOCK_FAR) continue;
            if (here == there + 1) lose(d, s, place, &touched, &listed);
            if (there == here + 1) lose(d, to, place, &touched, &listed);
        }
    }
    for (uint32_t i = 0; i < listed; i++) {
        uint32_t a = d->list[i];
        uint16_t here = d->distance[(size_t)a * d->places + place];
        for (uint32_t p = d->first[a]; p < d->first[a + 1]; p++) {
            uint32_t u = d->neighbour[p];
            if (u == FABRIC_NONE || d->down[p] || d->dead[u]) continue;
            if (d->distance[(size_t)u * d->places + place] == here + 1) lose(d, u, place, &touched, &listed);
        }
    }
    *ret_touched = touched;
    return listed;
}

/* The new distances, from those that kept theirs inwards. */
static void measure_affected(struct deadlock *d, uint32_t listed, uint32_t place)
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
                uint16_t there = distance_of(d, to, place);
                if (there == DEADLOCK_FAR || there + 1 >= d->anew[a]) continue;
                d->anew[a] = (uint16_t)(there + 1);
                changed = true;
            }
        }
    }
}

/* What came from `from` (FABRIC_NONE: hosts) into s goes on: does it bounce here, or further on where nothing went
 * before? */
static bool bounces_on(struct deadlock *d, uint32_t from, uint32_t s, uint32_t place, uint32_t depth)
{
    bool fell = from != FABRIC_NONE && !deadlock_up(from, s);
    bool fresh = d->affected[s] || !d->used[(size_t)s * d->places + place];

    if (depth > d->switches) return true; /* cannot be: distances fall */
    for (uint32_t p = d->first[s]; p < d->first[s + 1]; p++)
        if (fell && next_hop(d, s, p, place) && deadlock_up(s, d->neighbour[p])) return true;
    if (!fresh || d->reached[s] & (fell ? 2 : 1)) return false;
    d->reached[s] |= fell ? 2 : 1;
    for (uint32_t p = d->first[s]; p < d->first[s + 1]; p++)
        if (next_hop(d, s, p, place) && bounces_on(d, s, d->neighbour[p], place, depth + 1)) return true;
    return false;
}

/* New waits for one place that could close a circle. */
static bool suspect_place(struct deadlock *d, uint32_t listed, uint32_t place)
{
    bool found = false, any = false;

    measure_affected(d, listed, place);
    memset(d->reached, 0, d->switches);
    for (uint32_t i = 0; i < listed && !found; i++) {
        uint32_t a = d->list[i];
        /* Only hosts bring packets to one that is affected, or others that are: none that kept its distance does. */
        if (d->fabric->route[a].own_place == FABRIC_NONE || d->anew[a] == DEADLOCK_FAR) continue;
        any = true;
        found = d->bounced || bounces_on(d, FABRIC_NONE, a, place, 0);
    }
    return found || (any && d->bounced);
}

/* Most failures take nobody's last way: told without touching anything. */
static bool nobody_loses(const struct deadlock *d, const struct deadlock_failure *failed, uint32_t place)
{
    uint32_t p = failed->port - d->fabric->endpoints, s = failed->node - d->fabric->hosts, to = d->neighbour[p];
    size_t a = (size_t)s * d->places + place, b = (size_t)to * d->places + place;

    if (d->distance[a] == d->distance[b] + 1) return d->ways[a] > 1;
    if (d->distance[b] == d->distance[a] + 1) return d->ways[b] > 1;
    return true;
}

bool deadlock_suspect(struct deadlock *d, const struct deadlock_failure *failed, uint32_t count)
{
    bool found = false;

    deadlock_fail(d, failed, count, 1);
    for (uint32_t place = 0; place < d->places && !found; place++) {
        uint32_t touched, listed;
        if (d->dead[d->fabric->place_switch[place]]) continue;
        if (count == 1 && failed->port != FABRIC_NONE && nobody_loses(d, failed, place)) continue;
        listed = find_affected(d, failed, count, place, &touched);
        if (listed) found = suspect_place(d, listed, place);
        for (uint32_t i = 0; i < listed; i++)
            d->affected[d->list[i]] = 0;
        for (uint32_t i = 0; i < touched; i++)
            d->lost[d->touched[i]] = 0;
    }
    deadlock_fail(d, failed, count, 0);
    return found;
}

/* "leaf0:4 -> spine1 -> leaf2 ..." */
static void cycle_text(const struct fabric *fabric, const struct deadlock_cycle *cycle, char *buf, size_t size)
{
    char name[FABRIC_NAME];
    size_t used = 0;

    buf[0] = 0;
    for (uint32_t i = 0; i < cycle->hops && i < DEADLOCK_CYCLE_MAX && used + FABRIC_NAME + 40 < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s > ", fabric_port_name(fabric, cycle->hop[i], name));
    snprintf(buf + used, size - used, "%s", fabric_port_name(fabric, cycle->hop[0], name));
}

static const char *failure_text(const struct fabric *fabric, const struct deadlock_failure *failed, char buf[240])
{
    char name[FABRIC_NAME], other[FABRIC_NAME];

    if (failed->port == FABRIC_NONE)
        snprintf(buf, 240, "%s", fabric->node[failed->node].name);
    else
        snprintf(buf, 240, "the link of %s and %s", fabric_port_name(fabric, failed->port, name),
                 fabric_port_name(fabric, fabric->port[failed->port].peer, other));
    return buf;
}

static void tell(struct check *check, const struct deadlock_failure *failed, uint32_t count,
                 const struct deadlock_cycle *cycle)
{
    char path[420], one[240], two[240];

    cycle_text(check->fabric, cycle, path, sizeof(path));
    check_find(check, CHECK_ERROR, failed->node, failed->port, "",
               "without %s%s%s buffers of priority %u can wait in a circle: %s",
               failure_text(check->fabric, failed, one), count > 1 ? " and " : "",
               count > 1 ? failure_text(check->fabric, failed + 1, two) : "", cycle->priority, path);
}

/* False: given up. */
static bool try_failure(struct check *check, struct deadlock *d, const struct deadlock_failure *failed, uint32_t count,
                        uint64_t *work, uint32_t *told)
{
    struct deadlock_cycle cycle;

    check->states++;
    if (!deadlock_suspect(d, failed, count)) return true;
    *work += (uint64_t)d->places * d->ports;
    if (*work > WORK_MAX || *told == TOLD_MAX) return false;
    check->searched++;
    if (!deadlock_search(d, failed, count, &cycle)) return true;
    tell(check, failed, count, &cycle);
    ++*told;
    return true;
}

static void all_failures(struct check *check, struct deadlock *d)
{
    const struct deadlock_failure *failure;
    uint32_t count = deadlock_failures(d, &failure), told = 0;
    uint64_t work = 0;
    bool whole = true;

    for (uint32_t i = 0; i < count && whole; i++)
        whole = try_failure(check, d, &failure[i], 1, &work, &told);
    for (uint32_t i = 0; i < count && whole && check->options.failures > 1; i++) {
        for (uint32_t j = i + 1; j < count && whole; j++) {
            struct deadlock_failure both[2] = {failure[i], failure[j]};
            work += d->places;
            whole = try_failure(check, d, both, 2, &work, &told);
        }
    }
    if (whole) return;
    check->unfinished = told == TOLD_MAX ? "more failures than are told lead to a circle"
                                         : "too many failures change routes that already bounce";
    check_find(check, CHECK_WARNING, FABRIC_NONE, FABRIC_NONE, "topology",
               "the proof was stopped after %llu of its states: %s", (unsigned long long)check->states,
               check->unfinished);
}

/* The proof's state; NULL where there is nothing to prove. */
static struct deadlock *open_proof(struct check *check)
{
    struct deadlock *d = NULL;

    if (!lossless_anywhere(check->fabric) || check->fabric->switches < 2) return NULL;
    if (deadlock_open(check->fabric, &d) < 0) check->no_memory = true;
    return d;
}

RULE_FUNCTION(top_deadlock)
{
    struct deadlock_cycle cycle;
    char path[420];

    if (check->fabric->operations.routing == FABRIC_VALLEY_FREE) {
        check->states++;
        return;
    }
    struct deadlock *d = open_proof(check);
    if (!d) return;
    check->states++;
    /* Without a bounce there is none. */
    if (d->bounced) {
        check->searched++;
        if (deadlock_search(d, NULL, 0, &cycle)) {
            cycle_text(check->fabric, &cycle, path, sizeof(path));
            check_find(check, CHECK_ERROR, FABRIC_NONE, FABRIC_NONE, "topology",
                       "buffers of priority %u can wait in a circle: %s", cycle.priority, path);
        }
    }
    deadlock_free(d);
}

RULE_FUNCTION(top_failures)
{
    struct deadlock_cycle cycle;

    if (check->options.failures == 0) return;
    struct deadlock *d = open_proof(check);
    if (!d) return;
    if (check->fabric->operations.routing == FABRIC_VALLEY_FREE)
        check->states += d->failures;
    else if (!d->bounced || !deadlock_search(d, NULL, 0, &cycle)) /* else TOP001 says it already */
        all_failures(check, d);
    deadlock_free(d);
}
