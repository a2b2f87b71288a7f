/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the proof calls a deadlock, run: on random irregular fabrics the simulator gets the traffic of the circle that
 * was found, and must deadlock in it; fabrics without a circle get more traffic than they can carry, and must not.
 *
 * The traffic of a circle: for each pair of links in a row one pair of switches whose shortest paths go over both, and
 * all hosts of the first send to those of the second, without congestion control or watchdog.  It is run twice.
 * Hashed: switches choose among shortest paths as they always do, so a deadlock may close in another circle too, or too
 * few flows may go the circle's way, and another seed is tried; a failure that the circle needs is a fault of the run,
 * and traffic begins when routes have followed it.  Pinned: each flow goes by the circle's links, and the deadlock must
 * be in exactly these and their priority; what failed is taken out of the file, because pins are held against the
 * routes that the file has.
 *
 * ROCELAB_CIRCLES is the number of fabrics with a circle that are looked for (soak: more).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/rng.h"
#include "check/deadlock.h"
#include "fabric/fabric.h"
#include "irregular.h"
#include "load/load.h"
#include "sim/sim.h"

#define HOSTS 3  /* of each switch that has any */
#define HASHES 4 /* seeds that hashed flows are tried with */
#define PATH_MAX_HOPS 32
#define PINS_MAX 2048
#define TEXT_MAX 262144

/* ---------------------------------------------------------------- the text of a run */

struct text {
    char *at;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int wrote = vsnprintf(text->at + text->used, TEXT_MAX - text->used, format, args);
    va_end(args);
    assert_true(wrote >= 0 && text->used + (size_t)wrote < TEXT_MAX);
    text->used += (size_t)wrote;
}

struct pin {
    uint32_t sw, port; /* port: of the fabric */
    int src, dst;      /* hosts */
};

struct planned {
    struct fabric *fabric;
    struct oracle whole, oracle; /* the fabric, and what the failure leaves of it */
    struct deadlock_cycle cycle;
    struct deadlock_failure failed;
    bool fails; /* the circle needs the failure */
    char text[IRREGULAR_TEXT];
};

static uint32_t switch_of(const struct fabric *fabric, uint32_t port)
{
    return fabric->port[port].node - fabric->hosts;
}

static uint32_t next_switch(const struct fabric *fabric, uint32_t port)
{
    return switch_of(fabric, fabric->port[port].peer);
}

static bool is_gone(const struct planned *plan, uint32_t port)
{
    const struct fabric *fabric = plan->fabric;
    uint32_t peer = fabric->port[port].peer;

    if (!plan->fails) return false;
    if (plan->failed.port != FABRIC_NONE) return port == plan->failed.port || peer == plan->failed.port;
    return fabric->port[port].node == plan->failed.node || fabric->port[peer].node == plan->failed.node;
}

/* A port of switch a to switch b. */
static uint32_t port_to(const struct planned *plan, uint32_t a, uint32_t b)
{
    const struct fabric *fabric = plan->fabric;
    const struct fabric_node *node = &fabric->node[fabric->hosts + a];

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        if (fabric->port[p].peer >= fabric->endpoints && next_switch(fabric, p) == b && !is_gone(plan, p)) return p;
    fail_msg("no link from switch %u to %u", a, b);
    return FABRIC_NONE;
}

/* Ports of a shortest way from a to b, appended. */
static uint32_t walk(const struct planned *plan, uint32_t a, uint32_t b, uint32_t *path, uint32_t hops)
{
    int distance[ORACLE_NODES];

    oracle_distances(&plan->oracle, (int)b, distance);
    while (a != b) {
        uint32_t to = 0;
        while (!plan->oracle.links[a][to] || distance[to] + 1 != distance[a])
            to++;
        assert_true(hops < PATH_MAX_HOPS);
        path[hops++] = port_to(plan, a, to);
        a = to;
    }
    return hops;
}

/* The nearest pair of switches with hosts whose shortest paths go by hop i of the circle and then by the next. */
static void find_pair(const struct planned *plan, uint32_t i, uint32_t *ret_src, uint32_t *ret_dst)
{
    const struct fabric *fabric = plan->fabric;
    uint32_t first = plan->cycle.hop[i], second = plan->cycle.hop[(i + 1) % plan->cycle.hops];
    int begin = (int)switch_of(fabric, first), end = (int)next_switch(fabric, second), best = ORACLE_FAR;

    for (int dst = 0; dst < plan->oracle.nodes; dst++) {
        int to_dst[ORACLE_NODES], to_begin[ORACLE_NODES];
        if (!plan->oracle.host[dst]) continue;
        oracle_distances(&plan->oracle, dst, to_dst);
        oracle_distances(&plan->oracle, begin, to_begin);
        for (int src = 0; src < plan->oracle.nodes; src++) {
            if (!plan->oracle.host[src] || to_begin[src] + 2 + to_dst[end] != to_dst[src]) continue;
            if (to_dst[src] >= best) continue;
            best = to_dst[src];
            *ret_src = (uint32_t)src;
            *ret_dst = (uint32_t)dst;
        }
    }
    if (best == ORACLE_FAR) fail_msg("no shortest path goes by hop %u of the circle and the next\n%s", i, plan->text);
}

static void say_pins(const struct planned *plan, struct text *text, const struct pin *pin, uint32_t pins)
{
    const struct fabric *fabric = plan->fabric;

    say(text, "devices:\n");
    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        say(text, "  %s:\n    balance: {use: pin, by: hash, pins: [", node->name);
        for (uint32_t i = 0, n = 0; i < pins; i++)
            if (pin[i].sw == s)
                say(text, "%s{src: h%d, dst: h%d, port: %u}", n++ ? ", " : "", pin[i].src, pin[i].dst,
                    pin[i].port - node->first_port);
        say(text, "]}\n");
        if (!plan->fails) continue;
        say(text, "    ports: {");
        for (uint32_t p = node->first_port, n = 0; p < node->first_port + node->ports; p++)
            if (is_gone(plan, p)) say(text, "%s%u: {up: false}", n++ ? ", " : "", p - node->first_port);
        say(text, "}\n");
    }
}

static void say_fault(const struct planned *plan, struct text *text)
{
    char name[FABRIC_NAME];

    if (!plan->fails) return;
    say(text, "converge: {detect: 1us, step: 1us}\nfaults: [{down: \"%s\", at: 1us}]\n",
        plan->failed.port == FABRIC_NONE ? plan->fabric->node[plan->failed.node].name
                                         : fabric_port_name(plan->fabric, plan->failed.port, name));
}

static const char settings[] = "switches: {buffer: 16MB}\n"
                               "classes:\n"
                               "  - {name: rdma, dscp: 26, priority: 3, lossless: true, xoff: 40KB}\n"
                               "  - {name: default, priority: 0}\n"
                               "nics: {congestion: none, ack-class: default, timeout: 0}\n"
                               "stop: 5ms\n";

/* The run of a circle: all hosts of each pair, each to each. */
static void write_circle(const struct planned *plan, bool pinned, char *into)
{
    struct text text = {into, 0};
    struct pin *pin = calloc(PINS_MAX, sizeof(*pin));
    uint32_t pins = 0;

    assert_non_null(pin);
    say(&text, "%s%sjobs:\n  - flows: |\n", plan->text, settings);
    for (uint32_t i = 0; i < plan->cycle.hops; i++) {
        uint32_t src = 0, dst = 0, path[PATH_MAX_HOPS], hops;
        uint32_t first = plan->cycle.hop[i], second = plan->cycle.hop[(i + 1) % plan->cycle.hops];
        find_pair(plan, i, &src, &dst);
        hops = walk(plan, src, switch_of(plan->fabric, first), path, 0);
        path[hops++] = first;
        path[hops++] = second;
        hops = walk(plan, next_switch(plan->fabric, second), dst, path, hops);
        for (int h = 0; h < HOSTS * HOSTS; h++) {
            int from = plan->oracle.first_host[src] + h % HOSTS, to = plan->oracle.first_host[dst] + h / HOSTS;
            say(&text, "      h%d h%d 100MB 50us\n", from, to);
            for (uint32_t p = 0; p < hops && pins < PINS_MAX; p++)
                pin[pins++] = (struct pin){switch_of(plan->fabric, path[p]), path[p], from, to};
        }
    }
    if (pinned)
        say_pins(plan, &text, pin, pins);
    else
        say_fault(plan, &text);
    free(pin);
}

/* ---------------------------------------------------------------- runs */

struct outcome {
    uint32_t deadlocks;
    bool same;  /* the circle of the proof */
    bool waits; /* each hop and the next are a wait that the oracle has too */
    uint64_t pauses, drops;
};

/* The circle that the simulator reports against the proof's. */
static void judge(const struct planned *plan, const struct sim_deadlock *found, struct outcome *ret)
{
    uint32_t common = 0;

    ret->waits = true;
    for (uint32_t w = 0; w < found->waits; w++) {
        uint32_t port = found->wait[w].port, next = found->wait[(w + 1) % found->waits].port;
        for (uint32_t h = 0; h < plan->cycle.hops; h++)
            common += plan->cycle.hop[h] == port && plan->cycle.priority == found->wait[w].priority;
        ret->waits =
            ret->waits && next_switch(plan->fabric, port) == switch_of(plan->fabric, next) &&
            plan->oracle
                .wait[switch_of(plan->fabric, port)][switch_of(plan->fabric, next)][0][next_switch(plan->fabric, next)];
    }
    ret->same = found->waits == plan->cycle.hops && common == found->waits;
}

static struct outcome run(const struct planned *plan, const char *text, uint64_t seed)
{
    struct fabric_errors errors = {0};
    struct sim_options options = {.seed = seed, .threads = 1, .until = PS_NEVER};
    struct fabric *fabric = NULL;
    struct sim *sim = NULL;
    struct sim_result result;
    struct outcome outcome = {0};

    if (fabric_load("circle.yaml", text, &fabric, &errors) != 0 || sim_create(fabric, &options, &sim, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("the run cannot be made\n%s", text);
    }
    while (sim_advance(sim, 1000000, PS_NEVER) == SIM_RUNNING) {
    }
    assert_int_equal(sim_result(sim, &result), 0);
    outcome.deadlocks = result.deadlocks;
    if (result.deadlocks) judge(plan, &result.deadlock[0], &outcome);
    for (uint32_t p = 0; p < result.ports; p++) {
        outcome.pauses += result.port[p].pauses_sent;
        outcome.drops += result.port[p].drops;
    }
    if (outcome.drops) fail_msg("%llu packets dropped\n%s", (unsigned long long)outcome.drops, text);
    sim_result_free(&result);
    sim_free(sim);
    fabric_free(fabric);
    return outcome;
}

static void set_failure(struct planned *plan, const struct deadlock_failure *failed)
{
    plan->oracle = plan->whole;
    plan->fails = failed != NULL;
    if (!failed) return;
    plan->failed = *failed;
    oracle_fail(&plan->oracle, plan->fabric, failed);
}

/* A random fabric and what the proof says of it: a circle as routed, or the first failure that makes one. */
static bool draw(struct rng *rng, struct planned *plan)
{
    struct fabric_errors errors = {0};
    struct deadlock *d = NULL;
    const struct deadlock_failure *failure;

    memset(plan, 0, sizeof(*plan));
    irregular_fabric(rng, HOSTS, &plan->whole, plan->text);
    if (fabric_load("random.yaml", plan->text, &plan->fabric, &errors) < 0)
        fail_msg("%s\n%s", errors.error[0].text, plan->text);
    assert_int_equal(deadlock_open(plan->fabric, NULL, &d), 0);
    set_failure(plan, NULL);
    bool found = deadlock_search(d, NULL, 0, &plan->cycle);
    uint32_t failures = deadlock_failures(d, &failure);
    for (uint32_t f = 0; f < failures && !found; f++) {
        found = deadlock_search(d, &failure[f], 1, &plan->cycle);
        if (found) set_failure(plan, &failure[f]);
    }
    deadlock_free(d);
    assert_int_equal(oracle_circle(&plan->oracle), found);
    return found;
}

static struct deadlock_failure any_failure(struct rng *rng, const struct fabric *fabric)
{
    struct deadlock *d = NULL;
    const struct deadlock_failure *failure;

    assert_int_equal(deadlock_open(fabric, NULL, &d), 0);
    uint32_t count = deadlock_failures(d, &failure);
    struct deadlock_failure one = failure[rng_below(rng, count)];
    deadlock_free(d);
    return one;
}

static uint32_t wanted(void)
{
    const char *said = getenv("ROCELAB_CIRCLES");
    return said ? (uint32_t)strtoul(said, NULL, 10) : 40;
}

struct tally { /* [0]: as routed, [1]: after a failure */
    uint32_t fabrics[2], hashed[2], tries[2], pinned[2];
};

/* Hashed flows, the failure as a fault; another seed is another hash. */
static void run_hashed(const struct planned *plan, struct tally *tally, char *text)
{
    struct outcome outcome = {0};

    write_circle(plan, false, text);
    for (uint64_t seed = 1; seed <= HASHES && !outcome.deadlocks; seed++) {
        outcome = run(plan, text, seed);
        tally->tries[plan->fails]++;
    }
    if (outcome.deadlocks && !outcome.waits) fail_msg("a circle of waits that no route has\n%s", text);
    tally->hashed[plan->fails] += outcome.deadlocks > 0;
}

/* Flows pinned to the circle deadlock in it, and in no other. */
static void run_pinned(const struct planned *plan, struct tally *tally, char *text)
{
    write_circle(plan, true, text);
    struct outcome outcome = run(plan, text, 1);
    if (!outcome.deadlocks) fail_msg("no deadlock\n%s", text);
    if (!outcome.same) fail_msg("a deadlock in another circle\n%s", text);
    tally->pinned[plan->fails]++;
}

static void test_circles_deadlock(void **state)
{
    uint64_t seed = test_seed_or(4);
    struct tally tally = {0};
    struct rng rng;
    struct planned plan;
    char *text = malloc(TEXT_MAX);

    (void)state;
    assert_non_null(text);
    rng_init(&rng, seed, 1);
    for (uint32_t found = 0; found < wanted();) {
        if (draw(&rng, &plan)) {
            found++;
            tally.fabrics[plan.fails]++;
            run_hashed(&plan, &tally, text);
            run_pinned(&plan, &tally, text);
        }
        fabric_free(plan.fabric);
    }
    for (int f = 0; f < 2; f++)
        print_message(
            "seed %llu, circles %s: %u fabrics; pinned flows deadlock in the proof's circle in %u, hashed ones in "
            "some circle in %u (%u runs)\n",
            (unsigned long long)seed, f ? "after a failure" : "as routed", tally.fabrics[f], tally.pinned[f],
            tally.hashed[f], tally.tries[f]);
    /* The hash decides what hashed flows do: most, not all. */
    assert_true((tally.hashed[0] + tally.hashed[1]) * 10 >= wanted() * 9);
    free(text);
}

/* Every host to every other at once, towards receivers that are slow, after the failure if there is one. */
static void write_flood(const struct planned *plan, char *into)
{
    struct text text = {into, 0};

    say(&text, "%s%sjobs:\n  - flows: |\n", plan->text, settings);
    for (int dst = 0; dst < plan->oracle.nodes; dst++) {
        int distance[ORACLE_NODES];
        if (!plan->oracle.host[dst]) continue;
        oracle_distances(&plan->oracle, dst, distance);
        for (int src = 0; src < plan->oracle.nodes; src++) {
            if (!plan->oracle.host[src] || distance[src] >= ORACLE_FAR) continue;
            for (int h = 0; h < HOSTS * HOSTS; h++)
                if (src != dst || h % HOSTS != h / HOSTS)
                    say(&text, "      h%d h%d 20MB 50us\n", plan->oracle.first_host[src] + h % HOSTS,
                        plan->oracle.first_host[dst] + h / HOSTS);
        }
    }
    say_fault(plan, &text);
    say(&text, "roles: {host: {receive: {rate: 40G}}}\n");
}

static void flood(const struct planned *plan, char *text, uint64_t seed)
{
    write_flood(plan, text);
    struct outcome outcome = run(plan, text, 1);
    if (outcome.deadlocks) fail_msg("seed %llu: a deadlock without a circle\n%s", (unsigned long long)seed, text);
    if (!outcome.pauses) fail_msg("seed %llu: too little traffic to say anything\n%s", (unsigned long long)seed, text);
}

static void test_no_circle_no_deadlock(void **state)
{
    uint64_t seed = test_seed_or(5);
    uint32_t whole = 0, failed = 0;
    struct rng rng;
    struct planned plan;
    char *text = malloc(TEXT_MAX);

    (void)state;
    assert_non_null(text);
    rng_init(&rng, seed, 2);
    while (whole < wanted() / 2) {
        bool circle = draw(&rng, &plan), only_after = plan.fails;
        if (!circle || only_after) {
            set_failure(&plan, NULL);
            flood(&plan, text, seed);
            whole++;
        }
        if (!circle) {
            struct deadlock_failure one = any_failure(&rng, plan.fabric);
            set_failure(&plan, &one);
            flood(&plan, text, seed);
            failed++;
        }
        fabric_free(plan.fabric);
    }
    print_message("seed %llu: %u fabrics as routed and %u after a failure have no circle, and no deadlock\n",
                  (unsigned long long)seed, whole, failed);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_circles_deadlock),
                                       cmocka_unit_test(test_no_circle_no_deadlock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
