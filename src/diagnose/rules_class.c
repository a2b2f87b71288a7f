/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has no business in RDMA's lossless class: transfers beside a collective (D30); and a pause watchdog that
 * cuts its queues off where no storm is seen (D31).
 */
#include <inttypes.h>
#include <stdio.h>

#include "diagnose/graph_int.h"
#include "diagnose/nics_int.h"
#include "diagnose/ranks_int.h"

#define JOBS_MOST 16u /* slow ones that are looked at */

static void trust(const struct diagnose *diagnose, struct diagnose_finding *finding)
{
    if (finding && diagnose->evidence->exact) finding->confidence = DIAGNOSE_EXACT;
}

/* --- D30: transfers in the class of a collective --- */

static bool is_slow(const struct diagnose *diagnose, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *done = port_find(evidence, job, EVIDENCE_JOB_DONE);
    double ideal = (double)port_get(evidence, job, EVIDENCE_JOB_IDEAL_NS);
    double time = (double)port_get(evidence, job, EVIDENCE_JOB_NS);

    return (done && !done->last) || (ideal > 0 && time > diagnose->limits.ideal_ratio * ideal);
}

/* GPUs wait for each other in it, and it is slow. */
static bool suffers(const struct diagnose *diagnose, uint32_t job)
{
    const struct evidence_value *coupled = port_find(diagnose->evidence, job, EVIDENCE_JOB_COUPLED);

    return coupled && coupled->last && is_slow(diagnose, job);
}

/* Slow collectives, and what transfers of every job bring to and from their hosts. */
struct beside {
    uint32_t slow[JOBS_MOST], slows;
    uint16_t *hosts;  /* [objects] of devices: bit n: slow[n] has ranks there */
    uint32_t *number; /* [objects] of jobs: from 0 */
    uint32_t jobs;
    uint64_t *moved; /* [slows * jobs] bytes */
    bool *incast;    /* [jobs] something that it sends goes to a port that is named for it: D04 names it */
};

static void add_slow(struct diagnose *diagnose, struct beside *beside, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;

    RANKS_EACH(diagnose, job, rank)
    {
        uint32_t at = evidence->object[rank].host;
        if (at != EVIDENCE_NONE) beside->hosts[evidence_device_of(evidence, at)] |= (uint16_t)(1u << beside->slows);
    }
    beside->slow[beside->slows++] = job;
}

/* Jobs are numbered, and the first that are slow are looked at.  False: there is none, or no memory. */
static bool beside_prepare(struct diagnose *diagnose, struct beside *beside)
{
    const struct evidence *evidence = diagnose->evidence;

    beside->hosts = DIAGNOSE_NEW(diagnose, uint16_t, evidence->objects + 1u);
    beside->number = DIAGNOSE_NEW(diagnose, uint32_t, evidence->objects + 1u);
    if (!beside->hosts || !beside->number) return false;
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        beside->number[job] = beside->jobs++;
        if (beside->slows < JOBS_MOST && suffers(diagnose, job)) add_slow(diagnose, beside, job);
    }
    if (!beside->slows) return false;
    beside->moved = DIAGNOSE_NEW(diagnose, uint64_t, (size_t)beside->slows * beside->jobs);
    beside->incast = DIAGNOSE_NEW(diagnose, bool, beside->jobs);
    return beside->moved && beside->incast;
}

/* All transfers, once. */
static bool beside_measure(struct diagnose *diagnose, struct beside *beside)
{
    const struct evidence *evidence = diagnose->evidence;
    bool *named = DIAGNOSE_NEW(diagnose, bool, evidence->objects + 1u); /* ports to hosts that D04 names */

    if (!named) return false;
    for (uint32_t i = 0; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        if (finding->rule == DIAGNOSE_D04 && finding->severity != DIAGNOSE_INFO) named[finding->culprit] = true;
    }
    for (uint32_t i = 0; i < evidence->flows; i++) {
        const struct evidence_flow *flow = &evidence->flow[i];
        if (flow->job == EVIDENCE_NONE) continue;
        uint32_t number = beside->number[flow->job], peer = evidence->object[flow->to].peer;
        uint32_t of = beside->hosts[evidence_device_of(evidence, flow->from)] |
                      beside->hosts[evidence_device_of(evidence, flow->to)];
        for (; of; of &= of - 1)
            beside->moved[(size_t)__builtin_ctz(of) * beside->jobs + number] += flow->bytes;
        if (peer != EVIDENCE_NONE && named[peer]) beside->incast[number] = true;
    }
    return true;
}

/* What the adapters of the slow job's hosts sent in the priority. */
static uint64_t sent_in(const struct evidence *evidence, const struct beside *beside, uint32_t slow, unsigned priority)
{
    uint64_t sent = 0;

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (!(beside->hosts[device] >> slow & 1)) continue;
        EVIDENCE_EACH_PORT(evidence, device, port) sent += evidence_get(evidence, port, priority, EVIDENCE_TX_BYTES);
    }
    return sent;
}

static void look_beside(struct diagnose *diagnose, const struct beside *beside, uint32_t slow)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t job = beside->slow[slow];
    const struct evidence_value *own = port_find(evidence, job, EVIDENCE_JOB_PRIORITY);
    const uint64_t *moved = beside->moved + (size_t)slow * beside->jobs;
    unsigned priority = own ? (unsigned)own->last : EVIDENCE_NO_PRIORITY;
    uint64_t sent = is_lossless(diagnose, priority) ? sent_in(evidence, beside, slow, priority) : 0;

    if (!sent) return;
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, other)
    {
        double share = (double)moved[beside->number[other]] / (double)sent;
        if (share < diagnose->limits.beside_share || beside->incast[beside->number[other]]) continue;
        const struct evidence_value *coupled = port_find(evidence, other, EVIDENCE_JOB_COUPLED);
        const struct evidence_value *class = port_find(evidence, other, EVIDENCE_JOB_PRIORITY);
        if (!coupled || coupled->last || !class || class->last != own->last) continue;
        if (rule_found(diagnose, DIAGNOSE_D30, other)) continue;
        struct diagnose_finding *finding =
            finding_new(diagnose, DIAGNOSE_D30, other, priority,
                        "%s is no collective and sends in lossless priority %u, %.3g%% of what the adapters of %s sent "
                        "there; %s took %.3f ms",
                        name_of(diagnose, other), priority, 100 * (share < 1 ? share : 1), name_of(diagnose, job),
                        name_of(diagnose, job), (double)port_get(evidence, job, EVIDENCE_JOB_NS) / 1e6);
        finding_counter(diagnose, finding, class, 0);
        finding_number(diagnose, finding, other, priority, "share_of_class", "share", share < 1 ? share : 1,
                       diagnose->limits.beside_share, NULL);
        trust(diagnose, finding);
    }
}

void rule_D30(struct diagnose *diagnose)
{
    struct beside beside = {.slows = 0};

    if (!diagnose->evidence->flows || !beside_prepare(diagnose, &beside) || !beside_measure(diagnose, &beside)) return;
    for (uint32_t slow = 0; slow < beside.slows; slow++)
        look_beside(diagnose, &beside, slow);
}

/* --- D31: a watchdog that cuts off where no storm is seen --- */

static uint64_t sum_of(const struct evidence *evidence, uint32_t device, enum evidence_counter counter)
{
    uint64_t sum = 0;

    EVIDENCE_EACH_PORT(evidence, device, port) sum += port_sum(evidence, port, counter);
    return sum;
}

void rule_D31(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t worst = EVIDENCE_NONE, listed = 0;
    uint64_t most = 0;

    /* Where something stands still for good, it does what it is for. */
    if (diagnose->found[DIAGNOSE_D01] || diagnose->found[DIAGNOSE_D02]) return;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        uint64_t times = sum_of(evidence, device, EVIDENCE_WATCHDOG_DETECTED);
        if (times > most) most = times, worst = device;
    }
    if (!most) return;
    uint64_t drops = sum_of(evidence, worst, EVIDENCE_WATCHDOG_DROPS);
    char dropped[64] = "";
    if (drops) snprintf(dropped, sizeof dropped, " and dropped %" PRIu64 " packets", drops);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D31, worst, EVIDENCE_NO_PRIORITY,
                    "the pause watchdog of %s cut queues off %" PRIu64 " times%s, and neither a storm nor a deadlock "
                    "is seen",
                    name_of(diagnose, worst), most, dropped);
    EACH_PORT(evidence, device, port)
    {
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
            const struct evidence_value *value = evidence_find(evidence, port, p, EVIDENCE_WATCHDOG_DETECTED);
            if (!value || !value->grown) continue;
            if (device != worst) finding_also(diagnose, finding, device);
            if (device == worst && listed++ < 4) finding_counter(diagnose, finding, value, 0);
        }
    }
    finding_resenders(diagnose, finding, EVIDENCE_NONE);
    trust(diagnose, finding);
}
