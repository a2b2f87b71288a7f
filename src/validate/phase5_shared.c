/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 5, what else is on the wires: traffic for storage, backup and management on a network of its own, in a class of
 * its own, and in the same class; links between two sites.
 */
#include <string.h>

#include "validate/failures.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

#define LONGEST_PS (10 * PS_S)
#define LONG_PS (50 * PS_US) /* one way: 10 km */
#define HOPS_MOST 16u

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
    const char *ranks = case_list(of, failures->rank, failures->ranks), *other = "";
    const char *subject = class ? class : "RDMA alone";
    struct variant variant;
    ps_t time = PS_NEVER;

    if (class)
        other =
            case_text(of, ", {name: other, poisson: {sizes: storage, load: %u%%, until: %lluns}, class: %s, ranks: %s}",
                      percent, in_ns(failures->length), class, ranks);
    const char *jobs = case_text(of, "[{name: rdma, permutation: 1, size: %lluB, ranks: %s}%s]",
                                 (unsigned long long)failures->bytes, ranks, other);
    if (!failures_run(of, subject, failures, jobs, NULL, 0, LONGEST_PS, &variant)) return PS_NEVER;
    const struct sim_job *job = &variant.result.job[0];
    if (!job->failed && job->end != PS_NEVER) time = job->end - job->start;
    if (time == PS_NEVER) validate_tell(of, VALIDATE_FAIL, subject, "the RDMA traffic completes", "it does not");
    variant_close(&variant);
    return time;
}

static void judge_separated(struct validate_case *of, const struct other *other, double over)
{
    const char *subject = case_text(of, "storage of %u %% of the line in class %.40s: time of RDMA, over alone",
                                    other->share_percent, other->class);
    const char *words = case_text(of, "what its share leaves, 1 / (1 - %u %%)", other->share_percent);
    JUDGE(of, .subject = subject, .criterion = CRITERION_ISOLATION, .unit = VALIDATE_RATIO, .value = over,
          .base = 1 / (1 - other->share_percent / 100.0), .of = words,
          .why = "the class of its own does not keep it apart: shares, buffers, or a network of its own");
}

void test_networks(struct validate_case *of)
{
    const struct other other = other_class(of->fabric);
    const char *own = of->fabric->classes[choose_class(of->fabric)].name;
    const char *apart = "none";
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
        apart = case_text(of, "%.2f", (double)separated / (double)alone);
    }
    ps_t shared = time_beside(of, &failures, own, other.share_percent);
    if (shared == PS_NEVER) return;
    const char *subject =
        case_text(of, "side by side: a network of its own 1.00, a class of its own %s, the same class %.2f", apart,
                  (double)shared / (double)alone);
    const char *words =
        case_text(of, "time of RDMA beside storage of %u %% of the line, over alone: a figure, no criterion",
                  other.share_percent);
    validate_tell(of, VALIDATE_PASS, subject, words, "%s", "");
}

/* --- two sites --- */

/* The longest link on a way from the one to the other, the first of each group; 0: there is no way. */
static ps_t longest_link_ps(const struct fabric *fabric, uint32_t src, uint32_t dst)
{
    uint32_t port = fabric->endpoint[src].port, edge = fabric->edge_of[dst];
    ps_t longest = fabric->port[port].propagation_ps;

    for (uint32_t hops = 0; hops < HOPS_MOST && edge != FABRIC_NONE; hops++) {
        uint32_t peer = fabric->port[port].peer, node = peer == FABRIC_NONE ? 0 : fabric->port[peer].node;
        if (node < fabric->hosts) return 0;
        const struct fabric_route *route = &fabric->route[node - fabric->hosts];
        if (edge == route->own_edge) return longest;
        if (route->group_of[edge] == FABRIC_NO_GROUP) return 0;
        port = fabric->node[node].first_port + fabric->route_port[route->group[route->group_of[edge]].first];
        if (fabric->port[port].propagation_ps > longest) longest = fabric->port[port].propagation_ps;
    }
    return 0;
}

/* The first endpoint, and the first whose way from it has a long link. */
static bool far_pair(const struct fabric *fabric, struct endpoint_pair *ret)
{
    *ret = (struct endpoint_pair){0, 1, 0};
    while (ret->dst < fabric->endpoints && longest_link_ps(fabric, 0, ret->dst) < LONG_PS)
        ret->dst++;
    return ret->dst < fabric->endpoints;
}

/* One message of so many bytes from one site to the other, and what the way holds of it. */
static void judge_far(struct validate_case *of, const struct endpoint_pair *pair, const struct sim_flow *flow)
{
    double bits = (double)flow->bytes * 8 * (double)PS_S, rate = bits / (double)flow->ideal_ps;
    double round_ps = 2 * (double)longest_link_ps(of->fabric, pair->src, pair->dst);
    double line = (double)of->fabric->port[of->fabric->endpoint[pair->src].port].rate_bps;

    const char *subject = case_text(of, "a message of %s from %.64s to %.64s, over a link of %s, alone",
                                    case_number(of, VALIDATE_BYTES, (double)flow->bytes), case_endpoint(of, pair->src),
                                    case_endpoint(of, pair->dst), case_number(of, VALIDATE_TIME, round_ps / 2));
    const char *words = case_text(of, "its rate by the closed form, %s", case_number(of, VALIDATE_RATE, rate));
    const char *why = case_text(
        of, "the way there and back holds %s (line rate x %s): a window that is smaller, or loss",
        case_number(of, VALIDATE_BYTES, line / 8 * round_ps / (double)PS_S), case_number(of, VALIDATE_TIME, round_ps));
    JUDGE(of, .subject = subject, .criterion = CRITERION_SITES_RATE, .unit = VALIDATE_RATE,
          .value = flow->fct_ps == PS_NEVER ? 0 : bits / (double)flow->fct_ps, .base = rate, .of = words, .why = why);
}

void test_sites(struct validate_case *of)
{
    static const char subject[] = "a message from one site to the other, alone";
    struct failures failures;
    struct endpoint_pair pair;
    struct variant variant;

    if (validate_skip_if(of, !far_pair(of->fabric, &pair), "", "no link of 10 km (50 us) or more: this is one site"))
        return;
    if (!failures_choose(of, 5 * PS_MS, &failures)) return;
    const char *jobs = case_text(of, "[{flows: \"%s %s %lluB\"}]", case_endpoint(of, pair.src),
                                 case_endpoint(of, pair.dst), (unsigned long long)failures.bytes);
    if (failures_run(of, subject, &failures, jobs, NULL, 0, LONGEST_PS, &variant)) {
        judge_far(of, &pair, &variant.result.flow[0]);
        variant_close(&variant);
    }
    const char *all = failures_jobs(of, &failures);
    if (failures_run(of, "between the sites", &failures, all, NULL, 0, LONGEST_PS, &variant)) {
        JUDGE(of, .subject = "traffic between and within the sites: lossless packets that are lost",
              .criterion = CRITERION_DROPS, .value = (double)variant_count(&variant).lossless_drops,
              .why = "headroom for a cable of kilometres is megabytes: rocelab check says how many");
        variant_close(&variant);
    }
}
