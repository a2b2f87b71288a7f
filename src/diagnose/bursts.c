/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers that meet at adapters which a collective needs meanwhile (D04): an incast that is short, so that no port is
 * full over the whole run, and long for whoever waits for one of its ports.
 *
 * Counters of a whole run cannot tell it; the times of transfers and of the job can.  What is counted is the time that
 * the line of each such adapter is taken by transfers of others, while the job runs.
 */
#include "diagnose/nics_int.h"
#include "diagnose/ranks_int.h"
#include "diagnose/rules_pauses_int.h"

#define JOBS_MOST 16u /* slow ones that are looked at */

struct meeting { /* at the adapter of a rank */
    bool used;
    double ns; /* of its line, for transfers of others */
    uint32_t from[INCAST_LEAST], froms;
};

struct bursts {
    struct diagnose *diagnose;
    uint32_t job;
    double begin_ns, end_ns, lost_ns;
    struct meeting *at; /* [object] */
};

static bool waits_in_class(const struct diagnose *diagnose, uint32_t job, uint32_t other)
{
    const struct evidence_value *coupled = port_find(diagnose->evidence, other, EVIDENCE_JOB_COUPLED);
    const struct evidence_value *own = port_find(diagnose->evidence, job, EVIDENCE_JOB_PRIORITY);
    const struct evidence_value *class = port_find(diagnose->evidence, other, EVIDENCE_JOB_PRIORITY);

    return other != job && coupled && !coupled->last && own && class && class->last == own->last;
}

static void note_sender(struct meeting *at, uint32_t from)
{
    uint32_t i = 0;

    while (i < at->froms && at->from[i] != from)
        i++;
    if (i == at->froms && i < INCAST_LEAST) at->from[at->froms++] = from;
}

static void add_flow(struct bursts *bursts, const struct evidence_flow *flow)
{
    struct meeting *at = &bursts->at[flow->to];
    uint64_t rate = at->used ? line_rate(bursts->diagnose, flow->to) : 0;
    double begin = (double)flow->start_ns, last = 1e9 * bursts->diagnose->evidence->last_s;
    double end = flow->time_ns ? begin + (double)flow->time_ns : last; /* one that has not ended lasts */

    if (!rate || !waits_in_class(bursts->diagnose, bursts->job, flow->job)) return;
    double shared =
        (end < bursts->end_ns ? end : bursts->end_ns) - (begin > bursts->begin_ns ? begin : bursts->begin_ns);
    if (shared <= 0) return;
    double line = (double)flow->bytes * 8e9 / (double)rate;
    at->ns += (line < end - begin ? line : end - begin) * shared / (end - begin);
    note_sender(at, flow->from);
}

static void meet(struct bursts *bursts)
{
    const struct evidence *evidence = bursts->diagnose->evidence;

    RANKS_EACH(bursts->diagnose, bursts->job, rank)
    {
        uint32_t at = evidence->object[rank].host;
        if (at != EVIDENCE_NONE) bursts->at[at].used = true;
    }
    for (uint32_t i = 0; i < evidence->flows; i++)
        add_flow(bursts, &evidence->flow[i]);
}

static void found(const struct bursts *bursts, uint32_t nic, double all_ns)
{
    struct diagnose *diagnose = bursts->diagnose;
    const struct evidence *evidence = diagnose->evidence;
    uint32_t port = evidence->object[nic].peer == EVIDENCE_NONE ? nic : evidence->object[nic].peer;
    unsigned priority = (unsigned)port_get(evidence, bursts->job, EVIDENCE_JOB_PRIORITY);

    if (rule_found(diagnose, DIAGNOSE_D04, port)) return;
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D04, port, priority,
        "while %s ran, many sent at once to adapters that it needs, most to %s, and took their lines for %.3f ms in "
        "all; it lost %.3f ms against its ideal time",
        name_of(diagnose, bursts->job), name_of(diagnose, nic), all_ns / 1e6, bursts->lost_ns / 1e6);
    finding_number(diagnose, finding, nic, priority, "taken_by_others", "ns", all_ns,
                   diagnose->limits.most_share * bursts->lost_ns, NULL);
    finding_victim(diagnose, finding, bursts->job);
    incast_senders(diagnose, finding, nic);
    if (!finding) return;
    finding->disturbs = true;
    if (evidence->exact) finding->confidence = DIAGNOSE_EXACT;
}

static void look(struct bursts *bursts)
{
    const struct evidence *evidence = bursts->diagnose->evidence;
    uint32_t most = EVIDENCE_NONE;
    double all_ns = 0;

    meet(bursts);
    for (uint32_t i = 0; i < evidence->objects; i++) {
        const struct meeting *at = &bursts->at[i];
        double most_ns = bursts->end_ns - bursts->begin_ns; /* of those that have not ended not all was sent */
        if (at->froms < INCAST_LEAST) continue;
        all_ns += at->ns < most_ns ? at->ns : most_ns;
        if (most == EVIDENCE_NONE || at->ns > bursts->at[most].ns) most = i;
    }
    if (most != EVIDENCE_NONE && all_ns >= bursts->diagnose->limits.most_share * bursts->lost_ns)
        found(bursts, most, all_ns);
}

void bursts_find(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t looked = 0;

    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        double ideal = (double)port_get(evidence, job, EVIDENCE_JOB_IDEAL_NS);
        double time = (double)port_get(evidence, job, EVIDENCE_JOB_NS);
        struct bursts bursts = {.diagnose = diagnose,
                                .job = job,
                                .begin_ns = (double)port_get(evidence, job, EVIDENCE_JOB_BEGIN_NS),
                                .end_ns = (double)port_get(evidence, job, EVIDENCE_JOB_END_NS)};
        if (!port_get(evidence, job, EVIDENCE_JOB_COUPLED) || ideal <= 0 ||
            time <= diagnose->limits.ideal_ratio * ideal || looked == JOBS_MOST || !evidence->flows)
            continue;
        looked++;
        bursts.lost_ns = (1 - ideal / time) * (bursts.end_ns - bursts.begin_ns);
        bursts.at = DIAGNOSE_NEW(diagnose, struct meeting, evidence->objects + 1u);
        if (bursts.at) look(&bursts);
    }
}
