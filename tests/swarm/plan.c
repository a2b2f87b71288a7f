/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A random fabric from a seed, as the text a user would write: it goes through the real loader.
 *
 * A plan has a character: clean (nothing is lost; then nothing may be lost, repeated or left undone), lossy lines, a
 * link that goes down, a pause storm, thin headroom, hasty timers; and a line may be slow.  Sizes are small: a run is
 * some ten thousand hops.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/qos/headroom.h"
#include "plan.h"

#define PLAN_STREAM 77
#define BALANCE_STREAM 78

void say(struct plan *plan, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    int wrote = vsnprintf(plan->text + plan->used, sizeof(plan->text) - plan->used, format, list);
    va_end(list);
    CHECK(wrote >= 0 && plan->used + (size_t)wrote < sizeof(plan->text));
    plan->used += (size_t)wrote;
}

uint64_t pick(struct rng *rng, uint64_t low, uint64_t high)
{
    return low + rng_below(rng, high - low + 1);
}

bool chance(struct rng *rng, uint32_t percent)
{
    return rng_chance(rng, percent * 10000);
}

const char *one_of(struct rng *rng, const char *const *list, uint32_t count)
{
    return list[rng_below(rng, count)];
}

static void topology(struct plan *plan, struct rng *rng)
{
    uint32_t leaves = (uint32_t)pick(rng, 2, 3), spines = (uint32_t)pick(rng, 1, 3), hosts = (uint32_t)pick(rng, 1, 4);

    plan->gpus = 1;
    switch (rng_below(rng, 6)) {
    case 0:
        plan->hosts = plan->leaf_hosts = (uint32_t)pick(rng, 2, 10);
        say(plan, "topology: {single: {hosts: %u}}\n", plan->hosts);
        break;
    case 1:
        plan->hosts = 2 * hosts;
        plan->leaf_hosts = hosts;
        plan->uplinks = (uint32_t)pick(rng, 1, 2);
        say(plan, "topology: {dumbbell: {hosts: %u, links: %u}}\n", hosts, plan->uplinks);
        break;
    case 2:
        plan->gpus = 2;
        plan->hosts = plan->leaf_hosts = (uint32_t)pick(rng, 2, 4);
        plan->uplinks = plan->spines = spines;
        say(plan, "topology: {rail: {hosts: %u, gpus: 2, leaves: 2, spines: %u}}\n", plan->hosts, spines);
        break;
    case 3:
        plan->hosts = 16;
        plan->leaf_hosts = plan->uplinks = 2;
        plan->spines = 8;
        say(plan, "topology: {fat-tree: {k: 4}}\n");
        break;
    default:
        plan->hosts = leaves * hosts;
        plan->leaf_hosts = hosts;
        plan->uplinks = plan->spines = spines;
        say(plan, "topology: {leaf-spine: {leaves: %u, spines: %u, hosts: %u}}\n", leaves, spines, hosts);
    }
}

static void links(struct plan *plan, struct rng *rng)
{
    const char *host = ONE_OF(rng, "10G", "25G", "25.78125G", "40G", "100G", "100G", "200G", "400G");
    const char *fabric = chance(rng, 60) ? host : ONE_OF(rng, "10G", "25G", "100G", "400G");

    unsigned fabric_m = (unsigned)pick(rng, 1, 100), host_m = (unsigned)pick(rng, 1, 30);
    say(plan, "links: {host: {rate: %s, cable: %um}, fabric: {rate: %s, cable: %um}}\n", host, host_m, fabric,
        fabric_m);
    double fastest = strtod(host, NULL) > strtod(fabric, NULL) ? strtod(host, NULL) : strtod(fabric, NULL);
    /* The bare model's own default is too little for a frame or two. */
    if (plan->bare) plan->headroom_bytes = headroom_port((uint64_t)(fastest * 1e9), 100000, 9216, 254);
}

static void ecn(struct plan *plan, struct rng *rng)
{
    unsigned min = (unsigned)pick(rng, 0, 30);

    if (!chance(rng, 70)) return;
    unsigned probability = (unsigned)pick(rng, 1, 100), max = min + (unsigned)pick(rng, 1, 60);
    if (!plan->v1) say(plan, ", ecn: {min: %uKB, max: %uKB, probability: %u%%}", min, max, probability);
}

static void lossless_class(struct plan *plan, struct rng *rng, const char *name, unsigned dscp, unsigned prio)
{
    say(plan, "  - {name: %s, dscp: %u, priority: %u, lossless: true", name, dscp, prio);
    ecn(plan, rng);
    switch (rng_below(rng, 4)) {
    case 0:
        say(plan, ", alpha: 1/%u", 1u << rng_below(rng, 6));
        break;
    case 1:
        say(plan, ", xoff: %uKB", (unsigned)pick(rng, 2, 40));
        break;
    default:
        break;
    }
    if (chance(rng, 30)) say(plan, ", xon: %uB", (unsigned)pick(rng, 1, 20000));
    if (chance(rng, 30)) say(plan, ", reserved: %uB", (unsigned)pick(rng, 0, 9000));
    if (plan->short_headroom)
        say(plan, ", headroom: %uKB", (unsigned)pick(rng, 1, 20));
    else if (plan->headroom_bytes)
        say(plan, ", headroom: %luB", (unsigned long)plan->headroom_bytes);
    if (chance(rng, 20))
        say(plan, ", strict: true");
    else
        say(plan, ", share: %u%%", (unsigned)pick(rng, 5, 30));
    say(plan, "}\n");
}

static void classes(struct plan *plan, struct rng *rng)
{
    say(plan, "classes:\n");
    lossless_class(plan, rng, "rdma", 26, 3);
    lossless_class(plan, rng, "other", 34, 4);
    say(plan, "  - {name: cnp, dscp: 48, priority: 6, %s}\n", chance(rng, 70) ? "strict: true" : "share: 5%");
    say(plan, "  - {name: bulk, dscp: 10, priority: 1, share: %u%%", (unsigned)pick(rng, 3, 20));
    ecn(plan, rng);
    if (plan->lossy_job && chance(rng, 50))
        say(plan, ", alpha: 64");
    else if (chance(rng, 40))
        say(plan, ", limit: %uKB", (unsigned)pick(rng, 5, 60));
    else if (chance(rng, 40))
        say(plan, ", alpha: %s", ONE_OF(rng, "1/16", "1", "16", "64"));
    say(plan, "}\n  - {name: default, priority: 0}\n");
}

/* A stream of its own: other seeds' plans stay what they were. */
static void balance(struct plan *plan, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, BALANCE_STREAM);
    if (!chance(&rng, 30)) return;
    const char *use =
        ONE_OF(&rng, "spray", "{use: spray, order: round-robin}", "adaptive", "{use: adaptive, hysteresis: 1}",
               "{use: adaptive, per: flowlet, gap: 1us}", "{use: flowlet, gap: 1us}", "pin", "{use: pin, by: src}");
    /* Responses of READs are not kept when they come early: asked for again, twice in a row by the timer alone. */
    if (plan->verbs) use = "pin";
    plan->sprays = strstr(use, "pin") == NULL;
    say(plan, ", balance: %s", use);
}

static void switches(struct plan *plan, struct rng *rng, const char *more, unsigned attempt)
{
    uint64_t buffer = plan->heavy ? pick(rng, 4000, 9000) : pick(rng, 40, 400);

    for (unsigned i = 0; i < attempt; i++)
        buffer = buffer * 3 / 2;
    unsigned latency = (unsigned)pick(rng, 50, 300);
    const char *cell = ONE_OF(rng, "1B", "80B", "144B", "208B", "254B");
    say(plan, "switches: {model: generic, buffer: %luKB, cell: %s, latency: %uns, mtu: %u", (unsigned long)buffer, cell,
        latency, 4500);
    if (!plan->bare && chance(rng, 25)) say(plan, ", cut-through: true");
    if (chance(rng, 40)) say(plan, ", mark: dequeue");
    if (chance(rng, 35)) {
        uint64_t pool = plan->short_headroom ? pick(rng, 8, 60) : buffer / 2;
        plan->pool = true;
        say(plan, ", headroom-pool: %luKB", (unsigned long)pool);
    }
    if (!plan->switch_storm && chance(rng, 15)) say(plan, ", refresh-pauses: false");
    if (chance(rng, 25)) say(plan, ", trust: pcp");
    if (chance(rng, 40)) say(plan, ", pause-quanta: %u", (unsigned)pick(rng, 200, 3000));
    if (chance(rng, 50)) say(plan, ", pause-reaction: %u%%", (unsigned)pick(rng, 1, 100));
    plan->watched = plan->storm || chance(rng, 15);
    if (plan->watched) {
        const char *action = ONE_OF(rng, "drop", "forward");
        unsigned restore = (unsigned)pick(rng, 10, 50), detect = (unsigned)pick(rng, 10, 50);
        unsigned poll = (unsigned)pick(rng, 2, 20);
        say(plan, ", watchdog: {poll: %uus, detect: %uus, restore: %uus, action: %s}", poll, detect, restore, action);
    }
    if (chance(rng, 30)) say(plan, ", ecmp: {hash: [%s]}", ONE_OF(rng, "src", "sport, qp", "dst, qp", "src, dst"));
    balance(plan, plan->seed);
    say(plan, "%s}\n", more);
}

static void nics(struct plan *plan, struct rng *rng)
{
    const char *recovery = ONE_OF(rng, "go-back-n", "go-back-n", "go-back-0", "selective");
    const char *congestion =
        plan->bare
            ? ONE_OF(rng, "none", "dcqcn/hpcc-sim", "hpcc/hpcc-sim", "timely/hpcc-sim", "dctcp/hpcc-sim")
            : ONE_OF(rng, "none", "none", "none", "dcqcn/connectx", "dcqcn/paper", "dcqcn/hpcc-sim", "hpcc/paper",
                     "timely/paper", "timely/hpcc-sim", "swift/paper", "dctcp/paper", "dctcp/hpcc-sim");
    bool by_delay = strncmp(congestion, "timely", 6) == 0 || strncmp(congestion, "swift", 5) == 0;
    if (plan->v1 && !by_delay) congestion = "none"; /* the others need marks, or telemetry */
    unsigned timeout = plan->hasty ? (unsigned)pick(rng, 4, 6) : (unsigned)pick(rng, 8, 10);

    const char *ack_class = ONE_OF(rng, "cnp", "other");

    plan->acks_apart = chance(rng, 30);
    bool lossy_acks = plan->acks_apart && !strcmp(ack_class, "cnp");
    plan->controlled = strcmp(congestion, "none") != 0;
    if (plan->sprays) recovery = "selective, reorder: {window: 1000, delay: 2ms}";
    plan->go_back_0 = strcmp(recovery, "go-back-0") == 0;
    plan->timers = plan->loses || plan->goes_down || plan->watched || plan->hasty || plan->short_headroom ||
                   plan->pool || plan->lossy_job || plan->slow_receiver || lossy_acks || chance(rng, 70);
    plan->timers |= plan->bad_day;
    const char *mtu = plan->heavy ? "256" : ONE_OF(rng, "256", "512", "1024", "1000", "4096");
    /* Where a request may fail anyway it may do so early. */
    bool fails = plan->goes_down || plan->storm || plan->periodic || plan->lossy_job || plan->hasty;
    unsigned rnr_timer = chance(rng, 60) ? 1 : (unsigned)pick(rng, 2, 7);
    unsigned retry = fails && chance(rng, 60) ? (unsigned)pick(rng, 1, 4) : 7;
    say(plan, "nics: {mtu: %s, congestion: %s, recovery: %s, timeout: %u, retry: %u, rnr-retry: 7, rnr-timer: %u", mtu,
        congestion, recovery, plan->timers ? timeout : 0, retry, rnr_timer);
    unsigned request_every = 1u << rng_below(rng, 6), every = 1u << rng_below(rng, 5);
    say(plan, ", ack: {every: %u, request-every: %u}", every, request_every);
    if (chance(rng, 25)) say(plan, ", window: %uKB", (unsigned)pick(rng, 5, 60));
    if (chance(rng, 25)) say(plan, ", window-packets: %u", (unsigned)pick(rng, 1, 64));
    if (plan->acks_apart) say(plan, ", ack-class: %s", ack_class);
    unsigned latency = (unsigned)pick(rng, 50, 700), max_read = 1u << rng_below(rng, 4);
    say(plan, ", max-read: %u, latency: %uns", max_read, latency);
    if (plan->slow_receiver) {
        unsigned xon = (unsigned)pick(rng, 0, 9), xoff = (unsigned)pick(rng, 10, 60);
        const char *rate = ONE_OF(rng, "1G", "4G", "8G");
        say(plan, ", receive: {rate: %s, buffer: %uKB, xoff: %uKB, xon: %uKB}", rate, 200, xoff, xon);
    }
    more_nics(plan);
    say(plan, "}\n");
}

static void size_of(struct plan *plan, struct rng *rng, uint32_t most_kb)
{
    uint64_t bytes = chance(rng, 30) ? pick(rng, 1, 3000) : pick(rng, 1000, most_kb * 1000);

    say(plan, "%luB", (unsigned long)bytes);
}

static void job(struct plan *plan, struct rng *rng, bool first)
{
    uint32_t ranks = plan->hosts * plan->gpus, most = 4 + (plan->heavy ? 2000 : 600) / ranks;
    uint64_t kind = plan->heavy && first ? 0 : rng_below(rng, 10);

    say(plan, "  - {");
    if (kind < 4 && ranks > 2) {
        say(plan, "incast: %u, size: ", (unsigned)pick(rng, 1, ranks - 1));
        size_of(plan, rng, most);
        if (chance(rng, 40)) say(plan, ", repeat: 2");
    } else if (kind == 4) {
        say(plan, "all-to-all: %s, size: ", ONE_OF(rng, "at-once", "pairwise"));
        size_of(plan, rng, most);
    } else if (kind == 5) {
        say(plan, "random: %u, size: ", (unsigned)pick(rng, 1, 12));
        size_of(plan, rng, most);
    } else if (kind == 6) {
        unsigned until = (unsigned)pick(rng, 1, 20), load = (unsigned)pick(rng, 5, 50);
        say(plan, "poisson: {sizes: [[1KB, 30%%], [20KB, 100%%]], load: %u%%, until: %uus", load, until);
        more_poisson(plan);
        say(plan, "}");
    } else if (kind == 7) {
        say(plan, "%s: ring, size: ", ONE_OF(rng, "allreduce", "reducescatter", "allgather"));
        size_of(plan, rng, most);
    } else {
        say(plan, "permutation: random, size: ");
        size_of(plan, rng, most);
    }
    const char *in = chance(rng, 60) ? "rdma" : chance(rng, 50) ? "other" : "bulk";
    if (!strcmp(in, "bulk") && (kind == 7 || !plan->lossy_job)) in = "rdma";
    say(plan, ", class: %s", in);
    if (chance(rng, 30)) {
        unsigned qps = (unsigned)pick(rng, 2, 3);
        if (kind == 6 || kind == 7) say(plan, ", qps: %u", qps); /* the others refuse it */
    }
    if (chance(rng, 40)) say(plan, ", at: %uus", (unsigned)pick(rng, 0, 30));
    if (kind == 7) say(plan, ", protocol: simple, clear-to-send: %s", chance(rng, 60) ? "true" : "false");
    if (kind == 7 && chance(rng, 40)) say(plan, ", channels: %u", (unsigned)pick(rng, 1, 3));
    if (kind == 7 && chance(rng, 40)) say(plan, ", chunk: %uB", (unsigned)pick(rng, 500, 9000));
    if (kind == 7 && chance(rng, 20)) say(plan, ", repeat: 2, gap: %uns", (unsigned)pick(rng, 0, 5000));
    if (!first && chance(rng, 25)) {
        plan->after = true;
        say(plan, ", after: previous");
    }
    say(plan, "}\n");
}

static void faults(struct plan *plan, struct rng *rng, const struct plan *usual)
{
    unsigned host = (unsigned)rng_below(rng, plan->hosts), at = (unsigned)pick(rng, 0, 40);

    if (usual->loses && chance(rng, 50))
        say(plan, "  - {corrupt: h%u, share: %u%%%s}\n", host, (unsigned)pick(rng, 1, 3), more_way(plan->seed));
    else if (usual->loses) { /* what is repeated may meet the same fate each time, in step with the fault */
        plan->periodic = true;
        say(plan, "  - {drop: h%u, every: %u%s}\n", host, (unsigned)pick(rng, 7, 60), more_way(plan->seed));
    }
    /* Short ones meet what came before them still in the buffer; no shorter than a frame is under way. */
    if (usual->goes_down)
        say(plan, "  - {down: h%u, at: %uus, for: %uus}\n", host, at,
            chance(rng, 50) ? (unsigned)pick(rng, 5, 12) : (unsigned)pick(rng, 5, 300));
    if (usual->storm) { /* from a switch: the pauses of its adapters run out by themselves */
        unsigned lasts = (unsigned)pick(rng, 60, 400), priority = chance(rng, 80) ? 3 : 4;
        say(plan, "  - {pause: %s%u, priority: %u, at: %uus, for: %uus}\n", plan->switch_storm ? "leaf" : "h",
            plan->switch_storm ? 0 : host, priority, at, lasts);
    }
    if (usual->slow_line) {
        say(plan, "  - {slow: h%u, share: %u%%, at: %uus", host, (unsigned)pick(rng, 5, 95), at);
        if (chance(rng, 70)) say(plan, ", for: %uus", (unsigned)pick(rng, 5, 300));
        say(plan, "}\n");
    }
}

/* A large fabric, to be looked at and not run. */
static void wide_plan(struct plan *plan, struct rng *rng)
{
    uint32_t spines, many;

    plan->only_routes = true;
    say(plan, "rocelab: 1\nfabric: swarm\n");
    switch (rng_below(rng, 4)) {
    case 0:
        say(plan, "topology: {fat-tree: {k: %u}}\n", 2 * (unsigned)pick(rng, 3, 5));
        break;
    case 1:
        spines = (uint32_t)pick(rng, 1, 9);
        many = (uint32_t)pick(rng, 2, 20);
        say(plan, "topology: {rail: {hosts: %u, gpus: 4, leaves: 4, spines: %u}}\n", many, spines);
        break;
    default:
        spines = (uint32_t)pick(rng, 1, 12);
        many = (uint32_t)pick(rng, 4, 60);
        say(plan, "topology: {leaf-spine: {leaves: %u, spines: %u, hosts: 1}}\n", many, spines);
    }
    say(plan, "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: %s, cable: 30m}}\n", ONE_OF(rng, "100G", "400G"));
    say(plan, "jobs:\n  - {permutation: random, size: 1KB}\n");
}

void plan_make(struct plan *plan, uint64_t seed, unsigned attempt)
{
    static struct plan usual; /* before the bad day */
    struct bad_day day;
    struct rng rng;
    uint64_t character;

    *plan = (struct plan){.seed = seed};
    rng_init(&rng, seed, PLAN_STREAM);
    if (chance(&rng, 4)) {
        wide_plan(plan, &rng);
        return;
    }
    character = rng_below(&rng, 20);
    plan->loses = character >= 8 && character < 12;
    plan->goes_down = character == 12 || character == 13;
    plan->storm = character == 14 || character == 15;
    plan->short_headroom = character == 16;
    plan->hasty = character == 17;
    plan->slow_receiver = character == 18 || chance(&rng, 5);
    plan->lossy_job = character >= 18 || chance(&rng, 10);
    plan->verbs = chance(&rng, 50);
    plan->late_receives = plan->verbs && chance(&rng, 50);
    plan->psn_wraps = chance(&rng, 50);
    plan->unreliable = plan->verbs && chance(&rng, 40);
    plan->shared = plan->verbs && chance(&rng, 30);
    plan->slow_line = chance(&rng, 8);
    plan->bare = chance(&rng, 8);
    plan->heavy = chance(&rng, 2);
    /* Pauses that do not run out would last for ever: nobody takes those of a storm back. */
    plan->switch_storm = plan->storm && !plan->bare && chance(&rng, 40);
    plan->until = 400 * PS_MS; /* time for each loss to wait for a timer of 4 ms, one after the other */
    say(plan, "rocelab: 1\nfabric: swarm\n%s", plan->bare ? "model: hpcc-ns3\n" : "");
    topology(plan, &rng);
    usual = *plan;
    bad_day_draw(plan, &day);
    more_system(plan);
    links(plan, &rng);
    classes(plan, &rng);
    switches(plan, &rng, day.switches, attempt);
    nics(plan, &rng);
    say(plan, "jobs:\n");
    for (uint64_t jobs = pick(&rng, 1, 3), i = 0; i < jobs; i++)
        job(plan, &rng, i == 0);
    say(plan, "%s%s%s", day.converge, day.devices[0] ? "devices:\n" : "", day.devices);
    if (plan->loses || plan->goes_down || plan->storm || plan->slow_line || day.faults[0]) say(plan, "faults:\n");
    faults(plan, &rng, &usual);
    say(plan, "%s", day.faults);
}

bool plan_must_end(const struct plan *plan)
{
    if (plan->hasty || plan->goes_down || plan->storm || plan->short_headroom) return false;
    if (plan->lossy_job || plan->slow_receiver || plan->periodic || plan->eager) return false;
    if (plan->floods || plan->misrouted) return false;
    if (plan->endless || plan->drains_slowly || plan->routes_move || plan->pfc_missing) return false;
    return !(plan->go_back_0 && (plan->loses || plan->pool || plan->slow_line || plan->watched ||
                                 plan->early)); /* it may never get through */
}
