/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random fabrics of every system that runs, judged by what a run leaves: the invariants that hold whatever the
 * transport is.  (swarm.c watches each packet, and knows RoCE alone.)
 *
 * Of each seed: every byte that was acknowledged arrived, and none twice; all jobs end where nothing stands in their
 * way for good; nothing is lost for want of room where receivers hold senders back; machines' own books are right; and
 * any number of threads, with tiles or without, gives the same digest, time and counters.
 *
 *     swarm_systems [--first N] [--count N] [--seed N] [--system NAME] [--show]
 *
 * A seed and a system are a plan; two draws never stand in one expression.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "load/load.h"
#include "nic/nic_int.h"
#include "plant/plant.h"
#include "sim/sim.h"
#include "sim/sim_int.h"
#include "switch/switch_int.h"

#define STREAM 90
#define LOSSLESS 3 /* priority of RDMA */
#define TEXT 4096
#define LOOK 300           /* windows from one look at the lines to the next */
#define UNTIL (120 * PS_S) /* doubled timers of a transport that gives up late */

struct plan {
    char text[TEXT];
    size_t used;
    uint64_t seed;
    uint8_t system;
    bool faults;
    bool mixed;   /* TCP beside RoCE, in a class of its own */
    bool retries; /* ports send damaged frames again */
    bool credits; /* CBFC in place of pauses */
};

struct outcome {
    enum sim_state state;
    uint64_t digest, hops;
    ps_t virtual_ps;
    uint64_t counters; /* a hash of all that adapters have in common */
};

static const struct plan *now;

__attribute__((noreturn, format(printf, 2, 3))) static void broken(const char *invariant, const char *format, ...)
{
    va_list list;

    printf("swarm_systems: seed %lu, system %s: broken: %s: ", (unsigned long)now->seed,
           fabric_system_names[now->system], invariant);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n%s", now->text);
    exit(1);
}
#define HOLDS(condition, invariant, ...)                                                                               \
    do {                                                                                                               \
        if (!(condition)) broken(invariant, __VA_ARGS__);                                                              \
    } while (0)

__attribute__((format(printf, 2, 3))) static void say(struct plan *plan, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    int wrote = vsnprintf(plan->text + plan->used, TEXT - plan->used, format, list);
    va_end(list);
    CHECK(wrote >= 0 && plan->used + (size_t)wrote < TEXT);
    plan->used += (size_t)wrote;
}

static unsigned pick(struct rng *rng, unsigned low, unsigned high)
{
    return low + (unsigned)rng_below(rng, high - low + 1);
}

static unsigned topology(struct plan *plan, struct rng *rng)
{
    unsigned a = pick(rng, 2, 4), b = pick(rng, 1, 3);

    switch (rng_below(rng, 4)) {
    case 0:
        say(plan, "topology: {single: {hosts: %u}}\n", a + b);
        return a + b;
    case 1:
        say(plan, "topology: {dumbbell: {hosts: %u, links: %u}}\n", a, b);
        return 2 * a;
    case 2:
        say(plan, "topology: {fat-tree: {k: 4}}\n");
        return 16;
    default:
        say(plan, "topology: {leaf-spine: {leaves: %u, spines: %u, hosts: 2}}\n", a, b);
        return 2 * a;
    }
}

static void job(struct plan *plan, struct rng *rng, unsigned hosts)
{
    unsigned size = pick(rng, 1, 200), senders = pick(rng, 1, hosts - 1);

    switch (rng_below(rng, 5)) {
    case 0:
        say(plan, "  - {permutation: random, size: %uKB", size);
        break;
    case 1:
        say(plan, "  - {all-to-all: at-once, size: %uKB", size);
        break;
    case 2:
        say(plan, "  - {allreduce: ring, size: %uKB", size);
        break;
    default:
        say(plan, "  - {incast: %u, size: %uKB", senders, size);
    }
    if (rng_chance(rng, 300000)) say(plan, ", at: %uus", pick(rng, 1, 50));
    if (plan->mixed && rng_chance(rng, 500000)) say(plan, ", class: storage");
    say(plan, "}\n");
}

static void classes(struct plan *plan, struct rng *rng)
{
    bool roce = fabric_systems[plan->system].link == FABRIC_LINK_PFC;

    plan->mixed = roce && fabric_systems[FABRIC_TCP].runs && rng_chance(rng, 300000) && !plan->credits;
    if (!plan->mixed) return;
    say(plan,
        "classes:\n"
        "  - {name: rdma, dscp: 26, priority: %d, lossless: true, share: 60%%}\n"
        "  - {name: storage, dscp: 10, priority: 1, system: tcp, share: 30%%, limit: %uKB}\n"
        "  - {name: default, priority: 0, share: 10%%}\n",
        LOSSLESS, pick(rng, 30, 400));
}

/* None is for good: what was lost can be sent again. */
static void faults(struct plan *plan, struct rng *rng, unsigned hosts)
{
    unsigned host = (unsigned)rng_below(rng, hosts), at = pick(rng, 0, 60);

    plan->faults = rng_chance(rng, 500000);
    if (!plan->faults) return;
    say(plan, "faults:\n");
    switch (rng_below(rng, 3)) {
    case 0:
        say(plan, "  - {corrupt: h%u, share: %u%%}\n", host, pick(rng, 1, 3));
        break;
    case 1:
        say(plan, "  - {drop: h%u, every: %u}\n", host, pick(rng, 7, 60));
        break;
    default:
        say(plan, "  - {down: h%u, at: %uus, for: %uus}\n", host, at, pick(rng, 10, 300));
    }
}

/* Link-level retry on Ethernet, drawn apart: the plans of a seed are otherwise as without. */
static void retries(struct plan *plan)
{
    struct rng rng;

    rng_init(&rng, plan->seed, STREAM + FABRIC_SYSTEMS + plan->system);
    plan->retries = plan->system != FABRIC_INFINIBAND && rng_chance(&rng, 400000);
    if (!plan->retries) return;
    if (rng_chance(&rng, 500000))
        say(plan, "llr: true\n");
    else
        say(plan, "llr: {buffer: %uKB, timer: %uus, replays: %u}\n", pick(&rng, 10, 200), pick(&rng, 20, 60),
            pick(&rng, 0, 3));
}

/* Credits on Ethernet's links, drawn apart too. */
static void credits(struct plan *plan)
{
    bool can = fabric_systems[plan->system].link == FABRIC_LINK_PFC || plan->system == FABRIC_UET;
    struct rng rng;

    rng_init(&rng, plan->seed, STREAM + 2 * FABRIC_SYSTEMS + plan->system);
    plan->credits = can && rng_chance(&rng, 400000);
    if (!plan->credits) return;
    if (rng_chance(&rng, 400000))
        say(plan, "cbfc: true\n");
    else
        say(plan, "cbfc: {switch: %uKB, nic: %uKB, credit: %uB}\n", pick(&rng, 5, 200), pick(&rng, 5, 200),
            64u << rng_below(&rng, 4));
}

static void make_plan(struct plan *plan, uint64_t seed, uint8_t system)
{
    static const char *const rates[] = {"10G", "25G", "100G", "400G"};
    struct rng rng;

    *plan = (struct plan){.seed = seed, .system = system};
    rng_init(&rng, seed, STREAM + system);
    say(plan, "rocelab: 1\nsystem: %s\n", fabric_system_names[system]);
    unsigned hosts = topology(plan, &rng);
    const char *rate = rates[rng_below(&rng, 4)];
    unsigned host_m = pick(&rng, 1, 30), fabric_m = pick(&rng, 1, 100);
    say(plan, "links: {host: {rate: %s, cable: %um}, fabric: {rate: %s, cable: %um}}\n", rate, host_m, rate, fabric_m);
    retries(plan);
    credits(plan);
    bool lossy = fabric_systems[system].link == FABRIC_LINK_NONE; /* the others need room for headroom, or credits */
    unsigned buffer = lossy ? pick(&rng, 30, 600) : pick(&rng, 6000, 16000);
    say(plan, "switches: {model: generic, buffer: %uKB", buffer);
    if (rng_chance(&rng, 200000)) say(plan, ", cut-through: true");
    say(plan, "}\n");
    classes(plan, &rng);
    say(plan, "jobs:\n");
    unsigned jobs = pick(&rng, 1, 2);
    for (unsigned i = 0; i < jobs; i++)
        job(plan, &rng, hosts);
    faults(plan, &rng, hosts);
}

/* What arrived is what was acknowledged, by receiver. */
static void check_bytes(struct sim *sim, const struct sim_result *result)
{
    uint64_t *acked = calloc(result->nics + 1u, sizeof(*acked));

    CHECK(acked != NULL);
    for (uint32_t i = 0; i < sim_connections(sim); i++) {
        struct sim_connection_sample sample;
        sim_sample_connection(sim, i, &sample);
        acked[sample.dst] += sample.acked_bytes;
    }
    for (uint32_t i = 0; i < result->nics; i++) {
        uint64_t arrived = result->nic[i].common.rx_payload_bytes, known = acked[result->nic[i].endpoint];
        HOLDS(arrived >= known, "nothing is acknowledged that did not arrive", "adapter %u: %lu of %lu", i,
              (unsigned long)arrived, (unsigned long)known);
        /* A collective is over when its data is there: the last acknowledgements may be on their way. */
        bool whole = result->state == SIM_DONE && strstr(now->text, "allreduce") == NULL;
        HOLDS(!whole || arrived == known, "every byte arrives once", "adapter %u: %lu, %lu acknowledged", i,
              (unsigned long)arrived, (unsigned long)known);
    }
    free(acked);
}

/* What one end of a line took is what the other sent, each once; a line that is not cut loses nothing that it damages;
 * a line without damage sends nothing again. */
static void check_retries(const struct sim *sim, const struct fabric *fabric, const struct sim_result *result)
{
    bool cut = strstr(now->text, "down:") != NULL, damaged = now->faults && !cut;

    (void)sim;
    for (uint32_t i = 0; i < result->ports; i++) {
        const struct llr_counters *count = result->port[i].llr, *other = NULL;
        for (uint32_t k = 0; k < result->ports; k++)
            if (result->port[k].port == fabric->port[result->port[i].port].peer) other = result->port[k].llr;
        HOLDS(count && other, "both ends of a line retry", "port %u", i);
        HOLDS(other->rx_expected_seq_good + count->tx_discard <= count->tx_ok, "a frame is taken once",
              "port %u: %lu of %lu", i, (unsigned long)other->rx_expected_seq_good, (unsigned long)count->tx_ok);
        HOLDS(cut || count->tx_discard == 0, "a line that is not cut loses nothing", "port %u: %lu", i,
              (unsigned long)count->tx_discard);
        HOLDS(damaged || cut || count->tx_replayed == 0, "nothing is sent again in vain", "port %u: %lu", i,
              (unsigned long)count->tx_replayed);
        HOLDS(cut || count->rx_nack_ctl_os <= count->tx_replay, "a NACK begins a replay", "port %u", i);
        HOLDS(cut || result->port[i].lost == 0, "no frame is lost on a line that retries", "port %u: %lu", i,
              (unsigned long)result->port[i].lost);
    }
}

/* Both halves of a line and lane. */
static void halves(const struct sim *sim, uint32_t port, uint32_t vl, struct credit_tx *ret_tx,
                   struct credit_rx *ret_rx)
{
    const struct fabric_port *at = &sim->fabric->port[port];
    const struct credit_port *credit;

    if (at->node >= sim->fabric->hosts) {
        const struct sw_lane *lane = lane_at(sim->sw[at->node - sim->fabric->hosts].sw, at->index, vl);
        *ret_tx = lane->tx;
        *ret_rx = lane->rx;
        return;
    }
    const struct node_adapter *adapter = &sim->adapter[sim->fabric->first_endpoint[at->node] + at->index];
    credit = now->system == FABRIC_UET ? adapter->credit : &adapter->nic->credit;
    *ret_tx = credit->lane[vl].tx;
    *ret_rx = credit->lane[vl].rx;
}

static uint32_t group_held(const struct sim *sim, uint32_t port, uint32_t vl)
{
    const struct fabric_port *at = &sim->fabric->port[port];

    return sw_pg_at(sim->sw[at->node - sim->fabric->hosts].sw, at->index, vl)->held;
}

static uint32_t blocks_in(const struct sim *sim, uint32_t port, uint32_t vl, pkt_t id)
{
    const struct fabric *fabric = sim->fabric;
    const struct pkt *pkt = &engine_worker(sim->engine, 0)->pool.hot[id];
    uint32_t peer = fabric->port[port].peer, sw = fabric->port[port].node < fabric->hosts ? peer : port;
    const struct fabric_settings *settings = &fabric->settings[fabric->port[sw].settings];

    if (fabric->lanes.vl_of[settings->dscp_to_tc[pkt->tos >> 2]] != vl) return 0;
    return credit_blocks_of(pkt->frame_bytes + fabric_system(fabric)->line.after, fabric->lanes.block_extra);
}

/* Blocks of a lane that left by this port and have not reached the other end: on the link, or in the port's replay
 * buffer. */
static uint32_t on_line(const struct sim *sim, uint32_t port, uint32_t vl)
{
    const struct fabric_port *at = &sim->fabric->port[port];
    const struct node *node = engine_node(sim->engine, at->node);
    const struct fifo *fifo = &node->port[at->index].link->data;
    uint32_t blocks = 0;

    for (const struct link_entry *entry = fifo->read; fifo->write && entry != fifo->write; entry++) {
        if (link_block_end(entry)) {
            const struct link_block *block =
                (const void *)((uintptr_t)(entry - 1) & ~(uintptr_t)(LINK_BLOCK_BYTES - 1));
            entry = block->next->entry;
        }
        blocks += blocks_in(sim, port, vl, entry->what);
    }
    if (!at->llr) return blocks;
    const struct llr *llr = &node->line[at->index].llr;
    for (uint32_t n = llr->taken; n != llr->next; n++)
        blocks += blocks_in(sim, port, vl, llr->frame[n & (llr->config.frames - 1)].id);
    return blocks;
}

/* Nothing is sent without credit, and credits are conserved over a line: what the sender may send was promised, what
 * was promised is free, and what was sent has arrived or is on its way. */
static void check_credits(const struct sim *sim, const struct fabric *fabric)
{
    for (uint32_t port = 0; port < fabric->ports; port++) {
        if (fabric->port[port].peer == FABRIC_NONE) continue;
        for (uint32_t vl = 0; vl < fabric->lanes.vls; vl++) {
            struct credit_tx tx, other_tx;
            struct credit_rx rx, other_rx;
            halves(sim, port, vl, &tx, &other_rx);
            halves(sim, fabric->port[port].peer, vl, &other_tx, &rx);
            int32_t left = credit_left(&tx), untold = (int32_t)(rx.limit - tx.limit);
            HOLDS(left >= 0, "nothing is sent without credit", "port %u, lane %u: %d", port, vl, left);
            HOLDS(untold >= 0, "no more is promised than there is", "port %u, lane %u: %d", port, vl, untold);
            HOLDS(credit_held(&rx) <= rx.size, "a lane holds no more than its buffer", "port %u, lane %u", port, vl);
            int32_t under_way = (int32_t)(tx.sent - rx.arrived);
            HOLDS(under_way >= 0, "nothing arrives that was not sent", "port %u, lane %u: %d", port, vl, under_way);
            uint32_t there = on_line(sim, port, vl);
            HOLDS(now->faults ? there <= (uint32_t)under_way : there == (uint32_t)under_way,
                  "what was sent has arrived or is on its way", "port %u, lane %u: %d sent, %u there", port, vl,
                  under_way, there);
            HOLDS(fabric->port[fabric->port[port].peer].node < fabric->hosts ||
                      (credit_held(&rx) == 0) == (group_held(sim, fabric->port[port].peer, vl) == 0),
                  "a lane is empty when its buffer is", "port %u, lane %u", port, vl);
        }
    }
}

static void check_result(struct sim *sim, const struct fabric *fabric, const struct sim_result *result)
{
    uint64_t full = 0;

    sim_audit(sim);
    /* The retries of a queue pair may run out where much is lost. */
    bool gives_up = now->faults && fabric_system(fabric)->endpoint == FABRIC_ENDPOINT_NIC;
    HOLDS(result->state == SIM_DONE || gives_up, "all jobs end", "state %d", (int)result->state);
    for (uint32_t i = 0; i < result->flows && result->state == SIM_DONE; i++)
        HOLDS(result->flow[i].failed || result->flow[i].acked_bytes == result->flow[i].bytes,
              "a flow that ends is whole", "flow %u", i);
    for (uint32_t i = 0; i < result->ports; i++)
        if (result->port[i].sw && !now->faults)
            full += now->mixed ? result->port[i].sw->prio[LOSSLESS].drops : result->port[i].drops;
    HOLDS(full == 0 || (fabric_system(fabric)->link == FABRIC_LINK_NONE && !now->credits),
          "nothing is lost for want of room where receivers hold senders back", "%lu dropped", (unsigned long)full);
    check_bytes(sim, result);
    if (now->retries) check_retries(sim, fabric, result);
    if (fabric->lanes.vls) check_credits(sim, fabric);
}

static uint64_t hash_counters(const struct sim_result *result)
{
    uint64_t hash = 1469598103934665603ull;

    for (uint32_t i = 0; i < result->nics; i++) {
#define X(name, help) hash = (hash ^ result->nic[i].common.name) * 1099511628211ull;
        ENDPOINT_COUNTER_LIST(X)
#undef X
    }
    return hash;
}

static struct outcome run(const struct fabric *fabric, uint32_t threads, bool no_tiles)
{
    struct sim_options options = {
        .seed = now->seed, .threads = threads, .no_tiles = no_tiles, .until = UNTIL, .packets_max = 1u << 17};
    struct fabric_errors errors = {0};
    struct sim_result result;
    struct sim *sim = NULL;

    if (sim_create(fabric, &options, &sim, &errors) != 0) broken("a plan can be built", "%s", errors.error[0].text);
    while (sim_advance(sim, LOOK, PS_NEVER) == SIM_RUNNING)
        if (fabric->lanes.vls) check_credits(sim, fabric);
    CHECK(sim_result(sim, &result) == 0);
    check_result(sim, fabric, &result);
    struct outcome outcome = {.state = result.state,
                              .digest = result.digest,
                              .hops = result.packet_hops,
                              .virtual_ps = result.virtual_ps,
                              .counters = hash_counters(&result)};
    sim_result_free(&result);
    sim_free(sim);
    return outcome;
}

static void try_plan(const struct plan *plan, uint64_t *ret_hops)
{
    static const struct {
        uint32_t threads;
        bool no_tiles;
    } ways[] = {{3, false}, {1, true}};
    struct fabric_with with = {.judge = plant_judge_nic};
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;

    now = plan;
    if (fabric_load_with("plan", plan->text, &with, &fabric, &errors) != 0)
        broken("a plan can be loaded", "line %u: %s", errors.error[0].at.line, errors.error[0].text);
    struct outcome first = run(fabric, 1, false);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct outcome other = run(fabric, ways[i].threads, ways[i].no_tiles);
        HOLDS(other.digest == first.digest && other.hops == first.hops && other.virtual_ps == first.virtual_ps &&
                  other.counters == first.counters && other.state == first.state,
              "any number of threads and tiles gives the same", "%u threads: %lu hops, %lu", ways[i].threads,
              (unsigned long)other.hops, (unsigned long)first.hops);
    }
    *ret_hops += first.hops;
    fabric_free(fabric);
}

int main(int argc, char **argv)
{
    static struct plan plan;
    uint64_t first = 1, count = 50, hops[FABRIC_SYSTEMS] = {0};
    const char *only = NULL;
    bool show = false;

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--show") == 0) {
            show = true;
            continue;
        }
        if (strcmp(argv[i], "--system") == 0) only = value;
        if (strcmp(argv[i], "--first") == 0) first = strtoull(value, NULL, 10);
        if (strcmp(argv[i], "--count") == 0) count = strtoull(value, NULL, 10);
        if (strcmp(argv[i], "--seed") == 0) {
            first = strtoull(value, NULL, 10);
            count = 1;
        }
        i++;
    }
    for (uint8_t system = 0; system < FABRIC_SYSTEMS; system++) {
        if (!fabric_systems[system].runs || (only && strcmp(only, fabric_system_names[system]) != 0)) continue;
        for (uint64_t seed = first; seed < first + count; seed++) {
            make_plan(&plan, seed, system);
            if (show) printf("%s", plan.text);
            try_plan(&plan, &hops[system]);
        }
        printf("swarm_systems: %s: seeds %lu to %lu, no invariant broken, %lu hops\n", fabric_system_names[system],
               (unsigned long)first, (unsigned long)(first + count - 1), (unsigned long)hops[system]);
    }
    return 0;
}
