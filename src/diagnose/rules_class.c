/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has no business in RDMA's lossless class: transfers beside a collective (D30); and a pause watchdog that takes
 * ordinary pauses of it for a storm (D31).
 */
#include <inttypes.h>

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

/* Hosts of the job's ranks. */
static bool *hosts_of(struct diagnose *diagnose, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;
    bool *is = DIAGNOSE_NEW(diagnose, bool, evidence->objects + 1u);

    RANKS_EACH(diagnose, job, rank)
    {
        uint32_t at = evidence->object[rank].host;
        if (is && at != EVIDENCE_NONE) is[evidence_device_of(evidence, at)] = true;
    }
    return is;
}

/* Bytes that transfers of each job bring to and from these hosts. */
static const uint64_t *moved_by(struct diagnose *diagnose, const bool *host)
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t *moved = DIAGNOSE_NEW(diagnose, uint64_t, evidence->objects + 1u);

    for (uint32_t i = 0; moved && i < evidence->flows; i++) {
        const struct evidence_flow *flow = &evidence->flow[i];
        bool from = host[evidence_device_of(evidence, flow->from)], to = host[evidence_device_of(evidence, flow->to)];
        if (from || to) moved[flow->job] += flow->bytes;
    }
    return moved;
}

/* What the adapters of these hosts sent in the priority. */
static uint64_t sent_in(const struct evidence *evidence, const bool *host, unsigned priority)
{
    uint64_t sent = 0;

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (!host[device]) continue;
        EVIDENCE_EACH_PORT(evidence, device, port) sent += evidence_get(evidence, port, priority, EVIDENCE_TX_BYTES);
    }
    return sent;
}

/* Whether what it sends goes to a port that is named for it. */
static bool is_incast(const struct diagnose *diagnose, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        if (finding->rule != DIAGNOSE_D04 || finding->severity == DIAGNOSE_INFO) continue;
        for (uint32_t f = 0; f < evidence->flows; f++)
            if (evidence->flow[f].job == job && evidence->flow[f].to == evidence->object[finding->culprit].peer)
                return true;
    }
    return false;
}

static void look_beside(struct diagnose *diagnose, uint32_t job, const bool *host)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *own = port_find(evidence, job, EVIDENCE_JOB_PRIORITY);
    const uint64_t *moved = own ? moved_by(diagnose, host) : NULL;
    unsigned priority = own ? (unsigned)own->last : EVIDENCE_NO_PRIORITY;
    uint64_t sent = moved && is_lossless(diagnose, priority) ? sent_in(evidence, host, priority) : 0;

    if (!sent) return;
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, other)
    {
        const struct evidence_value *coupled = port_find(evidence, other, EVIDENCE_JOB_COUPLED);
        const struct evidence_value *class = port_find(evidence, other, EVIDENCE_JOB_PRIORITY);
        double share = (double)moved[other] / (double)sent;
        if (!coupled || coupled->last || !class || class->last != own->last) continue;
        if (share < diagnose->limits.beside_share || rule_found(diagnose, DIAGNOSE_D30, other)) continue;
        if (is_incast(diagnose, other)) continue; /* D04 names it */
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
    const struct evidence *evidence = diagnose->evidence;

    uint32_t looked = 0;

    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        if (!evidence->flows || looked == JOBS_MOST || !suffers(diagnose, job)) continue;
        const bool *host = hosts_of(diagnose, job);
        if (host) look_beside(diagnose, job, host);
        looked++;
    }
}

/* --- D31: a watchdog that cuts off what is no storm --- */

static uint64_t acted(const struct evidence *evidence, uint32_t device)
{
    uint64_t times = 0;

    EVIDENCE_EACH_PORT(evidence, device, port) times += port_sum(evidence, port, EVIDENCE_WATCHDOG_DETECTED);
    return times;
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
        uint64_t times = acted(evidence, device);
        if (times > most) most = times, worst = device;
    }
    if (!most) return;
    struct diagnose_finding *finding = finding_new(diagnose, DIAGNOSE_D31, worst, EVIDENCE_NO_PRIORITY,
                                                   "the pause watchdog of %s cut queues off %" PRIu64
                                                   " times, and no NIC and no circle stands still for good: it "
                                                   "takes ordinary pauses for a storm, and drops",
                                                   name_of(diagnose, worst), most);
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
