/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 5, what one adapter or one cable does to the others: a NIC that pauses without end, a host that takes data
 * slowly, a cable with wrong bits.
 *
 * One host is bad and is being sent to; the others send to each other.  What they lose is held against the same traffic
 * with a good host.
 */
#include <string.h>

#include "validate/failures.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

#define LONGEST_PS (10 * PS_S)
#define PAUSE_WAY_PS (10 * PS_US) /* a frame that is under way, then the first pause: at most */
#define ENOUGH_RANKS 3u           /* the bad one, and two that send to each other */

static const ps_t lengths[VALIDATE_LEVELS] = {
    [VALIDATE_QUICK] = PS_MS, [VALIDATE_DEFAULT] = 2 * PS_MS, [VALIDATE_FULL] = 10 * PS_MS};

/* The first rank is sent to by the last; the others go round among themselves.  A last message long after keeps the run
 * going for so long. */
static const char *write_jobs(const struct validate_case *of, const struct failures *failures, ps_t lasts)
{
    unsigned long long bytes = failures->bytes;
    const char *others = case_list(of, failures->rank + 1, failures->ranks - 1), *last = "";
    const char *from = case_endpoint(of, failures->rank[failures->ranks - 1]);

    if (lasts)
        last = case_text(of, ", {name: last, flows: \"%s %s 64B %lluns\"}", from, case_endpoint(of, failures->rank[1]),
                         in_ns(lasts));
    return case_text(
        of, "[{name: others, permutation: 1, size: %lluB, ranks: %s}, {name: to-it, flows: \"%s %s %lluB\"}%s]", bytes,
        others, from, case_endpoint(of, failures->rank[0]), bytes / 4, last);
}

/* Of the others alone; PS_NEVER: they did not end. */
static ps_t others_time(const struct variant *variant)
{
    const struct sim_job *job = &variant->result.job[0];

    return job->failed || job->end == PS_NEVER ? PS_NEVER : job->end - job->start;
}

static void judge_others(struct validate_case *of, const char *name, ps_t time, ps_t base)
{
    const char *subject = case_text(of, "%s: rate of the other hosts, over that with a good one", name);
    JUDGE(of, .subject = subject, .criterion = CRITERION_OTHERS_RATE, .unit = VALIDATE_RATIO,
          .value = time == PS_NEVER ? 0 : (double)base / (double)time,
          .why = "the bad host's pauses spread to those that have nothing to do with it");
}

/* The switch port that the bad host hangs on. */
static const struct sim_port *edge_port(const struct variant *variant, uint32_t endpoint)
{
    uint32_t peer = variant->fabric->port[variant->fabric->endpoint[endpoint].port].peer;

    for (uint32_t i = 0; i < variant->result.ports; i++)
        if (variant->result.port[i].port == peer) return &variant->result.port[i];
    return NULL;
}

static void judge_watchdog(struct validate_case *of, const struct variant *variant, const struct failures *failures,
                           ps_t at, ps_t end)
{
    const struct fabric *fabric = of->fabric;
    const struct sim_port *port = edge_port(variant, failures->rank[0]);
    uint32_t priority = fabric->classes[choose_class(fabric)].priority;
    const struct fabric_watchdog *watchdog =
        &fabric->sw[fabric->edge_switch[fabric->edge_of[failures->rank[0]]]].watchdog;

    if (!port || !port->sw || port->sw->prio[priority].watchdog_detected == 0) {
        validate_tell(of, VALIDATE_FAIL, "NIC storm: the watchdog acts", "it acts within poll + detect",
                      "it did not act");
        return;
    }
    const char *words = case_text(of, "poll %s + detect %s + 10us for the first pause",
                                  case_number(of, VALIDATE_TIME, (double)watchdog->poll_ps),
                                  case_number(of, VALIDATE_TIME, (double)watchdog->detect_ps));
    JUDGE(of, .subject = "NIC storm: from its begin to what the watchdog did", .criterion = CRITERION_WATCHDOG_TIME,
          .unit = VALIDATE_TIME, .value = (double)port->sw->prio[priority].watchdog_acted_at_ps - (double)at,
          .base = (double)(watchdog->poll_ps + watchdog->detect_ps + PAUSE_WAY_PS), .of = words);
    words = case_text(of, "poll %s + restore %s", case_number(of, VALIDATE_TIME, (double)watchdog->poll_ps),
                      case_number(of, VALIDATE_TIME, (double)watchdog->restore_ps));
    if (port->sw->prio[priority].watchdog_restored)
        JUDGE(of, .subject = "NIC storm: from its end to the queue being back", .criterion = CRITERION_WATCHDOG_TIME,
              .unit = VALIDATE_TIME, .value = (double)port->sw->prio[priority].watchdog_restored_at_ps - (double)end,
              .base = (double)(watchdog->poll_ps + watchdog->restore_ps), .of = words);
    else
        validate_tell(of, VALIDATE_FAIL, "NIC storm: the watchdog restores the queue", "it does once the storm is over",
                      "it did not");
}

static void run_storm(struct validate_case *of, const struct failures *failures, ps_t base)
{
    const struct fabric *fabric = of->fabric;
    const struct fabric_class *class = &fabric->classes[choose_class(fabric)];
    const struct fabric_watchdog *watchdog =
        &fabric->sw[fabric->edge_switch[fabric->edge_of[failures->rank[0]]]].watchdog;
    struct variant variant;
    ps_t at = base / 4, lasts = fabric_watchdog_runs(watchdog) ? 2 * (watchdog->poll_ps + watchdog->detect_ps) : PS_S;

    if (validate_skip_if(of, fabric->system != FABRIC_ROCEV2 || !class->lossless, "NIC storm",
                         "no class of this fabric is paused"))
        return;
    const char *fault = case_text(of, "pause %.90s priority %u at %lluns for %lluns",
                                  case_endpoint(of, failures->rank[0]), class->priority, in_ns(at), in_ns(lasts));
    ps_t until = at + lasts + watchdog->poll_ps + 2 * watchdog->restore_ps + 10 * PS_MS;
    const char *jobs = write_jobs(of, failures, until);
    if (!failures_run(of, "NIC storm", failures, jobs, &fault, 1, until, &variant)) return;
    judge_others(of, "NIC storm", others_time(&variant), base);
    if (fabric_watchdog_runs(watchdog))
        judge_watchdog(of, &variant, failures, at, at + lasts);
    else
        validate_tell(of, VALIDATE_FAIL, "NIC storm: the watchdog acts", "it acts within poll + detect",
                      "the switches have no watchdog: switches: {watchdog: true}");
    variant_close(&variant);
}

static void run_slow(struct validate_case *of, const struct failures *failures, const char *jobs, ps_t base)
{
    uint64_t rate = of->fabric->port[of->fabric->endpoint[failures->rank[0]].port].rate_bps;
    struct variant variant;

    if (validate_skip_if(of, of->fabric->system != FABRIC_ROCEV2, "slow receiver", "no class of this fabric is paused"))
        return;
    const char *fault = case_text(of, "receive %.90s rate %lluM at %lluns", case_endpoint(of, failures->rank[0]),
                                  (unsigned long long)(rate / 4 / 1000000), in_ns(base / 4));
    if (!failures_run(of, "slow receiver", failures, jobs, &fault, 1, LONGEST_PS, &variant)) return;
    judge_others(of, "slow receiver, a quarter of its line", others_time(&variant), base);
    variant_close(&variant);
}

/* One message that is so long that bits are wrong several times: of 1 GB eight are. */
static void run_ber(struct validate_case *of, const struct failures *failures)
{
    static const char *const sizes[VALIDATE_LEVELS] = {"1GB", "1GB", "4GB"};
    const char *name = case_endpoint(of, failures->rank[1]);
    const char *fault = case_text(of, "corrupt %.90s ber 1e-9", name);
    const char *jobs =
        case_text(of, "[{flows: \"%s %s %s\"}]", case_endpoint(of, failures->rank[2]), name, sizes[of->plan->level]);
    struct variant variant;

    const char *subject = case_text(of, "bit error rate of 1e-9 on the cable of %.90s", name);
    if (!failures_run(of, subject, failures, jobs, &fault, 1, 10 * LONGEST_PS, &variant)) return;
    struct variant_counts counts = variant_count(&variant);
    subject = case_text(of, "%s, which loses %llu: share of packets that are sent again", subject,
                        (unsigned long long)counts.lost);
    uint64_t packets = 0;
    for (uint32_t i = 0; i < variant.result.nics; i++)
        packets += variant.result.nic[i].common.tx_packets;
    const char *why = case_text(of, "%llu lost, %llu sent again, %llu timeouts: what is lost once is sent many times",
                                (unsigned long long)counts.lost, (unsigned long long)counts.again,
                                (unsigned long long)counts.timeouts);
    if (failures_time(&variant) == PS_NEVER)
        validate_tell(of, VALIDATE_FAIL, subject, "every request completes", "%s", why);
    else
        JUDGE(of, .subject = subject, .criterion = CRITERION_BER_AGAIN, .unit = VALIDATE_RATIO,
              .value = packets ? (double)counts.again / (double)packets : 0, .why = why);
    variant_close(&variant);
}

void test_bad_host(struct validate_case *of)
{
    struct failures failures;
    struct variant variant;
    ps_t base = PS_NEVER;

    if (!failures_choose(of, lengths[of->plan->level], &failures)) return;
    if (validate_skip_if(of, failures.ranks < ENOUGH_RANKS, "", "there are no two hosts besides the bad one")) return;
    const char *jobs = write_jobs(of, &failures, 0);
    if (failures_run(of, "with a good host", &failures, jobs, NULL, 0, LONGEST_PS, &variant)) {
        base = others_time(&variant);
        if (base == PS_NEVER)
            validate_tell(of, VALIDATE_FAIL, "with a good host", "the traffic completes", "it does not");
        variant_close(&variant);
    }
    if (base != PS_NEVER) {
        run_storm(of, &failures, base);
        run_slow(of, &failures, jobs, base);
        run_ber(of, &failures);
    }
}
