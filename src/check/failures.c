/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOP001 and TOP002: the proof as rules, and its findings as sentences.
 *
 * Routes without valleys go up and then down.  A circle of waits comes back to where it began, so it would have to turn
 * from down to up somewhere: there is none, after any failure, and nothing to search.
 */
#include <errno.h>

#include "check/deadlock.h"
#include "check/rule.h"

#define PAIRS_MAX 1000000000ull /* state x edge steps of pairs of failures */
#define TOLD_MAX 50u            /* failures with a circle that are told one by one */

/* "leaf0:4 -> spine1 -> leaf2 ..." */
static void cycle_text(const struct fabric *fabric, const struct deadlock_cycle *cycle, char *buf, size_t size)
{
    char name[FABRIC_NAME];
    size_t used = 0;

    buf[0] = 0;
    for (uint32_t i = 0; i < cycle->hops && i < DEADLOCK_CYCLE_MAX && used + FABRIC_NAME + 40 < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s > ", port_label(fabric, cycle->hop[i], name));
    snprintf(buf + used, size - used, "%s", port_label(fabric, cycle->hop[0], name));
}

static const char *failure_text(const struct fabric *fabric, const struct deadlock_failure *failed, char buf[240])
{
    char name[FABRIC_NAME], other[FABRIC_NAME];

    if (failed->port == FABRIC_NONE)
        snprintf(buf, 240, "%s", fabric->node[failed->node].name);
    else
        snprintf(buf, 240, "the link of %s and %s", port_label(fabric, failed->port, name),
                 port_label(fabric, fabric->port[failed->port].peer, other));
    return buf;
}

/* What a buffer is one of. */
static const char *kind(const struct check *check)
{
    return check->fabric->lanes.vls && !check->fabric->lanes.cbfc ? "lane" : "priority";
}

static void tell(struct check *check, const struct deadlock_failure *failed, uint32_t count,
                 const struct deadlock_cycle *cycle)
{
    char path[420], one[240], two[240];

    cycle_text(check->fabric, cycle, path, sizeof(path));
    check_find(check, CHECK_ERROR, failed->node, failed->port, "",
               "without %s%s%s buffers of %s %u can wait in a circle: %s", failure_text(check->fabric, failed, one),
               count > 1 ? " and " : "", count > 1 ? failure_text(check->fabric, failed + 1, two) : "", kind(check),
               cycle->priority, path);
}

/* All states after a failure that are asked for. */
static uint64_t states_of(const struct check *check, const struct deadlock *d)
{
    const struct deadlock_failure *failure;
    uint64_t count = deadlock_failures(d, &failure);

    return check->options.failures > 1 ? count + count * (count - 1) / 2 : count;
}

/* False: given up. */
static bool try_failure(struct check *check, struct deadlock *d, const struct deadlock_failure *failed, uint32_t count,
                        uint32_t *circles)
{
    struct deadlock_cycle cycle;

    if (deadlock_spent(d) || (count > 1 && check->states * check->fabric->edges > PAIRS_MAX)) return false;
    if (check->options.tell) check->options.tell("failures", check->states - 1, states_of(check, d));
    check->states++;
    if (!deadlock_after(d, failed, count, &cycle)) return true;
    if (++*circles <= TOLD_MAX) tell(check, failed, count, &cycle);
    return true;
}

static void all_failures(struct check *check, struct deadlock *d)
{
    const struct deadlock_failure *failure;
    uint32_t count = deadlock_failures(d, &failure), circles = 0;
    uint64_t followed, searched;
    bool whole = true;

    check->apart = true; /* each names another failure */
    for (uint32_t i = 0; i < count && whole; i++)
        whole = try_failure(check, d, &failure[i], 1, &circles);
    for (uint32_t i = 0; i < count && whole && check->options.failures > 1; i++) {
        for (uint32_t j = i + 1; j < count && whole; j++) {
            struct deadlock_failure both[2] = {failure[i], failure[j]};
            whole = try_failure(check, d, both, 2, &circles);
        }
    }
    deadlock_effort(d, &followed, &searched);
    check->searched += followed;
    if (circles > TOLD_MAX)
        check_find(check, CHECK_ERROR, FABRIC_NONE, FABRIC_NONE, "topology",
                   "%u more failures let buffers wait in a circle; the first %u are listed", circles - TOLD_MAX,
                   TOLD_MAX);
    if (whole) return;
    check_find(check, CHECK_WARNING, FABRIC_NONE, FABRIC_NONE, "topology",
               "judged are %llu of %llu states of routing after failures; the others are not: the bound of the proof's "
               "work is reached",
               (unsigned long long)(check->states - 1), (unsigned long long)states_of(check, d));
}

/* The proof's state, which both rules use; NULL where there is nothing to prove. */
static struct deadlock *proof_of(struct check *check)
{
    if (!(lossless_anywhere(check->fabric) || check->fabric->lanes.vls) || check->fabric->switches < 2) return NULL;
    const struct deadlock_how how = {.steps = check->options.proof_steps, .tell = check->options.tell};
    if (check->proof || check->unproven) return check->proof;
    check->unproven = deadlock_open(check->fabric, &how, &check->proof) != 0;
    return check->proof;
}

RULE_FUNCTION(top_deadlock)
{
    struct deadlock_cycle cycle;
    char path[420];

    if (check->fabric->operations.routing == FABRIC_VALLEY_FREE) {
        check->states++;
        return;
    }
    struct deadlock *d = proof_of(check);
    if (check->unproven)
        check_find(check, CHECK_WARNING, FABRIC_NONE, FABRIC_NONE, "topology",
                   "not judged whether buffers can wait in a circle, as routed or after a failure: routes to %u edges "
                   "over %u ports are more than the bound of the proof's work or memory",
                   check->fabric->edges, check->fabric->ports - check->fabric->endpoints);
    if (!d) return;
    check->states++;
    if (!deadlock_circle(d, &cycle)) return;
    cycle_text(check->fabric, &cycle, path, sizeof(path));
    check_find(check, CHECK_ERROR, FABRIC_NONE, FABRIC_NONE, "topology", "buffers of %s %u can wait in a circle: %s",
               kind(check), cycle.priority, path);
}

RULE_FUNCTION(top_failures)
{
    const struct deadlock_failure *failure;
    struct deadlock_cycle cycle;

    if (check->options.failures == 0) return;
    struct deadlock *d = proof_of(check);
    if (!d) return;
    if (check->fabric->operations.routing == FABRIC_VALLEY_FREE)
        check->states += deadlock_failures(d, &failure);
    else if (!deadlock_circle(d, &cycle)) /* else TOP001 says it already */
        all_failures(check, d);
}
