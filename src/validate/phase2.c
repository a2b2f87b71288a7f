/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 2, baseline: what one pair, a fabric without load and every rail by itself do.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "validate/case.h"

#define DISTANCES 8u
#define MESSAGES 64u /* of 1 MB */
#define EDGE_MOST 256u
#define IDLE_PS (10 * PS_MS)

static const char *const sizes[] = {"64B", "4KB", "64KB", "1MB", "4MB"};
#define SIZES (sizeof sizes / sizeof sizes[0])

static const char *pair_text(const struct validate_case *of, const struct endpoint_pair *pair, char buf[VALIDATE_TEXT])
{
    char src[FABRIC_NAME], dst[FABRIC_NAME];

    snprintf(buf, VALIDATE_TEXT, "%.64s to %.64s over %u link%s", endpoint_name(of->fabric, pair->src, src),
             endpoint_name(of->fabric, pair->dst, dst), pair->hops, pair->hops == 1 ? "" : "s");
    return buf;
}

/* One message of each size, each alone; answers the payload rate of the way, 0 after a row that says what is wrong, and
 * the time of the smallest message. */
static double judge_latency(struct validate_case *of, const struct endpoint_pair *pair, double *ret_idle_ps)
{
    char subject[VALIDATE_TEXT], words[VALIDATE_TEXT], src[FABRIC_NAME], dst[FABRIC_NAME], jobs[1024] = "[{flows: \"";
    struct variant variant = {0};
    uint32_t worst = 0;
    size_t used = strlen(jobs);

    endpoint_name(of->fabric, pair->src, src);
    endpoint_name(of->fabric, pair->dst, dst);
    for (uint32_t i = 0; i < SIZES; i++) {
        int more = i ? snprintf(jobs + used, sizeof jobs - used, "%s %s %s 10us after %u\\n", src, dst, sizes[i], i - 1)
                     : snprintf(jobs + used, sizeof jobs - used, "%s %s %s\\n", src, dst, sizes[i]);
        used += (size_t)more;
    }
    CHECK(used + 4 < sizeof jobs);
    snprintf(jobs + used, sizeof jobs - used, "\"}]");
    pair_text(of, pair, subject);
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
    snprintf(subject + strlen(subject), sizeof subject - strlen(subject), ", idle: %s, the slowest of 64B to 4MB",
             sizes[worst]);
    snprintf(words, sizeof words, "closed form: each link's bits, cables, switches, the acknowledgement back");
    if (all && !is_roce(of->fabric))
        validate_skip(of, subject, "the closed form is that of RoCE; this is %s", fabric_system(of->fabric)->title);
    else if (all)
        validate_judge(of, &(struct validate_finding){.subject = subject,
                                                      .criterion = CRITERION_IDLE_LATENCY,
                                                      .unit = VALIDATE_TIME,
                                                      .value = (double)flow[worst].fct_ps,
                                                      .base = (double)flow[worst].ideal_ps,
                                                      .of = words,
                                                      .why = "a message that is alone waits on its way: loss, a slow "
                                                             "receiver, or a rate below the line's"});
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
    char subject[VALIDATE_TEXT], words[VALIDATE_TEXT], rate[VALIDATE_NUMBER], src[FABRIC_NAME], dst[FABRIC_NAME];
    struct variant variant = {0};
    char *jobs = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&jobs, &length);

    CHECK(to);
    fputs("[{flows: \"", to);
    for (uint32_t i = 0; i < MESSAGES; i++)
        fprintf(to, "%s %s 1MB 0s qp %u\\n", endpoint_name(of->fabric, pair->src, src),
                endpoint_name(of->fabric, pair->dst, dst), i % qps);
    fputs("\"}]", to);
    CHECK(fclose(to) == 0);
    pair_text(of, pair, subject);
    snprintf(subject + strlen(subject), sizeof subject - strlen(subject), ", WRITE of 1MB, %u queue pair%s", qps,
             qps == 1 ? "" : "s");
    if (variant_open(of, subject, jobs, &variant, NULL) && variant_run(of, subject, &variant, PS_S)) {
        snprintf(words, sizeof words, "payload rate of the way, %s of a line of %s",
                 validate_number(VALIDATE_RATE, payload, rate),
                 validate_number(VALIDATE_RATE, (double)of->fabric->port[of->fabric->endpoint[pair->src].port].rate_bps,
                                 src));
        validate_judge(of, &(struct validate_finding){.subject = subject,
                                                      .criterion = CRITERION_POINT_RATE,
                                                      .unit = VALIDATE_RATE,
                                                      .value = sustained_bps(&variant.result.job[0], idle_ps),
                                                      .base = payload,
                                                      .of = words,
                                                      .why = "one pair alone does not fill its line: PCIe, a slow "
                                                             "receiver, loss, or congestion control"});
        variant_close(&variant);
    }
    free(jobs);
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
    char jobs[256], src[FABRIC_NAME], dst[FABRIC_NAME], why[VALIDATE_TEXT];
    struct variant variant = {0};

    if (choose_distances(of->fabric, &pair, 1) == 0) {
        validate_skip(of, subject, "no two hosts reach each other");
        return;
    }
    snprintf(jobs, sizeof jobs, "[{flows: \"%s %s 64B 20ms\"}]", endpoint_name(of->fabric, pair.src, src),
             endpoint_name(of->fabric, pair.dst, dst));
    if (!variant_open(of, subject, jobs, &variant, NULL) || !variant_run(of, subject, &variant, IDLE_PS)) return;
    struct variant_counts counts = variant_count(&variant);
    snprintf(why, sizeof why, "%llu pauses, %llu marks, %llu drops, %llu lost, %llu sent again without any load",
             (unsigned long long)counts.pauses, (unsigned long long)counts.marks, (unsigned long long)counts.drops,
             (unsigned long long)counts.lost, (unsigned long long)counts.again);
    validate_judge(of, &(struct validate_finding){
                           .subject = subject,
                           .criterion = CRITERION_IDLE_EVENTS,
                           .value = (double)(counts.pauses + counts.marks + counts.drops + counts.lost + counts.again),
                           .why = why});
    variant_close(&variant);
}

/* Jobs of an edge: each of its endpoints to the next but `shift`, one shift after the other; false: no memory. */
static bool write_rail(struct validate_case *of, uint32_t edge, FILE *jobs, uint32_t *ret_jobs)
{
    uint32_t endpoint[EDGE_MOST], count = choose_of_edge(of->fabric, edge, endpoint, EDGE_MOST);
    uint32_t step = of->plan->level == VALIDATE_FULL || count < 4 ? 1 : count - 2;
    char *ranks = endpoint_list(of->fabric, endpoint, count);

    if (ranks == NULL) return false;
    for (uint32_t shift = 1; shift < count; shift += step) {
        fprintf(jobs, "%s{name: e%us%u, permutation: %u, size: 16MB, ranks: %s", *ret_jobs ? ", " : "", edge, shift,
                shift, ranks);
        if (shift > 1) fprintf(jobs, ", after: e%us%u", edge, shift - step);
        fputc('}', jobs);
        ++*ret_jobs;
    }
    free(ranks);
    return true;
}

static void judge_rails(struct validate_case *of, const struct variant *variant, uint32_t edges)
{
    const struct sim_result *result = &variant->result;
    const struct sim_job *worst = NULL;
    char subject[VALIDATE_TEXT], words[VALIDATE_TEXT];

    for (uint32_t i = 0; i < result->jobs; i++) {
        const struct sim_job *job = &result->job[i];
        if (worst == NULL || job->end == PS_NEVER) worst = job;
        if (worst->end == PS_NEVER) break;
        if ((double)(job->end - job->start) / (double)job->ideal_ps >
            (double)(worst->end - worst->start) / (double)worst->ideal_ps)
            worst = job;
    }
    if (worst == NULL) return;
    snprintf(subject, sizeof subject, "pairs of a leaf, %u leaves, the slowest of %u permutations", edges,
             result->jobs);
    snprintf(words, sizeof words, "line rate of %u adapters without headers", worst->ranks);
    validate_judge(of, &(struct validate_finding){
                           .subject = subject,
                           .criterion = CRITERION_RAIL_RATE,
                           .unit = VALIDATE_RATE,
                           .value = worst->end == PS_NEVER
                                        ? 0
                                        : (double)worst->bytes * 8 * (double)PS_S / (double)(worst->end - worst->start),
                           .base = (double)worst->bytes * 8 * (double)PS_S / (double)worst->ideal_ps,
                           .of = words,
                           .why = "one switch alone slows its own hosts down: a slow receiver, a link, PCIe"});
}

static void judge_drops(struct validate_case *of, const struct variant *variant, const char *subject)
{
    struct variant_counts counts = variant_count(variant);

    if (!of->fabric->classes[choose_class(of->fabric)].lossless) {
        validate_skip(of, subject, "no class is lossless");
        return;
    }
    validate_judge(of, &(struct validate_finding){.subject = subject,
                                                  .criterion = CRITERION_DROPS,
                                                  .value = (double)(counts.drops + counts.lost),
                                                  .why = "packets of a lossless class are lost"});
}

void test_rails(struct validate_case *of)
{
    static const char subject[] = "pairs of a leaf";
    uint32_t most = of->plan->level == VALIDATE_QUICK ? 8 : of->plan->level == VALIDATE_DEFAULT ? 32 : EDGE_MOST;
    uint32_t edges = of->fabric->edges, step = edges > most ? edges / most : 1, count = 0, used = 0;
    struct variant variant = {0};
    char *jobs = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&jobs, &length);

    CHECK(to);
    fputc('[', to);
    for (uint32_t e = 0; e < edges && used < most; e += step, used++)
        CHECK(write_rail(of, e, to, &count));
    fputc(']', to);
    CHECK(fclose(to) == 0);
    if (count == 0) {
        validate_skip(of, subject, "no leaf has two hosts");
    } else if (variant_open(of, subject, jobs, &variant, NULL) && variant_run(of, subject, &variant, PS_S)) {
        judge_rails(of, &variant, used);
        judge_drops(of, &variant, "pairs of a leaf: packets lost");
        variant_close(&variant);
    }
    free(jobs);
}
