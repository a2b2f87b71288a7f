/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic for failures: one endpoint of each edge (at most 16), each sending a long message to the next, so that all of
 * it crosses what fails.  Long against the time that routes take, short enough to be run for every link.
 */
#include "validate/failures.h"

#include <string.h>

#include "fabric/fabric.h"
#include "fabric/override.h"
#include "fabric/routing.h"
#include "study/each.h"

#define EDGE_MOST 64u

/* Its host has one already, or it is in a plane that the others do not reach. */
static bool taken(const struct validate_case *of, const struct failures *failures, uint32_t endpoint)
{
    for (uint32_t r = 0; r < failures->ranks; r++)
        if (of->fabric->endpoint[failures->rank[r]].host == of->fabric->endpoint[endpoint].host) return true;
    return failures->ranks && !fabric_reaches(of->fabric, failures->rank[0], endpoint);
}

/* One of each edge, then a second one of each, as long as there are hosts: rails have all hosts on every edge. */
static void take_ranks(struct validate_case *of, struct failures *failures)
{
    for (uint32_t round = 0; round < EDGE_MOST && failures->ranks < FAILURE_RANKS; round++) {
        uint32_t before = failures->ranks;
        for (uint32_t e = 0; e < of->fabric->edges && failures->ranks < FAILURE_RANKS; e++) {
            uint32_t endpoint[EDGE_MOST], count = choose_of_edge(of->fabric, e, endpoint, EDGE_MOST), at = 0;
            while (at < count && taken(of, failures, endpoint[at]))
                at++;
            if (at < count) failures->rank[failures->ranks++] = endpoint[at];
        }
        if (failures->ranks == before) break;
    }
}

/* What may fail and leaves a path. */
static void take_parts(const struct fabric *fabric, struct failures *failures)
{
    uint64_t num, den;

    failures->spine = failures->link = FABRIC_NONE;
    for (uint32_t n = fabric->hosts; n < fabric->nodes && failures->spine == FABRIC_NONE; n++)
        if (fabric->node[n].tier > 1 && !each_loss(fabric, n, FABRIC_NONE, &num, &den)) failures->spine = n;
    for (uint32_t p = 0; p < fabric->ports && failures->link == FABRIC_NONE; p++)
        if (fabric->port[p].node >= fabric->hosts && each_is_link(fabric, p) &&
            !each_loss(fabric, fabric->port[p].node, p, &num, &den))
            failures->link = p;
}

bool failures_choose(struct validate_case *of, ps_t length, struct failures *ret)
{
    static const struct fabric_converge usual = FABRIC_CONVERGE_USUAL;
    const struct fabric *fabric = of->fabric;

    *ret = (struct failures){.length = length, .converge = fabric->converge.on ? fabric->converge : usual};
    take_ranks(of, ret);
    if (validate_skip_if(of, ret->ranks < 2 || !fabric_reaches(fabric, ret->rank[0], ret->rank[1]), "",
                         "no two hosts reach each other over a switch"))
        return false;
    uint64_t rate = fabric->port[fabric->endpoint[ret->rank[0]].port].rate_bps;
    ret->bytes = rate / 8 / (PS_S / PS_US) * (length / PS_US);
    take_parts(fabric, ret);
    snprintf(ret->converge_text, sizeof ret->converge_text, "{detect: %lluns, step: %lluns, ordered: true}",
             (unsigned long long)(ret->converge.detect_ps / PS_NS),
             (unsigned long long)(ret->converge.step_ps / PS_NS));
    return true;
}

const char *failures_jobs(const struct validate_case *of, const struct failures *failures)
{
    return case_text(of, "[{name: across, permutation: 1, size: %lluB, ranks: %s}]",
                     (unsigned long long)failures->bytes, case_list(of, failures->rank, failures->ranks));
}

bool failures_run(struct validate_case *of, const char *subject, const struct failures *failures, const char *jobs,
                  const char *const *fault, uint32_t faults, ps_t until, struct variant *variant)
{
    *variant = (struct variant){0};
    if (!of->fabric->converge.on)
        variant->override[variant->overrides++] = (struct fabric_override){"converge", failures->converge_text};
    variant->fault = fault;
    variant->faults = faults;
    return variant_open(of, subject, jobs, variant, NULL) && variant_run(of, subject, variant, until);
}

ps_t failures_time(const struct variant *variant)
{
    const struct sim_result *result = &variant->result;
    ps_t start = PS_NEVER, end = 0;

    for (uint32_t j = 0; j < result->jobs; j++) {
        const struct sim_job *job = &result->job[j];
        if (job->failed || job->end == PS_NEVER) return PS_NEVER;
        if (job->start < start) start = job->start;
        if (job->end > end) end = job->end;
    }
    return result->work_failed || start == PS_NEVER ? PS_NEVER : end - start;
}

ps_t failures_routes_ps(const struct failures *failures)
{
    return ps_add(failures->converge.detect_ps, 4 * failures->converge.step_ps);
}

uint64_t failures_lost(const struct variant *variant)
{
    struct variant_counts counts = variant_count(variant);

    return counts.drops - counts.discarded - counts.crowded + counts.lost;
}

void failures_judge_lost(struct validate_case *of, const char *name, const struct variant *variant, uint64_t without)
{
    struct variant_counts counts = variant_count(variant);
    uint64_t lost = failures_lost(variant);
    const char *subject = case_text(of, "%.240s: packets lost, though it was announced", name);

    if (counts.crowded) /* less capacity, and a class that may drop: not what a drain is judged by */
        subject = case_text(of, "%s (besides %llu of a lossy class that full queues dropped)", subject,
                            (unsigned long long)counts.crowded);
    if (counts.discarded) /* what took the new way came before what was still on the old one */
        subject = case_text(of, "%s (%llu arrived out of order)", subject, (unsigned long long)counts.discarded);
    const char *why = case_text(
        of, "%llu dropped by switches, %llu lost on links: %s",
        (unsigned long long)(counts.drops - counts.discarded - counts.crowded), (unsigned long long)counts.lost,
        counts.circled ? "some went in circles, because switches nearest to it moved first (see `ordered` of "
                         "`converge`)"
                       : "routes were not away in time");
    JUDGE(of, .subject = subject, .criterion = CRITERION_DRAIN_LOST,
          .value = lost > without ? (double)(lost - without) : 0, .why = why);
}
