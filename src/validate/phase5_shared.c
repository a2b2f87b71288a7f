/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 5, what else is on the wires: traffic for storage, backup and management on a network of its own, in a class of
 * its own, and in the same class; links between two sites.
 */
#include <stdlib.h>
#include <string.h>

#include "validate/failures.h"

#define LONGEST_PS (10 * PS_S)
#define LONG_MM UINT64_C(10000000) /* 10 km: 50 us one way */

static const ps_t lengths[VALIDATE_LEVELS] = {
    [VALIDATE_QUICK] = PS_MS, [VALIDATE_DEFAULT] = 2 * PS_MS, [VALIDATE_FULL] = 10 * PS_MS};

/* --- dedicated, separated, shared --- */

struct other {         /* where traffic goes that is not RDMA's: the first class that is neither lossless nor strict */
    const char *class; /* NULL: there is none */
    uint32_t share_percent; /* of a line, that the class has; at most 20 */
};

static struct other other_class(const struct fabric *fabric)
{
    const struct fabric_settings *settings = &fabric->settings[fabric->port[fabric->ports - 1].settings];

    for (uint32_t c = 0; c < fabric->class_count; c++) {
        const struct fabric_class *class = &fabric->classes[c];
        const struct fabric_queue *queue = &settings->queue[settings->tc_to_queue[class->priority]];
        uint32_t percent = queue->share_ppm / 10000;
        if (class->lossless || queue->strict) continue;
        return (struct other){class->name, percent < 1 ? 1 : percent > 20 ? 20 : percent};
    }
    return (struct other){NULL, 10};
}

/* Time of the RDMA traffic beside so many per cent of the line in this class; NULL: alone.  PS_NEVER after a row. */
static ps_t time_beside(struct validate_case *of, const struct failures *failures, const char *class, uint32_t percent)
{
    char *ranks = endpoint_list(of->fabric, failures->rank, failures->ranks), *jobs = NULL;
    size_t length = 0;
    FILE *to = ranks ? open_memstream(&jobs, &length) : NULL;
    struct variant variant;
    ps_t time = PS_NEVER;

    if (to) {
        fprintf(to, "[{name: rdma, permutation: 1, size: %lluB, ranks: %s}", (unsigned long long)failures->bytes,
                ranks);
        if (class)
            fprintf(to, ", {name: other, poisson: {sizes: storage, load: %u%%, until: %lluns}, class: %s, ranks: %s}",
                    percent, (unsigned long long)(failures->length / PS_NS), class, ranks);
        fputs("]", to);
        if (fclose(to) != 0) {
            free(jobs);
            jobs = NULL;
        }
    }
    if (failures_run(of, class ? class : "RDMA alone", failures, jobs, NULL, 0, LONGEST_PS, &variant)) {
        const struct sim_job *job = &variant.result.job[0];
        if (!job->failed && job->end != PS_NEVER) time = job->end - job->start;
        if (time == PS_NEVER)
            validate_tell(of, VALIDATE_FAIL, class ? class : "RDMA alone", "the RDMA traffic completes", "it does not");
        variant_close(&variant);
    }
    free(ranks);
    free(jobs);
    return time;
}

static void judge_separated(struct validate_case *of, const struct other *other, double over)
{
    char subject[VALIDATE_TEXT], words[VALIDATE_TEXT];

    snprintf(subject, sizeof subject, "storage of %u %% of the line in class %.40s: time of RDMA, over alone",
             other->share_percent, other->class);
    snprintf(words, sizeof words, "what its share leaves, 1 / (1 - %u %%)", other->share_percent);
    validate_judge(of, &(struct validate_finding){.subject = subject,
                                                  .criterion = CRITERION_ISOLATION,
                                                  .unit = VALIDATE_RATIO,
                                                  .value = over,
                                                  .base = 1 / (1 - other->share_percent / 100.0),
                                                  .of = words,
                                                  .why = "the class of its own does not keep it apart: shares, "
                                                         "buffers, or a network of its own"});
}

void test_networks(struct validate_case *of)
{
    const struct other other = other_class(of->fabric);
    const char *own = of->fabric->classes[choose_class(of->fabric)].name;
    char subject[VALIDATE_TEXT], words[VALIDATE_TEXT], apart[VALIDATE_NUMBER] = "none";
    struct failures failures;

    if (!failures_choose(of, lengths[of->plan->level], &failures)) return;
    ps_t alone = time_beside(of, &failures, NULL, 0), separated = PS_NEVER;
    if (alone == PS_NEVER) return;
    if (other.class)
        separated = time_beside(of, &failures, other.class, other.share_percent);
    else
        validate_skip(of, "separated", "every class is lossless or strict: nothing else has a class of its own");
    if (separated != PS_NEVER) {
        judge_separated(of, &other, (double)separated / (double)alone);
        snprintf(apart, sizeof apart, "%.2f", (double)separated / (double)alone);
    }
    ps_t shared = time_beside(of, &failures, own, other.share_percent);
    if (shared == PS_NEVER) return;
    snprintf(subject, sizeof subject,
             "side by side: a network of its own 1.00, a class of its own %s, the same class %.2f", apart,
             (double)shared / (double)alone);
    snprintf(words, sizeof words,
             "time of RDMA beside storage of %u %% of the line, over alone: a figure, no criterion",
             other.share_percent);
    validate_tell(of, VALIDATE_PASS, subject, words, "%s", "");
}

/* --- two sites --- */

/* Endpoints whose way has a long link in it: of the longest distance that there is. */
static bool far_pair(const struct fabric *fabric, struct endpoint_pair *ret)
{
    struct endpoint_pair pair[8];
    uint32_t count = choose_distances(fabric, pair, 8);
    bool any = false;

    for (uint32_t p = 0; p < fabric->ports; p++)
        any |= fabric->port[p].peer != FABRIC_NONE && fabric->port[p].cable_mm >= LONG_MM;
    if (!any || count == 0) return false;
    *ret = pair[count - 1];
    return true;
}

void test_sites(struct validate_case *of)
{
    static const char subject[] = "a message from one site to the other, alone: rate over that of its way";
    char src[FABRIC_NAME], dst[FABRIC_NAME], jobs[512];
    struct failures failures;
    struct endpoint_pair pair;
    struct variant variant;

    if (!far_pair(of->fabric, &pair)) {
        validate_skip(of, "", "no link of 10 km or more: this is one site");
        return;
    }
    if (!failures_choose(of, 5 * PS_MS, &failures)) return;
    snprintf(jobs, sizeof jobs, "[{flows: \"%s %s %lluB\"}]", endpoint_name(of->fabric, pair.src, src),
             endpoint_name(of->fabric, pair.dst, dst), (unsigned long long)failures.bytes);
    if (failures_run(of, subject, &failures, jobs, NULL, 0, LONGEST_PS, &variant)) {
        const struct sim_flow *flow = &variant.result.flow[0];
        validate_judge(of, &(struct validate_finding){
                               .subject = subject,
                               .criterion = CRITERION_SITES_RATE,
                               .unit = VALIDATE_RATIO,
                               .value = flow->fct_ps == PS_NEVER ? 0 : (double)flow->ideal_ps / (double)flow->fct_ps,
                               .why = "a window smaller than rate x round-trip time, or loss on the long link"});
        variant_close(&variant);
    }
    char *all = failures_jobs(of, &failures, 0);
    if (failures_run(of, "between the sites", &failures, all, NULL, 0, LONGEST_PS, &variant)) {
        validate_judge(of, &(struct validate_finding){
                               .subject = "traffic between and within the sites: lossless packets that are lost",
                               .criterion = CRITERION_DROPS,
                               .value = (double)variant_count(&variant).lossless_drops,
                               .why = "headroom for a cable of kilometres is megabytes: rocelab check says how many"});
        variant_close(&variant);
    }
    free(all);
}
