/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 5, the rolling update: every switch that leaves its hosts a path is drained, down and back, one after the other
 * in one run, under load.
 *
 * Load is short flows between a host of each edge and others, over many queue pairs, so that hashed ways cross every
 * switch; a row says how many carried nothing.  A run lasts as many turns as there are switches, so its cost is turns
 * times hosts times load: in a large fabric the load is less, down to LOAD_LEAST, and the row says how much it was.
 * The run without a drain is one turn long: flows are alike all the time.
 */
#include <math.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/routing.h"
#include "study/each.h"
#include "validate/failures.h"

#define LONGEST_PS (100 * PS_S)
#define QUICK_SWITCHES 2u
#define LOAD_MOST 20u    /* per cent of a line */
#define LOAD_LEAST 2u    /* per cent */
#define LOAD_WORK 12800u /* per cent of a line, times hosts, times turns */
#define RANKS_MOST 256u
#define FLOW_MOST UINT64_C(256000)
#define FLOW_LEAST UINT64_C(1000)
#define DOWN_PS (200 * PS_US) /* that an update takes: long against a packet's way, and nothing else depends on it */

struct rolling {
    uint32_t *node;     /* [count] in the order of their turns */
    const char **fault; /* [count] */
    uint32_t count, cut_off, left_out;
    uint32_t rank[RANKS_MOST], ranks; /* endpoints that send and receive: one of an edge */
    uint32_t load;                    /* per cent of a line */
    uint64_t flow_bytes;              /* the largest; 20 us of the line, at most FLOW_MOST */
    ps_t turn;
    uint64_t num, den; /* capacity before and after, of the switch that takes most */
};

/* Routes are away a convergence after they are told, and back another after the switch is up. */
static void plan_rolling(struct validate_case *of, const struct failures *failures, struct rolling *ret)
{
    const struct fabric *fabric = of->fabric;
    ps_t ahead = ps_add(failures_routes_ps(failures), DOWN_PS);
    uint32_t most = of->plan->level == VALIDATE_QUICK ? QUICK_SWITCHES : UINT32_MAX;

    *ret = (struct rolling){.turn = ps_add(2 * ahead, 2 * DOWN_PS), .num = 1, .den = 1};
    ret->node = ARENA_NEW(of->arena, uint32_t, fabric->switches + 1u);
    ret->fault = ARENA_NEW(of->arena, const char *, fabric->switches + 1u);
    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++) {
        uint64_t num, den;
        if (each_loss(fabric, n, FABRIC_NONE, &num, &den)) {
            ret->cut_off++;
        } else if (ret->count == most) {
            ret->left_out++;
        } else {
            ret->fault[ret->count] = case_text(of, "drain %s at %lluns for %lluns ahead %lluns", fabric->node[n].name,
                                               in_ns(ret->turn * ret->count + DOWN_PS), in_ns(DOWN_PS), in_ns(ahead));
            ret->node[ret->count++] = n;
            if (den && num * ret->den > ret->num * den) {
                ret->num = num;
                ret->den = den;
            }
        }
    }
}

/* One endpoint of each edge, or of edges evenly spread where there are too many.  A single edge has two. */
static void choose_load(const struct validate_case *of, const struct failures *failures, struct rolling *rolling)
{
    const struct fabric *fabric = of->fabric;
    uint32_t stride = (fabric->edges + RANKS_MOST - 1) / RANKS_MOST, endpoint;

    for (uint32_t e = 0; e < fabric->edges; e += stride)
        if (choose_of_edge(fabric, e, &endpoint, 1)) rolling->rank[rolling->ranks++] = endpoint;
    if (rolling->ranks < 2) {
        rolling->ranks = 2;
        memcpy(rolling->rank, failures->rank, 2 * sizeof rolling->rank[0]);
    }
    uint64_t bytes = fabric->port[fabric->endpoint[rolling->rank[0]].port].rate_bps / 8 / (PS_S / (20 * PS_US));
    rolling->flow_bytes = bytes > FLOW_MOST ? FLOW_MOST : bytes < FLOW_LEAST ? FLOW_LEAST : bytes;
    uint32_t load = LOAD_WORK / (rolling->ranks * rolling->count);
    rolling->load = load > LOAD_MOST ? LOAD_MOST : load < LOAD_LEAST ? LOAD_LEAST : load;
}

/* Flows for so many turns: a job for each set of ranks that reach each other, which is one but for planes apart. */
static const char *write_jobs(struct validate_case *of, const struct rolling *rolling, uint32_t turns)
{
    uint32_t set[RANKS_MOST];
    bool taken[RANKS_MOST] = {false};
    FILE *to = case_open(of);

    for (uint32_t first = 0; first < rolling->ranks; first++) {
        uint32_t count = 0;
        if (taken[first]) continue;
        for (uint32_t r = first; r < rolling->ranks; r++) {
            if (taken[r] || (r > first && !fabric_reaches(of->fabric, rolling->rank[first], rolling->rank[r])))
                continue;
            set[count++] = rolling->rank[r];
            taken[r] = true;
        }
        if (count < 2) continue;
        fprintf(to,
                "%s{poisson: {sizes: [[%lluB, 50%%], [%lluB, 100%%]], load: %u%%, until: %lluns}, qps: 8, ranks: %s}",
                ftell(to) > 0 ? ", " : "[", (unsigned long long)(rolling->flow_bytes * 255 / 256),
                (unsigned long long)rolling->flow_bytes, rolling->load, in_ns(rolling->turn * turns),
                case_list(of, set, count));
    }
    fputs("]", to);
    return case_close(of);
}

/* With these faults; false after a row. */
static bool run_turns(struct validate_case *of, const struct failures *failures, const struct rolling *rolling,
                      const char *name, uint32_t turns, uint32_t faults, struct variant *variant)
{
    return failures_run(of, name, failures, write_jobs(of, rolling, turns), rolling->fault, faults, LONGEST_PS,
                        variant);
}

static uint32_t not_ended(const struct variant *variant)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < variant->result.flows; i++)
        count += variant->result.flow[i].fct_ps == PS_NEVER;
    return count;
}

/* Switches of the update that sent nothing but pauses: no flow crossed them. */
static uint32_t unused(const struct variant *variant, const struct rolling *rolling)
{
    const struct fabric *fabric = variant->fabric;
    uint32_t count = 0;

    for (uint32_t i = 0; i < rolling->count; i++) {
        uint64_t frames = 0;
        for (uint32_t p = 0; p < variant->result.ports; p++) {
            const struct sim_port *port = &variant->result.port[p];
            if (fabric->port[port->port].node == rolling->node[i]) frames += port->frames - port->pauses_sent;
        }
        count += frames == 0;
    }
    return count;
}

static void judge_rolling(struct validate_case *of, const char *name, const struct rolling *rolling,
                          const struct variant *variant, double steady, uint64_t without)
{
    uint32_t stopped = not_ended(variant), idle = unused(variant, rolling);
    struct variant_counts counts = variant_count(variant);

    if (idle)
        validate_skip(of, name, "%u of these switches carried none of the traffic: of them it says nothing", idle);
    const char *subject = case_text(of, "%.200s: flows of %u %% load that do not complete", name, rolling->load);
    const char *why = case_text(of, "of %u flows; %llu work requests failed, %llu timeouts", variant->result.flows,
                                (unsigned long long)variant->result.work_failed, (unsigned long long)counts.timeouts);
    JUDGE(of, .subject = subject, .criterion = CRITERION_FAILURE_STOPS, .value = stopped, .why = why);
    if (stopped == 0) {
        subject = case_text(of, "%.200s: p99 of the flows' slowdown", name);
        const char *words = case_text(of, "%.3f explained: %.3f without, times capacity before over after",
                                      steady * (double)rolling->num / (double)rolling->den, steady);
        why = case_text(of, "%llu timeouts, %llu packets sent again", (unsigned long long)counts.timeouts,
                        (unsigned long long)counts.again);
        JUDGE(of, .subject = subject, .criterion = CRITERION_FAILURE_TIME, .unit = VALIDATE_RATIO,
              .value = variant_p99(variant, FABRIC_NONE), .base = steady * (double)rolling->num / (double)rolling->den,
              .of = words, .why = why);
    }
    failures_judge_lost(of, name, variant, without);
}

static void run_rolling(struct validate_case *of, const struct failures *failures, const struct rolling *rolling)
{
    const char *name;
    struct variant variant;
    double steady = NAN;
    uint64_t lost = 0;

    if (rolling->left_out)
        name = case_text(of, "%u of %u switches (without --quick: all) drained, down and back, one by one",
                         rolling->count, rolling->count + rolling->left_out);
    else
        name =
            case_text(of, "all %u switches that leave hosts a path drained, down and back, one by one", rolling->count);
    for (uint32_t turns = 1; turns <= rolling->count; turns += rolling->count - 1) {
        if (!run_turns(of, failures, rolling, "without a drain", turns, 0, &variant)) return;
        steady = not_ended(&variant) ? INFINITY : variant_p99(&variant, FABRIC_NONE);
        lost = failures_lost(&variant);
        variant_close(&variant);
        if ((lost == 0 && !isnan(steady)) || rolling->count == 1) break; /* else: as long as the update */
    }
    if (validate_skip_if(of, isnan(steady), name, "no flow begins in that time")) return;
    if (isinf(steady)) {
        validate_tell(of, VALIDATE_FAIL, "without a drain", "every flow completes", "some do not");
        return;
    }
    if (!run_turns(of, failures, rolling, name, rolling->count, rolling->count, &variant)) return;
    judge_rolling(of, name, rolling, &variant, steady, lost);
    variant_close(&variant);
}

void test_rolling(struct validate_case *of)
{
    struct failures failures;
    struct rolling rolling;

    if (!failures_choose(of, PS_MS, &failures)) return;
    plan_rolling(of, &failures, &rolling);
    if (rolling.cut_off)
        validate_skip(of, "", "%u switches: hosts hang on each of them alone, and stand still while it is updated",
                      rolling.cut_off);
    if (rolling.count) {
        choose_load(of, &failures, &rolling);
        run_rolling(of, &failures, &rolling);
    }
}
