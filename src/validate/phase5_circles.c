/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 5, deadlock stress: the circle of buffers that `check` finds, as routed or after a failure, gets the traffic
 * that closes it: for each two of its links in a row, flows between edges whose way goes over both.
 *
 * A fabric that `check` proves free of circles gets what comes nearest: all to all while a link is down.  Either is run
 * without congestion control, because the proof does not count on it, with the file's watchdog, and with several
 * hashes: flows need not go the circle's way.
 */
#include <string.h>

#include "check/deadlock.h"
#include "fabric/fabric.h"
#include "fabric/override.h"
#include "fabric/switches.h"
#include "validate/failures.h"

#define HOSTS_MOST 4u            /* of an edge */
#define STEPS_MOST 1000000000ull /* edge x port steps of the search among failures */

struct circle {
    bool found, fails; /* there is one; it needs the failure */
    struct deadlock_cycle cycle;
    struct deadlock_failure failed;
    uint32_t src[DEADLOCK_CYCLE_MAX], dst[DEADLOCK_CYCLE_MAX]; /* [hop] edges whose traffic goes by it and the next */
    uint32_t pairs;
    uint64_t states;
};

/* As routed, else after the first failure that makes one, as far as STEPS_MOST goes. */
static bool search(struct deadlock *proof, const struct fabric *fabric, struct circle *ret)
{
    const struct deadlock_failure *failure;
    uint32_t count = deadlock_failures(proof, &failure);

    ret->states = 1;
    if (deadlock_circle(proof, &ret->cycle)) return true;
    for (uint32_t i = 0; i < count; i++) {
        if (ret->states * fabric->edges * (fabric->ports - fabric->endpoints) > STEPS_MOST) return false;
        ret->states++;
        if (!deadlock_after(proof, &failure[i], 1, &ret->cycle)) continue;
        ret->failed = failure[i];
        return ret->fails = true;
    }
    return false;
}

/* Routes without valleys have no circle: `check` searches none either. */
static void find_circle(const struct validate_case *of, struct circle *ret)
{
    struct deadlock *proof = NULL;

    *ret = (struct circle){0};
    if (of->fabric->operations.routing == FABRIC_VALLEY_FREE || of->fabric->switches < 2) return;
    if (deadlock_open(of->fabric, NULL, &proof) != 0) return;
    ret->found = search(proof, of->fabric, ret);
    uint32_t hops = ret->cycle.hops < DEADLOCK_CYCLE_MAX ? ret->cycle.hops : DEADLOCK_CYCLE_MAX;
    for (uint32_t h = 0; ret->found && h < hops; h++) {
        const uint32_t hop[2] = {ret->cycle.hop[h], ret->cycle.hop[(h + 1) % hops]};
        if (deadlock_pair(proof, &ret->failed, ret->fails, hop, &ret->src[ret->pairs], &ret->dst[ret->pairs]))
            ret->pairs++;
    }
    deadlock_free(proof);
}

/* All hosts of each pair of edges, each to each, together as long as one host sends a message. */
static const char *circle_jobs(struct validate_case *of, const struct circle *circle, const struct failures *failures)
{
    ps_t at = circle->fails ? ps_add(failures_routes_ps(failures), 100 * PS_US) : 0;
    FILE *to = case_open(of);

    fputs("[{flows: \"", to);
    for (uint32_t i = 0; i < circle->pairs; i++) {
        uint32_t src[HOSTS_MOST], dst[HOSTS_MOST];
        uint32_t from = choose_of_edge(of->fabric, circle->src[i], src, HOSTS_MOST);
        uint32_t into = choose_of_edge(of->fabric, circle->dst[i], dst, HOSTS_MOST);
        for (uint32_t f = 0; f < from * into; f++)
            fprintf(to, "%s %s %lluB %lluns\\n", case_endpoint(of, src[f % from]), case_endpoint(of, dst[f / from]),
                    (unsigned long long)(failures->bytes / into + 1), (unsigned long long)(at / PS_NS));
    }
    fputs("\"}]", to);
    return case_close(of);
}

static const char *flood_jobs(const struct validate_case *of, const struct failures *failures)
{
    return case_text(of, "[{all-to-all: at-once, size: %lluB, ranks: %s}]", (unsigned long long)failures->bytes,
                     case_list(of, failures->rank, failures->ranks));
}

struct stress {
    const char *fault, *subject, *jobs; /* fault "": none */
};

static struct stress write_stress(struct validate_case *of, const struct circle *circle,
                                  const struct failures *failures)
{
    struct stress stress = {.fault = ""};

    if (circle->pairs) {
        const struct deadlock_failure *failed = &circle->failed;
        const char *name = !circle->fails                ? ""
                           : failed->port != FABRIC_NONE ? case_port(of, failed->port)
                                                         : of->fabric->node[failed->node].name;
        if (circle->fails) stress.fault = case_text(of, "down %.90s at 1us", name);
        stress.subject = case_text(
            of, "the circle of %u links from %.64s on that `check` finds%s%.64s, with its traffic: deadlocks that hold",
            circle->cycle.hops, case_port(of, circle->cycle.hop[0]), circle->fails ? " without " : "", name);
        stress.jobs = circle_jobs(of, circle, failures);
        return stress;
    }
    if (failures->link != FABRIC_NONE)
        stress.fault = case_text(of, "down %.90s at 100us", case_port(of, failures->link));
    stress.subject =
        case_text(of, "%s; all to all%s: deadlocks that hold",
                  circle->found ? "no traffic goes by the circle that `check` finds" : "`check` finds no circle",
                  stress.fault[0] ? " with a link down" : "");
    stress.jobs = flood_jobs(of, failures);
    return stress;
}

struct outcome {
    uint32_t held, closed;
    char where[FABRIC_NAME];
    uint32_t waits;
};

/* The longest that a watchdog of the fabric may take; 0: there is none. */
static ps_t watchdog_ps(const struct fabric *fabric)
{
    ps_t most = 0;

    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_watchdog *watchdog = &fabric->sw[s].watchdog;
        ps_t acts = ps_add(watchdog->poll_ps, watchdog->detect_ps);
        if (fabric_watchdog_runs(watchdog) && acts > most) most = acts;
    }
    return most;
}

/* It was there at the end; one that a watchdog had no time for yet does not hold. */
static bool holds(const struct sim_deadlock *deadlock, ps_t watchdog, ps_t end)
{
    return deadlock->ended == PS_NEVER && (watchdog == 0 || ps_add(deadlock->closed, watchdog) < end);
}

/* False after a row. */
static bool run_stress(struct validate_case *of, const struct stress *stress, const struct failures *failures,
                       uint64_t seed, struct outcome *outcome)
{
    const struct sim_options options = {.threads = 1, .seed = seed};
    const char *const fault[] = {stress->fault};
    struct variant variant = {.fault = fault, .faults = 1};

    if (!of->fabric->converge.on)
        variant.override[variant.overrides++] = (struct fabric_override){"converge", failures->converge_text};
    if (is_roce(of->fabric))
        variant.override[variant.overrides++] = (struct fabric_override){"nics.congestion", "none"};
    if (!variant_open(of, stress->subject, stress->jobs, &variant, &options)) return false;
    if (!variant_run(of, stress->subject, &variant, 10 * failures->length + PS_S)) return false;
    for (uint32_t d = 0; d < variant.result.deadlocks; d++) {
        const struct sim_deadlock *deadlock = &variant.result.deadlock[d];
        outcome->closed++;
        outcome->held += holds(deadlock, watchdog_ps(of->fabric), variant.result.virtual_ps);
        outcome->waits = deadlock->waits;
        fabric_port_name(of->fabric, deadlock->wait[0].port, outcome->where);
    }
    variant_close(&variant);
    return true;
}

void test_circles(struct validate_case *of)
{
    static const ps_t times[VALIDATE_LEVELS] = {
        [VALIDATE_QUICK] = PS_MS, [VALIDATE_DEFAULT] = 3 * PS_MS, [VALIDATE_FULL] = 300 * PS_MS};
    static const uint32_t hashes[VALIDATE_LEVELS] = {1, 3, 3};
    const char *why = "", *subject;
    struct outcome outcome = {0};
    struct failures failures;
    struct circle circle;

    if (!failures_choose(of, times[of->plan->level], &failures)) return;
    find_circle(of, &circle);
    const struct stress stress = write_stress(of, &circle, &failures);
    uint32_t runs = circle.pairs ? hashes[of->plan->level] : 1;
    for (uint32_t i = 0; i < runs && outcome.closed == 0; i++)
        if (!run_stress(of, &stress, &failures, of->plan->seed + i, &outcome)) return;
    if (outcome.closed)
        why = case_text(of, "%u queues from %.90s on wait for each other", outcome.waits, outcome.where);
    subject =
        case_text(of, "%.280s%s", stress.subject, outcome.closed > outcome.held ? " (broken by the watchdog)" : "");
    JUDGE(of, .subject = subject, .criterion = CRITERION_DEADLOCKS, .value = outcome.held, .why = why);
}
