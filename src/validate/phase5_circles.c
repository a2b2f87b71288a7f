/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 5, deadlock stress: the circle of buffers that `check` finds, as routed or after a failure, gets the traffic
 * that closes it: for each two of its links in a row, flows between edges whose way goes over both.
 *
 * A fabric that `check` proves free of circles gets what comes nearest: all to all while a link is down.  Either is run
 * without congestion control, because the proof does not count on it, with the file's watchdog, and with several
 * hashes: flows need not go the circle's way.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
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
static char *circle_jobs(const struct fabric *fabric, const struct circle *circle, const struct failures *failures)
{
    char *jobs = NULL, a[FABRIC_NAME], b[FABRIC_NAME];
    size_t length = 0;
    FILE *to = open_memstream(&jobs, &length);
    ps_t at = circle->fails ? ps_add(failures_routes_ps(failures), 100 * PS_US) : 0;

    CHECK(to);
    fputs("[{flows: \"", to);
    for (uint32_t i = 0; i < circle->pairs; i++) {
        uint32_t src[HOSTS_MOST], dst[HOSTS_MOST];
        uint32_t from = choose_of_edge(fabric, circle->src[i], src, HOSTS_MOST);
        uint32_t into = choose_of_edge(fabric, circle->dst[i], dst, HOSTS_MOST);
        for (uint32_t f = 0; f < from * into; f++)
            fprintf(to, "%s %s %lluB %lluns\\n", endpoint_name(fabric, src[f % from], a),
                    endpoint_name(fabric, dst[f / from], b), (unsigned long long)(failures->bytes / into + 1),
                    (unsigned long long)(at / PS_NS));
    }
    fputs("\"}]", to);
    CHECK(fclose(to) == 0);
    return jobs;
}

static char *flood_jobs(const struct fabric *fabric, const struct failures *failures)
{
    char *ranks = endpoint_list(fabric, failures->rank, failures->ranks), *jobs = NULL;

    CHECK(ranks && asprintf(&jobs, "[{all-to-all: at-once, size: %lluB, ranks: %s}]",
                            (unsigned long long)failures->bytes, ranks) > 0);
    free(ranks);
    return jobs;
}

static const char *failure_name(const struct fabric *fabric, const struct deadlock_failure *failed,
                                char buf[FABRIC_NAME])
{
    if (failed->port != FABRIC_NONE) return fabric_port_name(fabric, failed->port, buf);
    snprintf(buf, FABRIC_NAME, "%s", fabric->node[failed->node].name);
    return buf;
}

struct stress {
    char fault[256], subject[VALIDATE_TEXT];
    char *jobs;
};

static void write_stress(const struct validate_case *of, const struct circle *circle, const struct failures *failures,
                         struct stress *ret)
{
    char name[FABRIC_NAME], first[FABRIC_NAME];

    *ret = (struct stress){.jobs = circle->pairs ? circle_jobs(of->fabric, circle, failures)
                                                 : flood_jobs(of->fabric, failures)};
    if (circle->pairs) {
        if (circle->fails)
            snprintf(ret->fault, sizeof ret->fault, "down %.90s at 1us",
                     failure_name(of->fabric, &circle->failed, name));
        snprintf(
            ret->subject, sizeof ret->subject,
            "the circle of %u links from %.64s on that `check` finds%s%.64s, with its traffic: deadlocks that hold",
            circle->cycle.hops, fabric_port_name(of->fabric, circle->cycle.hop[0], first),
            circle->fails ? " without " : "", circle->fails ? name : "");
        return;
    }
    if (failures->link != FABRIC_NONE)
        snprintf(ret->fault, sizeof ret->fault, "down %.90s at 100us",
                 fabric_port_name(of->fabric, failures->link, name));
    snprintf(ret->subject, sizeof ret->subject, "%s; all to all%s: deadlocks that hold",
             circle->found ? "no traffic goes by the circle that `check` finds" : "`check` finds no circle",
             ret->fault[0] ? " with a link down" : "");
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
    char why[VALIDATE_TEXT] = "", subject[VALIDATE_TEXT];
    struct outcome outcome = {0};
    struct failures failures;
    struct circle circle;
    struct stress stress;
    bool ran = true;

    if (!failures_choose(of, times[of->plan->level], &failures)) return;
    find_circle(of, &circle);
    write_stress(of, &circle, &failures, &stress);
    uint32_t runs = circle.pairs ? hashes[of->plan->level] : 1;
    for (uint32_t i = 0; i < runs && ran && outcome.closed == 0; i++)
        ran = run_stress(of, &stress, &failures, of->plan->seed + i, &outcome);
    if (ran) {
        if (outcome.closed)
            snprintf(why, sizeof why, "%u queues from %.90s on wait for each other", outcome.waits, outcome.where);
        snprintf(subject, sizeof subject, "%.280s%s", stress.subject,
                 outcome.closed > outcome.held ? " (broken by the watchdog)" : "");
        validate_judge(of,
                       &(struct validate_finding){
                           .subject = subject, .criterion = CRITERION_DEADLOCKS, .value = outcome.held, .why = why});
    }
    free(stress.jobs);
}
