/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 2, baseline: what one pair, a fabric without load and every rail by itself do.
 */
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "validate/case.h"

#define DISTANCES 8u
#define MESSAGES 64u /* of 1 MB */
#define EDGE_MOST 256u
#define IDLE_PS (10 * PS_MS)

static const char *const sizes[] = {"64B", "4KB", "64KB", "1MB", "4MB"};
#define SIZES (sizeof sizes / sizeof sizes[0])

static const char *pair_text(const struct validate_case *of, const struct endpoint_pair *pair)
{
    return case_text(of, "%.64s to %.64s over %u link%s", case_endpoint(of, pair->src), case_endpoint(of, pair->dst),
                     pair->hops, pair->hops == 1 ? "" : "s");
}

/* One message of each size, each alone; answers the payload rate of the way, 0 after a row that says what is wrong, and
 * the time of the smallest message. */
static double judge_latency(struct validate_case *of, const struct endpoint_pair *pair, double *ret_idle_ps)
{
    const char *src = case_endpoint(of, pair->src), *dst = case_endpoint(of, pair->dst), *subject = pair_text(of, pair);
    const char *jobs = case_text(of, "[{flows: \"%s %s %s\\n", src, dst, sizes[0]);
    struct variant variant = {0};
    uint32_t worst = 0;

    for (uint32_t i = 1; i < SIZES; i++)
        jobs = case_text(of, "%s%s %s %s 10us after %u\\n", jobs, src, dst, sizes[i], i - 1);
    jobs = case_text(of, "%s\"}]", jobs);
    if (!variant_open(of, subject, jobs, &variant, NULL)) return 0;
    if (!variant_run(of, subject, &variant, PS_S)) return 0;
    const struct sim_flow *flow = variant.result.flow;
    double rate = payload_rate(&flow[SIZES - 2], &flow[SIZES - 1]), most = 0;
    *ret_idle_ps = (double)flow[0].ideal_ps;
    for (uint32_t i = 0; i < SIZES; i++) {
        double over = (double)flow[i].fct_ps / (double)flow[i].ideal_ps;
        if (over > most) {
            most = over;
            worst = i;
        }
    }
    bool all = variant.result.state == SIM_DONE && !flow[worst].failed && flow[worst].fct_ps != PS_NEVER;
    subject = case_text(of, "%s, idle: %s, the slowest of 64B to 4MB", subject, sizes[worst]);
    if (all && !is_roce(of->fabric))
        validate_skip(of, subject, "the closed form is that of RoCE; this is %s", fabric_system(of->fabric)->title);
    else if (all)
        JUDGE(of, .subject = subject, .criterion = CRITERION_IDLE_LATENCY, .unit = VALIDATE_TIME,
              .value = (double)flow[worst].fct_ps, .base = (double)flow[worst].ideal_ps,
              .of = "closed form: each link's bits, cables, switches, the acknowledgement back",
              .why = "a message that is alone waits on its way: loss, a slow receiver, or a rate below the line's");
    else
        validate_tell(of, VALIDATE_FAIL, subject, "a message that is alone arrives", "it does not");
    variant_close(&variant);
    return all ? rate : 0;
}

/* Of all messages, less the way of the last and of its acknowledgement: kilometres are no loss of rate. */
static double sustained_bps(const struct sim_job *job, double idle_ps)
{
    double time = job->end == PS_NEVER ? 0 : (double)(job->end - job->start) - idle_ps;

    return time > 0 ? MESSAGES * 8e6 * (double)PS_S / time : 0;
}

static void judge_rate(struct validate_case *of, const struct endpoint_pair *pair, uint32_t qps, double payload,
                       double idle_ps)
{
    const char *src = case_endpoint(of, pair->src), *dst = case_endpoint(of, pair->dst);
    struct variant variant = {0};
    FILE *to = case_open(of);

    fputs("[{flows: \"", to);
    for (uint32_t i = 0; i < MESSAGES; i++)
        fprintf(to, "%s %s 1MB 0s qp %u\\n", src, dst, i % qps);
    fputs("\"}]", to);
    const char *jobs = case_close(of);
    const char *subject =
        case_text(of, "%s, WRITE of 1MB, %u queue pair%s", pair_text(of, pair), qps, qps == 1 ? "" : "s");
    if (variant_open(of, subject, jobs, &variant, NULL) && variant_run(of, subject, &variant, PS_S)) {
        const char *words = case_text(
            of, "payload rate of the way, %s of a line of %s", case_number(of, VALIDATE_RATE, payload),
            case_number(of, VALIDATE_RATE, (double)of->fabric->port[of->fabric->endpoint[pair->src].port].rate_bps));
        JUDGE(of, .subject = subject, .criterion = CRITERION_POINT_RATE, .unit = VALIDATE_RATE,
              .value = sustained_bps(&variant.result.job[0], idle_ps), .base = payload, .of = words,
              .why = "one pair alone does not fill its line: PCIe, a slow receiver, loss, or congestion control");
        variant_close(&variant);
    }
}

void test_point_to_point(struct validate_case *of)
{
    static const uint32_t qps[] = {1, 4, 16};
    struct endpoint_pair pair[DISTANCES];
    uint32_t pairs = choose_distances(of->fabric, pair, DISTANCES);

    if (pairs == 0) validate_skip(of, "", "no two hosts reach each other");
    for (uint32_t i = 0; i < pairs; i++) {
        double idle_ps, payload = judge_latency(of, &pair[i], &idle_ps);
        for (uint32_t q = 0; payload > 0 && q < (of->plan->level == VALIDATE_QUICK ? 1 : 3); q++)
            judge_rate(of, &pair[i], qps[q], payload, idle_ps);
    }
}

void test_idle_counters(struct validate_case *of)
{
    static const char subject[] = "10 ms without load: pauses, marks, drops, packets lost and sent again";
    struct endpoint_pair pair;
    struct variant variant = {0};

    if (validate_skip_if(of, choose_distances(of->fabric, &pair, 1) == 0, subject, "no two hosts reach each other"))
        return;
    const char *jobs =
        case_text(of, "[{flows: \"%s %s 64B 20ms\"}]", case_endpoint(of, pair.src), case_endpoint(of, pair.dst));
    if (!variant_open(of, subject, jobs, &variant, NULL) || !variant_run(of, subject, &variant, IDLE_PS)) return;
    struct variant_counts counts = variant_count(&variant);
    const char *why =
        case_text(of, "%llu pauses, %llu marks, %llu drops, %llu lost, %llu sent again without any load",
                  (unsigned long long)counts.pauses, (unsigned long long)counts.marks, (unsigned long long)counts.drops,
                  (unsigned long long)counts.lost, (unsigned long long)counts.again);
    JUDGE(of, .subject = subject, .criterion = CRITERION_IDLE_EVENTS,
          .value = (double)(counts.pauses + counts.marks + counts.drops + counts.lost + counts.again), .why = why);
    variant_close(&variant);
}

/* Jobs of an edge: each of its endpoints to the next but `shift`, one shift after the other. */
static void write_rail(struct validate_case *of, uint32_t edge, FILE *jobs, uint32_t *ret_jobs)
{
    uint32_t endpoint[EDGE_MOST], count = choose_of_edge(of->fabric, edge, endpoint, EDGE_MOST);
    uint32_t step = of->plan->level == VALIDATE_FULL || count < 4 ? 1 : count - 2;
    const char *ranks = case_list(of, endpoint, count);

    for (uint32_t shift = 1; shift < count; shift += step) {
        fprintf(jobs, "%s{name: e%us%u, permutation: %u, size: 16MB, ranks: %s", *ret_jobs ? ", " : "", edge, shift,
                shift, ranks);
        if (shift > 1) fprintf(jobs, ", after: e%us%u", edge, shift - step);
        fputc('}', jobs);
        ++*ret_jobs;
    }
}

static void judge_rails(struct validate_case *of, const struct variant *variant, uint32_t edges)
{
    const struct sim_result *result = &variant->result;
    const struct sim_job *worst = NULL;

    for (uint32_t i = 0; i < result->jobs; i++) {
        const struct sim_job *job = &result->job[i];
        if (worst == NULL || job->end == PS_NEVER) worst = job;
        if (worst->end == PS_NEVER) break;
        if ((double)(job->end - job->start) / (double)job->ideal_ps >
            (double)(worst->end - worst->start) / (double)worst->ideal_ps)
            worst = job;
    }
    if (worst == NULL) return;
    const char *subject =
        case_text(of, "pairs of a leaf, %u leaves, the slowest of %u permutations", edges, result->jobs);
    const char *words = case_text(of, "line rate of %u adapters without headers", worst->ranks);
    JUDGE(of, .subject = subject, .criterion = CRITERION_RAIL_RATE, .unit = VALIDATE_RATE,
          .value = worst->end == PS_NEVER
                       ? 0
                       : (double)worst->bytes * 8 * (double)PS_S / (double)(worst->end - worst->start),
          .base = (double)worst->bytes * 8 * (double)PS_S / (double)worst->ideal_ps, .of = words,
          .why = "one switch alone slows its own hosts down: a slow receiver, a link, PCIe");
}

static void judge_drops(struct validate_case *of, const struct variant *variant, const char *subject)
{
    struct variant_counts counts = variant_count(variant);

    if (validate_skip_if(of, !of->fabric->classes[choose_class(of->fabric)].lossless, subject, "no class is lossless"))
        return;
    JUDGE(of, .subject = subject, .criterion = CRITERION_DROPS, .value = (double)(counts.drops + counts.lost),
          .why = "packets of a lossless class are lost");
}

void test_rails(struct validate_case *of)
{
    static const char subject[] = "pairs of a leaf";
    uint32_t most = of->plan->level == VALIDATE_QUICK ? 8 : of->plan->level == VALIDATE_DEFAULT ? 32 : EDGE_MOST;
    uint32_t edges = of->fabric->edges, step = edges > most ? edges / most : 1, count = 0, used = 0;
    struct variant variant = {0};
    FILE *to = case_open(of);

    fputc('[', to);
    for (uint32_t e = 0; e < edges && used < most; e += step, used++)
        write_rail(of, e, to, &count);
    fputc(']', to);
    const char *jobs = case_close(of);
    if (count == 0) {
        validate_skip(of, subject, "no leaf has two hosts");
    } else if (variant_open(of, subject, jobs, &variant, NULL) && variant_run(of, subject, &variant, PS_S)) {
        judge_rails(of, &variant, used);
        judge_drops(of, &variant, "pairs of a leaf: packets lost");
        variant_close(&variant);
    }
}
