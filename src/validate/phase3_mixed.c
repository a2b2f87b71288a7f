/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 3, mixed traffic: RDMA beside storage and lossy traffic keeps its time, its CNPs are not late, and none of its
 * bytes are in a class of others.
 */
#include <math.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "validate/case.h"

#define RANKS_MOST 64u

/* A class other than that of RDMA's jobs, of its CNPs and of its ACKs: lossless, or lossy and not strict. */
static const char *other_class(const struct fabric *fabric, bool lossless)
{
    uint32_t own = choose_class(fabric);
    const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[0].nic];

    for (uint32_t c = fabric->class_count; c-- > 0;) {
        const struct fabric_class *as = &fabric->classes[c];
        if (c == own || c == nic->cnp_class || c == nic->ack_class || as->lossless != lossless) continue;
        if (!lossless && as->strict) continue;
        return as->name;
    }
    return NULL;
}

static uint8_t queues_of_rdma(const struct fabric *fabric)
{
    const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[0].nic];
    uint8_t queues = (uint8_t)(1u << (fabric->classes[choose_class(fabric)].priority & 7));

    if (nic->cnp_class != FABRIC_NONE) queues |= (uint8_t)(1u << (fabric->classes[nic->cnp_class].priority & 7));
    if (nic->ack_class != FABRIC_NONE) queues |= (uint8_t)(1u << (fabric->classes[nic->ack_class].priority & 7));
    return queues;
}

/* Of a run of RDMA alone. */
static void judge_outside(struct validate_case *of, const struct variant *variant)
{
    uint8_t own = queues_of_rdma(of->fabric);
    uint64_t bytes = 0;
    const char *why = "";

    for (uint32_t i = 0; i < variant->result.ports; i++) {
        const struct sim_port *as = &variant->result.port[i];
        for (int q = 0; as->sw && q < FABRIC_PRIOS; q++) {
            if (own >> q & 1 || as->sw->prio[q].tx_bytes == 0) continue;
            if (bytes == 0)
                why = case_text(of, "%.90s sends RDMA in queue %d: a map or a DSCP differs there or before",
                                case_port(of, as->port), q);
            bytes += as->sw->prio[q].tx_bytes;
        }
    }
    JUDGE(of, .subject = "RDMA alone: bytes outside its class, over all ports", .criterion = CRITERION_OUTSIDE,
          .value = (double)bytes, .why = why);
}

/* What a queue drains at for certain: the line where it goes first, its share of it else. */
static double drain_bps(const struct fabric *fabric, uint32_t port, uint8_t priority)
{
    const struct fabric_settings *settings = &fabric->settings[fabric->port[port].settings];
    const struct fabric_queue *queue = &settings->queue[settings->tc_to_queue[priority & 7]];
    double line = (double)fabric->port[port].rate_bps;

    return queue->strict || queue->share_ppm == 0 ? line : line * queue->share_ppm / 1e6;
}

/* What the longest queue of CNPs took to drain. */
static void judge_cnp(struct validate_case *of, const struct variant *variant)
{
    static const char subject[] = "an incast beside the same others: the longest that a queue of CNPs takes to drain";
    const struct fabric *fabric = of->fabric;
    const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[0].nic];
    uint64_t sent = 0;
    double most = 0;
    const char *why = "";

    for (uint32_t i = 0; i < variant->result.nics; i++)
        if (variant->result.nic[i].counters) sent += variant->result.nic[i].counters->np_cnp_sent;
    if (validate_skip_if(of, sent == 0, subject, "no CNP was sent")) return;
    uint32_t class = nic->cnp_class == FABRIC_NONE ? choose_class(fabric) : nic->cnp_class;
    for (uint32_t i = 0; i < variant->result.ports; i++) {
        const struct sim_port *port = &variant->result.port[i];
        if (port->sw == NULL) continue;
        double time = (double)port->sw->prio[fabric->classes[class].priority & 7].queue_max_bytes * 8 * (double)PS_S /
                      drain_bps(fabric, port->port, fabric->classes[class].priority);
        if (time <= most) continue;
        most = time;
        why = case_text(of, "at %.90s they wait behind others: give CNPs a strict class of their own",
                        case_port(of, port->port));
    }
    JUDGE(of, .subject = subject, .criterion = CRITERION_CNP_DELAY, .unit = VALIDATE_TIME, .value = most, .why = why);
}

static bool run_jobs(struct validate_case *of, const char *jobs, struct variant *variant)
{
    static const char subject[] = "RDMA beside other traffic";

    return variant_open(of, subject, jobs, variant, NULL) && variant_run(of, subject, variant, 100 * PS_MS);
}

static void judge_p99(struct validate_case *of, double alone, double beside, uint32_t ranks, const char *others)
{
    const char *subject =
        case_text(of, "RDMA flows at 20%% load on %u adapters beside %s: p99 of slowdown", ranks, others);
    const char *words = case_text(of, "their p99 alone, %.2f", alone);
    JUDGE(of, .subject = subject, .criterion = CRITERION_MIXED_P99, .unit = VALIDATE_RATIO, .value = beside,
          .base = alone, .of = words, .why = "another class takes from RDMA what the shares give it");
}

struct others {       /* what RDMA runs beside: a lossy class and, where there is another, a lossless one */
    const char *jobs; /* ", {...}": to be put behind RDMA's; "" where there is no other class */
    const char *words;
};

static struct others write_others(struct validate_case *of, const char *ranks, const char *until)
{
    const char *lossy = other_class(of->fabric, false), *lossless = other_class(of->fabric, true);
    FILE *to = case_open(of);

    if (lossy)
        fprintf(to, ", {name: tcp, poisson: {sizes: hadoop, load: 5%%, until: %s}, ranks: %s, class: \"%s\"}", until,
                ranks, lossy);
    if (lossless)
        fprintf(to, ", {name: disks, poisson: {sizes: storage, load: 5%%, until: %s}, ranks: %s, class: \"%s\"}", until,
                ranks, lossless);
    return (struct others){.jobs = case_close(of),
                           .words = case_text(of, "%s%s%s", lossy ? "5% in a lossy class" : "",
                                              lossy && lossless ? " and " : "",
                                              lossless ? "5% of storage in a lossless one" : "")};
}

static void judge_beside(struct validate_case *of, const struct variant *alone, const char *rdma,
                         const struct others *others, uint32_t count)
{
    struct variant beside = {0};

    if (validate_skip_if(of, isnan(variant_p99(alone, 0)), "RDMA beside other traffic",
                         "no flow of it begins in the time of a %s run", validate_level_names[of->plan->level]))
        return;
    if (isinf(variant_p99(alone, 0))) {
        validate_tell(of, VALIDATE_FAIL, "RDMA flows alone", "99 of 100 complete within 100 ms", "they do not");
        return;
    }
    if (validate_skip_if(of, others->jobs[0] == '\0', "RDMA beside other traffic", "there is no other class")) return;
    if (run_jobs(of, case_text(of, "[%s%s]", rdma, others->jobs), &beside)) {
        judge_p99(of, variant_p99(alone, 0), variant_p99(&beside, 0), count, others->words);
        variant_close(&beside);
    }
}

void test_mixed(struct validate_case *of)
{
    static const uint32_t flows_us[VALIDATE_LEVELS] = {500, 2000, 20000}; /* of as many adapters as there may be */
    uint32_t count;
    const char *ranks = choose_ranks(of, RANKS_MOST, &count);
    struct variant run = {0};

    if (validate_skip_if(of, count < 3, "", "fewer than three endpoints reach each other")) return;
    const char *until = case_text(of, "%uus", flows_us[of->plan->level] * RANKS_MOST / count);
    const char *rdma = case_text(
        of,
        "{name: rdma, poisson: {sizes: [[10KB, 50%%], [100KB, 90%%], [1MB, 100%%]], load: 20%%, until: %s}, ranks: %s}",
        until, ranks);
    const struct others others = write_others(of, ranks, until);
    if (run_jobs(of, case_text(of, "[%s]", rdma), &run)) {
        if (is_roce(of->fabric))
            judge_outside(of, &run);
        else
            validate_skip(of, "bytes outside the class", "%s chooses queues in its own way",
                          fabric_system(of->fabric)->title);
        judge_beside(of, &run, rdma, &others, count);
        variant_close(&run);
    }
    const char *jobs = case_text(of, "[{incast: %u, size: 4MB, to: \"%s\", ranks: %s}%s]", count > 8 ? 8 : count - 1,
                                 case_endpoint(of, 0), ranks, others.jobs);
    if (run_jobs(of, jobs, &run)) {
        judge_cnp(of, &run);
        variant_close(&run);
    }
}
