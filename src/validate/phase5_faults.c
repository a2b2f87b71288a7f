/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 5, what is over soon: a link that flaps, a switch that is reset, drained or routed around.
 */
#include <string.h>

#include "base/wide.h"
#include "fabric/fabric.h"
#include "study/each.h"
#include "validate/failures.h"

#define FLAPS 3u
#define LONGEST_PS (10 * PS_S)

static const ps_t lengths[VALIDATE_LEVELS] = {
    [VALIDATE_QUICK] = 2 * PS_MS, [VALIDATE_DEFAULT] = 4 * PS_MS, [VALIDATE_FULL] = 8 * PS_MS};

struct passing { /* a fault, and what it explains */
    const char *name;
    const char *fault;
    uint32_t node, port;
    ps_t outage_ps;
    bool no_loss; /* announced: nothing may be lost */
};

static ps_t explained(const struct fabric *fabric, const struct passing *as, ps_t base)
{
    uint64_t num, den;

    each_loss(fabric, as->node, as->port, &num, &den);
    return ps_add((ps_t)((u128)base * num / den), as->outage_ps);
}

static void judge_time(struct validate_case *of, const char *name, ps_t time, ps_t base, ps_t most,
                       const struct variant *variant)
{
    struct variant_counts counts = variant_count(variant);

    const char *subject = case_text(of, "%s: time of the traffic across it", name);
    const char *words =
        case_text(of, "%s explained: %s without, capacity that is gone, outages",
                  case_number(of, VALIDATE_TIME, (double)most), case_number(of, VALIDATE_TIME, (double)base));
    if (time == PS_NEVER) {
        validate_tell(of, VALIDATE_FAIL, subject, "it completes", "%llu work requests failed, %llu timeouts",
                      (unsigned long long)variant->result.work_failed, (unsigned long long)counts.timeouts);
        return;
    }
    const char *why = case_text(of, "%llu timeouts, %llu packets sent again", (unsigned long long)counts.timeouts,
                                (unsigned long long)counts.again);
    JUDGE(of, .subject = subject, .criterion = CRITERION_FAILURE_TIME, .unit = VALIDATE_TIME, .value = (double)time,
          .base = (double)most, .of = words, .why = why);
}

static ps_t time_without(struct validate_case *of, const struct failures *failures, const char *jobs,
                         uint64_t *ret_lost)
{
    struct variant variant;
    ps_t base;

    if (!failures_run(of, "without a fault", failures, jobs, NULL, 0, LONGEST_PS, &variant)) return PS_NEVER;
    base = failures_time(&variant);
    *ret_lost = failures_lost(&variant);
    variant_close(&variant);
    if (base == PS_NEVER) validate_tell(of, VALIDATE_FAIL, "without a fault", "the traffic completes", "it does not");
    return base;
}

static uint32_t write_passing(const struct validate_case *of, const struct failures *failures, ps_t base,
                              struct passing ret[4])
{
    const struct fabric *fabric = of->fabric;
    ps_t routes = failures_routes_ps(failures), at = base / 4, down = base / 10;
    const char *spine = failures->spine == FABRIC_NONE ? NULL : fabric->node[failures->spine].name;
    uint32_t count = 0;

    if (failures->link != FABRIC_NONE) {
        ret[count++] = (struct passing){.name = "flap of a link",
                                        .fault = case_text(of, "flap %.90s at %lluns every %lluns down %lluns times %u",
                                                           case_port(of, failures->link), in_ns(at),
                                                           in_ns(ps_add(2 * routes, 2 * down)), in_ns(down), FLAPS),
                                        .node = fabric->port[failures->link].node,
                                        .port = failures->link,
                                        .outage_ps = FLAPS * ps_add(2 * routes, down)};
    }
    for (int i = 0; spine && i < 3; i++) {
        static const char *const names[] = {"reset of a spine", "drain of a spine", "routes that avoid a spine"};
        struct passing *as = &ret[count++];
        *as = (struct passing){
            .name = names[i], .node = failures->spine, .port = FABRIC_NONE, .outage_ps = 2 * routes, .no_loss = i > 0};
        if (i == 0) as->fault = case_text(of, "reset %.64s at %lluns for %lluns", spine, in_ns(at), in_ns(base / 2));
        if (i == 1)
            as->fault = case_text(of, "drain %.64s at %lluns for %lluns ahead %lluns", spine, in_ns(at),
                                  in_ns(base / 2), in_ns(2 * routes));
        if (i == 2) as->fault = case_text(of, "withdraw %.64s at %lluns", spine, in_ns(at));
    }
    return count;
}

void test_passing(struct validate_case *of)
{
    struct passing passing[4];
    struct failures failures;
    struct variant variant;
    uint64_t lost = 0;

    if (!failures_choose(of, lengths[of->plan->level], &failures)) return;
    const char *jobs = failures_jobs(of, &failures);
    ps_t base = time_without(of, &failures, jobs, &lost);
    uint32_t count = base == PS_NEVER ? 0 : write_passing(of, &failures, base, passing);
    if (base != PS_NEVER && count == 0)
        validate_skip(of, "", "no link and no switch can go without an adapter being cut off");
    for (uint32_t i = 0; i < count; i++) {
        const char *fault[] = {passing[i].fault};
        if (!failures_run(of, passing[i].name, &failures, jobs, fault, 1, LONGEST_PS, &variant)) break;
        judge_time(of, passing[i].name, failures_time(&variant), base, explained(of->fabric, &passing[i], base),
                   &variant);
        if (passing[i].no_loss) failures_judge_lost(of, passing[i].name, &variant, lost);
        variant_close(&variant);
    }
}
